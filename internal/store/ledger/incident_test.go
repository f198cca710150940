package ledger

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/incident"
)

// TestIncidents: an incident is stored while it goes on and again when it ended, is found by the time that it reaches
// into, and by an older ledger, which has no table of them, once that is opened.
func TestIncidents(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "ledger.db")
	open := func() *Ledger {
		l, err := Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := open()
	start := time.Unix(1_800_000_000, 0).UTC()
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	put := func(i incident.Incident) {
		t.Helper()
		if err := l.Incidents.Put(ctx, []incident.Incident{i}); err != nil {
			t.Fatal(err)
		}
	}
	a := incident.Incident{ID: "i-a-shop", Target: "shop", From: minute(10), To: minute(12), Open: true}
	put(a)
	if err := l.write(ctx, "test", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DROP TABLE incident")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Check(ctx); err != nil || !r.OK() {
		t.Errorf("check: %+v, %v", r, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open()
	defer func() { _ = l.Close() }()

	put(a)
	a.Diagnosis = "d-1"
	put(a)
	a.Open, a.To, a.Diagnosis = false, minute(20), ""
	a.Conditions = []incident.Condition{{Kind: event.Locks, From: minute(10), To: minute(20), Times: 3}}
	put(a)
	put(incident.Incident{ID: "i-b-shop", Target: "shop", From: minute(30), To: minute(31)})
	put(incident.Incident{ID: "i-c-till", Target: "till", From: minute(30), To: minute(31)})
	got, err := l.Incidents.Get(ctx, a.ID)
	if err != nil || got.Open || got.Diagnosis != "d-1" || len(got.Conditions) != 1 || got.Conditions[0].Times != 3 {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := l.Incidents.Get(ctx, "i-none"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	f := func(target string, from, to, n int, want ...string) {
		t.Helper()
		all, err := l.Incidents.Newest(ctx, target, minute(from), minute(to), n)
		if err != nil || len(all) != len(want) {
			t.Fatalf("%+v, %v; want %v", all, err, want)
		}
		for k, id := range want {
			if all[k].ID != id {
				t.Errorf("%v: %+v", want, all)
			}
		}
	}
	f("shop", 0, 60, 0, "i-b-shop", "i-a-shop")
	f("shop", 15, 25, 0, "i-a-shop")
	f("shop", 21, 29, 0)
	f("", 0, 60, 2, "i-c-till", "i-b-shop")

	kinds, err := l.Usage(ctx)
	if i := slices.IndexFunc(kinds, func(u Usage) bool { return u.Kind == "incidents" }); err != nil || i < 0 ||
		kinds[i].Rows != 3 || kinds[i].Bytes == 0 || !kinds[i].Oldest.Equal(minute(10)) {
		t.Errorf("usage: %+v, %v", kinds, err)
	}
	rule := []expiring{{"incident", "began", "TRUE", EventAge, 1, "target"}}
	if _, err := l.expire(ctx, minute(30), rule); err != nil {
		t.Fatal(err)
	}
	f("", 0, 60, 0, "i-c-till", "i-b-shop")
	if r, err := l.Check(ctx); err != nil || !r.OK() {
		t.Errorf("check: %+v, %v", r, err)
	}
}
