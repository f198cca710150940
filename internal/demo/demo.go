// Package demo plants faults in a private server, has Dyno find and fix them as in a server of somebody else, and
// measures the gain.
package demo

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/limit"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/series"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
	"github.com/dyno-perf/dyno/internal/userfile"
)

// Options says what the demo does.
type Options struct {
	Fault       string            // a name, or several to plant together: "missing-index+small-redo"
	Server      string            // as for `sandbox up`: "mariadb", "mysql@9.7"
	ServerDirs  []string          // where to look for builds, beside the usual places
	Settings    map[string]string // on top of the fault's own
	RandomNames bool              // schema, table and column names drawn by Seed
	Seed        uint64
	Keep        bool   // leave the sandbox running
	NoCure      bool   // stop after the finding
	Pairs       int    // of windows for the proof; 0 means 6
	Snapshot    string // file that what the diagnosis saw is written to; with gzip when it ends in .gz; "" for none
	Voice       Voice

	beside func(context.Context, Beside) error // see AllOptions
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

// Result is what came of it.
type Result struct {
	Fault                string // as in the options
	Parts                []Part
	Server               sandbox.Server
	Sandbox              string           // name
	Limits               []limit.State    // those that the fault asks for
	Judged               bool             // the diagnosis came to its end
	Found                bool             // of all parts
	Expected             *finding.Finding // the finding that the first part deserves, when found
	Findings             []finding.Finding
	Foreign              []finding.Finding // those that do not belong
	Action               journal.Entry
	Before               map[string]stat.Interval // qps, p95_ms, server_cpu_cores, rows_read_per_s
	After                map[string]stat.Interval
	Verdict              *stat.Verdict
	Control              *stat.Verdict // the state after against itself
	Report               string        // path of the HTML file
	Document             report.Document
	FirstLive, ToFinding time.Duration // from the call to the first live figures; from the load's start to the finding
}

// Part is one of the faults that were planted.
type Part struct {
	Fault  fault.Fault
	Found  *finding.Finding // the finding that it deserves, nil when it is not among the first two
	Rank   int              // of the first finding that is the expected one, from 1; 0 when there is none
	Missed string           // why nothing was found
}

const (
	demoSettle = 1500 * time.Millisecond
	demoWindow = 4 * time.Second
	demoPairs  = 6
	demoWarm   = 3 * time.Second
)

// part is one of the faults of a demo.
type part struct {
	f     fault.Fault
	names uint64 // seed of the names that it is planted under, 0 for the usual ones
}

// demo is one demo on its way.
type demo struct {
	a     *app.App
	o     Options
	parts []part
	set   fault.Set // of the server's family
	needs fault.Needs
	begin time.Time
	story []report.Step

	yard      *sandbox.Yard
	box       sandbox.Sandbox // with the load
	twin      sandbox.Sandbox // its replica, if any
	t         *place          // of box
	seen      *place          // what the diagnosis looks at: t, or the replica
	ledger    *ledger.Ledger
	id        string
	dir       string // of the report and the recording
	diagnosis string // its id, once there is one

	buf    metric.Buffer
	series *series.Store
	action finding.Action // the cure, once it is in force
	fail   context.CancelCauseFunc

	root     context.Context // of load and watching, which outlast a step of the demo
	playing  *play
	watching func() error // ends the watching of seen

	mu       sync.Mutex // guards the fields below, written by the load and the scraper
	ticks    []loadresult.Tick
	second   int                     // of the load
	beside   map[int]loadresult.Tick // the last tick of the loads that run beside the first
	events   []event.Event
	note     string
	first    time.Time // of the first live figures
	storeErr error
}

// Run plants a fault on a private server and runs the loop on it. What it hands to diagnosis is a TARGET and nothing
// else. The result is valid as far as it goes also when an error or a cancelled ctx ends it early.
func Run(ctx context.Context, a *app.App, o Options) (res Result, err error) {
	d := &demo{a: a, o: o, begin: time.Now(), beside: map[int]loadresult.Tick{}}
	for i, name := range strings.Split(o.Fault, "+") {
		f, err := app.FindFault(name)
		if err != nil {
			return res, err
		}
		p := part{f: f}
		if o.RandomNames || i > 0 { // two may use the same scene
			p.names = o.Seed + uint64(i)
		}
		d.parts = append(d.parts, p)
		res.Parts = append(res.Parts, Part{Fault: f})
	}
	res.Fault = o.Fault
	defer func() {
		ending := endDemo(d, &res)
		if ctx.Err() != nil {
			err = stopped(d, res)
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

// controlOf reports whether nothing is planted.
func controlOf(parts []part) bool { return parts[0].f.Kind == fault.Control && len(parts) == 1 }

// prepare starts the private server and plants the faults.
func (d *demo) prepare(ctx context.Context, res *Result) (err error) {
	if d.yard, err = d.a.Yard(); err != nil {
		return err
	}
	d.yard.ServerDirs = append(d.yard.ServerDirs, d.o.ServerDirs...)
	if err := elsewhere(d.o.Fault, d.o.Server); err != nil { // before anybody installs a build for it
		return err
	}
	srv, err := d.yard.Resolve(ctx, d.o.Server)
	if err != nil {
		return err
	}
	res.Server = srv
	d.set = app.FaultsOf(srv.Flavor)
	faults := make([]fault.Fault, len(d.parts))
	for i, p := range d.parts {
		if faults[i], err = app.FaultOn(p.f.Name, srv.Flavor, srv.Version); err != nil {
			return err
		}
		d.parts[i].f, res.Parts[i].Fault = faults[i], faults[i]
	}
	if d.needs, err = d.set.Together(srv.Flavor, srv.Version, faults...); err != nil {
		return err
	}
	if d.ledger, err = d.a.Ledger(ctx); err != nil {
		return err
	}
	if d.id, err = d.ledger.NewID(ctx, ledger.ExperimentID); err != nil {
		return err
	}
	d.dir = d.a.ReportDir(d.id)
	if s := app.Orphans(ctx, d.yard, d.id+"-"); s != "" {
		d.say("%s.", s)
	}
	d.say("Starting a private %s %s, isolated from everything else on this machine.", srv.Flavor.Name(), srv.Version)
	name := "demo-" + d.id
	// A slow disk is for the load, not for the planting. A limit of the memory counts only from the start on.
	early := d.needs.Limits
	if early.Memory == 0 {
		early = limit.Limits{}
	}
	if d.box, d.t, err = d.up(ctx, name, settingsOf(d, false), early); err != nil {
		return err
	}
	res.Sandbox, d.seen = name, d.t
	if d.needs.Replica != nil {
		if err := d.replicate(ctx, name+"-replica"); err != nil {
			return err
		}
	}
	for _, p := range d.parts {
		start := time.Now()
		if err := d.t.faults.Plant(ctx, p.f, p.names, d.o.Voice.Progress()); err != nil {
			return err
		}
		d.say("Planted in %s: %s", unit.Seconds(time.Since(start).Seconds()), p.f.Story)
	}
	if d.needs.Replica != nil {
		if err := caughtUp(ctx, d); err != nil {
			return err
		}
	}
	return d.limit(ctx, res)
}

// limit puts the limits in force.
func (d *demo) limit(ctx context.Context, res *Result) (err error) {
	if !d.needs.Limits.Any() {
		return nil
	}
	if res.Limits = d.box.Limits; d.needs.Limits.Memory == 0 {
		if res.Limits, err = d.yard.Limit(ctx, d.box.Name, d.needs.Limits); err != nil {
			return err
		}
	}
	for _, l := range res.Limits {
		if l.InForce {
			d.say("The server is limited to %s %s.", l.Name, l.Wanted)
		} else {
			d.say("The limit %s %s is not in effect here: %s", l.Name, l.Wanted, l.Reason)
		}
	}
	return nil
}

// up starts a sandbox, a new one or one that was stopped, and connects.
func (d *demo) up(
	ctx context.Context, name string, settings map[string]string, l limit.Limits,
) (sandbox.Sandbox, *place, error) {
	o := d.o
	box, err := d.yard.Up(ctx, sandbox.Config{
		Name: name, Server: o.Server, Settings: settings, Limits: l,
		Owner: !o.Keep,
	}, o.Voice.Progress())
	if err != nil {
		return box, nil, err
	}
	spec := box.Spec()
	spec.Name = "sandbox:" + name
	t, err := reach(ctx, d.a, spec)
	return box, t, err
}

// loop runs the load and, while it runs, everything else.
func (d *demo) loop(ctx context.Context, res *Result) error {
	if err := (app.Reports{App: d.a}).MakeReportDir(d.dir); err != nil {
		return fmt.Errorf("make the report's folder: %w", err)
	}
	var err error
	if d.series, err = series.Open(filepath.Join(d.dir, "series")); err != nil {
		return err
	}
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	d.fail = fail
	d.root = ctx
	if d.watching, err = d.watch(ctx); err != nil {
		return err
	}
	loadStart := time.Now()
	d.say("Loading it with %d sessions; each second below is measured.", threadsOf(d.parts))
	d.playing = d.play(ctx, false)
	loopErr := d.judgeAndCure(failed, res, loadStart)
	if cause := context.Cause(failed); loopErr != nil && cause != nil && ctx.Err() == nil {
		loopErr = cause
	}
	d.playing.end()
	var watchErr error
	if d.watching != nil {
		watchErr = d.watching()
	}
	if loopErr != nil {
		return loopErr
	}
	if watchErr != nil {
		return watchErr
	}
	return errors.Join(err, d.storeErr, writeReport(ctx, d.a, d.dir, res))
}

// watch reads the figures of the server that is looked at until the function it returns is called.
func (d *demo) watch(ctx context.Context) (end func() error, err error) {
	scraper, err := d.seen.Scraper(scrape.Options{Sources: d.seen.Judged()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	name := d.seen.Spec().Name
	go func() {
		done <- scraper.Run(ctx, time.Second, func(r reading.Reading) {
			r.Target = name
			d.keep(r)
		})
	}()
	return func() error {
		cancel()
		return errors.Join(<-done, scraper.Close())
	}, nil
}

func threadsOf(parts []part) (n int) {
	for _, p := range parts {
		n += p.f.Threads
	}
	return n
}

func (d *demo) judgeAndCure(ctx context.Context, res *Result, loadStart time.Time) error {
	if err := sleep(ctx, max(demoWarm, d.needs.Warm)); err != nil {
		return err
	}
	d.say("Now the diagnosis runs from outside. It gets the address of the server and nothing else.")
	before, err := app.Diagnosing{App: d.a}.Diagnose(ctx, d.seen.Server, family.Look{Window: app.DefaultWindow})
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
	if err := saveSnapshot(d.o, before.Snapshot); err != nil {
		return err
	}
	judge(d, res, before)
	if d.o.beside != nil {
		box := d.box
		if d.seen != d.t {
			box = d.twin
		}
		err := d.o.beside(ctx, Beside{
			Server: d.seen.Server, Socket: box.Socket, Port: box.Port, Flavor: box.Server.Flavor,
			Expects: d.expectations(), Kind: d.parts[0].f.Kind,
		})
		if err != nil {
			return err
		}
	}
	if controlOf(d.parts) || !res.Found || d.o.NoCure || len(d.parts) > 1 || d.parts[0].f.Kind != fault.Hurts {
		documentOf(d, res, before, nil, nil, proof.Proof{}, trial.Result{})
		return nil
	}
	r, err := d.cure(ctx, res)
	if err != nil {
		return err
	}
	x, err := d.prove(ctx, res, r)
	if err != nil {
		return err
	}
	if !r.index {
		documentOf(d, res, before, r, nil, proof.Proof{}, x)
		return nil
	}
	d.say("One more observation of the live traffic, for the cost of each call.")
	look := family.Look{Window: 5 * time.Second}
	p, after, err := app.Actions{App: d.a}.Prove(ctx, d.seen.Server, res.Action, look)
	if err != nil {
		return err
	}
	documentOf(d, res, before, r, after, p, x)
	return nil
}

// saveSnapshot keeps what the diagnosis saw where the user wants it.
func saveSnapshot(o Options, s *snapshot.Snapshot) error {
	if o.Snapshot == "" {
		return nil
	}
	b, err := s.Encode()
	if err != nil {
		return err
	}
	if strings.HasSuffix(o.Snapshot, ".gz") {
		var z bytes.Buffer
		w, err := gzip.NewWriterLevel(&z, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(b)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return fmt.Errorf("save snapshot: %w", err)
		}
		b = z.Bytes()
	}
	err = userfile.Replace(o.Snapshot, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	return nil
}

// judge holds what was found against what was planted. Diagnosis has ended by now and never sees this.
func judge(d *demo, res *Result, g app.Diagnosis) {
	res.Findings, res.Judged = g.Findings, true
	right := grade(res.Parts, d.expectations(), g.Findings)
	res.Foreign = right.foreign
	res.Found = right.found
	res.Expected = res.Parts[0].Found
	for _, p := range res.Parts {
		switch {
		case p.Found != nil:
			d.say("Found after %s: %s", unit.Seconds(res.ToFinding.Seconds()), p.Found.Title)
			if p.Found.Action != nil {
				d.say("Suggested fix: %s", p.Found.Action.SQL)
			}
		case p.Fault.Kind == fault.Control && len(g.Findings) == 0:
			d.say("Nothing was planted and nothing was found.")
		case p.Fault.Kind == fault.Control && len(res.Parts) == 1:
			d.say("Nothing was planted, and yet there are %d findings: they are false.", len(g.Findings))
		case p.Fault.Kind != fault.Control:
			d.say("The planted cause was not found: %s. %s", p.Missed,
				report.Sentence(g.Snapshot, g.Symptoms, g.Findings))
		}
	}
}

func (d *demo) expectations() []fault.Expectation {
	list := make([]fault.Expectation, len(d.parts))
	for i, p := range d.parts {
		list[i] = p.f.Expect(p.names)
	}
	return list
}

// keep stores one scrape.
func (d *demo) keep(b reading.Reading) {
	d.buf.Add(b.Samples...)
	if err := d.series.Append(b.Samples, metric.L("target", b.Target)); err != nil {
		d.mu.Lock()
		d.storeErr = err // the demo goes on, its end says what was not kept
		d.mu.Unlock()
	}
}

// tick takes one second of a load. With the first load's it shows what all of them did in that second, and the server.
func (d *demo) tick(which int, t loadresult.Tick) {
	d.mu.Lock()
	if which > 0 {
		d.beside[which] = t
		d.mu.Unlock()
		return
	}
	length := t.Length
	all := loadresult.Merged([]loadresult.Tick{t})
	for _, u := range d.beside {
		all.Add(u)
	}
	clear(d.beside)
	all.At, all.Length = t.At, length
	all.Seq = d.second
	d.second++
	d.ticks = append(d.ticks, all)
	if d.first.IsZero() {
		d.first = time.Now()
	}
	l := Live{At: t.At.Add(length), Second: d.second, TPS: all.TPS(), P95: all.Latency().Quantile(0.95), Note: d.note}
	d.mu.Unlock()
	last := l.At.UnixMilli()
	l.CPU = cpuOf(d, last-2500, last)
	l.RowsRead = rowsRead(d, last-2500, last)
	if length >= time.Second/2 { // the stub at the end has no rate to speak of
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
func stopped(d *demo, res Result) error {
	s := "demo stopped before its end; its private server is gone"
	if d.o.Keep && res.Sandbox != "" {
		s = "demo stopped before its end; its private server is kept as sandbox:" + res.Sandbox
	}
	if d.diagnosis != "" {
		s += ", the diagnosis is kept as " + d.diagnosis
	}
	return fmt.Errorf("%s: %w", s, context.Canceled)
}

// endDemo stops what the demo started.
func endDemo(d *demo, res *Result) error {
	var errs []error
	if d.series != nil {
		errs = append(errs, d.series.Close())
	}
	if d.seen != nil && d.seen != d.t {
		errs = append(errs, d.seen.Close())
	}
	if d.t != nil {
		errs = append(errs, d.t.Close())
	}
	if res.Report == "" && d.dir != "" { // nobody would find the recording
		errs = append(errs, os.RemoveAll(d.dir))
	}
	if d.o.Keep {
		return errors.Join(errs...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, name := range []string{d.twin.Name, d.box.Name} {
		if name == "" {
			continue
		}
		if err := d.yard.Remove(ctx, name); err != nil {
			errs = append(errs, fmt.Errorf("remove the sandbox %s: %w", name, err))
		} else if name == d.box.Name {
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
