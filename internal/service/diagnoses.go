package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/collector"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/report"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/task"
)

// Diagnoses are what was judged of targets: findings, and the looks that found them.
type Diagnoses struct {
	app     app.Diagnosing
	ledger  *ledger.Ledger
	log     *slog.Logger
	o       *Options
	tasks   *task.List
	fleet   *Fleet
	looks   *looks
	whole   *Incidents
	trouble *throttle
	past    archive
}

// DiagnosisDetail is a diagnosis with all that was thought about it.
type DiagnosisDetail struct {
	app.DiagnosisSummary
	Server   string            `json:"server"`   // "mariadb 10.11.19"
	Sentence string            `json:"sentence"` // the outcome in one line
	From     time.Time         `json:"from"`     // the window
	To       time.Time         `json:"to"`
	Findings []finding.Finding `json:"findings"` // worst first, as they were reported then
	// Facts are advice that nothing measured suffers from yet. They are no findings.
	Facts    []finding.Finding `json:"facts"`
	Symptoms []finding.Symptom `json:"symptoms"`
	// Reasoning is the way from what was seen to what was found.
	Reasoning []report.Node `json:"reasoning"`
	Time      TimeModel     `json:"time"`
	// Classes are those that findings are about, by id.
	Classes map[string]class.Class `json:"classes"`
	Sources []source.Source        `json:"sources"` // that were unavailable, or in part
	Looked  int                    `json:"sources_looked_at"`
	// Past says, of a diagnosis of stored data, what differs from one that observed its window; empty for others.
	Past []string `json:"past,omitempty"`
	// Trigger is the incident that it was started for. The window begins after the incident did, and may begin after
	// its end.
	Trigger *event.Event `json:"trigger,omitempty"`
}

// TimeModel says where the window's time went. What was not observed is unknown.
type TimeModel struct {
	Seconds   float64      `json:"seconds"`           // length of the window
	Statement float64      `json:"statement_seconds"` // wall-clock time of all statements
	Parts     []TimePart   `json:"parts"`             // the classes with the most time, and one for the rest
	Figures   []TimeFigure `json:"figures"`
}

// TimePart is what one class took of the statement time.
type TimePart struct {
	Class   string  `json:"class,omitzero"` // id; empty for the rest
	Text    string  `json:"text"`
	Seconds float64 `json:"seconds"`
	Share   float64 `json:"share"` // of the statement time, 0 to 1
	Count   uint64  `json:"count"`
}

// TimeFigure is a figure of the whole server over the window, with what it can be at most where that is known.
type TimeFigure struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	Value *float64 `json:"value,omitempty"`
	Limit *float64 `json:"limit,omitempty"`
	Why   string   `json:"why,omitzero"` // why it is unknown
}

// Bounds of background judging.
const (
	// keptBackground is how many looks that nobody asked for are kept of each target, beside those of the last hour;
	// and as many that incidents started.
	keptBackground = 12
	// looksAtOnce bounds how many targets are looked at at a time.
	looksAtOnce = 2
	// seenLately is how old what a watcher read may be for a diagnosis that can read nothing itself.
	seenLately = 10 * time.Second
	// retryLook is the pause after a look that failed.
	retryLook = time.Minute
)

// timeParts is how many classes the time model names.
const timeParts = 8

// Diagnose looks at a target for a window, as `dyno diagnose` does, in a task whose result is the id of the diagnosis.
// Without a window it judges what the target's watcher read last, up to a minute and a half; a target that is not
// watched, or not for long enough, is observed for app.DefaultWindow.
func (s *Diagnoses) Diagnose(ctx context.Context, name, by string, o family.Look) (task.Task, error) {
	login := s.fleet.login(name)
	if _, err := s.app.Locate(ctx, name, &login); err != nil {
		return task.Task{}, err
	}
	title := "Diagnose " + name
	if o.Window > 0 {
		title = fmt.Sprintf("Observe %s for %g s", name, o.Window.Seconds())
	}
	return s.tasks.Start(task.Task{Kind: "diagnose", Title: title, Target: name, By: by},
		func(ctx context.Context, sink progress.Sink, _ func(string)) (string, error) {
			o.Progress = sink
			before := s.whole.before(ctx, name)
			d, err := s.look(ctx, name, o, app.Diagnosis{By: by})
			if err == nil {
				s.whole.judged(name, d, before)
			}
			return d.ID, err
		})
}

