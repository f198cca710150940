package ledger

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
)

// TestExpire keeps of each kind the newest, and none of the events that nobody made that are too old.
func TestExpire(t *testing.T) {
	ctx := t.Context()
	l, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"))
	ok(t, err)
	defer l.Close()
	if gone, err := l.Expire(ctx, at); err != nil || gone != nil {
		t.Fatalf("%v, %v", gone, err)
	}
	var es []event.Event
	for i := range 10 {
		es = append(es, event.Event{
			At: at.Add(time.Duration(i) * time.Hour), Target: "shop",
			Kind: event.DDL, Text: fmt.Sprint(i),
		})
	}
	es = append(es, event.Event{At: at.Add(-time.Hour), Target: "shop", Kind: event.Annotation, Text: "a person's"})
	ok(t, l.Events.PutAll(ctx, es))
	for i := range 5 {
		ok(t, l.Documents.Put(ctx, "experiment", fmt.Sprintf("x-%d", i), "shop", "", []byte("{}")))
		ok(t, l.Documents.Put(ctx, "proof", fmt.Sprintf("p-%d", i), "shop", "a-1", []byte("{}"))) // stays
	}
	left := func(want int) {
		t.Helper()
		es, err := l.Events.List(ctx, "shop", time.Time{}, time.Time{})
		if err != nil || len(es) != want || es[0].Text != "a person's" {
			t.Errorf("%+v, %v", es, err)
		}
	}
	if gone, err := l.Expire(ctx, at.Add(10*time.Hour)); err != nil || gone != nil {
		t.Errorf("%v, %v", gone, err)
	}
	left(11)
	if _, err := l.Expire(ctx, at.Add(EventAge*3)); err != nil { // a clock that is wrong
		t.Error(err)
	}
	left(11)
	few := make([]expiring, len(expirings))
	copy(few, expirings)
	for i := range few {
		few[i].newest = 3
	}
	gone, err := l.expire(ctx, at.Add(EventAge+90*time.Minute), few[1:])
	if err != nil || len(gone) != 2 {
		t.Errorf("%v, %v", gone, err)
	}
	left(11)
	_, err = l.expire(ctx, at.Add(EventAge+90*time.Minute), expirings[:1]) // two are too old
	ok(t, err)
	left(9)
	_, err = l.expire(ctx, at, few[:1])
	ok(t, err)
	left(4)
}

// TestSightingsHaveABound: a server has ever new findings, if somebody wants it to; all sightings are read for each
// list of findings.
func TestSightingsHaveABound(t *testing.T) {
	ctx := t.Context()
	l, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"))
	ok(t, err)
	defer l.Close()
	ok(t, l.Diagnoses.Put(ctx, Diagnosis{
		ID: "d-quiet", Target: "quiet", At: at,
		Findings: []finding.Finding{{ID: "old"}},
	}))
	d := Diagnosis{ID: "d-loud", Target: "loud", At: at.Add(time.Hour)}
	for i := range mostSightings {
		d.Findings = append(d.Findings, finding.Finding{ID: fmt.Sprintf("f-%d", i), Title: "x"})
	}
	ok(t, l.Diagnoses.Put(ctx, d))
	d.ID, d.At, d.Findings = "d-last", at.Add(2*time.Hour), []finding.Finding{{ID: "new", Title: strings.Repeat("ä",
		1<<20)}}
	ok(t, l.Diagnoses.Put(ctx, d))
	_, err = l.Expire(ctx, at.Add(3*time.Hour))
	ok(t, err)
	for target, want := range map[string]int{"quiet": 1, "loud": mostSightings} {
		all, err := l.Sightings(ctx, target)
		if err != nil || len(all) != want {
			t.Errorf("%d sightings of %s, want %d: %v", len(all), target, want, err)
		}
		newest := slices.IndexFunc(all, func(x Sighting) bool { return x.Finding == "new" })
		if target == "loud" && (newest < 0 || len(all[newest].Title) > longestTitle) {
			t.Error("the newest is gone, or has a title of any length")
		}
	}
}

// TestExpireOfTwoTargets: events of one server push none of another's out.
func TestExpireOfTwoTargets(t *testing.T) {
	ctx := t.Context()
	l, err := Open(ctx, filepath.Join(t.TempDir(), "ledger.db"))
	ok(t, err)
	defer l.Close()
	es := []event.Event{
		{At: at, Target: "quiet", Kind: event.Down, Text: "down"},
		{At: at, Target: "loud", Kind: event.Down, Text: "down"},
	}
	for i := range 10 {
		es = append(es, event.Event{
			At: at.Add(time.Duration(i+1) * time.Hour), Target: "loud",
			Kind: event.DDL, Text: fmt.Sprint(i),
		})
	}
	ok(t, l.Events.PutAll(ctx, es))
	few := expirings[0]
	few.newest = 3
	if _, err := l.expire(ctx, at, []expiring{few}); err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]int{"quiet": 1, "loud": 4} {
		if es, err := l.Events.List(ctx, target, time.Time{}, time.Time{}); err != nil || len(es) != want {
			t.Errorf("%s has %d events, want %d: %v", target, len(es), want, err)
		}
	}
}
