package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// undoTime bounds putting back what was changed so that a server writes its pages.
const undoTime = 30 * time.Second

// dirtyLimits are the shares of dirty pages from which on InnoDB writes. A server that lowers the first one lowers the
// second with it, and takes no second one above the first: they are put back in this order.
var dirtyLimits = []string{"innodb_max_dirty_pages_pct", "innodb_max_dirty_pages_pct_lwm"}

// WriteOut implements family.TrialServer: what is measured after undo is the server of the plan, not one with other
// settings. A server that has no such limits, or takes no lower ones, goes on as it is.
func (s server) WriteOut(ctx context.Context) (undo func() error, err error) {
	t := s.Target
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
