package service

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// sourcesOf says which sources of metrics gave something in the window, which begins at from: how they fared is stored
// with what they gave, and why one gave nothing with the states.
func sourcesOf(all []metric.Series, moments []state.State, from int64) (out []source.Source) {
	for _, s := range all {
		name := s.Labels.Get("source")
		if s.Name != scrapeSuccess || name == "" {
			continue
		}
		src := source.Source{Name: source.Name(name), State: source.Failed, Reason: "it failed during the window"}
		ok := 0
		for _, p := range s.Points {
			if p.Value > 0 {
				ok++
			}
		}
		if src.Reads = ok; ok > 0 {
			src.State, src.Reason = source.OK, ""
		}
		if ok < len(s.Points) {
			for _, m := range moments {
				for _, y := range m.Sources {
					if y.Name == src.Name && y.Reason != "" {
						src.State, src.Reason, src.Fix = y.State, y.Reason, y.Fix
					}
				}
			}
		}
		switch first := s.Points[0].At; {
		case ok == 2 && first < from:
			src.Reason = "it was read once in the window: its rates begin before it, at " +
				local(time.UnixMilli(first))
		case ok == 1:
			src.State, src.Reason = source.Failed, "it answered only once in the window, and a rate needs two samples"
		}
		out = append(out, src)
	}
	slices.SortFunc(out, func(a, b source.Source) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// scrapeSuccess is the series that says of each source whether a reading gave something.
const scrapeSuccess = "dyno_scrape_success"

// stateSources are the sources whose findings are stored as states, and not as series.
var stateSources = []source.Name{source.Processlist, source.Transactions, source.Locks}

// statesGone says in the sources what the states of the window do not tell: none of them are left, or those alone that
// are kept for an incident, which are its worst seconds.
func (p archive) statesGone(ctx context.Context, x *snapshot.Snapshot) error {
	pinned, err := history.OnlyPinned(ctx, p.history, x.Target.Name, x.From, x.To)
	if err != nil {
		return err
	}
	if len(x.Moments) > 0 && !pinned {
		return nil
	}
	names := stateSources
	if f, ok := app.FamilyOf(x.Target.Flavor); ok {
		names = slices.DeleteFunc(slices.Clone(stateSources), func(n source.Name) bool {
			return !slices.ContainsFunc(f.Sources(), func(i scrape.Info) bool { return i.Name == n })
		})
	}
	for _, n := range names {
		i := slices.IndexFunc(x.Sources, func(s source.Source) bool { return s.Name == n })
		if i < 0 {
			i = len(x.Sources)
			x.Sources = append(x.Sources, source.Source{Name: n, State: source.OK})
		}
		switch s := &x.Sources[i]; {
		case s.State != source.OK:
		case len(x.Moments) == 0:
			*s = source.Source{
				Name: n, State: source.Missing, Reason: "the states of this time are not stored any more",
			}
		default:
			s.Reason = "only the worst seconds of an incident are still stored as states: averages over samples are " +
				"of these seconds"
		}
	}
	return nil
}

// classSources says how the sources of query classes fared in the window: stored is what is stored of them, and the
// states say why one gave nothing.
func classSources(x *snapshot.Snapshot, stored source.Source) (out []source.Source) {
	names := []source.Name{source.Digests}
	if f, ok := app.FamilyOf(x.Target.Flavor); ok {
		if c, ok := f.(family.ClassSourced); ok {
			names = c.ClassSources()
		}
	}
	for _, n := range names {
		s := stored
		s.Name = n
		said, times := source.Source{}, 0
		for _, m := range x.Moments {
			if i := slices.IndexFunc(m.Sources, func(y source.Source) bool { return y.Name == n }); i >= 0 {
				said, times = m.Sources[i], times+1
			}
		}
		switch {
		case times > 0 && 2*times >= len(x.Moments) && stored.State == source.OK:
			s.State, s.Reason, s.Fix, s.Reads = said.State, said.Reason, said.Fix, 0
		case times > 0:
			s.Fix = said.Fix
		case len(x.Moments) > 0 || stored.State != source.OK || len(x.Classes) == 0 || n == source.Samples:
		case !slices.ContainsFunc(x.Classes, func(c class.Class) bool { return c.Source() == n }):
			s.State, s.Reads = source.Missing, 0
			s.Reason = "no query class that is stored of this time came from it"
		}
		out = append(out, s)
	}
	return out
}

// classed reports whether any source of query classes gave something in the window.
func classed(x *snapshot.Snapshot) bool {
	return slices.ContainsFunc([]source.Name{source.Digests, source.SlowLog, source.Samples},
		func(n source.Name) bool { return x.Source(n).State == source.OK })
}

// blind reports whether a source that findings are made from, and that the server has, did not answer: what was not
// found may still be so.
func blind(x *snapshot.Snapshot) bool {
	return !classed(x) || slices.ContainsFunc([]source.Name{source.Digests, source.Plans, source.Tables},
		func(n source.Name) bool {
			s := x.Source(n).State
			return s == source.Failed || s == source.Slow
		})
}
