package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"dyno/internal/capture"
	"dyno/internal/collector"
	"dyno/internal/event"
	"dyno/internal/experiment"
	"dyno/internal/fault"
	"dyno/internal/finding"
	"dyno/internal/journal"
	"dyno/internal/known"
	"dyno/internal/load"
	"dyno/internal/metric"
	"dyno/internal/progress"
	"dyno/internal/proof"
	"dyno/internal/report"
	"dyno/internal/run"
	"dyno/internal/sandbox"
	"dyno/internal/scrape"
	"dyno/internal/stat"
	"dyno/internal/store/ledger"
	"dyno/internal/store/series"
	"dyno/internal/target"
	"dyno/internal/unit"
)

// DemoOptions says what the demo does.
type DemoOptions struct {
	Fault       string
	Server      string            // as for `sandbox up`: "mariadb", "mysql@9.7"
	ServerDirs  []string          // where to look for builds, beside the usual places
	Settings    map[string]string // on top of the fault's own
	RandomNames bool              // schema, table and column names drawn by Seed
	Seed        uint64
	Keep        bool // leave the sandbox running
	NoCure      bool // stop after the finding
	Pairs       int  // of windows for the proof; 0 means 6
	Voice       Voice
}

// Voice tells the user what happens while it happens. Its methods are called one at a time.
type Voice interface {
	Say(report.Step)         // a step, in a sentence
	Live(Live)               // the figures of the last second
	Progress() progress.Sink // for long work; may be nil
}

// Live is one second of a load with what the server did meanwhile.
type Live struct {
	At       time.Time
	Second   int // of the load
	TPS      float64
	P95      time.Duration
	CPU      known.Value[float64] // cores of the server
	RowsRead known.Value[float64] // per second
	Note     string               // which variant is in force, "" outside of the proof
}

// DemoResult is what came of it.
type DemoResult struct {
	Fault                fault.Fault
	Server               sandbox.Server
	Sandbox              string // name
	Found                bool
	Expected             *finding.Finding // the finding that the fault deserves, when found
	Findings             []finding.Finding
	Foreign              []finding.Finding // those that do not belong
	Action               journal.Entry
	Before               map[string]stat.Interval // qps, p95_ms, server_cpu_cores, rows_read_per_s
	After                map[string]stat.Interval
	Verdict              *stat.Verdict
	Report               string // path of the HTML file
	Document             report.Document
	FirstLive, ToFinding time.Duration // from the call to the first live figures; from the load's start to the finding
}

const (
	demoSettle = 1500 * time.Millisecond
	demoWindow = 4 * time.Second
	demoPairs  = 6
	demoWarm   = 3 * time.Second
)

// demo is one demo on its way.
type demo struct {
	a     *App
	o     DemoOptions
	f     fault.Fault
	names uint64 // seed of the names that it is planted under, 0 for the usual ones
	begin time.Time
	story []report.Step

	yard      *sandbox.Yard
	box       sandbox.Sandbox
	t         *target.Target
	ledger    *ledger.Ledger
	id        string
	dir       string // of the report and the recording
	diagnosis string // its id, once there is one

	buf    metric.Buffer
	series *series.Store
	action finding.Action // the cure, once it is in force

	mu       sync.Mutex // guards the fields below, written by the load and the collector
	ticks    []run.Tick
	events   []event.Event
	note     string
	first    time.Time // of the first live figures
	storeErr error
}

// Demo plants a fault on a private server and runs the loop on it. What it hands to diagnosis is a TARGET and nothing else. The
// result is valid as far as it goes also when an error or a cancelled ctx ends it early.
func (a *App) Demo(ctx context.Context, o DemoOptions) (res DemoResult, err error) {
	f, err := fault.Find(o.Fault)
	if err != nil {
		return res, err
	}
	d := &demo{a: a, o: o, f: f, begin: time.Now()}
	if o.RandomNames {
		d.names = o.Seed
	}
	res.Fault = f
	defer func() {
		ending := d.end(&res)
		if ctx.Err() != nil {
			err = d.stopped(res)
		}
		err = errors.Join(err, ending)
	}()
	if err := d.prepare(ctx, &res); err != nil {
		return res, err
	}
	return res, d.loop(ctx, &res)
}

func (d *demo) say(format string, a ...any) {
	s := report.Step{At: time.Now(), Text: fmt.Sprintf(format, a...)}
	d.story = append(d.story, s)
	d.o.Voice.Say(s)
}

