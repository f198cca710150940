// Package capture does all I/O that a diagnosis needs, and returns one snapshot. It only reads, and
// it evaluates nothing: packages diagnose and advise do.
package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/guard"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/digestsource"
	mysqlsources "github.com/dyno-perf/dyno/internal/mysql/sources"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// Options says how long to look and how deep.
type Options struct {
	Window time.Duration // 3 s to 10 min; counters need some seconds to become rates
	// classes whose plan and tables are looked up; 0 means those with 1 % of the time or more, at most 30
	Top      int
	Redact   bool // leave examples, which hold literals, out of the snapshot
	Progress progress.Sink
	// Catalog keeps what was read of the target's tables from one diagnosis to the next. Nil: all of them are read.
	Catalog *catalog.Cache
	// Home is where Dyno keeps things, for what it takes from the server's disk; "" where that does not matter.
	Home string
}

// sourceTime is how long a source may take at the begin and at the end of the window: servers that are overloaded are
// the ones looked at.
const sourceTime = 8 * time.Second

// MinWindow is the shortest window that gives rates.
const MinWindow = 3 * time.Second

// Sources names the sources of metrics that judgement draws on: all but those that are read only when asked for, and
// those whose facts the snapshot holds in another form (tables with their sizes, variables).
func Sources() (names []string) {
	for _, x := range mysqlsources.List() {
		if !x.Asked && x.Name != source.Variables && x.Name != source.Sizes {
			names = append(names, string(x.Name))
		}
	}
	return names
}

// Take looks at the target for the window and returns what it saw. A source that gives nothing is listed in the
// snapshot; an error means that there is no snapshot: the window was cut short or the server went away.
func Take(ctx context.Context, t *target.Target, o Options) (s *snapshot.Snapshot, err error) {
	err = guard.Shaped(func() error { s, err = observe(ctx, t, o); return err })
	return s, err
}

// afterTime bounds what is asked when the window is over, and before it begins: a server that says nothing any more
// must not hold a look for ever.
const afterTime = 90 * time.Second

