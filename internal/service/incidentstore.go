package service

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
	"github.com/dyno-perf/dyno/internal/store/reserve"
	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// Incidents are those of all targets: each joins the conditions and the new findings that overlap.
type Incidents struct {
	ledger  *ledger.Ledger
	history *history.History
	log     *slog.Logger
	reserve reserve.Reserve
	home    string
	trouble *throttle
	fleet   *Fleet
	// past diagnoses a window that is over from what is stored, for an incident, and returns the id of the diagnosis;
	// nil when nothing can.
	past func(ctx context.Context, target, incident string, from, to time.Time) (string, error)

	mu      sync.Mutex
	waiting map[string]incident.Incident // by id
	ended   []incident.Incident          // that are to be diagnosed
	more    chan struct{}                // something waits
	over    chan struct{}                // something ended
}

const (
	// maxWaiting is how many incidents may wait to be stored: more than targets have at a time.
	maxWaiting = 10_000
	// lastStoring bounds what is stored when the service ends.
	lastStoring = 3 * storeTime
	// mostMissed and missedFor bound the incidents that are diagnosed when the service begins, and how long ago they
	// ended: of about a day everything is stored that a diagnosis needs.
	mostMissed = 100
	missedFor  = 24 * time.Hour
	// classesLate is how long after a minute is over its query classes are stored: they are read every 5 s.
	classesLate = 10 * time.Second
)

func newIncidents(s *Service) *Incidents {
	return &Incidents{
		ledger: s.ledger, history: s.History, log: s.log, reserve: s.o.Reserve, home: s.app.Home, trouble: &s.trouble,
		waiting: map[string]incident.Incident{}, more: make(chan struct{}, 1), over: make(chan struct{}, 1),
	}
}

// signal says that there is something, to one who may not be listening yet.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// tracked is what a member knows of its incidents.
type tracked struct {
	mu      sync.Mutex
	tracker incident.Tracker
	stored  time.Time // when the one that goes on was given to be stored last
}

// resume continues with the incident that a member had when it was watched last.
func (s *Incidents) resume(ctx context.Context, m *member) {
	m.whole.tracker.Target = m.entry.Name
	all, err := s.ledger.Incidents.Newest(ctx, m.entry.Name, time.Time{}, time.Time{}, 1)
	if err != nil {
		s.trouble.say(s.log, "the incidents of "+m.entry.Name+" were not read", err)
		return
	}
	if len(all) == 1 && (all[0].Open || clock.Now().Sub(all[0].To) <= incident.Pause) {
		m.whole.tracker.Restore(all[0])
	}
}

// next follows a member's incident through one reading. It does not wait for the disk.
func (s *Incidents) next(m *member, at time.Time, level float64, held []incident.Condition) {
	t := &m.whole
	t.mu.Lock()
	defer t.mu.Unlock()
	i, step := t.tracker.Next(at, level, held)
	s.addOver(t)
	if step != incident.Same || i.Open && at.Sub(t.stored) >= noteIncidents {
		t.stored = at
		s.add(i, step == incident.Ended)
	}
}

// addOver has those stored that ended because another one began.
func (s *Incidents) addOver(t *tracked) {
	for _, i := range t.tracker.Over() {
		s.add(i, true)
	}
}

// leave stores the incident of a member that is not watched any more as it was seen last: its end is not known.
func (s *Incidents) leave(m *member) {
	m.whole.mu.Lock()
	defer m.whole.mu.Unlock()
	if i, ok := m.whole.tracker.Now(); ok {
		s.add(i, false)
	}
}

// seen is what was found on a target before a diagnosis.
type seen struct {
	any    bool // there was a diagnosis
	server string
	last   map[string]time.Time // when a finding was seen last, by id
}

// before returns what was found on a target so far.
func (s *Incidents) before(ctx context.Context, name string) (x seen) {
	ds, err := s.ledger.Diagnoses.List(ctx, name, 1)
	if err != nil || len(ds) == 0 {
		return x
	}
	all, err := s.ledger.Sightings(ctx, name)
	if err != nil {
		return x
	}
	x = seen{any: true, server: ds[0].Server, last: map[string]time.Time{}}
	for _, y := range all {
		x.last[y.Finding] = y.Last
	}
	return x
}