// prepare starts the private server and plants the fault.
func (d *demo) prepare(ctx context.Context, res *DemoResult) (err error) {
	if d.yard, err = d.a.Yard(); err != nil {
		return err
	}
	d.yard.ServerDirs = append(d.yard.ServerDirs, d.o.ServerDirs...)
	if d.ledger, err = d.a.Ledger(ctx); err != nil {
		return err
	}
	if d.id, err = d.ledger.NewID(ctx, ledger.ExperimentID); err != nil {
		return err
	}
	d.dir = filepath.Join(d.a.Home, "reports", d.id)
	srv, err := d.yard.Resolve(ctx, d.o.Server)
	if err != nil {
		return err
	}
	res.Server = srv
	// Exact figures make the better story. MariaDB ships with this off; the diagnosis then works from samples, see --set.
	settings := map[string]string{"performance_schema": "ON"}
	maps.Copy(settings, d.f.Settings)
	maps.Copy(settings, d.o.Settings)
	name := "demo-" + d.id
	d.say("Starting a private %s %s, apart from anything else on this machine.", srv.Flavor, srv.Version)
	if d.box, err = d.yard.Up(ctx, sandbox.Config{Name: name, Server: d.o.Server, Settings: settings, Owner: !d.o.Keep}, d.o.Voice.Progress()); err != nil {
		return err
	}
	res.Sandbox = name
	spec := d.box.Spec()
	spec.Name = "sandbox:" + name
	if d.t, err = target.Open(ctx, spec); err != nil {
		return err
	}
	start := time.Now()
	if err := d.f.Setup(ctx, d.t, d.names, nil, d.o.Voice.Progress()); err != nil {
		return err
	}
	d.say("Planted in %s: %s", unit.Seconds(time.Since(start).Seconds()), d.f.Story)
	return nil
}

// loop runs the load and, while it runs, everything else.
func (d *demo) loop(ctx context.Context, res *DemoResult) error {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return fmt.Errorf("make the report's folder: %w", err)
	}
	var err error
	if d.series, err = series.Open(filepath.Join(d.dir, "series")); err != nil {
		return err
	}
	scraper, err := scrape.New(d.t, scrape.Options{})
	if err != nil {
		return err
	}
	defer scraper.Close()
	background, stop := context.WithCancel(ctx)
	defer stop()
	var (
		wg       sync.WaitGroup
		loadErr  error
		watchErr error
		result   run.Run
	)
	wg.Go(func() {
		watchErr = collector.Run(background, time.Second, map[string]collector.Scraper{d.t.Spec().Name: scraper}, d.keep)
	})
	loadStart := time.Now()
	d.say("Loading it with %d sessions; each second below is measured.", d.f.Threads)
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	wg.Go(func() {
		result, loadErr = load.Run(background, d.t, load.Config{Workload: d.f.Workload, Options: fault.Options(d.names), Threads: d.f.Threads, Seed: d.o.Seed, PSMode: load.Disable}, d.tick)
		if loadErr != nil && background.Err() == nil {
			fail(fmt.Errorf("load: %w", loadErr))
		}
	})
	loopErr := d.judgeAndCure(failed, res, loadStart)
	if cause := context.Cause(failed); loopErr != nil && cause != nil && ctx.Err() == nil {
		loopErr = cause
	}
	stop()
	wg.Wait()
	if result.ID == "" {
		if result.ID, err = d.ledger.NewID(context.WithoutCancel(ctx), ledger.RunID); err == nil {
			err = d.ledger.PutRun(context.WithoutCancel(ctx), result)
		}
	}
	if loopErr != nil {
		return loopErr
	}
	if watchErr != nil {
		return watchErr
	}
	return errors.Join(err, d.storeErr, d.write(ctx, res))
}

func (d *demo) judgeAndCure(ctx context.Context, res *DemoResult, loadStart time.Time) error {
	if err := sleep(ctx, demoWarm); err != nil {
		return err
	}
	d.say("Now the diagnosis looks from outside. It gets the address of the server and nothing else.")
	before, err := d.a.Diagnose(ctx, d.t, capture.Options{Window: DefaultWindow})
	if err != nil {
		return err
	}
	d.diagnosis = before.ID
	res.ToFinding = time.Since(loadStart)
	d.mu.Lock()
	if !d.first.IsZero() {
		res.FirstLive = d.first.Sub(d.begin)
	}
	d.mu.Unlock()
	d.judge(res, before)
	if d.f.Kind == fault.Control || !res.Found || d.o.NoCure {
		d.document(res, before, nil, proof.Proof{}, experiment.Result{})
		return nil
	}
	if err := d.cure(ctx, res); err != nil {
		return err
	}
	x, err := d.prove(ctx, res)
	if err != nil {
		return err
	}
	d.say("One more look at the live traffic, for the cost of each call.")
	p, after, err := d.a.Prove(ctx, d.t, res.Action, capture.Options{Window: 5 * time.Second})
	if err != nil {
		return err
	}
	d.document(res, before, after, p, x)
	return nil
}