func observe(ctx context.Context, t *target.Target, o Options) (*snapshot.Snapshot, error) {
	if o.Window < MinWindow {
		return nil, fmt.Errorf("observe %s: a window of %v is too short, the minimum is %v",
			t.Spec().Name, o.Window, MinWindow)
	}
	ctx, leave := context.WithTimeoutCause(ctx, o.Window+afterTime,
		fmt.Errorf("the server did not answer within %v", o.Window+afterTime))
	defer leave()
	var (
		buf     metric.Buffer
		scraped []source.Source // what each source has given since the window began
		seen    snapshot.Gather
		start   = time.Now()
	)
	digests, err := digestsource.Open(ctx, t, digestsource.Options{})
	if err != nil {
		return nil, err
	}
	defer digests.Close()
	scraper, err := mysqlsources.New(t, scrape.Options{Sources: Sources(), Timeout: sourceTime})
	if err != nil {
		return nil, err
	}
	defer scraper.Close()

	look, cancel := context.WithCancel(ctx)
	defer cancel()
	running := programs{t: t}
	if err := running.begin(look); err != nil {
		return nil, windowError(ctx, t, err)
	}
	start = time.Now() // on an overloaded server the questions above may have taken seconds, of which nothing is known
	if err := digests.Begin(look); err != nil {
		return nil, windowError(ctx, t, err)
	}
	g, gctx := errgroup.WithContext(look)
	run := func(f func() error) { g.Go(func() error { return guard.Run(f) }) }
	run(func() error { return quietEnd(gctx, digests.Run(gctx)) })
	run(func() error {
		defer cancel() // it is the scraper that ends the window: with a reading of every source
		return quietEnd(gctx, scraper.Window(gctx, time.Second, o.Window, func(r reading.Reading) {
			buf.Add(r.Samples...)
			scraped = r.Sources
			seen.Add(r.State)
			o.Progress.Report(progress.Progress{
				Step: "observing " + t.Spec().Name, Unit: "s", Started: start, At: time.Now(),
				Done: min(time.Since(start), o.Window).Seconds(), Total: o.Window.Seconds(),
			})
		}))
	})
	if err := g.Wait(); err != nil {
		return nil, windowError(ctx, t, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("observe %s: stopped after %v of %v, too early for a diagnosis: %w", t.Spec().Name,
			time.Since(start).Round(time.Second), o.Window, err)
	}
	classes, sources, err := digests.End(ctx)
	if err != nil {
		return nil, windowError(ctx, t, err)
	}
	end := time.Now()
	ran, err := running.end(ctx)
	if err != nil {
		return nil, windowError(ctx, t, err)
	}

	s := &snapshot.Snapshot{
		Format: snapshot.Format, From: start.UTC(), To: end.UTC(),
		Target:  describe(t),
		Sources: slices.Concat(settle(append(scraped, running.source)), sources),
		Series:  Tidy(buf.Series(start.UnixMilli(), end.UnixMilli())),
		Classes: classes, Programs: ran,
		Moments: seen.Pick(),
	}
	snapshot.Bound(s, buf.Lost())
	if up, ok := s.Find("mysql_global_status_uptime"); ok { // as it is now, not as it was when the target was opened
		s.Target.UptimeSec = int64(up.Points[len(up.Points)-1].Value)
	}
	if s.Source(source.GlobalStatus).Reads == 0 {
		return nil, fmt.Errorf("observe %s: the server returned no status counters in %v: %s", t.Spec().Name, o.Window,
			s.Source(source.GlobalStatus).Reason)
	}
	if err := ask(ctx, t, s, o); err != nil {
		return nil, err
	}
	o.Progress.Report(progress.Progress{
		Step: "observing " + t.Spec().Name, Unit: "s", Started: start, At: time.Now(),
		Done: 1, Total: 1, End: true,
	})
	return s, nil
}

// Ask adds to a snapshot of a window, which others have observed, what must be asked of the server: which one it is,
// its settings, the plans and tables of the classes with the most time, its accounts, the machine. It is newer than the
// window. An error means that the server went away.
func Ask(ctx context.Context, t *target.Target, s *snapshot.Snapshot, o Options) error {
	ctx, leave := context.WithTimeoutCause(ctx, afterTime, fmt.Errorf("the server did not answer within %v", afterTime))
	defer leave()
	return guard.Shaped(func() error {
		up := s.Target.UptimeSec
		s.Target = describe(t)
		s.Target.UptimeSec = cmp.Or(up, s.Target.UptimeSec)
		return ask(ctx, t, s, o)
	})
}

func ask(ctx context.Context, t *target.Target, s *snapshot.Snapshot, o Options) error {
	vars, err := catalog.Variables(ctx, t.Reading())
	if err != nil {
		return windowError(ctx, t, err)
	}
	withholdSecrets(vars)
	s.Variables = vars
	q := questioner{t: t, s: s, kept: o.Catalog}
	if err := q.ask(ctx, max(0, o.Top)); err != nil {
		return windowError(ctx, t, err)
	}
	users, src, err := accounts(ctx, t)
	if err != nil {
		return windowError(ctx, t, err)
	}
	s.Accounts, s.Sources = users, append(s.Sources, src)
	s.Host = hostFacts(ctx, t, s, o.Home)
	if o.Redact {
		Redact(s)
	}
	return nil
}

// quietEnd takes the end of the window for what it is: no error.
func quietEnd(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

func windowError(ctx context.Context, t *target.Target, err error) error {
	if cerr := ctx.Err(); cerr != nil {
		return fmt.Errorf("observe %s: stopped, too early for a diagnosis: %w", t.Spec().Name, cerr)
	}
	return fmt.Errorf("observe %s: %w", t.Spec().Name, err)
}

func describe(t *target.Target) snapshot.Target {
	f := t.Facts()
	return snapshot.Target{
		Name: t.Spec().Name, Server: f.Server, Flavor: f.Flavor, Version: f.Version.String(), Comment: f.Comment,
		UptimeSec: int64(f.Uptime.Seconds()), ReadOnly: f.ReadOnly, Replica: f.Replica,
	}
}

func hostFacts(ctx context.Context, t *target.Target, s *snapshot.Snapshot, home string) snapshot.Host {
	spec := t.Spec()
	h, seen, err := host.Of(ctx, host.Server{
		Local: t.LocalPID, Remote: spec.Machine(), There: target.There(t), Datadir: t.Facts().Datadir, Home: home,
	})
	s.Target.Local = seen
	if !h.CPUs.OK() && spec.NodeExporter != "" {
		h, err = scrape.HostFacts(ctx, spec.NodeExporter, target.Claim(t), t.Facts().Datadir)
	}
	if err != nil { // what could be read is in it all the same
		s.Sources = append(s.Sources, source.Source{
			Name: source.HostFacts, State: source.Failed,
			Reason: err.Error(),
		})
	}
	return h
}

// Redact takes everything out of the snapshot that holds values of users.
func Redact(s *snapshot.Snapshot) {
	for i := range s.Classes {
		s.Classes[i].Example = ""
	}
	for i := range s.Plans {
		RedactPlan(&s.Plans[i])
	}
	for i := range s.Moments {
		mysqlsources.Redact(&s.Moments[i])
	}
	for name := range s.Variables {
		if mysqlsources.HoldsStatement(name) && s.Variables[name] != "" {
			s.Variables[name] = "(withheld)"
		}
	}
	for i := range s.Programs {
		s.Programs[i].Body = ""
	}
	for i := range s.Events {
		mysqlsources.RedactEvent(&s.Events[i])
	}
	RedactTables(s.Tables)
}

// RedactTables takes out of definitions what may hold values of users: the bodies of triggers.
func RedactTables(all []schema.Table) {
	for i := range all {
		for j := range all[i].Triggers {
			all[i].Triggers[j].Body = ""
		}
	}
}

// RedactPlan takes out of a plan what may hold values of users: the server's text, which has the conditions, and what
// it says of a statement that it refuses.
func RedactPlan(p *explain.Plan) {
	p.Raw, p.Error = "", withoutValues(p.Error)
	p.Steps = slices.Clone(p.Steps)
	for i := range p.Steps {
		extra := slices.Clone(p.Steps[i].Extra)
		for j, x := range extra { // "Using pushed condition (`a` = 5)"
			if strings.Contains(x, "condition (") {
				extra[j], _, _ = strings.Cut(x, " (")
			}
		}
		p.Steps[i].Extra = extra
	}
}

// fromServer begins an error that the server itself has worded, often with a part of the statement or a value.
var fromServer = lazyregexp.New(`Error (\d+)( \([0-9A-Z]{5}\))?: `)

// withoutValues leaves of a server's error its number.
func withoutValues(text string) string {
	if m := fromServer.FindStringSubmatchIndex(text); m != nil {
		return text[:m[0]] + "error " + text[m[2]:m[3]] + " of the server"
	}
	return text
}

// withholdSecrets takes the values out of variables that servers show with a password, a token or a key in them. A
// snapshot travels.
func withholdSecrets(vars map[string]string) {
	for name, v := range vars {
		switch strings.ToUpper(v) {
		case "", "ON", "OFF":
			continue
		}
		for _, end := range []string{
			"_password", "_pwd", "_token", "_secret", "_filekey", "_sst_auth",
			"wsrep_provider_options", "wsrep_cluster_address",
		} {
			if strings.HasSuffix(name, end) {
				vars[name] = "(withheld)"
			}
		}
	}
}
