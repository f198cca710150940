// Package capture does all I/O that judgement needs and returns one snapshot. It only reads.
package capture

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"dyno/internal/catalog"
	"dyno/internal/digestsource"
	"dyno/internal/host"
	"dyno/internal/metric"
	"dyno/internal/progress"
	"dyno/internal/scrape"
	"dyno/internal/snapshot"
	"dyno/internal/target"
)

// Options says how long to look and how deep.
type Options struct {
	Window   time.Duration // 3 s to 10 min; counters need some seconds to become rates
	Top      int           // classes whose plan and tables are looked up; 0 means 12
	Redact   bool          // leave examples, which hold literals, out of the snapshot
	Progress progress.Sink
}

// MinWindow is the shortest window that gives rates.
const MinWindow = 3 * time.Second

// Take looks at the target for the window and returns what it saw. A source that gives nothing is listed in the snapshot; an
// error means that there is no snapshot: the window was cut short or the server went away.
func Take(ctx context.Context, t *target.Target, o Options) (*snapshot.Snapshot, error) {
	if o.Window < MinWindow {
		return nil, fmt.Errorf("look at %s: a window of %v is too short, the least is %v", t.Spec().Name, o.Window, MinWindow)
	}
	if o.Top <= 0 {
		o.Top = 12
	}
	var (
		buf     metric.Buffer
		scraped []snapshot.Source // what each source has given since the window began
		start   = time.Now()
	)
	digests, err := digestsource.Open(ctx, t, digestsource.Options{})
	if err != nil {
		return nil, err
	}
	defer digests.Close()
	scraper, err := scrape.New(t, scrape.Options{})
	if err != nil {
		return nil, err
	}
	defer scraper.Close()

	look, cancel := context.WithTimeout(ctx, o.Window)
	defer cancel()
	if err := digests.Begin(look); err != nil {
		return nil, windowError(ctx, t, err)
	}
	g, gctx := errgroup.WithContext(look)
	g.Go(func() error { return quietEnd(gctx, digests.Run(gctx)) })
	g.Go(func() error {
		return quietEnd(gctx, scraper.Run(gctx, time.Second, func(_ time.Time, samples []metric.Sample, sources []snapshot.Source) {
			buf.Add(samples...)
			scraped = sources
			o.Progress.Report(progress.Progress{
				Step: "looking at " + t.Spec().Name, Unit: "s", Started: start, At: time.Now(),
				Done: time.Since(start).Seconds(), Total: o.Window.Seconds(),
			})
		}))
	})
	if err := g.Wait(); err != nil {
		return nil, windowError(ctx, t, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("look at %s: stopped after %v of %v, too early to judge: %w", t.Spec().Name, time.Since(start).Round(time.Second), o.Window, err)
	}
	digests.Exclude(scraper.Statements()...)
	classes, sources, err := digests.End(ctx)
	if err != nil {
		return nil, windowError(ctx, t, err)
	}
	end := time.Now()

	s := &snapshot.Snapshot{
		Format: snapshot.Format, From: start.UTC(), To: end.UTC(),
		Target:  describe(t),
		Sources: append(settle(scraped), sources...),
		Series:  buf.Series(start.UnixMilli(), end.UnixMilli()),
		Classes: classes,
	}
	if up, ok := s.Find("mysql_global_status_uptime"); ok { // as it is now, not as it was when the target was opened
		s.Target.UptimeSec = int64(up.Points[len(up.Points)-1].Value)
	}
	vars, err := catalog.Variables(ctx, t.DB())
	if err != nil {
		return nil, windowError(ctx, t, err)
	}
	s.Variables = vars
	if s.Source("global_status").Reads == 0 {
		return nil, fmt.Errorf("look at %s: the server gave no status counters in %v: %s", t.Spec().Name, o.Window, s.Source("global_status").Reason)
	}
	look2 := questioner{t: t, s: s}
	if err := look2.ask(ctx, o.Top); err != nil {
		return nil, windowError(ctx, t, err)
	}
	s.Host = hostFacts(ctx, t, s)
	s.Target.Local = s.Host.ServerPID != 0
	o.Progress.Report(progress.Progress{Step: "looking at " + t.Spec().Name, Unit: "s", Started: start, At: time.Now(), Done: 1, Total: 1, End: true})
	if o.Redact {
		redact(s)
	}
	return s, nil
}

// quietEnd takes the end of the window for what it is: no error.
func quietEnd(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

func windowError(ctx context.Context, t *target.Target, err error) error {
	if cerr := ctx.Err(); cerr != nil {
		return fmt.Errorf("look at %s: stopped, too early to judge: %w", t.Spec().Name, cerr)
	}
	return fmt.Errorf("look at %s: %w", t.Spec().Name, err)
}

func describe(t *target.Target) snapshot.Target {
	f := t.Facts()
	return snapshot.Target{
		Name: t.Spec().Name, Server: f.Server, Flavor: f.Flavor, Version: f.Version.String(), Comment: f.Comment,
		UptimeSec: int64(f.Uptime.Seconds()), ReadOnly: f.ReadOnly, Replica: f.Replica,
	}
}

func hostFacts(ctx context.Context, t *target.Target, s *snapshot.Snapshot) snapshot.Host {
	pid, ok := t.LocalPID(ctx)
	if !ok {
		return snapshot.Host{}
	}
	h := snapshot.Host{ServerPID: pid}
	facts, err := host.FactsOf(pid)
	if err != nil { // what could be read is in the facts all the same
		s.Sources = append(s.Sources, snapshot.Source{Name: "host_facts", State: snapshot.Failed, Reason: err.Error()})
	}
	h.CPUs, h.MemBytes = facts.CPUs, facts.MemBytes
	h.Kernel = facts.Kernel
	return h
}

// redact takes everything out of the snapshot that holds values of users.
func redact(s *snapshot.Snapshot) {
	for i := range s.Classes {
		s.Classes[i].Example = ""
	}
	for i := range s.Plans {
		s.Plans[i].Raw = ""
	}
}
