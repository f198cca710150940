package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
)

// Incident is a time in which something was wrong with a target: all conditions and new findings that overlap or follow
// one another within Pause.
type Incident struct {
	ID     string    `json:"id"`
	Target string    `json:"target"`
	From   time.Time `json:"from"`
	// To is its end, or while it is open when it was seen last.
	To   time.Time `json:"to"`
	Open bool      `json:"open"`
	// Cut says that its end was not observed, because Dyno stopped watching.
	Cut      bool             `json:"cut,omitzero"`
	Severity finding.Severity `json:"severity"` // "critical" or "warning"
	Title    string           `json:"title"`    // one line, without a length of time
	// Conditions are those that held, one of each kind, in order of their first begin.
	Conditions []Condition `json:"conditions"`
	// Findings are those of diagnoses of this time, the worst first, at most 20.
	Findings []Finding `json:"findings"`
	// Worst are the seconds whose states are kept beyond their retention, in order of time: those around the begin, and
	// the worst ones.
	Worst []Second `json:"worst_seconds"`
	// Diagnosis is the id of the diagnosis of its worst minute from stored data; empty while there is none.
	Diagnosis string `json:"diagnosis,omitzero"`
}

// Second is one second of an incident.
type Second struct {
	At time.Time `json:"at"`
	// Level is how bad it was: 1 at the threshold of a condition, 2 at twice that; 0 where that has no measure.
	Level float64 `json:"level"`
}

// Finding is what a diagnosis found during an incident.
type Finding struct {
	ID        string           `json:"id"`
	Title     string           `json:"title"`
	Severity  finding.Severity `json:"severity"`
	Share     float64          `json:"share"`
	Diagnosis string           `json:"diagnosis"` // id of the one that saw it last
	// New says that no diagnosis of the hour before had it.
	New bool `json:"new,omitzero"`
	// Began says that the incident began with it, because no condition held when it appeared; Open that it goes on.
	Began bool      `json:"began,omitzero"`
	Open  bool      `json:"open,omitzero"`
	Last  time.Time `json:"last_seen"`
	// Until is when a later diagnosis no longer had it; only a finding that the incident began with has it.
	Until time.Time `json:"until,omitzero"`
}

// Judged is a diagnosis as incidents see it.
type Judged struct {
	ID       string
	From, To time.Time // the window that was observed
	Findings []Finding // with New set where that is known; Diagnosis, Last, Began and Open are filled in
	// Regular says that it was not started for an incident: only such a one begins an incident.
	Regular bool
	// Blind says that it could not read what findings are made from: what it did not find may still be so.
	Blind bool
}

const (
	// Pause is the longest time between two conditions of one incident.
	Pause = time.Minute
	// Standing is how long a finding keeps an incident open that it began. One that stays for longer is an open finding
	// like others.
	Standing = time.Hour

	mostFindings = 20
	// Kept seconds of an incident: lead before its begin, first from it on, and the worst of all others.
	lead, first, worst = 5, 5, 20
	// MostSeconds is how many they are at most.
	MostSeconds = lead + first + worst
)

// Tracker follows the incidents of one target. The zero value with a Target is ready.
type Tracker struct {
	Target  string
	now     *Incident
	over    []Incident               // that ended because another one began
	running map[event.Kind]time.Time // the begin of the condition that goes on
}

// Step says what a sample or a diagnosis did to an incident.
type Step int

// The steps of an incident.
const (
	Same    Step = iota // nothing that must be stored at once
	Changed             // it began, was joined by something, or something in it ended
	Ended               // it is over: nothing followed within Pause
)

// Now returns the incident that goes on or ended less than Pause ago.
func (t *Tracker) Now() (Incident, bool) {
	if t.now == nil {
		return Incident{}, false
	}
	return t.now.copy(), true
}

// Over returns, once, the incidents that are over because the one began that Next or Judged returned: those of which no
// call returns Ended.
func (t *Tracker) Over() []Incident {
	all := t.over
	t.over = nil
	return all
}

// Restore continues with an incident that was stored before Dyno was stopped. What held then is taken to have ended
// when it was seen last: a condition that still holds joins it within Pause.
func (t *Tracker) Restore(i Incident) {
	i = i.copy()
	i.Cut = i.Open
	for k := range i.Conditions {
		i.Conditions[k].Open = false
	}
	i.Open = i.goesOn()
	t.now = &i
}

