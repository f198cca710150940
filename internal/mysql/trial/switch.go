package testbed

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// switcher puts one variant after the other in force on a running server: a CPU quota by one write, global variables by
// one statement.
type switcher struct {
	quota   *quota    // nil when no variant has one
	cpus    []float64 // by strand
	conn    *sql.Conn // nil when nothing is set
	names   []string  // of the variables, the same in all variants
	set     []string  // the statement of each strand
	ask     string    // reads them all
	seen    [][]string
	longest []time.Duration // by strand
}

// newSwitcher prepares the switches between jobs on one server.
func newSwitcher(ctx context.Context, t *target.Target, pid int, jobs []*job) (*switcher, error) {
	w := &switcher{
		cpus: make([]float64, len(jobs)), set: make([]string, len(jobs)), seen: make([][]string, len(jobs)),
		longest: make([]time.Duration, len(jobs)),
	}
	limited := false
	for i, j := range jobs {
		w.cpus[i] = j.config.Limits.CPU
		limited = limited || w.cpus[i] > 0
	}
	var err error
	if w.names = slices.Sorted(maps.Keys(jobs[0].config.Set)); len(w.names) > 0 {
		var ask []string
		for _, name := range w.names {
			if !variable.MatchString(name) {
				return nil, fmt.Errorf("set %q: not a variable's name", name)
			}
			ask = append(ask, "@@GLOBAL."+name)
		}
		w.ask = "SELECT " + strings.Join(ask, ", ")
		for i, j := range jobs {
			var set []string
			for _, name := range w.names {
				set = append(set, "GLOBAL "+name+" = "+literal(j.config.Set[name]))
			}
			w.set[i] = "SET " + strings.Join(set, ", ")
		}
		if w.conn, err = target.Held(ctx, t); err != nil {
			return nil, err
		}
	}
	if limited {
		if w.quota, err = openQuota(pid, periodFor(w.cpus)); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// period is that of the quotas, 0 when there are none.
func (w *switcher) period() time.Duration {
	if w.quota == nil {
		return 0
	}
	return w.quota.period
}

// free takes the quota away.
func (w *switcher) free() error {
	if w.quota == nil {
		return nil
	}
	return w.quota.set(0)
}

// to puts a strand in force and reads back that it is.
func (w *switcher) to(ctx context.Context, strand int) error {
	began := time.Now()
	if w.quota != nil {
		if err := w.quota.set(w.cpus[strand]); err != nil {
			return err
		}
	}
	if w.conn != nil {
		if _, err := w.conn.ExecContext(ctx, w.set[strand]); err != nil {
			return fmt.Errorf("%s: %w", brief(w.set[strand]), err)
		}
		got, err := w.read(ctx)
		if err != nil {
			return err
		}
		if w.seen[strand] == nil { // what the server makes of the plan's words
			w.seen[strand] = got
		} else if !slices.Equal(got, w.seen[strand]) {
			return fmt.Errorf("%s: the server reads %s, at first it read %s", brief(w.set[strand]),
				strings.Join(got, ", "), strings.Join(w.seen[strand], ", "))
		}
	}
	w.longest[strand] = max(w.longest[strand], time.Since(began))
	return nil
}

func (w *switcher) read(ctx context.Context) ([]string, error) {
	texts := make([]sql.NullString, len(w.names))
	into := make([]any, len(texts))
	for i := range texts {
		into[i] = &texts[i]
	}
	if err := w.conn.QueryRowContext(ctx, w.ask).Scan(into...); err != nil {
		return nil, fmt.Errorf("%s: %w", brief(w.ask), err)
	}
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = t.String
	}
	return out, nil
}

// alike names the variables that a strand's words and another's come out as the same for: to compare them is of no use.
func (w *switcher) alike() error {
	for i := range w.set {
		for j := range i {
			if w.conn != nil && w.set[i] != w.set[j] && slices.Equal(w.seen[i], w.seen[j]) && w.cpus[i] == w.cpus[j] {
				return errors.New(brief(w.set[j]) + " and " + brief(w.set[i]) +
					" have the same effect on this server: " + strings.Join(w.seen[i], ", "))
			}
		}
	}
	return nil
}

func (w *switcher) close() {
	if w.conn != nil {
		_ = target.Discard(w.conn)
	}
	w.quota.close()
}