// look takes a snapshot, judges it and keeps both.
func (s *Diagnoses) look(ctx context.Context, name string, o family.Look, d app.Diagnosis) (app.Diagnosis, error) {
	octx, cancel := context.WithTimeout(ctx, collector.OpenTime)
	t, err := s.fleet.open(octx, name)
	cancel()
	if app.KindOf(err) == endpoint.TooManyConnections {
		if d.Snapshot = s.lastSeen(name, err); d.Snapshot != nil {
			d.Judge()
			return s.app.KeepNew(ctx, d)
		}
	}
	if err != nil {
		return d, err
	}
	defer t.Close()
	looker, err := family.Need[family.Looker](t, "diagnose")
	if err != nil {
		return d, err
	}
	o.Home = s.app.Home
	if m := s.looks.memories[t.Family()]; m != nil {
		o.Memory = m.Of(name)
	}
	switch {
	case d.Incident != "":
		d.Snapshot, err = s.listened(ctx, name, t, o)
	case o.Window == 0:
		d.Snapshot, err = s.lastMinute(ctx, name, t, o)
	}
	if err == nil && d.Snapshot == nil {
		o.Window = cmp.Or(o.Window, app.DefaultWindow)
		d.Snapshot, err = looker.Look(ctx, o)
	}
	if err != nil {
		return d, err
	}
	d.Judge()
	return s.app.KeepNew(ctx, d)
}

// ofIncident judges a window of an incident from what is stored, and returns the id of the diagnosis.
func (s *Diagnoses) ofIncident(ctx context.Context, target, incident string, from, to time.Time) (string, error) {
	x, err := s.past.snapshot(ctx, target, from, to)
	if err != nil {
		return "", err
	}
	d := app.Diagnosis{Background: true, Incident: incident, Snapshot: x}
	d.Judge()
	d, err = s.app.KeepNew(ctx, d)
	return d.ID, err
}

// lastSeen is a snapshot of what the watcher of a target, which still has its connections, read last; nil when that is
// not of now. A diagnosis needs more of them than a server has that turns clients away, and then is wanted most.
func (s *Diagnoses) lastSeen(name string, why error) *snapshot.Snapshot {
	m := s.fleet.member(name)
	if m == nil {
		return nil
	}
	samples := m.newest()
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.state == nil || !m.state.Up || clock.Now().Sub(m.state.At) > seenLately {
		return nil
	}
	flavor, version, _ := strings.Cut(m.state.Server, " ")
	x := &snapshot.Snapshot{
		Format: snapshot.Format, From: m.state.At.Add(-s.fleet.Every()), To: m.state.At, Variables: map[string]string{},
		Target:  snapshot.Target{Name: name, Server: m.server, Flavor: dbms.Flavor(flavor), Version: version},
		Sources: slices.Clone(m.sources), Moments: []state.State{*m.state},
	}
	for _, n := range []source.Name{source.Digests, source.Plans, source.Tables} {
		x.Sources = append(x.Sources, source.Source{Name: n, State: source.Failed, Reason: why.Error()})
	}
	settings := app.FiguresOf(x.Target.Flavor).Names().Settings
	for _, y := range samples {
		if math.IsNaN(y.Value) || math.IsInf(y.Value, 0) {
			continue
		}
		if n, ok := strings.CutPrefix(y.Name, settings); ok && settings != "" && len(y.Labels) == 0 {
			x.Variables[n] = strconv.FormatFloat(y.Value, 'f', -1, 64)
			continue
		}
		x.Series = append(x.Series, metric.Series{
			Name: y.Name, Labels: y.Labels, Kind: y.Kind, Points: []metric.Point{{At: y.At, Value: y.Value}},
		})
	}
	snapshot.Bound(x, 0)
	return x
}

