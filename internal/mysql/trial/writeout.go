package testbed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/trial"
)

const (
	settleTime = 2 * time.Minute  // until writing must have ended
	undoTime   = 30 * time.Second // for what was changed to that end
)

// calm waits until nothing of what came before is still being written, and empties the kernel's caches, where the plan
// asks.
func calm(ctx context.Context, t *target.Target, p *place, pl plan.Plan, tr *trial.Trial) error {
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
func settle(ctx context.Context, t *target.Target, p *place) (err error) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	undo, err := writeOut(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, undo()) }()
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

// dirtyLimits are the shares of dirty pages from which on InnoDB writes. A server that lowers the first one lowers the
// second with it, and takes no second one above the first: they are put back in this order.
var dirtyLimits = []string{"innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"}

// writeOut has the server write its dirty pages now, not when it feels like it, until undo is called: what is measured
// then is the server of the plan, not one with other settings. A server that has no such limits, or takes no lower
// ones, goes on as it is.
func writeOut(ctx context.Context, t *target.Target) (undo func() error, err error) {
	before, err := readDirtyLimits(ctx, t)
	if err != nil {
		return nil, err
	}
	none := func() error { return nil }
	if _, ok := before[dirtyLimits[0]]; !ok {
		return none, nil
	}
	undo = func() error { return setDirtyLimits(ctx, t, before) }
	if _, err = t.DB().ExecContext(ctx, "SET GLOBAL "+dirtyLimits[0]+" = 0"); err == nil {
		return undo, nil
	}
	if _, refused := target.ServerErrorNumber(err); refused {
		return none, nil
	}
	// it may have heard us
	return nil, errors.Join(fmt.Errorf("have the server write its dirty pages: %w", t.Wrap("change", err)), undo())
}

// setDirtyLimits puts back what readDirtyLimits returned, also when ctx has ended, and makes sure that it holds.
func setDirtyLimits(ctx context.Context, t *target.Target, want map[string]string) error {
	const op = "put back when the server writes its dirty pages"
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	for _, name := range dirtyLimits {
		v, ok := want[name]
		if !ok {
			continue
		}
		if _, err := t.DB().ExecContext(ctx, "SET GLOBAL "+name+" = "+v); err != nil {
			return fmt.Errorf("%s: %w", op, t.Wrap("change", err))
		}
	}
	got, err := readDirtyLimits(ctx, t)
	if err == nil && !maps.Equal(got, want) {
		err = fmt.Errorf("it has %v, it had %v", got, want)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// readDirtyLimits returns those of dirtyLimits that the server has.
func readDirtyLimits(ctx context.Context, t *target.Target) (map[string]string, error) {
	const op = "read when the server writes its dirty pages"
	rows, err := t.DB().QueryContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('"+
		strings.Join(dirtyLimits, "', '")+"')")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, t.Wrap("read", err))
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		all[name] = value
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", op, t.Wrap("read", err))
	}
	return all, nil
}