// judged adds what a diagnosis of now found to the incident of its time. Findings of the first diagnosis of a
// server are not new: what was before is unknown.
func (s *Incidents) judged(name string, d app.Diagnosis, x seen) {
	m := s.fleet.member(name)
	if m == nil || d.Snapshot == nil {
		return
	}
	here := d.Snapshot.Target.Server
	known := x.any && (x.server == "" || here == "" || x.server == here)
	j := incident.Judged{
		ID: d.ID, From: d.Snapshot.From, To: d.Snapshot.To, Regular: d.Incident == "", Blind: blind(d.Snapshot),
	}
	for _, f := range d.Findings {
		last, was := x.last[f.ID]
		j.Findings = append(j.Findings, incident.Finding{
			ID: f.ID, Title: state.Clip(f.Title, longestMark), Severity: f.Severity, Share: f.Share,
			New: known && (!was || d.Snapshot.To.Sub(last) > lifeWindow),
		})
	}
	t := &m.whole
	t.mu.Lock()
	defer t.mu.Unlock()
	i, step := t.tracker.Judged(j)
	s.addOver(t)
	if step != incident.Same {
		if len(i.Conditions) == 0 && i.Open && len(j.Findings) > 0 && i.Findings[0].Diagnosis == d.ID {
			s.log.Warn("New finding", "target", name, "what", i.Title, "diagnosis", d.ID)
		}
		s.add(i, false)
	}
}

// add has an incident stored soon.
func (s *Incidents) add(i incident.Incident, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.waiting[i.ID]; !ok && len(s.waiting) >= maxWaiting {
		return // it comes again while it goes on
	}
	s.waiting[i.ID] = i
	if ended && s.past != nil && len(s.ended) < maxWaiting {
		s.ended = append(s.ended, i)
		signal(s.over)
	}
	signal(s.more)
}

// storeAll stores incidents as they change, with the states of their worst seconds, until end is closed, and then what
// is left.
func (s *Incidents) storeAll(end <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var judging sync.WaitGroup
	judging.Go(func() { s.judge(ctx) })
	pause := time.NewTicker(markEvery)
	defer pause.Stop()
	for {
		select {
		case <-s.more:
			s.flush(ctx)
		case <-end:
			cancel()
			judging.Wait()
			ctx, stop := context.WithTimeout(context.Background(), lastStoring)
			s.flush(ctx)
			stop()
			return
		}
		select {
		case <-pause.C:
		case <-end:
		}
	}
}

// flush stores what waits. What cannot be stored stays.
func (s *Incidents) flush(ctx context.Context) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.waiting))
	clear(s.waiting)
	s.mu.Unlock()
	if len(all) == 0 {
		return
	}
	err := s.reserve.Check(s.home, 0)
	if err == nil {
		err = s.put(ctx, all)
	}
	if err != nil {
		s.trouble.say(s.log, "incidents were not stored; retrying", err)
		s.again(all)
		return
	}
	for k, i := range all {
		err := s.pin(ctx, i)
		if errors.Is(err, sqlitefile.ErrCorrupt) { // it stays so
			s.trouble.say(s.log, "states of incidents were not kept", err)
			continue
		}
		if err != nil { // and others would have to wait as long
			s.trouble.say(s.log, "states of incidents were not kept; retrying", err)
			s.again(all[k:])
			return
		}
	}
}

func (s *Incidents) put(ctx context.Context, all []incident.Incident) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return s.ledger.Incidents.Put(ctx, all)
}

// pin keeps the states of an incident's worst seconds.
func (s *Incidents) pin(ctx context.Context, i incident.Incident) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	seconds := make([]time.Time, len(i.Worst))
	for k, x := range i.Worst {
		seconds[k] = x.At
	}
	return history.Pin(ctx, s.history, i.Target, i.ID, seconds)
}

// again has incidents wait that could not be stored, unless they have changed since.
func (s *Incidents) again(all []incident.Incident) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range all {
		if _, newer := s.waiting[i.ID]; !newer {
			s.waiting[i.ID] = i
		}
	}
	signal(s.more)
}

// due returns the incidents that ended and are not diagnosed.
func (s *Incidents) due() []incident.Incident {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.ended
	s.ended = nil
	return all
}

