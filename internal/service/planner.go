package service

import (
	"context"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// How often plans are looked up: of a few classes a minute, of each one now and then.
const (
	plansEvery    = time.Minute
	planOfOne     = 10 * time.Minute
	plansAtOnce   = 5
	plansAnHour   = 12 // changed ones that become events
	plansDeadline = 20 * time.Second
	mostRefused   = 500 // classes that are looked into in vain

	heavyEvery  = 10 * time.Second // for classes that became heavy
	heavyShare  = 0.02             // of the statement time
	heavyFactor = 3                // times what a call took when the plan was asked for last
	heavyAnHour = 10               // plans of such classes
)

// anotherPlan begins the text of the event of a changed plan.
const anotherPlan = "another plan for "

// planner remembers of which classes of a target the plan was asked, and when.
type planner struct {
	last      time.Time // regular turn
	lastHeavy time.Time // turn in which plans of heavy classes were asked for
	asked     map[string]askedPlan

	heavyHour time.Time // since when heavies are counted
	heavies   int

	hour    time.Time // since when changed are counted
	changed int
}

// askedPlan is when a plan was asked for and what the class took per call then, seconds.
type askedPlan struct {
	at   time.Time
	mean float64
}

// heavy reports whether a class takes much of the window's time and more per call than when its plan was asked for, or
// was never asked for: its plan is stored before what made it so has passed.
func (p *planner) heavy(c class.Class, total float64, to time.Time) bool {
	was, asked := p.asked[c.ID+c.Schema]
	return c.Count > 0 && c.TimeSec >= heavyShare*total &&
		(!asked || c.TimeSec/float64(c.Count) >= heavyFactor*was.mean && to.Sub(was.at) >= plansEvery)
}

// tells reports whether a changed plan is to be an event: who changes plans all the time does not push out what else
// was changed.
func (p *planner) tells(at time.Time) bool {
	if at.Sub(p.hour).Abs() >= time.Hour {
		p.hour, p.changed = at, 0
	}
	p.changed++
	return p.changed <= plansAnHour
}

// choose returns the classes whose turn it is: those with most time of which there is a whole statement, of each schema
// one before a second of any. Those whose plan is not asked for anyway, by family.Planner.Explainable, take nobody's
// place.
func (p *planner) choose(w ClassWindow, explainable func(statement string) error) (due []int) {
	// Less than nothing is a clock that was set back.
	recent := func(last time.Time, every time.Duration) bool {
		since := w.To.Sub(last)
		return since >= 0 && since < every
	}
	heavyOnly := recent(p.last, plansEvery)
	if recent(p.lastHeavy, heavyEvery) && heavyOnly {
		return nil
	}
	if !recent(p.heavyHour, time.Hour) {
		p.heavyHour, p.heavies = w.To, 0
	}
	if p.asked == nil {
		p.asked = map[string]askedPlan{}
	}
	total := 0.0
	for _, c := range w.Classes {
		total += c.TimeSec
	}
	planned, others, refused, schemas := 0, 0, map[string]int{}, map[string]bool{}
	most := mostRefused // of one schema: half of all where there are others to leave some to
	if slices.ContainsFunc(w.Classes, func(c class.Class) bool { return c.Schema != w.Classes[0].Schema }) {
		most = mostRefused / 2
	}
	for _, first := range []bool{true, false} {
		for i, c := range w.Classes {
			k := c.ID + c.Schema
			if planned == plansAtOnce || others > mostRefused || refused[c.Schema] > most || c.Example == "" || first &&
				schemas[c.Schema] {
				continue
			}
			early := heavyOnly || w.To.Sub(p.asked[k].at) < planOfOne
			if early && (p.heavies >= heavyAnHour || !p.heavy(c, total, w.To)) {
				continue
			}
			p.asked[k] = askedPlan{w.To, c.TimeSec / float64(max(1, c.Count))}
			if explainable(c.Example) != nil {
				refused[c.Schema]++
				if others++; others <= plansAtOnce {
					due = append(due, i)
				}
				continue
			}
			if planned++; early {
				p.heavies++
			}
			schemas[c.Schema] = true
			due = slices.Insert(due, planned-1, i) // before those of the others
		}
	}
	if !heavyOnly {
		p.last = w.To
	}
	if !heavyOnly || len(due) > 0 {
		p.lastHeavy = w.To
	}
	for k, x := range p.asked { // classes come and go
		if w.To.Sub(x.at).Abs() > 2*planOfOne {
			delete(p.asked, k)
		}
	}
	return due
}

// defined reports whether the latest of the plans of a class is of the same shape and has its tables.
func defined(plans []history.Plan, schema string, p explain.Plan) bool {
	i := slices.IndexFunc(plans, func(q history.Plan) bool { return q.Schema == schema })
	return i >= 0 && plans[i].Hash == history.Shape(p) && len(plans[i].Tables) > 0
}

// plans keeps examples and plans of the classes whose turn it is. A plan that is another one than before becomes an
// event.
func (s *keeper) plans(ctx context.Context, m *member, t family.Server, w ClassWindow) {
	planner, ok := t.(family.Planner)
	if !ok {
		return
	}
	due := m.planner.choose(w, planner.Explainable)
	if len(due) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, plansDeadline)
	defer cancel()
	x, err := planner.Plans(ctx)
	if err != nil {
		return // the server is away, which is told elsewhere
	}
	defer x.Close()
	for _, i := range due {
		c := w.Classes[i]
		if err := s.history.PutSample(ctx, m.entry.Name, history.Sample{
			Class: c.ID, At: w.To, SQL: c.Example,
			Schema: c.Schema,
		}); err != nil {
			s.trouble.say(s.log, "an example of "+m.entry.Name+" was not stored", err)
		}
		p, err := x.Explain(ctx, c.ID, c.Schema, c.Example)
		if err != nil {
			return
		}
		var tables []schema.Table // as they are with a plan that was not seen before
		if d, ok := x.(family.Definer); ok && p.Error == "" {
			if all, err := s.history.Plans(ctx, m.entry.Name, c.ID); err == nil && !defined(all, c.Schema, p) {
				tables, _ = d.Tables(ctx, c.Schema, c.Example) // without them the plan is worth storing
			}
		}
		changed, err := s.history.PutPlan(ctx, m.entry.Name, c.Schema, w.To, p, tables...)
		if err != nil {
			s.trouble.say(s.log, "a plan of "+m.entry.Name+" was not stored", err)
		}
		if changed && m.planner.tells(w.To) {
			e := event.Event{
				At: w.To, Target: m.entry.Name, Kind: event.Config,
				Text: anotherPlan + c.Fingerprint, Ref: c.ID,
			}
			s.marks.mark(&e, i)
		}
	}
}
