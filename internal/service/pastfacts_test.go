package service

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// TestFactsOfOneServer: the settings and tables of a window are those of the nearest diagnosis of the server that it
// was of. One that answers since is another one, though it has the same version.
func TestFactsOfOneServer(t *testing.T) {
	s := graphService(t)
	ctx := t.Context()
	p := archive{ledger: s.ledger}
	at := func(min int) time.Time { return periodNoon.Add(time.Duration(min) * time.Minute) }
	diagnose := func(target, server string, min int) {
		t.Helper()
		x := &snapshot.Snapshot{
			Format: snapshot.Format, From: at(min - 1), To: at(min), Variables: map[string]string{"port": "1"},
			Target: snapshot.Target{
				Name: target, Server: server, Flavor: dbms.MySQL, Version: "8.0.36", UptimeSec: int64(600_000 + 60*min),
			},
		}
		b, err := x.Encode()
		if err == nil {
			err = s.ledger.Diagnoses.Put(ctx, ledger.Diagnosis{
				ID: fmt.Sprint("d-", target, min), At: x.To, Target: target, Server: server, Snapshot: b,
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	facts := func(target string, min int, uptime int64) (when int, why string) {
		t.Helper()
		y, why, err := p.facts(ctx, &snapshot.Snapshot{
			From: at(min - 1), To: at(min), Target: snapshot.Target{Name: target, UptimeSec: uptime},
		})
		if err != nil {
			t.Fatal(err)
		}
		if y == nil {
			return -1, why
		}
		return int(y.To.Sub(periodNoon).Minutes()), why
	}
	swapped := func(target string, min int) {
		t.Helper()
		if err := s.ledger.Events.Put(ctx, event.Event{
			At: at(min), Target: target, Kind: event.Restart, Text: event.AnotherServer + " answers: b instead of a",
		}); err != nil {
			t.Fatal(err)
		}
	}
	diagnose("shop", "b", 60)
	if when, _ := facts("shop", 0, 0); when != 60 {
		t.Errorf("of the only one: %d", when)
	}
	swapped("shop", 30)
	if when, why := facts("shop", 0, 0); when != -1 || !strings.Contains(why, event.AnotherServer+" answers: b") {
		t.Errorf("of the other server: %d, %q", when, why)
	}
	if when, _ := facts("shop", 50, 0); when != 60 {
		t.Errorf("after the swap: %d", when)
	}
	diagnose("shop", "a", -300)
	if when, _ := facts("shop", 0, 600_000); when != -300 {
		t.Errorf("of the server of then: %d", when)
	}

	diagnose("long", "a", 0)
	for i := range 2*pastLooks + 1 { // since
		diagnose("long", "a", 1000+i)
	}
	if when, _ := facts("long", 5, 0); when != 0 {
		t.Errorf("of long ago: %d", when)
	}
}

// TestFactsOfLaterStart: what a server that was started after the window has counted says nothing of it.
func TestFactsOfLaterStart(t *testing.T) {
	s := graphService(t)
	to := periodNoon
	x := &snapshot.Snapshot{
		From: to.Add(-time.Minute), To: to, Target: snapshot.Target{Name: "shop"}, Past: &snapshot.Past{},
	}
	then := &snapshot.Snapshot{
		From: to.Add(time.Hour), To: to.Add(61 * time.Minute), Target: snapshot.Target{Name: "shop", UptimeSec: 600},
		Sources: []source.Source{{Name: source.Tables, State: source.OK}},
		Tables: []schema.Table{{
			AgeSec: known.Of[uint64](50), Indexes: []schema.Index{{Name: "a", Handled: known.Of[uint64](0)}},
		}},
	}
	if err := (archive{ledger: s.ledger}).addFacts(t.Context(), x, then, ""); err != nil {
		t.Fatal(err)
	}
	if o := x.Tables[0]; o.AgeSec.OK() || o.Indexes[0].Handled.OK() || !then.Tables[0].Indexes[0].Handled.OK() ||
		!strings.Contains(x.Source(source.Tables).Reason, "was started after the window") {
		t.Errorf("%+v; %+v", o, x.Sources)
	}
	then.Target.UptimeSec = 100_000
	if err := (archive{ledger: s.ledger}).addFacts(t.Context(), x, then, ""); err != nil {
		t.Fatal(err)
	}
	if o := x.Tables[0]; !o.Indexes[0].Handled.OK() {
		t.Errorf("of a server that ran all along: %+v", o)
	}
}

// TestSettingsThen: settings of another time have the numbers of the window, switches as well as others, and those that
// were changed in between and have none are not known.
func TestSettingsThen(t *testing.T) {
	config := func(text string) event.Event { return event.Event{Kind: event.Config, Target: "shop", Text: text} }
	got := settingsThen(map[string]string{
		"log": "ON", "hash": "ON", "fsync": "on", "ssl": "DISABLED", "pool": "5", "format": "ROW", "kept": "ROW",
		"mode": "DEMAND", "size": "7",
	}, map[string]string{
		"log": "0", "hash": "1", "fsync": "0", "ssl": "1", "pool": "9", "size": "7", "mode": "1", "other": "1",
	}, []event.Event{
		config("log OFF → ON"), config("format MIXED → ROW"), config("mode ON → DEMAND"), config("size 7 → 8"),
		{Kind: event.DDL, Target: "shop", Text: "kept"},
	})
	want := map[string]string{
		"log": "OFF", "hash": "ON", "fsync": "off", "ssl": "YES", "pool": "9", "kept": "ROW", "size": "7",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}
