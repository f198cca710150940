package stand

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"dyno/internal/host"
	"dyno/internal/plan"
	"dyno/internal/target"
	"dyno/internal/trial"
)

const settleTime = 2 * time.Minute // until writing must have ended

// calm waits until nothing of what came before is still being written, and empties the kernel's caches, where the plan asks.
func (s *Stand) calm(ctx context.Context, t *target.Target, p *place, pl plan.Plan, tr *trial.Trial) error {
	if pl.Trials.Settle {
		if err := settle(ctx, t, p); err != nil {
			return err
		}
	}
	if pl.Trials.DropCaches {
		syscall.Sync()
		if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3\n"), 0o200); err != nil {
			tr.Warnings = append(tr.Warnings, "the kernel's caches were not dropped: "+strings.TrimPrefix(err.Error(), "open "))
		}
	}
	return nil
}

// quiet is how many bytes a second a settled server may still write.
const quiet = 64 << 10

// settle waits until the server and the kernel have stopped writing: a server with performance to spare writes its dirty pages in
// the background long after the load has ended.
func settle(ctx context.Context, t *target.Target, p *place) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	// Dirty pages are written out now, not when the server feels like it; the settings come back with the next start or below.
	var before string
	if err := t.DB().QueryRowContext(ctx, "SELECT @@GLOBAL.innodb_max_dirty_pages_pct").Scan(&before); err == nil {
		if _, err := t.DB().ExecContext(ctx, "SET GLOBAL innodb_max_dirty_pages_pct = 0"); err == nil {
			defer func() {
				_, _ = t.DB().ExecContext(context.WithoutCancel(ctx), "SET GLOBAL innodb_max_dirty_pages_pct = "+before) // the next start has it anyway
			}()
		}
	}
	last, calm := uint64(0), 0
	for first := true; ; first = false {
		r, err := host.Process(p.box.PID)
		if err != nil {
			return fmt.Errorf("wait until the server has stopped writing: %w", err)
		}
		w, ok := r.WriteBytes.Get()
		if !ok {
			return nil // nobody can tell
		}
		if !first && w-last <= quiet/4 {
			if calm++; calm >= 4 { // a whole second
				syscall.Sync()
				return nil
			}
		} else {
			calm = 0
		}
		last = w
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the server has stopped writing: it has not within %v", settleTime)
		case <-time.After(250 * time.Millisecond):
		}
	}
}
