package service

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/incident"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
)

// Ongoing is a condition of an incident, such as a lock pile-up, from its begin on. Its event is stored when it begins
// and again when it ends.
type Ongoing struct {
	ID    string     `json:"id"` // of its event
	Kind  event.Kind `json:"kind"`
	Since time.Time  `json:"since"`
	Title string     `json:"title"` // "Lock pile-up"
	Text  string     `json:"text"`  // one line: the title and the worst that was seen
	// Diagnosis is the id of the one that it started, once that is done.
	Diagnosis string `json:"diagnosis,omitzero"`

	until time.Time
	open  bool
}

const (
	// noteIncidents is how often the event of an open incident is stored, with the time when it was seen last: after a
	// kill -9 that is its end.
	noteIncidents = 30 * time.Second
	// diagnoseIncidents is the shortest time between two diagnoses of a target that incidents start.
	diagnoseIncidents = time.Minute
)

// sampleOf picks from a reading what incidents are found in, by the names of the server's family.
func sampleOf(r reading.Reading, n family.Names) incident.Sample {
	x := incident.Sample{State: r.State, LimitName: n.LimitName}
	for _, p := range r.Parts {
		x.Locks = x.Locks || p.Source == source.Locks
	}
	replica := slices.ContainsFunc(r.Parts, func(p reading.Part) bool { return p.Source == source.Replication })
	for _, s := range r.Sources {
		if s.Name == source.Locks && s.State != source.OK {
			x.Locks = false
		}
		replica = replica && (s.Name != source.Replication || s.State == source.OK)
		x.Slow = x.Slow || s.Name == source.GlobalStatus && s.State == source.Slow
	}
	for i := range r.Samples {
		s := &r.Samples[i]
		switch s.Name {
		case n.Connected.Name:
			x.Connected = known.Of(s.Value)
		case n.Limit.Name:
			x.Limit = known.Of(s.Value)
		}
		if slices.ContainsFunc(n.Refused, func(ref metric.Ref) bool { return ref.Is(s) }) {
			x.Refused = known.Of(x.Refused.Or(0) + s.Value)
		}
	}
	if replica {
		x.Replica = known.Of(stopped(r.Samples))
	}
	return x
}

// stopped says which channel of a replica stands: one of its threads does not run and has an error, or only the other
// one runs. A channel that was stopped whole, without an error, is meant to stand.
func stopped(samples []metric.Sample) string {
	type channel struct{ running, known, failed int }
	of := map[string]channel{}
	what := map[string]string{}
	for _, s := range samples {
		if s.Name != "dyno_replica_running" && s.Name != "dyno_replica_error" {
			continue
		}
		name, thread := s.Labels.Get("channel"), strings.ToUpper(s.Labels.Get("thread"))
		c := of[name]
		switch {
		case s.Name == "dyno_replica_running":
			c.known++
			if s.Value != 0 {
				c.running++
			} else if what[name] == "" || thread == "SQL" {
				what[name] = fmt.Sprintf("the %s thread does not run", thread)
			}
		case s.Value != 0:
			c.failed = int(s.Value)
		}
		of[name] = c
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		c := of[name]
		if c.running == c.known || c.running == 0 && c.failed == 0 {
			continue
		}
		text := what[name]
		if name != "" {
			text = "channel " + name + ": " + text
		}
		if c.failed != 0 {
			text += fmt.Sprintf(", error %d", c.failed)
		}
		return text
	}
	return ""
}

// incidents follows a member's incidents through one reading: what begins or ends is logged and returned as an event,
// and what begins is diagnosed.
func (s *keeper) incidents(m *member, x incident.Sample) (events []event.Event) {
	name := m.entry.Name
	var held []incident.Condition
	for _, c := range m.detector.Next(x) {
		if !c.Open {
			held = append(held, c)
		}
		i := s.note(m, c, true)
		events = append(events, i.event(name))
		switch {
		case c.Open:
			s.log.Warn(c.Title, "target", name, "what", c.Text)
			if c.Kind != event.Down && c.Kind != event.Login && s.o.Judge > 0 {
				s.looks.hasten(name, i.ID, time.Now())
			}
		case c.Kind == event.Down:
			s.log.Info("Server up again", "target", name, "down_for", c.To.Sub(c.From).Round(time.Second))
		case c.Kind == event.Login && x.State.Up:
			s.log.Info("Logged in again", "target", name, "refused_for", c.To.Sub(c.From).Round(time.Second))
		default:
			s.log.Info(c.Title+" ended", "target", name, "what", c.Text)
		}
	}
	open := m.detector.Open()
	s.whole.next(m, x.State.At, m.detector.Level(), append(held, open...))
	due := x.State.At.Sub(m.noted) >= noteIncidents
	for _, c := range open {
		s.note(m, c, due)
	}
	if due || len(open) == 0 {
		m.noted = x.State.At
	}
	return events
}

// note remembers how an incident stands, and with store its event is stored.
func (s *keeper) note(m *member, c incident.Condition, store bool) Ongoing {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.incidents == nil {
		m.incidents = map[event.Kind]Ongoing{}
	}
	i := Ongoing{
		ID: fmt.Sprintf("%s-%d-%s", c.Kind, c.From.UnixMilli(), m.entry.Name), Kind: c.Kind, Since: c.From,
		Title: c.Title, Text: c.Text, until: c.To, open: c.Open,
	}
	if before := m.incidents[c.Kind]; before.ID == i.ID {
		i.Diagnosis = before.Diagnosis
	}
	m.incidents[c.Kind] = i
	if store {
		s.marks.add(i.event(m.entry.Name))
	}
	return i
}

// open returns the incidents that go on. The caller holds m.mu.
func (m *member) open() (all []Ongoing) {
	for _, i := range m.incidents {
		if i.open {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b Ongoing) int { return a.Since.Compare(b.Since) })
	return all
}

// tracked reports whether an event says once more that the server is down, of which the incident tells already.
func (m *member) tracked(e event.Event) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.incidents[event.Down]
	return ok && e.Kind == event.Down && !i.Since.After(e.Until) && !i.until.Before(e.At)
}

func (i Ongoing) event(target string) event.Event {
	return event.Event{
		ID: i.ID, At: i.Since, Until: i.until, Target: target, Kind: i.Kind,
		Text: i.Text, Ref: i.Diagnosis,
	}
}

// diagnosed keeps with an incident which diagnosis it started.
func (s *Fleet) diagnosed(target, id, diagnosis string) {
	m := s.member(target)
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for kind, i := range m.incidents {
		if i.ID == id {
			i.Diagnosis = diagnosis
			m.incidents[kind] = i
			s.marks.add(i.event(target))
		}
	}
}

// endIncidents ends the incidents of a member that is not watched any more: of what comes nothing will be known.
func (s *keeper) endIncidents(m *member) {
	for _, c := range m.detector.Open() {
		c.Open = false
		s.note(m, c, true)
	}
	s.whole.leave(m)
}