// Detail returns a stored diagnosis with its reasoning. Unknown: ledger.ErrNotFound.
func (s *Diagnoses) Detail(ctx context.Context, id string) (DiagnosisDetail, error) {
	d, err := s.ledger.Diagnoses.Get(ctx, id)
	if err != nil {
		return DiagnosisDetail{}, err
	}
	j := DiagnosisDetail{
		DiagnosisSummary: app.SummaryOf(d), Findings: d.Findings, Facts: append([]finding.Finding{}, d.Facts...),
		Symptoms: []finding.Symptom{}, Classes: map[string]class.Class{}, Sources: []source.Source{},
	}
	if j.Findings == nil {
		j.Findings = []finding.Finding{}
	}
	if j.Trigger, err = s.trigger(ctx, d.Target, d.Incident, d.At); err != nil {
		return j, err
	}
	if d.Snapshot == nil {
		j.To, j.Sentence = d.At, "The data of this diagnosis is no longer stored: later diagnoses needed its space."
		return j, nil
	}
	x, err := snapshot.Decode(d.Snapshot)
	if err != nil {
		return j, fmt.Errorf("read diagnosis %s: %w", id, err)
	}
	symptoms, _ := app.Findings(x)
	j.Symptoms = append(j.Symptoms, symptoms...)
	j.Server, j.From, j.To = string(x.Target.Flavor)+" "+x.Target.Version, x.From, x.To
	j.Past = report.PastNotes(x)
	if x.Past != nil {
		j.Past = slices.Insert(j.Past, 0, "diagnosed at "+x.Past.Judged.Format(time.DateTime)+" UTC")
	}
	j.Sentence = app.Sentence(x, symptoms, d.Findings, d.Advice...)
	j.Reasoning = report.Reasoning(x, symptoms, d.Findings)
	j.Time = timeModel(x)
	for _, f := range d.Findings {
		for _, id := range f.Subject.Classes {
			if c, ok := about(x, f, id); ok {
				j.Classes[id] = c
			}
		}
	}
	j.Looked = len(x.Sources)
	for _, src := range x.Sources {
		if src.State != source.OK {
			j.Sources = append(j.Sources, src)
		}
	}
	return j, nil
}

// startedWithin is the longest time from the end of an incident to the end of the diagnosis that it started.
const startedWithin = time.Hour

// trigger returns the event of the incident that a diagnosis was started for; nil for none, and when it is not kept any
// more.
func (s *Diagnoses) trigger(ctx context.Context, target, id string, at time.Time) (*event.Event, error) {
	if id == "" {
		return nil, nil
	}
	es, err := s.ledger.Events.List(ctx, target, at.Add(-startedWithin), at)
	if i := slices.IndexFunc(es, func(e event.Event) bool { return e.ID == id }); i >= 0 {
		return &es[i], err
	}
	return nil, err
}

// about returns the class with the id that a finding is about: one statement may run in several databases, and a
// finding names its tables.
func about(x *snapshot.Snapshot, f finding.Finding, id string) (class.Class, bool) {
	for _, t := range f.Subject.Tables {
		if c, ok := x.ClassIn(t.Schema, id); ok {
			return c, true
		}
	}
	return x.Class(id)
}