// Next takes the conditions that go on at a moment, and those that ended with it, with the level of that second.
func (t *Tracker) Next(at time.Time, level float64, held []Condition) (Incident, Step) {
	step := Same
	if i := t.now; i != nil && i.Cut && at.Sub(i.To) > Pause { // nothing was watched since
		i.close(func(Finding) bool { return true }, i.To)
		i.settle(at)
	}
	if len(held) > 0 {
		step = t.join(at, level, held)
	}
	if t.now == nil {
		return Incident{}, Same
	}
	i := t.now
	was := i.Open
	if at.Sub(i.From) >= Standing {
		i.close(func(Finding) bool { return true }, at)
	}
	i.settle(at)
	switch {
	case was != i.Open:
		step = Changed
	case !i.Open && at.Sub(i.To) > Pause:
		done := i.copy()
		t.now = nil
		return done, Ended
	}
	return i.copy(), step
}

// close ends findings that keep the incident open.
func (i *Incident) close(which func(Finding) bool, at time.Time) {
	for k := range i.Findings {
		if f := &i.Findings[k]; f.Open && which(*f) {
			f.Open, f.Until = false, at
		}
	}
}

// settle decides whether an incident goes on, as of a moment, or else when it ended.
func (i *Incident) settle(at time.Time) {
	was := i.Open
	if i.Open = i.goesOn(); i.Open {
		if at.After(i.To) {
			i.Cut, i.To = false, at
		}
		return
	}
	if was {
		i.To = i.From
		for _, c := range i.Conditions {
			i.To = later(i.To, c.To)
		}
		for _, f := range i.Findings {
			i.To = later(i.To, f.Until)
		}
	}
}

