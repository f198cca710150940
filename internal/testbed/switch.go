package testbed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/family"
)

// switcher puts one variant after the other in force on a running server: a CPU quota by one write, settings as the
// server's family does.
type switcher struct {
	quota   *quota                // nil when no variant has one
	cpus    []float64             // by strand
	set     family.SettingsSwitch // nil when nothing is set
	names   []string              // of the settings, the same in all variants
	seen    [][]string
	longest []time.Duration // by strand
}

// newSwitcher prepares the switches between jobs on one server.
func newSwitcher(ctx context.Context, t family.TrialServer, pid int, jobs []*job) (*switcher, error) {
	w := &switcher{
		cpus: make([]float64, len(jobs)), seen: make([][]string, len(jobs)), longest: make([]time.Duration, len(jobs)),
	}
	limited := false
	var groups []map[string]string
	for i, j := range jobs {
		w.cpus[i] = j.config.Limits.CPU
		limited = limited || w.cpus[i] > 0
		groups = append(groups, j.config.Set)
	}
	var err error
	if w.names = slices.Sorted(maps.Keys(groups[0])); len(w.names) > 0 {
		if w.set, err = t.Switch(ctx, groups); err != nil {
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
	if w.set != nil {
		got, err := w.set.To(ctx, strand)
		if err != nil {
			return fmt.Errorf("%s: %w", brief(w.set.Text(strand)), err)
		}
		if w.seen[strand] == nil { // what the server makes of the plan's words
			w.seen[strand] = got
		} else if !slices.Equal(got, w.seen[strand]) {
			return fmt.Errorf("%s: the server reads %s, at first it read %s", brief(w.set.Text(strand)),
				strings.Join(got, ", "), strings.Join(w.seen[strand], ", "))
		}
	}
	w.longest[strand] = max(w.longest[strand], time.Since(began))
	return nil
}

// alike names the variables that a strand's words and another's come out as the same for: to compare them is of no use.
func (w *switcher) alike() error {
	if w.set == nil {
		return nil
	}
	for i := range w.seen {
		for j := range i {
			a, b := w.set.Text(j), w.set.Text(i)
			if a != b && slices.Equal(w.seen[i], w.seen[j]) && w.cpus[i] == w.cpus[j] {
				return errors.New(brief(a) + " and " + brief(b) + " have the same effect on this server: " +
					strings.Join(w.seen[i], ", "))
			}
		}
	}
	return nil
}

func (w *switcher) close() {
	if w.set != nil {
		w.set.Close()
	}
	w.quota.close()
}