// Summaries returns the diagnoses that are kept of a target, newest first, at most n. With target "" it returns one of
// each target: its newest, with the findings that are open now. Those of another server, which the target's name stood
// for before, and advice are left out.
func (s *Diagnoses) Summaries(ctx context.Context, name string, n int) ([]app.DiagnosisSummary, error) {
	if name != "" {
		return s.summariesOf(ctx, name, n)
	}
	newest, err := s.ledger.Diagnoses.Newest(ctx)
	if err != nil {
		return nil, err
	}
	lives, err := s.lives(ctx, "")
	if err != nil {
		return nil, err
	}
	out := make([]app.DiagnosisSummary, 0, len(newest))
	for t, id := range newest {
		if _, watched := s.fleet.Find(t); !watched {
			continue
		}
		v, ok := s.looks.known(id)
		if !ok {
			d, err := s.ledger.Diagnoses.Get(ctx, id)
			if errors.Is(err, ledger.ErrNotFound) { // forgotten meanwhile
				continue
			}
			if err != nil {
				return nil, err
			}
			v = app.SummaryOf(d)
			s.looks.remember(v)
		}
		if !s.about(v) {
			older, err := s.summariesOf(ctx, t, 1)
			if err != nil {
				return nil, err
			}
			for _, v := range older {
				out = append(out, lives.open(v))
			}
			continue
		}
		out = append(out, lives.open(v))
	}
	slices.SortFunc(out, func(a, b app.DiagnosisSummary) int { return cmp.Compare(a.Target, b.Target) })
	return out, nil
}

// summariesOf returns those of one target.
func (s *Diagnoses) summariesOf(ctx context.Context, name string, n int) ([]app.DiagnosisSummary, error) {
	most := n
	for {
		ds, err := s.ledger.Diagnoses.List(ctx, name, most)
		if err != nil {
			return nil, err
		}
		out := []app.DiagnosisSummary{}
		for _, d := range ds {
			if v := app.SummaryOf(d); s.about(v) && len(v.Advice) == 0 && (n == 0 || len(out) < n) {
				out = append(out, v)
			}
		}
		if n == 0 || len(out) == n || len(ds) < most {
			return out, nil
		}
		most *= 8 // some are of another server
	}
}

// about reports whether a diagnosis is one of the server that its target's name stands for, as far as that is known.
func (s *Diagnoses) about(v app.DiagnosisSummary) bool {
	now := s.fleet.serverOf(v.Target)
	return v.ServerID == "" || now == "" || v.ServerID == now
}

// JudgedEvery is the time between two looks that nobody asks for; 0: there are none.
func (s *Diagnoses) JudgedEvery() time.Duration { return s.o.Judge }

// timeModel works out where the window's time went.
func timeModel(s *snapshot.Snapshot) TimeModel {
	m := TimeModel{Seconds: s.Seconds(), Statement: s.TotalTime(), Parts: []TimePart{}}
	rest := TimePart{Text: "all other classes", Seconds: s.Rest.TimeSec}
	cs := slices.Clone(s.Classes)
	slices.SortStableFunc(cs, func(a, b class.Class) int { return cmp.Compare(b.TimeSec, a.TimeSec) })
	for i, c := range cs {
		if i < timeParts {
			m.Parts = append(m.Parts, TimePart{Class: c.ID, Text: c.Fingerprint, Seconds: c.TimeSec, Count: c.Count})
			continue
		}
		rest.Seconds += c.TimeSec
		rest.Count += c.Count
	}
	if rest.Count > 0 || rest.Seconds > 0 {
		m.Parts = append(m.Parts, rest)
	}
	for i := range m.Parts {
		if m.Statement > 0 {
			m.Parts[i].Share = m.Parts[i].Seconds / m.Statement
		}
	}
	figure := func(name, unit, why string, value float64, ok bool) TimeFigure {
		f := TimeFigure{Name: name, Unit: unit}
		if ok {
			f.Value = &value
		} else {
			f.Why = why
		}
		return f
	}
	const remote = "the server's process is not visible from here"
	user, ok1 := s.Rate("dyno_server_cpu_seconds_total", metric.Label{Name: "mode", Value: "user"}).Get()
	system, ok2 := s.Rate("dyno_server_cpu_seconds_total", metric.Label{Name: "mode", Value: "system"}).Get()
	cpu := figure("server's CPU", "cores", remote, user+system, ok1 && ok2)
	if n, ok := s.Host.CPUs.Get(); ok {
		cpu.Limit = &n
	}
	wait, ok3 := s.Rate("node_cpu_seconds_total", metric.Label{Name: "mode", Value: "iowait"}).Get()
	io := figure("machine waiting for its disks", "cores", remote, wait, ok3)
	io.Limit = cpu.Limit
	secs := m.Seconds
	names := app.FiguresOf(s.Target.Flavor).Names()
	lock, ok4 := s.Rate(names.RowLockTime.Name).Get()
	questions, ok5 := s.Rate(names.Statements.Name).Get()
	why, noLock := "the server's counters were not read", "the server's counters were not read"
	if names.RowLockTime == (metric.Ref{}) {
		noLock = s.Target.Flavor.Name() + " does not count it"
	}
	if names.Statements == (metric.Ref{}) {
		questions = 0
		for _, c := range s.Classes { // they count exactly, and Dyno's own statements are not among them
			questions += float64(c.Count) / max(secs, 1e-9)
		}
		ok5 = len(s.Classes) > 0 && s.Rest.Classes == 0 && secs > 0
		why = "not all classes were observed"
	}
	m.Figures = []TimeFigure{
		figure("active statements", "sessions", "no statement was observed", m.Statement/max(secs, 1e-9),
			len(s.Classes) > 0 && secs > 0),
		cpu, io,
		figure("waiting for row locks", "sessions", noLock, lock/1000, ok4),
		figure("statements", "/s", why, questions, ok5),
	}
	return m
}

