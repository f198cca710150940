package history

import (
	"errors"
	"testing"
	"time"
)

// TestPinned: the seconds of an incident outlive the retention of states and a file that is opened again, are bounded
// by a size of their own, the oldest incident first, and are in the usage.
func TestPinned(t *testing.T) {
	ctx, path := t.Context(), file(t)
	h := mustOpen(t, path, Options{StateAge: time.Minute})
	for i := range 90 {
		seconds(t, h, "shop", i)
	}
	at := func(sec int) time.Time { return noon.Add(time.Duration(sec) * time.Second) }
	ok(t, h.Maintain(ctx, at(95))) // some are in packs
	ok(t, Pin(ctx, h, "shop", "i-1", []time.Time{at(40), at(41), at(70)}))
	ok(t, Pin(ctx, h, "shop", "i-1", []time.Time{at(41), at(71), at(500)})) // 40 is let go, 500 is not there
	ok(t, Pin(ctx, h, "shop", "i-2", []time.Time{at(80), at(41)}))
	alone := func(from, to int, want bool) {
		t.Helper()
		if got, err := OnlyPinned(ctx, h, "shop", at(from), at(to)); err != nil || got != want {
			t.Errorf("from %d to %d only pinned states: %v, %v", from, to, got, err)
		}
	}
	alone(40, 80, false)
	ok(t, h.Maintain(ctx, at(3600)))
	alone(40, 80, true)
	alone(42, 69, false) // none at all
	ok(t, h.Close())

	h = mustOpen(t, path, Options{StateAge: time.Minute, Reach: time.Second})
	f := func(sec int, want bool) {
		t.Helper()
		s, err := h.StateAt(ctx, "shop", at(sec))
		if want && (err != nil || !s.At.Equal(at(sec)) || s.Sessions[0].ID != uint64(at(sec).Unix())) {
			t.Errorf("%d: %+v, %v", sec, s, err)
		}
		if !want && !errors.Is(err, ErrNotFound) {
			t.Errorf("%d: got %v, %v", sec, s, err)
		}
	}
	f(41, true)
	f(71, true)
	f(80, true)
	f(40, false)
	f(75, false)
	ts, err := h.StateTimes(ctx, "shop", at(0), at(1000), 0)
	if err != nil || len(ts) != 3 || !ts[0].Equal(at(41)) {
		t.Errorf("times: %v, %v", ts, err)
	}
	if ts, err := Pinned(ctx, h, "i-1"); err != nil || len(ts) != 2 || !ts[1].Equal(at(71)) {
		t.Errorf("of an incident: %v, %v", ts, err)
	}
	all, err := h.Usage(ctx)
	ok(t, err)
	found := false
	for _, u := range all {
		found = found || u.Kind == "states of incidents" && u.Rows == 4 && u.Bytes > 0 && u.Oldest.Equal(at(41))
	}
	if !found {
		t.Errorf("usage: %+v", all)
	}
	if r, err := Check(ctx, path); err != nil || !r.OK() {
		t.Errorf("check: %+v, %v", r, err)
	}

	var bytes int64
	ok(t, h.db.QueryRowContext(ctx, "SELECT sum(bytes) FROM pinned").Scan(&bytes))
	h.o.PinnedBytes = bytes - 1
	ok(t, h.Maintain(ctx, at(3600)))
	f(71, false) // of the older incident
	f(41, true)  // of both
	f(80, true)
	ok(t, h.Maintain(ctx, at(3600).AddDate(2, 0, 0)))
	f(80, false)
}

// TestOlderFile opens a file that was made before incidents kept states.
func TestOlderFile(t *testing.T) {
	path := file(t)
	h := mustOpen(t, path, Options{})
	_, err := h.db.Exec("DROP TABLE pinned")
	ok(t, err)
	if r, err := Check(t.Context(), path); err != nil || !r.OK() {
		t.Errorf("check: %+v, %v", r, err)
	}
	ok(t, h.Close())
	h = mustOpen(t, path, Options{})
	seconds(t, h, "shop", 1)
	ok(t, Pin(t.Context(), h, "shop", "i-1", []time.Time{noon.Add(time.Second)}))
	if ts, err := Pinned(t.Context(), h, "i-1"); err != nil || len(ts) != 1 {
		t.Errorf("%v %v", ts, err)
	}
}
