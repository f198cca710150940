package service

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
)

// busyHole is how long a machine that runs tests may not read a server.
const busyHole = time.Minute

// TestPast judges a minute that is over by what was stored of it: while the service writes, and after it and the server
// have ended. What is found, and how often the heavy statement ran, is what a diagnosis of the same seconds saw.
func TestPast(t *testing.T) {
	s, v := shopWatched(t, Options{})
	v.Diagnoses.past.hole = busyHole
	ctx := t.Context()
	live, err := v.Diagnoses.look(ctx, "shop", family.Look{Window: 12 * time.Second}, app.Diagnosis{})
	if err != nil {
		t.Fatal(err)
	}
	heavy := func(x *snapshot.Snapshot) (perSecond float64) {
		t.Helper()
		for _, c := range x.Classes {
			if strings.Contains(c.Fingerprint, "shelf") {
				return float64(c.Count) / x.Seconds()
			}
		}
		t.Fatalf("no class of the load among %d of %s", len(x.Classes), spanOf(x.From, x.To))
		return 0
	}
	if err := v.Inventory.RemoveTarget(ctx, "shop"); err != nil { // with its watcher the minute ends
		t.Fatal(err)
	}
	from, to := live.Snapshot.From, time.Time{}
	for end := time.Now().Add(2 * time.Minute); to.IsZero(); time.Sleep(100 * time.Millisecond) {
		ws, _, err := v.History.Courses(ctx, "shop", nil, from.Add(-time.Minute), live.Snapshot.To)
		if err != nil || time.Now().After(end) {
			t.Fatalf("the classes of the minute are not stored: %v", err)
		}
		if n := len(ws); n > 0 && live.Snapshot.To.Sub(ws[n-1].To) < 6*time.Second {
			to = ws[n-1].To
		}
	}
	same := func(x *snapshot.Snapshot) {
		t.Helper()
		d := app.Diagnosis{Snapshot: x}
		d.Judge()
		missing := func(f finding.Finding) bool { return f.Rule == "missing-index" }
		if i := slices.IndexFunc(live.Findings, missing); i >= 0 {
			j := slices.IndexFunc(d.Findings, missing)
			if j < 0 || d.Findings[j].ID != live.Findings[i].ID {
				t.Errorf("found %+v, and live %s; sources %+v", d.Findings, live.Findings[i].ID, x.Sources)
			}
		} else {
			t.Errorf("the live diagnosis found %+v", live.Findings)
		}
		// The windows are not the same, and what a machine does in them is not.
		if a, b := heavy(live.Snapshot), heavy(x); b < a/4 || b > 4*a {
			t.Errorf("%.1f executions a second, and live %.1f", b, a)
		}
		name := app.FiguresOf(x.Target.Flavor).Names().Statements.Name
		a, ok1 := live.Snapshot.Rate(name).Get()
		b, ok2 := x.Rate(name).Get()
		if !ok1 || !ok2 || b < a/4 || b > 4*a {
			t.Errorf("%.1f %v statements a second, and live %.1f %v", b, ok2, a, ok1)
		}
		if x.From.Sub(from) > time.Second || x.To.Before(to) || x.Target.Server != live.Snapshot.Target.Server ||
			x.Past == nil || !x.Past.Facts.Equal(live.Snapshot.To) {
			t.Errorf("judged %s of %+v, %+v", spanOf(x.From, x.To), x.Target, x.Past)
		}
		for _, n := range []source.Name{
			source.Digests, source.Samples, source.Locks, source.GlobalStatus, source.Variables, source.Tables,
		} {
			// A busy machine may miss a reading.
			if y := x.Source(n); y.State == source.Missing || y.State == source.Denied {
				t.Errorf("source %+v", y)
			}
		}
		for n, w := range live.Snapshot.Variables {
			if g := x.Variables[n]; g != w {
				t.Errorf("variable %s: %q, and live %q", n, g, w)
			}
		}
	}
	x, err := v.Diagnoses.past.snapshot(ctx, "shop", from, to)
	if err != nil {
		t.Fatal(err)
	}
	same(x)
	if x, err = (archive{hole: busyHole}).borrowed(ctx, v.app, "shop", from, to); err != nil { // the store is open
		t.Fatal(err)
	}
	same(x)

	// Of a target that is redacted nothing of what was stored before is shown.
	redacted := v.Diagnoses.past
	redacted.redact = true
	if x, err = redacted.snapshot(ctx, "shop", from, to); err != nil {
		t.Fatal(err)
	}
	for _, c := range x.Classes {
		if c.Example != "" {
			t.Errorf("example %q", c.Example)
		}
	}
	for _, p := range x.Plans {
		if p.Raw != "" {
			t.Errorf("plan %q", p.Raw)
		}
	}
	for _, m := range x.Moments {
		for _, y := range m.Sessions {
			if strings.ContainsAny(y.SQL, "0123456789") {
				t.Errorf("a session ran %q", y.SQL)
			}
		}
	}

	// A scheduled diagnosis takes the minute that was stored: it asks, and opens no scraper of its own.
	server, err := v.app.Open(ctx, s.URL("root"), app.Login{NoDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	eventually(t, "the target is left alone", func() bool {
		v.Fleet.mu.RLock()
		defer v.Fleet.mu.RUnlock()
		return len(v.Fleet.members)+len(v.Fleet.leaving) == 0
	})
	scrapes := s.Status(t, "Com_show_status")
	if x, err = v.Diagnoses.lastMinute(ctx, "shop", server, family.Look{}); err != nil || x == nil {
		ws, _, _ := v.History.Courses(ctx, "shop", nil, from.Add(-time.Minute), time.Now())
		t.Fatalf("%v, %v: no snapshot of the last minute of %+v", x, err, ws)
	}
	if n := s.Status(t, "Com_show_status") - scrapes; n >= 10 { // a scraper reads it each second
		t.Errorf("it read the status of the server %d times", n)
	}
	d := app.Diagnosis{Snapshot: x}
	if d.Judge(); !slices.ContainsFunc(d.Findings, func(f finding.Finding) bool { return f.Rule == "missing-index" }) ||
		x.Past != nil || !strings.Contains(x.Source(source.Tables).Reason, "after the window") {
		t.Errorf("found %+v of %+v", d.Findings, x.Sources)
	}

	// What stands against one figure of a window is said, by time.
	refused := func(from, to time.Time, want string) {
		t.Helper()
		_, err := v.Diagnoses.past.snapshot(ctx, "shop", from, to)
		var unfit *WindowError
		if !errors.As(err, &unfit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused(from.Add(-10*time.Minute), to.Add(-9*time.Minute-50*time.Second), "is before ")
	_, err = v.Diagnoses.past.snapshot(ctx, "blog", from, to)
	if err == nil || !strings.Contains(err.Error(), "never watched") {
		t.Error(err)
	}
	e := event.Event{
		ID: "e-1", At: from.Add(3 * time.Second), Target: "shop", Kind: event.Restart, Text: "the server restarted",
	}
	put := func() {
		t.Helper()
		if err := v.ledger.Events.Put(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	put()
	refused(from, to, "the server restarted at "+local(e.At))
	e.Kind, e.Cause, e.Text = event.Gap, event.ClockBack, "the clock was set back"
	put()
	refused(from, to, "the clock was set at "+local(e.At))
	e.Kind, e.Cause, e.Text = event.Annotation, "", "release"
	put()

	s.Kill(t)
	x, err = v.Diagnoses.past.snapshot(ctx, "shop", from, to)
	if err != nil {
		t.Fatal(err)
	}
	same(x)

	// Series outlive states: without them no lock queue is no sign that there was none.
	if err := v.History.Maintain(ctx, time.Now().AddDate(0, 0, 4)); err != nil {
		t.Fatal(err)
	}
	if x, err = v.Diagnoses.past.snapshot(ctx, "shop", from, to); err != nil {
		t.Fatal(err)
	}
	d = app.Diagnosis{Snapshot: x}
	d.Judge()
	if y := x.Source(source.Locks); y.State != source.Missing || len(x.Moments) > 0 || !slices.ContainsFunc(d.Symptoms,
		func(y finding.Symptom) bool { return y.Subject == string(source.Locks) }) {
		t.Errorf("%d states, source %+v, symptoms %+v", len(x.Moments), y, d.Symptoms)
	}
}

// TestWatchedIsReadOnce: what a user asks for and what an incident starts is judged by what the watcher reads.
func TestWatchedIsReadOnce(t *testing.T) {
	_, v := shopWatched(t, Options{})
	v.Diagnoses.past.hole = busyHole
	ctx := t.Context()
	var m *member
	eventually(t, "classes are read", func() bool {
		m = v.Fleet.member("shop")
		return m != nil && m.underWay().classes != nil
	})
	look := func(o family.Look, of app.Diagnosis) *snapshot.Snapshot {
		t.Helper()
		var d app.Diagnosis
		var x *snapshot.Snapshot
		for range 5 { // a busy machine may read too late; then it is observed for itself
			var err error
			if d, err = v.Diagnoses.look(ctx, "shop", o, of); err != nil {
				t.Fatal(err)
			}
			if x = d.Snapshot; x.Past == nil && strings.Contains(x.Source(source.Tables).Reason, "after the window") {
				break
			}
		}
		if x.Past != nil || !strings.Contains(x.Source(source.Tables).Reason, "after the window") {
			t.Errorf("it was observed for itself: %+v", x.Sources)
		}
		if !slices.ContainsFunc(d.Findings, func(f finding.Finding) bool { return f.Rule == "missing-index" }) {
			t.Errorf("found %+v of %+v", d.Findings, x.Sources)
		}
		return x
	}
	began := time.Now()
	x := look(family.Look{Window: 8 * time.Second}, app.Diagnosis{Background: true, Incident: "i-1"})
	if x.From.Before(began) || x.To.Sub(x.From) < 7*time.Second {
		t.Errorf("from %s to %s, asked at %s", x.From, x.To, began)
	}
	v.Fleet.keeper.flush(m) // as when the minute is full
	stored := x.To
	eventually(t, "the next window", func() bool { return m.underWay().classes != nil })
	x = look(family.Look{}, app.Diagnosis{By: "ann"})
	if !x.From.Before(stored) || !x.To.After(stored) {
		t.Errorf("from %s to %s, and %s was between what is stored and the minute under way", x.From, x.To, stored)
	}
}