// goesOn reports whether anything of an incident has not ended.
func (i *Incident) goesOn() bool {
	return slices.ContainsFunc(i.Conditions, func(c Condition) bool { return c.Open }) ||
		slices.ContainsFunc(i.Findings, func(f Finding) bool { return f.Open })
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// join adds conditions to the incident that goes on, or begins one.
func (t *Tracker) join(at time.Time, level float64, held []Condition) (step Step) {
	if t.now == nil || !t.now.Open && held[0].From.Sub(t.now.To) > Pause {
		t.begin(held[0].From)
	}
	i := t.now
	if t.running == nil {
		t.running = map[event.Kind]time.Time{}
	}
	i.Cut = false
	for _, c := range held {
		if c.From.Before(i.From) {
			i.From = c.From // its id stays
		}
		k := slices.IndexFunc(i.Conditions, func(x Condition) bool { return x.Kind == c.Kind })
		switch {
		case k < 0:
			c.Times = 1
			i.Conditions = append(i.Conditions, c)
			step = Changed
		case t.running[c.Kind].Equal(c.From):
			x := &i.Conditions[k]
			if x.Open != c.Open {
				step = Changed
			}
			if x.To, x.Open = c.To, c.Open; x.Times == 1 {
				x.Text = c.Text
			}
		default: // it began again
			x := &i.Conditions[k]
			x.Times++
			x.To, x.Open = c.To, c.Open
			x.Text = fmt.Sprintf("%s %d times: %s", c.Title, x.Times, detail(c))
			step = Changed
		}
		t.running[c.Kind] = c.From
		i.To = later(i.To, c.To)
		if c.Open {
			i.offer(Second{at, level})
		}
	}
	i.name()
	return step
}

// detail is a condition's text after its title.
func detail(c Condition) string {
	if _, what, ok := strings.Cut(c.Text, ": "); ok {
		return what
	}
	return c.Text
}

// begin makes a new incident.
func (t *Tracker) begin(from time.Time) {
	if t.now != nil {
		t.over = append(t.over, t.now.copy())
	}
	t.now = &Incident{
		ID: idOf(t.Target, from), Target: t.Target, From: from, To: from,
		Conditions: []Condition{}, Findings: []Finding{},
	}
	t.running = nil
}

// idOf is the id of the incident of a target that began then: no two begin in one second.
func idOf(target string, from time.Time) string {
	return "i-" + strconv.FormatInt(from.Unix(), 36) + "-" + target
}

// Judged adds the findings of a diagnosis to the incident of its time. A new one of severity warning or worse begins an
// incident when there is none, and keeps it open until a later diagnosis that is not blind is without it.
func (t *Tracker) Judged(d Judged) (Incident, Step) {
	fresh := func(f Finding) bool { return f.New && f.Severity.Rank() >= finding.Warning.Rank() }
	begins := d.Regular && slices.ContainsFunc(d.Findings, fresh)
	if i := t.now; i == nil || d.From.After(i.To.Add(Pause)) && !i.Open {
		if !begins {
			return Incident{}, Same // of one that has ended Next tells
		}
		t.begin(d.From)
	}
	i := t.now
	if d.To.Before(i.From) {
		return Incident{}, Same
	}
	alone := len(i.Conditions) == 0
	i.close(func(f Finding) bool {
		return !d.Blind && d.From.After(f.Last) &&
			!slices.ContainsFunc(d.Findings, func(x Finding) bool { return x.ID == f.ID })
	}, d.From)
	for _, f := range d.Findings {
		f.Diagnosis, f.Last = d.ID, d.To
		f.Began = alone && d.Regular && fresh(f)
		k := slices.IndexFunc(i.Findings, func(x Finding) bool { return x.ID == f.ID })
		if k < 0 {
			f.Open = f.Began
			i.Findings = append(i.Findings, f)
			continue
		}
		x := i.Findings[k]
		f.New, f.Began, f.Until = x.New || f.New, x.Began || f.Began, x.Until
		if f.Open = f.Began && d.To.Sub(i.From) < Standing; f.Open {
			f.Until = time.Time{}
		}
		i.Findings[k] = f
	}
	slices.SortStableFunc(i.Findings, func(a, b Finding) int {
		first := func(x, y bool) int {
			switch {
			case x == y:
				return 0
			case x:
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Severity.Rank(), a.Severity.Rank()), first(a.New, b.New),
			cmp.Compare(b.Share, a.Share))
	})
	i.Findings = i.Findings[:min(len(i.Findings), mostFindings)]
	if alone && begins && len(i.Worst) == 0 {
		for at := d.From; !at.After(d.To); at = at.Add(time.Second) {
			i.offer(Second{At: at})
		}
	}
	i.settle(d.To)
	i.name()
	return i.copy(), Changed
}

// offer counts a second among those that are kept when it is worse than another one of them, the first ones in any
// case.
func (i *Incident) offer(x Second) {
	x.At = x.At.Truncate(time.Second)
	begin := i.From.Truncate(time.Second)
	if len(i.Worst) == 0 {
		for n := -lead; n < first; n++ { // a condition is known some time after it began
			if at := begin.Add(time.Duration(n) * time.Second); at.Before(x.At) {
				i.Worst = append(i.Worst, Second{At: at})
			}
		}
	}
	k, have := slices.BinarySearchFunc(i.Worst, x, func(a, b Second) int { return a.At.Compare(b.At) })
	if have {
		i.Worst[k].Level = max(i.Worst[k].Level, x.Level)
		return
	}
	i.Worst = slices.Insert(i.Worst, k, x)
	n, low := 0, -1
	for k, y := range i.Worst {
		if y.At.Before(begin.Add(first * time.Second)) {
			continue
		}
		if n++; low < 0 || y.Level <= i.Worst[low].Level { // of equal ones the later goes
			low = k
		}
	}
	if n > worst {
		i.Worst = slices.Delete(i.Worst, low, low+1)
	}
}

// WorstMinute is the minute around the worst second, within the incident where it is longer than a minute.
func (i Incident) WorstMinute() (from, to time.Time) {
	from = i.WorstSecond().Add(-Pause / 2)
	if last := i.To.Add(-Pause); from.After(last) {
		from = last
	}
	if from.Before(i.From) {
		from = i.From
	}
	return from, from.Add(Pause)
}

// gone is how long after an open incident was seen last it is taken for one that is not watched any more: it is stored
// more often than that while it is.
const gone = 2 * time.Minute

// AsOf is a stored incident as it stands at a moment: an open one that was not seen for a while was cut off.
func (i Incident) AsOf(now time.Time) Incident {
	if i.Open && now.Sub(i.To) > gone {
		i.Open, i.Cut = false, true
	}
	return i
}

// WorstSecond is the worst second whose state is kept; its begin when none is.
func (i Incident) WorstSecond() time.Time {
	at, level := i.From, -1.0
	for _, x := range i.Worst {
		if x.Level > level && !x.At.Before(i.From.Truncate(time.Second)) {
			at, level = x.At, x.Level
		}
	}
	return at
}

// name gives an incident its title and severity.
func (i *Incident) name() {
	i.Severity, i.Title = finding.Warning, ""
	for _, c := range i.Conditions {
		if c.Kind == event.Down || c.Kind == event.Refused {
			i.Severity = finding.Critical
		}
		if i.Title == "" {
			i.Title = c.Title
		} else {
			i.Title += ", " + strings.ToLower(c.Title[:1]) + c.Title[1:]
		}
	}
	for _, f := range i.Findings {
		if f.New && f.Severity.Rank() > i.Severity.Rank() {
			i.Severity = f.Severity
		}
		if i.Title == "" && f.Began {
			i.Title = f.Title
		}
	}
}

// copy returns the incident with lists of its own.
func (i Incident) copy() Incident {
	i.Conditions, i.Findings, i.Worst = append([]Condition{}, i.Conditions...), append([]Finding{}, i.Findings...),
		append([]Second{}, i.Worst...)
	return i
}
