package capture

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
)

// DigestOptions say how long to look at a server and what to show.
type DigestOptions struct {
	Window   time.Duration // at least a second
	Limit    digest.Limit  // the zero value shows all
	OrderBy  digest.Order  // the zero value is the sum of query times
	Explain  bool          // ask for the plans of the classes that are shown
	Progress progress.Sink
}

// Digest looks at a server for a window and returns the report of the statements of the target's database that
// completed within it, by pg_stat_statements, with what each source gave. It only reads. When ctx ends early, the
// report is of the time until then and says so; an error means that there is none, as where the extension is missing.
func Digest(ctx context.Context, t Server, o DigestOptions) (r digest.Report, sources []source.Source, err error) {
	if o.Window < time.Second {
		return r, nil, fmt.Errorf("observe %s: a window of %v is too short, the minimum is 1s", t.Spec().Name, o.Window)
	}
	name, f := t.Spec().Name, t.Facts()
	if !f.Statements.Usable() {
		src := source.Source{
			Name: source.Digests, State: source.Missing, Reason: f.Statements.Missing, Fix: f.Statements.Fix,
		}
		return r, []source.Source{src}, fmt.Errorf("no statement of %s is visible: %s. Fix: %s", name, src.Reason,
			src.Fix)
	}
	c, err := t.Conn(ctx)
	if err != nil {
		return r, nil, err
	}
	defer t.End(c)
	x := statements{facts: f.Statements, user: f.User}
	if err := x.begin(ctx, c); err != nil {
		return r, nil, fmt.Errorf("observe %s: stopped before the window began: %w", name, wrap(t, err))
	}
	began := time.Now()
	early := window(ctx, t, Options{Window: o.Window, Progress: o.Progress}, began, func(reading.Reading) {})
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterTime)
	defer cancel()
	classes, _, src, err := x.end(after, c)
	if err != nil {
		return r, nil, fmt.Errorf("observe %s: %w", name, wrap(t, err))
	}
	g := digest.Global{
		Source: "pg_stat_statements", Target: name, Began: began.UTC(), Ended: time.Now().UTC(),
		Notes: []string{"pg_stat_statements keeps sums: how times are distributed is unknown"},
	}
	if src.Reason != "" {
		g.Notes = append(g.Notes, strings.TrimSuffix(src.Reason+"; Fix: "+src.Fix, "; Fix: "))
	}
	if early != nil {
		g.Notes = append(g.Notes, fmt.Sprintf("stopped after %v of %v", time.Since(began).Round(time.Second/10),
			o.Window))
	}
	r = digest.OfClasses(classes, g, func(c class.Class) (string, []string) {
		return pgtext.Item(c.Fingerprint), pgtext.Tables(c.Fingerprint)
	})
	for i := range r.Classes {
		r.Classes[i].Databases = []digest.Tally{{Name: cmp.Or(f.Database, "?"), Count: r.Classes[i].Count}}
	}
	digest.Arrange(&r, o.Limit, o.OrderBy)
	if o.Explain {
		if err := explainReport(after, t.Spec(), c, &r, x.sql); err != nil {
			return r, nil, fmt.Errorf("explain statements on %s: %w", name, wrap(t, err))
		}
	}
	return r, []source.Source{src}, nil
}