// judge holds what was found against what was planted. Diagnosis has ended by now and never sees this.
func (d *demo) judge(res *DemoResult, g Diagnosis) {
	res.Findings = g.Findings
	for i := range g.Findings {
		f := g.Findings[i]
		if !res.Found && i < 2 && matches(f, d.f.Expect(d.names)) {
			res.Found, res.Expected = true, &g.Findings[i]
			continue
		}
		res.Foreign = append(res.Foreign, f)
	}
	switch {
	case res.Found:
		d.say("Found after %s: %s", unit.Seconds(res.ToFinding.Seconds()), res.Expected.Title)
		if res.Expected.Action != nil {
			d.say("The cure it suggests: %s", res.Expected.Action.SQL)
		}
	case d.f.Kind == fault.Control && len(g.Findings) == 0:
		d.say("Nothing was planted and nothing was found.")
	case d.f.Kind == fault.Control:
		d.say("Nothing was planted, and yet there are %d findings: they are false.", len(g.Findings))
	default:
		d.say("The planted cause was not found. %s", sentence(g.Snapshot, g.Symptoms, g.Findings))
	}
}

// matches reports whether a finding is the one that the fault deserves: the right rule, the right table, the right columns in order.
func matches(f finding.Finding, want fault.Expectation) bool {
	if f.Rule != want.Rule || !slices.Contains(f.Subject.Tables, want.Table) || f.Action == nil || len(f.Action.Index.Parts) < len(want.Columns) {
		return false
	}
	for i, c := range want.Columns {
		if f.Action.Index.Parts[i].Column != c {
			return false
		}
	}
	return want.Rule != ""
}

func (d *demo) cure(ctx context.Context, res *DemoResult) error {
	in, err := d.a.Plan(ctx, d.t, res.Expected.ID)
	if err != nil {
		return err
	}
	d.say("Adding the index while the load goes on, without locking the table.")
	res.Action, err = d.a.Apply(ctx, d.t, in, d.o.Voice.Progress(), func(string) {})
	if err != nil {
		return err
	}
	d.action = res.Action.Action
	d.event(event.Event{At: res.Action.Ended, Kind: event.Action, Text: "index added", Ref: res.Action.ID})
	d.say("Index added in %s. The journal has the way back: dyno undo %s --execute", unit.Seconds(res.Action.Ended.Sub(res.Action.Started).Seconds()), res.Action.ID)
	return nil
}

// keep stores one scrape.
func (d *demo) keep(b collector.Batch) {
	d.buf.Add(b.Samples...)
	if err := d.series.Append(b.Samples, metric.L("target", b.Target)); err != nil {
		d.mu.Lock()
		d.storeErr = err // the demo goes on, its end says what was not kept
		d.mu.Unlock()
	}
}

// tick takes one second of the load and shows it with what the server did in the same second.
func (d *demo) tick(t run.Tick) {
	to := t.At.Add(t.Length)
	h := t.Latency()
	l := Live{At: to, Second: t.Seq + 1, TPS: t.TPS(), P95: h.Quantile(0.95)}
	last := to.UnixMilli()
	l.CPU = d.cpu(last-2500, last)
	l.RowsRead = d.rowsRead(last-2500, last)
	d.mu.Lock()
	d.ticks = append(d.ticks, t)
	if d.first.IsZero() {
		d.first = time.Now()
	}
	l.Note = d.note
	d.mu.Unlock()
	if t.Length >= time.Second/2 { // the stub at the end has no rate to speak of
		d.o.Voice.Live(l)
	}
}

func (d *demo) setNote(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note = s
}

func (d *demo) event(e event.Event) {
	e.Target = d.t.Spec().Name
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

// stopped says what is left of a demo that the user ended.
func (d *demo) stopped(res DemoResult) error {
	s := "demo stopped before its end; its private server is gone"
	if d.o.Keep && res.Sandbox != "" {
		s = "demo stopped before its end; its private server is kept as sandbox:" + res.Sandbox
	}
	if d.diagnosis != "" {
		s += ", the diagnosis is kept as " + d.diagnosis
	}
	return fmt.Errorf("%s: %w", s, context.Canceled)
}

// end stops what the demo started.
func (d *demo) end(res *DemoResult) error {
	var errs []error
	if d.series != nil {
		errs = append(errs, d.series.Close())
	}
	if d.t != nil {
		errs = append(errs, d.t.Close())
	}
	if d.box.Name != "" && !d.o.Keep {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := d.yard.Remove(ctx, d.box.Name); err != nil {
			errs = append(errs, fmt.Errorf("remove the sandbox %s: %w", d.box.Name, err))
		} else {
			res.Sandbox = ""
		}
	}
	return errors.Join(errs...)
}

// sleep waits or returns the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
