package incident

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/state"
)

// follow gives samples to a detector and what that finds to a tracker, a second each from n on, and returns the
// incidents that ended.
func follow(d *Detector, t *Tracker, n int, samples ...Sample) (ended []Incident) {
	for i, s := range samples {
		s.State.At = start.Add(time.Duration(n+i) * time.Second)
		held := slices.DeleteFunc(d.Next(s), func(c Condition) bool { return c.Open })
		if i, step := t.Next(s.State.At, d.Level(), append(held, d.Open()...)); step == Ended {
			ended = append(ended, i)
		}
	}
	return ended
}

// busyPile is a pile-up of n sessions on a machine on which so many more run than it has CPUs for.
func busyPile(n int, running float64) Sample {
	s := up(n, 3)
	s.State.Vitals = []state.Vital{{Name: state.Running, Value: running + float64(n)}, {Name: state.HostCPUs, Value: 8}}
	return s
}

func repeat(n int, f func() Sample) []Sample { return times(n, f) }

// TestTracker: what overlaps or follows within a pause is one incident, with the seconds that were its worst.
func TestTracker(t *testing.T) {
	quiet := func() Sample { return busyPile(0, 1) }
	pile := func() Sample { return busyPile(6, 1) }
	var d Detector
	x := Tracker{Target: "shop"}
	ended := follow(&d, &x, 0, slices.Concat(
		repeat(10, quiet), repeat(20, pile), repeat(30, func() Sample { return busyPile(6, 40) }),
		repeat(3, func() Sample { return busyPile(60, 90) }), // its worst
		repeat(20, quiet), repeat(5, pile), // it flaps
		repeat(100, quiet), repeat(5, pile), repeat(80, quiet))...)
	if len(ended) != 2 {
		t.Fatalf("%d incidents: %+v", len(ended), ended)
	}
	i := ended[0]
	var kinds []string
	for _, c := range i.Conditions {
		kinds = append(kinds, fmt.Sprint(c.Kind, c.Times, c.Open))
	}
	if got := fmt.Sprint(kinds); got != "[locks2 false saturation1 false]" ||
		i.Title != "Lock pile-up, server saturated" || i.Severity != finding.Warning || i.Open || i.Cut ||
		!i.From.Equal(start.Add(10*time.Second)) || !i.To.Equal(start.Add(88*time.Second)) {
		t.Errorf("%s: %+v", got, i)
	}
	has := func(sec int) bool {
		at := start.Add(time.Duration(sec) * time.Second)
		return slices.ContainsFunc(i.Worst, func(x Second) bool { return x.At.Equal(at) })
	}
	if len(i.Worst) > MostSeconds || !has(5) || !has(10) || !has(14) || !has(60) || !has(61) || !has(62) || has(45) {
		t.Errorf("worst seconds: %v", i.Worst)
	}
	if from, to := i.WorstMinute(); from.After(start.Add(60*time.Second)) || to.Before(start.Add(62*time.Second)) {
		t.Errorf("worst minute: %v to %v", from, to)
	}
	if ended[1].ID == i.ID || !strings.HasSuffix(i.ID, "-shop") || len(ended[1].Conditions) != 1 {
		t.Errorf("the second: %+v", ended[1])
	}
}

// TestTrackerRestored: an incident that is stored while it goes on is the same one after a restart, and one whose
// condition has ended meanwhile says that its end was not observed.
func TestTrackerRestored(t *testing.T) {
	pile := func() Sample { return busyPile(6, 1) }
	kept := func() Incident {
		var d Detector
		x := Tracker{Target: "shop"}
		follow(&d, &x, 0, repeat(10, pile)...)
		i, ok := x.Now()
		var again Incident
		raw, err := json.Marshal(i)
		if err == nil {
			err = json.Unmarshal(raw, &again)
		}
		if !ok || !i.Open || err != nil {
			t.Fatalf("%+v %v", i, err)
		}
		return again
	}
	i := kept()
	goesOn := Tracker{Target: "shop"}
	goesOn.Restore(i)
	var d Detector
	ended := follow(&d, &goesOn, 30, append(repeat(5, pile), repeat(80, func() Sample { return up(0, 0) })...)...)
	if len(ended) != 1 || ended[0].ID != i.ID || ended[0].Cut ||
		!ended[0].To.Equal(start.Add(35*time.Second)) || len(ended[0].Worst) > MostSeconds {
		t.Errorf("goes on: %+v", ended)
	}
	over := Tracker{Target: "shop"}
	over.Restore(i)
	d = Detector{}
	ended = follow(&d, &over, 600, repeat(2, func() Sample { return up(0, 0) })...)
	if len(ended) != 1 || ended[0].ID != i.ID || !ended[0].Cut || !ended[0].To.Equal(i.To) {
		t.Errorf("over: %+v", ended)
	}
}