// addMissed has those diagnosed that ended before the service began and are not. What ended less than a pause ago may
// go on.
func (s *Incidents) addMissed(ctx context.Context) {
	now := clock.Now()
	all, err := s.ledger.Incidents.Newest(ctx, "", now.Add(-missedFor), now, mostMissed)
	if err != nil {
		s.trouble.say(s.log, "the incidents that are not diagnosed were not read", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range all {
		if s.past != nil && !i.Open && i.Diagnosis == "" && now.Sub(i.To) > incident.Pause {
			s.ended = append(s.ended, i)
			signal(s.over)
		}
	}
}

// judge diagnoses the worst minute of each incident that ended, from what was stored, until ctx ends: one at a time,
// for each reads a lot.
func (s *Incidents) judge(ctx context.Context) {
	s.addMissed(ctx)
	for {
		select {
		case <-s.over:
		case <-ctx.Done():
			return
		}
		for _, i := range s.due() {
			if s.diagnose(ctx, i); ctx.Err() != nil {
				return
			}
		}
	}
}

// diagnose judges the worst minute of an incident, once its query classes are stored.
func (s *Incidents) diagnose(ctx context.Context, i incident.Incident) {
	defer func() {
		// What one server's data has must not end the watching of all.
		if p := recover(); p != nil {
			s.log.Error("The diagnosis of an incident failed", "target", i.Target, "incident", i.ID, "error", p,
				"stack", string(debug.Stack()))
		}
	}()
	from, to := i.WorstMinute()
	stored := to.Truncate(time.Minute).Add(time.Minute + classesLate)
	if !wait(ctx, min(stored.Sub(clock.Now()), 2*time.Minute)) { // less, unless the clock was set
		return
	}
	id, err := s.past(ctx, i.Target, i.ID, from, to)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		s.log.Info("The worst minute of an incident was not diagnosed", "target", i.Target, "incident", i.ID,
			"why", err)
		return
	}
	i.Diagnosis = id
	s.add(i, false)
	err = s.ledger.Diagnoses.Forget(ctx, i.Target, keptBackground, clock.Now().Add(-lifeWindow))
	if err != nil && ctx.Err() == nil {
		s.trouble.say(s.log, "old diagnoses of "+i.Target+" were not deleted", err)
	}
}

// Newest returns the newest n incidents of a target, or of all with target "", that reach into a time, newest first.
func (s *Incidents) Newest(ctx context.Context, target string, from, to time.Time, n int) ([]incident.Incident, error) {
	all, err := s.ledger.Incidents.Newest(ctx, target, from, to, n)
	for k := range all {
		all[k] = all[k].AsOf(clock.Now())
	}
	return all, err
}

// Since returns from when on a target is watched, as far as that is kept; none of one of which nothing is stored.
func (s *Incidents) Since(ctx context.Context, target string) (time.Time, error) {
	return history.Since(ctx, s.history, target)
}

// IncidentDetail is an incident with what is stored about it.
type IncidentDetail struct {
	incident.Incident
	// Kept are the times whose states are stored for it, in order: at most 30.
	Kept []time.Time `json:"kept"`
	// Events are those of its conditions, each with its diagnosis.
	Events []event.Event `json:"events"`
	// Diagnoses are those of its time, in short, newest first.
	Diagnoses []app.DiagnosisSummary `json:"diagnoses"`
	// Ignored are the ids of its findings that are ignored now.
	Ignored []string `json:"ignored"`
}

// mostDiagnoses bounds the diagnoses of an incident that are listed.
const mostDiagnoses = 50

// Detail returns an incident. Unknown: ledger.ErrNotFound.
func (s *Incidents) Detail(ctx context.Context, id string) (IncidentDetail, error) {
	i, err := s.ledger.Incidents.Get(ctx, id)
	if err != nil {
		return IncidentDetail{}, err
	}
	d := IncidentDetail{
		Incident: i.AsOf(clock.Now()), Events: []event.Event{}, Diagnoses: []app.DiagnosisSummary{},
		Ignored: []string{},
	}
	if d.Kept, err = history.Pinned(ctx, s.history, id); err != nil {
		return d, err
	}
	d.Kept = append([]time.Time{}, d.Kept...)
	es, err := s.ledger.Events.List(ctx, i.Target, i.From.Add(-time.Second), i.To)
	if err != nil {
		return d, err
	}
	for _, e := range es {
		if slices.ContainsFunc(i.Conditions, func(c incident.Condition) bool { return c.Kind == e.Kind }) {
			d.Events = append(d.Events, e)
		}
	}
	ds, err := s.ledger.Diagnoses.Between(ctx, i.Target, i.From, i.To.Add(incident.Pause), mostDiagnoses)
	if err != nil {
		return d, err
	}
	for _, x := range ds {
		d.Diagnoses = append(d.Diagnoses, app.SummaryOf(x))
	}
	ignored, err := s.ledger.Ignored(ctx, i.Target, clock.Now())
	for _, x := range ignored {
		if slices.ContainsFunc(i.Findings, func(f incident.Finding) bool { return f.ID == x.Finding }) {
			d.Ignored = append(d.Ignored, x.Finding)
		}
	}
	return d, err
}
