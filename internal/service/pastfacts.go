package service

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Bounds of what is looked up for a window that is over.
const (
	pastPlans = 30  // classes, those with the most time, whose plans are taken
	pastLooks = 100 // diagnoses that are gone through for settings and tables, on each side
	sameStart = 10  // seconds between two words of one server for when it started
)

// facts returns the snapshot of the stored diagnosis that is nearest to the window and of the same server, for what a
// window of stored samples lacks: settings, tables, accounts and the machine. Nil: why there is none.
//
// A name may have stood for several servers. Then the one of the window is known by when it started, and is not the one
// of a diagnosis on the other side of an event that another server answers.
func (p archive) facts(ctx context.Context, x *snapshot.Snapshot) (*snapshot.Snapshot, string, error) {
	before, after, err := p.ledger.Diagnoses.Around(ctx, x.Target.Name, x.To, pastLooks)
	all := slices.Concat(before, after)
	why := "no diagnosis of " + x.Target.Name + " is stored, which reads them"
	if err != nil || len(all) == 0 {
		return nil, why, err
	}
	away := func(d ledger.Looked) time.Duration { return d.At.Sub(x.To).Abs() }
	slices.SortStableFunc(all, func(a, b ledger.Looked) int { return cmp.Compare(away(a), away(b)) })
	restarts, err := p.ledger.Events.Newest(ctx, x.Target.Name, []string{string(event.Restart)}, time.Time{},
		time.Time{}, math.MaxInt)
	if err != nil {
		return nil, "", err
	}
	servers := map[string]bool{}
	for _, d := range all {
		if d.Server != "" {
			servers[d.Server] = true
		}
	}
	for _, d := range all {
		between := func(e event.Event) bool {
			return e.Replaces() && (e.At.After(d.At) || e.At.After(x.From)) &&
				(e.At.Before(d.At.Add(event.ReplacedLate)) || e.At.Before(x.To.Add(event.ReplacedLate)))
		}
		if i := slices.IndexFunc(restarts, between); i >= 0 {
			why = fmt.Sprintf("%s was another server at the diagnoses that are stored: %s, seen at %s", x.Target.Name,
				restarts[i].Text, local(restarts[i].At))
			continue
		}
		d, err := p.ledger.Diagnoses.Get(ctx, d.ID)
		if err != nil || d.Snapshot == nil {
			continue // forgotten meanwhile, or its data is
		}
		s, err := snapshot.Decode(d.Snapshot)
		if err != nil || s.Past != nil || len(s.Variables) == 0 { // of another version, or made of others
			continue
		}
		switch {
		case x.Target.Flavor != "" && (s.Target.Flavor != x.Target.Flavor || s.Target.Version != x.Target.Version):
			why = fmt.Sprintf("%s was another server in the diagnoses that are stored: %s %s", x.Target.Name,
				s.Target.Flavor, s.Target.Version)
		case len(servers) > 1 && startOf(s).Sub(startOf(x)).Abs() > sameStart*time.Second:
			why = x.Target.Name + " stood for several servers, and which one it was then is not known"
		default:
			return s, "", nil
		}
	}
	return nil, why, nil
}

// startOf returns when the server of a snapshot started.
func startOf(s *snapshot.Snapshot) time.Time {
	return s.To.Add(-time.Duration(s.Target.UptimeSec) * time.Second)
}

// addFacts adds what a stored diagnosis read of the server. The sources say of when that is, and what may have changed
// between it and the window.
func (p archive) addFacts(ctx context.Context, x, known *snapshot.Snapshot, why string) error {
	of := []source.Name{source.Variables, source.Tables, source.Accounts, source.HostFacts}
	if known == nil {
		for _, n := range of {
			x.Sources = append(x.Sources, source.Source{Name: n, State: source.Missing, Reason: why})
		}
		return nil
	}
	up, started := x.Target.UptimeSec, startOf(known)
	x.Past.Facts, x.Target, x.Host = known.To, known.Target, known.Host
	if x.Target.UptimeSec = up; up == 0 {
		x.Target.UptimeSec = max(0, int64(x.To.Sub(started).Seconds()))
	}
	x.Tables, x.TablesLeft, x.Accounts = known.Tables, known.TablesLeft, known.Accounts
	from, to := known.To, x.To
	when := "read at " + local(known.To) + ", before the window"
	if known.To.After(x.To) {
		from, to = x.From, known.To
		when = "read at " + local(known.To) + ", after the window"
	}
	between, err := p.ledger.Events.List(ctx, x.Target.Name, from, to)
	if err != nil {
		return err
	}
	x.Variables = settingsThen(known.Variables, x.Variables, between)
	later := started.After(x.To)
	if later {
		x.Tables = uncounted(x.Tables)
	}
	sources := known.Sources
	if known.Source(source.Variables).State == source.Missing {
		sources = append(slices.Clone(sources), source.Source{Name: source.Variables, State: source.OK})
	}
	for _, s := range sources {
		if !slices.Contains(of, s.Name) && s.Name != source.Programs {
			continue
		}
		s.Took, s.Reads = 0, 0
		switch kind := event.DDL; {
		case s.Name == source.Programs:
			s.State, s.Reason = source.Missing, "it is read only while a diagnosis observes the server"
		case s.State != source.OK:
		default:
			if s.Name == source.Variables {
				kind = event.Config
			}
			s.Reason = strings.TrimPrefix(s.Reason+"; "+when, "; ") + changed(between, kind)
			if later && s.Name == source.Tables {
				s.Reason += "; how often their indexes were used is not known, for the server was started after the " +
					"window, at " + local(started)
			}
		}
		x.Sources = append(x.Sources, s)
	}
	return nil
}