// TestTrackerJudged: a new finding begins an incident, a later diagnosis without it ends it; one that was there before
// begins none, and one of a diagnosis during an incident belongs to it.
func TestTrackerJudged(t *testing.T) {
	at := func(sec int) time.Time { return start.Add(time.Duration(sec) * time.Second) }
	look := func(sec int, regular bool, fs ...Finding) Judged {
		return Judged{ID: fmt.Sprintf("d-%d", sec), From: at(sec - 10), To: at(sec), Findings: fs, Regular: regular}
	}
	missing := Finding{ID: "index-add-1", Title: "Add an index", Severity: finding.Critical, New: true}
	old, small := missing, missing
	old.New, small.Severity = false, finding.Notice

	var d Detector
	x := Tracker{Target: "shop"}
	quiet := func(from, n int) []Incident {
		return follow(&d, &x, from, repeat(n, func() Sample { return up(0, 0) })...)
	}
	quiet(0, 20)
	for _, f := range []Finding{old, small} {
		if _, step := x.Judged(look(10, true, f)); step != Same {
			t.Errorf("%+v begins an incident", f)
		}
	}
	if _, step := x.Judged(look(10, false, missing)); step != Same {
		t.Error("a diagnosis for an incident begins another one")
	}
	i, step := x.Judged(look(20, true, missing, old))
	if step != Changed || !i.Open || i.Title != "Add an index" || i.Severity != finding.Critical ||
		!i.From.Equal(at(10)) || i.Findings[0].Diagnosis != "d-20" || len(i.Findings) != 1 || len(i.Worst) == 0 {
		t.Errorf("%v %+v", step, i)
	}
	if ended := quiet(21, 580); len(ended) > 0 {
		t.Errorf("it ended: %+v", ended)
	}
	if i, _ := x.Judged(look(600, true, old)); !i.Open || !i.To.Equal(at(600)) {
		t.Errorf("seen again: %+v", i)
	}
	refused := look(900, true) // it could read nothing
	refused.Blind = true
	if i, _ := x.Judged(refused); !i.Open || !i.Findings[0].Until.IsZero() {
		t.Errorf("a diagnosis that saw nothing: %+v", i)
	}
	if i, _ = x.Judged(look(1200, true)); i.Open || !i.To.Equal(at(1190)) {
		t.Errorf("not seen any more: %+v", i)
	}
	if ended := quiet(1201, 60); len(ended) != 1 || !ended[0].To.Equal(at(1190)) {
		t.Errorf("%+v", ended)
	}

	// One that stays is no incident for ever.
	x.Judged(look(1300, true, missing))
	ended := quiet(1301, int(Standing.Seconds())+200)
	if len(ended) != 1 || ended[0].To.Sub(ended[0].From) > Standing {
		t.Errorf("%+v", ended)
	}

	// A finding of an incident's own diagnosis does not keep it open.
	follow(&d, &x, 9000, repeat(15, func() Sample { return busyPile(6, 1) })...)
	if i, _ := x.Judged(look(9014, false, missing)); len(i.Findings) != 1 || i.Findings[0].Open ||
		i.Conditions[0].Kind != event.Locks {
		t.Errorf("%+v", i)
	}
	if ended := quiet(9015, 80); len(ended) != 1 || !ended[0].To.Equal(at(9015)) || len(ended[0].Findings) != 1 {
		t.Errorf("%+v", ended)
	}
}

// TestTrackerOver: an incident that nothing told of before another one begins is over all the same, with that.
func TestTrackerOver(t *testing.T) {
	at := func(sec int) time.Time { return start.Add(time.Duration(sec) * time.Second) }
	pile := func(from, to int, open bool) []Condition {
		return []Condition{{Kind: event.Locks, From: at(from), To: at(to), Open: open, Title: "Lock pile-up"}}
	}
	x := Tracker{Target: "shop"}
	over := func(want ...string) {
		t.Helper()
		var got []string
		for _, i := range x.Over() {
			if got = append(got, i.ID); i.Open {
				t.Errorf("%+v is open", i)
			}
		}
		if !slices.Equal(got, want) || len(x.Over()) > 0 {
			t.Errorf("over are %v, want %v", got, want)
		}
	}
	x.Next(at(0), 2, pile(0, 0, true))
	first, _ := x.Next(at(5), 0, pile(0, 5, false))
	over()
	second, step := x.Next(at(200), 2, pile(198, 200, true)) // nothing was read meanwhile
	if step != Changed || second.ID == first.ID || !second.Open {
		t.Errorf("%v %+v", step, second)
	}
	over(first.ID)
	x.Next(at(205), 0, pile(198, 205, false))
	third, step := x.Judged(Judged{
		ID: "d-1", From: at(300), To: at(310), Regular: true,
		Findings: []Finding{{ID: "f", Title: "Add an index", Severity: finding.Warning, New: true}},
	})
	if step != Changed || third.ID == second.ID {
		t.Errorf("%v %+v", step, third)
	}
	over(second.ID)

	y := Tracker{Target: "shop"} // it was not watched for hours
	y.Restore(third)
	fourth, step := y.Next(at(9000), 2, pile(8999, 9000, true))
	if all := y.Over(); step != Changed || fourth.ID == third.ID || len(all) != 1 || all[0].ID != third.ID ||
		all[0].Open || !all[0].Cut || !all[0].To.Equal(third.To) {
		t.Errorf("%v %+v, over are %+v", step, fourth, all)
	}
}