// looks is what a service remembers of its looks.
type looks struct {
	mu    sync.Mutex
	short map[string]app.DiagnosisSummary // by target, its newest
	due   map[string]time.Time            // by target
	at    map[string]bool                 // those looked at now; false when another server has taken the name since
	why   map[string]string               // by target, the incident that the next look is for
	rush  map[string]bool                 // those looked at now because of an incident
	by    map[string]time.Time            // by target, when an incident asked for a look last

	memories map[family.Family]family.Memories // of the families that keep something
}

func newMemories() map[family.Family]family.Memories {
	all := map[family.Family]family.Memories{}
	for _, f := range app.Families() {
		if r, ok := f.(family.Rememberer); ok {
			all[f] = r.NewMemories()
		}
	}
	return all
}

func (l *looks) known(id string) (app.DiagnosisSummary, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, v := range l.short {
		if v.ID == id {
			return v, true
		}
	}
	return app.DiagnosisSummary{}, false
}

func (l *looks) remember(v app.DiagnosisSummary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.short == nil {
		l.short = map[string]app.DiagnosisSummary{}
	}
	l.short[v.Target] = v
}

// isDue reports whether a target's next look is due and not under way.
func (l *looks) isDue(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, looked := l.at[name]
	return !looked && !l.due[name].After(now)
}

// next picks a target that is due among those that are up, the longest overdue first, and marks it as being looked at.
// It also returns the incident that the look is for, if there is one: those come first, but one place is for others
// while there are any, for a server can have incidents all the time.
func (l *looks) next(up []string, now time.Time) (name, incident string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due == nil {
		l.due, l.at, l.rush = map[string]time.Time{}, map[string]bool{}, map[string]bool{}
	}
	best := ""
	full := len(l.rush) >= looksAtOnce-1
	for _, name := range up {
		if _, looked := l.at[name]; looked || l.due[name].After(now) {
			continue
		}
		later := full && l.why[name] != ""
		switch was := full && l.why[best] != ""; {
		case best == "", was && !later, was == later && l.due[name].Before(l.due[best]):
			best = name
		}
	}
	if best == "" || len(l.at) >= looksAtOnce {
		return "", "", false
	}
	l.at[best] = true
	if incident = l.why[best]; incident != "" {
		l.rush[best] = true
	}
	delete(l.why, best)
	return best, incident, true
}