// changed says what changed between the window and the time of the facts.
func changed(between []event.Event, kind event.Kind) string {
	n, first := 0, event.Event{}
	for _, e := range between {
		if e.Kind != kind || e.Target == "" || strings.HasPrefix(e.Text, anotherPlan) {
			continue
		}
		if n++; n == 1 {
			first = e
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; changed in between, at %s: %s", local(first.At), first.Text)
	}
	return fmt.Sprintf("; changed in between %d times, first at %s: %s", n, local(first.At), first.Text)
}

// uncounted returns tables without what was counted since the server's start.
func uncounted(tables []schema.Table) []schema.Table {
	tables = slices.Clone(tables)
	for i := range tables {
		t := &tables[i]
		none := known.None[uint64]()
		t.AgeSec, t.CountedSec, t.Indexes = none, none, slices.Clone(t.Indexes)
		for j := range t.Indexes {
			t.Indexes[j].Handled = none
		}
	}
	return tables
}

// settingsThen returns the settings of a window: those that are known of another time, with the numbers that the window
// has of them. One of which it has none, and which was changed in between, is left out.
func settingsThen(settings, numbers map[string]string, between []event.Event) map[string]string {
	then := maps.Clone(settings)
	for _, e := range between {
		if name, _, _ := strings.Cut(e.Text, " "); e.Kind == event.Config && e.Target != "" {
			delete(then, name)
		}
	}
	for name, number := range numbers {
		if text, ok := settings[name]; ok {
			if text, ok = newer(text, number); ok {
				then[name] = text
			}
		}
	}
	return then
}

// newer returns the text of a setting, or number, which the window has of it, where that says otherwise. Not ok: the
// number does not tell.
func newer(text, number string) (string, bool) {
	is, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return text, false
	}
	for _, words := range [][2]string{{"OFF", "ON"}, {"NO", "YES"}, {"FALSE", "TRUE"}, {"DISABLED", "YES"}} {
		for was, word := range words {
			if strings.EqualFold(text, word) && (is == 0 || is == 1) {
				if is == float64(was) {
					return text, true
				}
				if word = words[1-was]; text == strings.ToLower(text) {
					word = strings.ToLower(word)
				}
				return word, true
			}
		}
	}
	switch was, err := strconv.ParseFloat(text, 64); {
	case err != nil:
		return text, false
	case was == is:
		return text, true
	}
	return number, true
}

// addPlans adds the plans that the classes with the most time had in the window, or, of a class that became heavy in
// it, had soon after; and the tables of these as they were when the plan was read, where a diagnosis does not know them
// better.
func (p archive) addPlans(ctx context.Context, x *snapshot.Snapshot) error {
	byTime := slices.Clone(x.Classes)
	slices.SortStableFunc(byTime, func(a, b class.Class) int { return cmp.Compare(b.TimeSec, a.TimeSec) })
	have := map[[2]string]bool{}
	later, old, oldest := 0, 0, time.Time{}
	var with []planned // those with tables
	for _, c := range byTime[:min(len(byTime), pastPlans)] {
		plans, err := p.history.Plans(ctx, x.Target.Name, c.ID)
		if err != nil {
			return err
		}
		q, after, ok := planIn(plans, c.Schema, x.From, x.To)
		if !ok || have[[2]string{c.ID, q.Schema}] {
			continue
		}
		have[[2]string{c.ID, q.Schema}] = true
		switch {
		case after:
			later++
		case q.Last.Before(x.From.Add(-2 * planOfOne)): // the class was not asked about for some turns
			if old++; oldest.IsZero() || q.Last.Before(oldest) {
				oldest = q.Last
			}
		}
		one := q.Plan
		one.Class, one.Schema = c.ID, q.Schema
		x.Plans = append(x.Plans, one)
		if len(q.Tables) > 0 {
			with = append(with, planned{q, followed(plans, q)})
		}
	}
	slices.SortStableFunc(x.Plans, func(a, b explain.Plan) int { return cmp.Compare(a.Class, b.Class) })
	src := source.Source{
		Name: source.Plans, State: source.OK, Reads: len(x.Plans), Reason: "stored up to then",
	}
	switch {
	case len(x.Plans) == 0 && len(byTime) == 0:
		src.State, src.Reason = source.Missing, "without query classes no plan is known to be of the window"
	case len(x.Plans) == 0:
		src.State, src.Reason = source.Missing, "no plan of these classes is stored from then"
	}
	if later > 0 {
		src.Reason += fmt.Sprintf("; %d of them were read within %s after the window", later, planOfOne)
	}
	if old > 0 {
		src.Reason += fmt.Sprintf("; %d of them were read last before the window, the earliest at %s", old,
			local(oldest))
	}
	x.Sources = append(x.Sources, src)
	return p.addTables(ctx, x, with)
}

