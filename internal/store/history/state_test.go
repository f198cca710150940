package history

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/state"
)

// seconds puts states at these seconds after noon.
func seconds(t *testing.T, h *History, target string, at ...int) {
	t.Helper()
	for _, s := range at {
		ok(t, h.PutState(aState(target, noon.Add(time.Duration(s)*time.Second))))
	}
}

// TestLongStatementsOfOneUser has somebody run ever new long statements: what the sessions of others did is kept for
// days.
func TestLongStatementsOfOneUser(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	for i := range packStates {
		s := aState("shop", noon.Add(time.Duration(i)*time.Second))
		s.Sessions = []state.Session{{ID: 1, User: "app", Command: "Query", SQL: "SELECT a FROM t"}}
		for n := range state.MaxSessions - 1 {
			s.Sessions = append(s.Sessions, state.Session{
				ID: uint64(n + 2), User: "tenant", Command: "Query", SQL: "SELECT '" + random(state.MaxText-9,
					uint64(i*1000+n)) + "'",
			})
		}
		ok(t, h.PutState(s))
	}
	ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	var bytes int
	ok(t, h.db.QueryRow("SELECT sum(bytes) FROM (SELECT bytes FROM pack UNION ALL SELECT bytes FROM state)").
		Scan(&bytes))
	if days := float64(2<<30) / float64(bytes/packStates) / 86400; days < 1 {
		t.Errorf("%d bytes a state: states of %.2g days have room", bytes/packStates, days)
	}
	s, err := h.StateAt(t.Context(), "shop", noon.Add(time.Second))
	ok(t, err)
	if len(s.Sessions) != state.MaxSessions || s.Sessions[0].SQL != "SELECT a FROM t" ||
		!strings.HasPrefix(s.Sessions[1].SQL, "SELECT '") {
		t.Errorf("%d sessions, the first two %+v", len(s.Sessions), s.Sessions[:2])
	}
}

func TestStateAt(t *testing.T) {
	h := mustOpen(t, file(t), Options{Reach: 10 * time.Second})
	for i := range 200 {
		seconds(t, h, "shop", i)
	}
	seconds(t, h, "other", 500)
	seconds(t, h, "shop", 150, 300) // the first again, then a gap
	f := func(at time.Duration, want int) {
		t.Helper()
		s, err := h.StateAt(t.Context(), "shop", noon.Add(at))
		if want < 0 {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%v: got %v, %v", at, s, err)
			}
			return
		}
		if err != nil || !s.At.Equal(noon.Add(time.Duration(want)*time.Second)) || s.Target != "shop" ||
			s.Sessions[0].ID != uint64(s.At.Unix()) {
			t.Errorf("%v: got %+v, %v", at, s, err)
		}
	}
	all := func() {
		t.Helper()
		f(0, 0)
		f(-time.Millisecond, -1)
		f(59500*time.Millisecond, 59)
		f(60*time.Second, 60)
		f(150*time.Second, 150)
		f(199*time.Second, 199)
		f(209*time.Second, 199)
		f(210*time.Second, -1)
		f(300*time.Second, 300)
		if ts, err := h.StateTimes(t.Context(), "shop", noon, noon.Add(time.Hour), 0); err != nil || len(ts) != 201 {
			t.Errorf("%d times, %v", len(ts), err)
		}
	}
	all() // some wait
	ok(t, h.Flush(t.Context()))
	all()
	ok(t, h.Maintain(t.Context(), noon.Add(150*time.Second)))
	var rows, packs int
	ok(t, h.db.QueryRow("SELECT (SELECT count(*) FROM state), (SELECT count(*) FROM pack)").Scan(&rows, &packs))
	if packs < 3 || rows >= 60 {
		t.Fatalf("%d rows, %d packs", rows, packs)
	}
	all()
	_, err := h.StateAt(t.Context(), "shop", noon.Add(250*time.Second))
	for _, word := range []string{"shop", "12:03:19", "12:05:00"} { // of the nearest
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), noon.Local().Format("15:"), "12:"), word) {
			t.Errorf("%v says nothing of %s", err, word)
		}
	}
	if _, err := h.StateAt(t.Context(), "nobody", noon); !errors.Is(err, ErrNotFound) ||
		!strings.Contains(err.Error(), "no states of this target") {
		t.Error(err)
	}
}

func TestStateTimesAreThinned(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	for i := range 100 {
		seconds(t, h, "shop", i)
	}
	f := func(from, to, most, want, first, last int) {
		t.Helper()
		at := func(s int) time.Time { return noon.Add(time.Duration(s) * time.Second) }
		ts, err := h.StateTimes(t.Context(), "shop", at(from), at(to), most)
		if err != nil || len(ts) != want || !ts[0].Equal(at(first)) || !ts[want-1].Equal(at(last)) {
			t.Fatalf("%v, %v", ts, err)
		}
		for i := range ts[1:] {
			if !ts[i].Before(ts[i+1]) {
				t.Errorf("%v before %v", ts[i], ts[i+1])
			}
		}
	}
	f(0, 99, 0, 100, 0, 99)
	f(0, 99, 10, 10, 0, 99)
	f(10, 19, 100, 10, 10, 19)
	f(-50, 500, 2, 2, 0, 99)
	ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	f(0, 99, 7, 7, 0, 99)
}

// TestClockSetBack shows that every state is found by its time when times went back.
func TestClockSetBack(t *testing.T) {
	h := mustOpen(t, file(t), Options{Reach: time.Hour})
	for i := range 100 {
		seconds(t, h, "shop", i)
	}
	ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	for i := range 60 { // between those that are packed
		ok(t, h.PutState(aState("shop", noon.Add(30*time.Second+time.Duration(i)*time.Second/2+time.Millisecond))))
	}
	ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	ts, err := h.StateTimes(t.Context(), "shop", noon, noon.Add(time.Hour), 0)
	if err != nil || len(ts) != 160 {
		t.Fatalf("%d times, %v", len(ts), err)
	}
	for _, at := range ts {
		if s, err := h.StateAt(t.Context(), "shop", at); err != nil || !s.At.Equal(at) {
			t.Errorf("at %v: %v, %v", at, s, err)
		}
	}
	if s, err := h.StateAt(t.Context(), "shop", noon.Add(30*time.Minute)); err != nil ||
		!s.At.Equal(noon.Add(99*time.Second)) {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestStateIsWhatWasPut shows that nothing of a state is lost on its way through a pack.
func TestStateIsWhatWasPut(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	want := map[int64]string{}
	for i := range 130 {
		s := aState("shop", noon.Add(time.Duration(i)*time.Second))
		s.EngineStatus = random(3000+i*100, uint64(i))
		b, err := state.Encode(s)
		ok(t, err)
		want[s.At.UnixMilli()] = string(b)
		ok(t, h.PutState(s))
	}
	ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	for ms, doc := range want {
		s, err := h.StateAt(t.Context(), "shop", time.UnixMilli(ms))
		ok(t, err)
		if b, _ := state.Encode(s); string(b) != doc {
			t.Fatalf("%d: got %s, want %s", ms, b, doc)
		}
	}
}