// hasten makes the next look at a target due because of an incident, once in diagnoseIncidents.
func (l *looks) hasten(name, incident string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why, l.by = map[string]string{}, map[string]time.Time{}
	}
	if _, looked := l.at[name]; looked || now.Sub(l.by[name]) < diagnoseIncidents {
		return
	}
	delete(l.due, name)
	l.why[name], l.by[name] = incident, now
}

func (l *looks) done(name string, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.at[name] {
		l.due[name] = next
	}
	delete(l.at, name)
	delete(l.rush, name)
}

// renew makes the next look at a target due: its name stands for another server, or for one that was not watched
// before. Those that wait longer come first, for a server can call itself another one all the time.
func (l *looks) renew(name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, was := l.due[name]
	_, looked := l.at[name]
	if looked {
		l.at[name] = false
	}
	if was || looked {
		l.due[name] = now
	}
}

// judgeAll looks at every target that is up, now and then every so often, until ctx ends. It only reads, and leaves a
// target alone while a task changes it: a look at that would tell of the change, not of the server's work. While an
// experiment measures on this machine it leaves all servers of the machine alone, for the looks would be measured, too.
func (s *Diagnoses) judgeAll(ctx context.Context, every time.Duration) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		var all, up []string
		for _, m := range s.fleet.All() {
			all = append(all, m.Entry.Name)
			if m.State != nil && m.State.Up && s.looks.isDue(m.Entry.Name, time.Now()) && s.mayLook(ctx, m.Entry) {
				up = append(up, m.Entry.Name)
			}
		}
		for _, m := range s.looks.memories {
			m.Keep(all)
		}
		for {
			name, incident, ok := s.looks.next(up, time.Now())
			if !ok {
				break
			}
			running.Go(func() {
				next := every
				if err := s.judgeOne(ctx, name, incident); err != nil {
					if next = min(every, retryLook); ctx.Err() == nil && app.KindOf(err) != endpoint.Gone {
						// of that its watcher tells
						s.trouble.say(s.log, name+" was not diagnosed; retrying", err)
					}
				}
				s.looks.done(name, time.Now().Add(next))
			})
		}
		if !wait(ctx, 2*time.Second) {
			return
		}
	}
}

func (s *Diagnoses) judgeOne(ctx context.Context, name, incident string) (err error) {
	defer func() {
		// What one server answers must not end the watching of all.
		if p := recover(); p != nil {
			err = fmt.Errorf("the diagnosis failed: %v\n%s", p, debug.Stack())
		}
	}()
	if err := s.o.Reserve.Check(s.app.Home, 0); err != nil {
		return err
	}
	before := s.whole.before(ctx, name)
	o := family.Look{}
	if incident != "" {
		o.Window = app.DefaultWindow
	}
	d, err := s.look(ctx, name, o, app.Diagnosis{Background: true, Incident: incident})
	if err != nil {
		return err
	}
	s.whole.judged(name, d, before)
	if incident != "" {
		s.fleet.diagnosed(name, incident, d.ID)
	}
	s.log.Debug("judged", "target", name, "findings", len(d.Findings))
	return s.ledger.Diagnoses.Forget(ctx, name, keptBackground, d.Snapshot.To.Add(-lifeWindow))
}

// mayLook reports whether no task would disturb a look at a target, or be disturbed by it.
func (s *Diagnoses) mayLook(ctx context.Context, e ledger.Target) bool {
	if s.tasks.Changes(e.Name) {
		return false
	}
	if !s.tasks.Changes("") && (app.Stores{App: s.app.App}).Experimenting() == "" {
		// a task without a target works on this machine
		return true
	}
	url := e.URL
	if url == "" { // it was named when the service was started
		spec, err := s.app.Locate(ctx, e.Name, &app.Login{})
		if err != nil {
			return false
		}
		url = spec.URL()
	}
	return !app.OnThisMachine(e.Name, url)
}