// planned is a plan with when its class had another one after it; zero: it has not.
type planned struct {
	history.Plan
	until time.Time
}

// followed returns when the next plan after one was first seen.
func followed(plans []history.Plan, q history.Plan) (until time.Time) {
	for _, n := range plans {
		if n.Schema == q.Schema && n.First.After(q.First) && (until.IsZero() || n.First.Before(until)) {
			until = n.First
		}
	}
	return until
}

// addTables puts the tables that were read with plans in the place of those that a diagnosis read, where they are of a
// time that says more about the window.
func (p archive) addTables(ctx context.Context, x *snapshot.Snapshot, plans []planned) error {
	if len(plans) == 0 {
		return nil
	}
	w := tableTimes{from: x.From, to: x.To}
	first, last := x.From, x.To
	reach := func(at time.Time) {
		if at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	seen := x.Past.Facts
	if !seen.IsZero() {
		reach(seen)
	}
	for _, q := range plans {
		reach(q.TablesRead)
	}
	all, err := p.ledger.Events.List(ctx, x.Target.Name, first, last)
	if err != nil {
		return err
	}
	for _, e := range all {
		if e.Kind == event.DDL && e.Target != "" {
			w.changes = append(w.changes, e)
		}
	}
	read := map[schema.Ref]time.Time{} // of those that came with a plan
	for _, q := range plans {
		for _, t := range q.Tables {
			i := slices.IndexFunc(x.Tables, func(o schema.Table) bool { return o.Ref == t.Ref })
			was, twice := read[t.Ref]
			switch {
			case i < 0:
				x.Tables = append(x.Tables, t)
			case twice && !w.better(t.Ref, q.TablesRead, was):
				continue
			case !twice && !w.better(t.Ref, q.TablesRead, seen) && !w.after(q.until, seen):
				continue
			default:
				x.Tables[i] = t
			}
			read[t.Ref] = q.TablesRead
		}
	}
	i := slices.IndexFunc(x.Sources, func(s source.Source) bool { return s.Name == source.Tables })
	if i < 0 || len(read) == 0 {
		return nil
	}
	first, last = time.Time{}, time.Time{}
	changed := 0
	for ref, at := range read {
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
		if w.changed(ref, at) {
			changed++
		}
	}
	when := "at " + local(first)
	if local(first) != local(last) {
		when = "from " + local(first) + " to " + local(last)
	}
	s := &x.Sources[i]
	s.Reason = strings.TrimPrefix(fmt.Sprintf("%s; %d read with the plan of a class, %s", s.Reason, len(read), when),
		"; ")
	if changed > 0 {
		s.Reason += fmt.Sprintf("; %d of these were changed between then and the window", changed)
	}
	return nil
}

// tableTimes tells how much the definition of a table says about a window, by when it was read.
type tableTimes struct {
	from, to time.Time
	changes  []event.Event // of schemas
}

// better reports whether a table that was read at one time says more about the window than at another one: nothing is
// known to have changed it in between, or as much as of the other, and it is nearer.
func (w *tableTimes) better(ref schema.Ref, at, other time.Time) bool {
	if other.IsZero() {
		return true
	}
	a, b := w.changed(ref, at), w.changed(ref, other)
	return b && !a || a == b && w.away(at) <= w.away(other)
}

// after reports whether the class of a plan had another one between the window and a moment, which a change of its
// tables that no one saw explains.
func (w *tableTimes) after(until, at time.Time) bool { return until.After(w.to) && !until.After(at) }

// away returns how far a moment is from the window.
func (w *tableTimes) away(at time.Time) time.Duration {
	return max(0, w.from.Sub(at), at.Sub(w.to))
}

// changed reports whether a change of a table is known between a moment and the window.
func (w *tableTimes) changed(ref schema.Ref, at time.Time) bool {
	return slices.ContainsFunc(w.changes, func(e event.Event) bool {
		between := e.At.After(at) && e.At.Before(w.from) || e.At.After(w.to) && e.At.Before(at)
		return between && e.Names(ref.Table)
	})
}

// planIn returns the plan that a class had in a window: the last one that was first seen before its end, unless one was
// read soon after and the one before was not seen in the window.
func planIn(plans []history.Plan, schema string, from, to time.Time) (plan history.Plan, after, ok bool) {
	var next history.Plan
	for _, q := range plans {
		switch {
		case q.Schema != schema && q.Schema != "":
		case !q.First.After(to):
			if !ok || q.First.After(plan.First) {
				plan, ok = q, true
			}
		case q.First.Sub(to) <= planOfOne && (next.First.IsZero() || q.First.Before(next.First)):
			next = q
		}
	}
	if !next.First.IsZero() && (!ok || plan.Last.Before(from)) {
		return next, true, true
	}
	return plan, false, ok
}
