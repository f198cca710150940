package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/trial"
)

// settleTime is how long writing may take to end.
const settleTime = 2 * time.Minute

// calm waits until nothing of what came before is still being written, and empties the kernel's caches, where the plan
// asks.
func calm(ctx context.Context, t family.TrialServer, p *place, pl plan.Plan, tr *trial.Trial) error {
	if pl.Trials.Settle {
		if err := settle(ctx, t, p); err != nil {
			return err
		}
	}
	if pl.Trials.DropCaches {
		platform.Sync()
		if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3\n"), 0o200); err != nil {
			tr.Warnings = append(tr.Warnings, "the kernel's caches were not dropped: "+
				strings.TrimPrefix(err.Error(), "open "))
		}
	}
	return nil
}

// quiet is how many bytes a second a settled server may still write.
const quiet = 64 << 10

// settle waits until the server and the kernel have stopped writing: a server with performance to spare writes its
// dirty pages in the background long after the load has ended.
func settle(ctx context.Context, t family.TrialServer, p *place) (err error) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	undo, err := t.WriteOut(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, undo()) }()
	last, calm := uint64(0), 0
	for first := true; ; first = false {
		r, err := host.Whole(p.box.PID)
		if err != nil {
			return fmt.Errorf("wait until the server has stopped writing: %w", err)
		}
		w, ok := r.WriteBytes.Get()
		if !ok {
			return nil // nobody can tell
		}
		if !first && w-last <= quiet/4 {
			if calm++; calm >= 4 { // a whole second
				platform.Sync()
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
