package history

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
)

// minutes puts n windows of a minute.
func minutes(t *testing.T, h *History, start time.Time, n int) { windows(t, h, start, n, time.Minute) }

// windows puts n windows from start: one execution of A in each, taking 2 seconds, and three of B in every second one.
func windows(t *testing.T, h *History, start time.Time, n int, long time.Duration) {
	t.Helper()
	for i := range n {
		at := start.Add(time.Duration(i) * long)
		cs := []class.Class{a(1, 2, float64(i))}
		if i%2 == 1 {
			cs = append(cs, class.Class{
				ID: "B", Fingerprint: "b", Origin: class.PerformanceSchema, Count: 3,
				TimeSec: 0.5, Errors: known.Of(uint64(i % 4)),
			})
		}
		ok(t, h.PutClasses(t.Context(), "shop", at, at.Add(long), cs))
	}
}

func TestClassesOverRollUps(t *testing.T) {
	h := mustOpen(t, file(t), Options{MinuteAge: 24 * time.Hour})
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	windows(t, h, day, 26*15, 4*time.Minute) // up to 02:00 of the next day
	f := func(name string, from, to time.Duration, wantA, wantB uint64, first, last time.Duration) {
		t.Helper()
		cs, cov, err := h.Classes(t.Context(), "shop", day.Add(from), day.Add(to), 0)
		ok(t, err)
		if !cov.From.Equal(day.Add(first)) || !cov.To.Equal(day.Add(last)) || cov.Seconds != (last-first).Seconds() {
			t.Errorf("%s: %+v, want %v to %v", name, cov, first, last)
		}
		got := map[string]class.Class{}
		for _, c := range cs {
			got[c.ID] = c
		}
		x, y := got["A"], got["B"]
		if x.Count != wantA || y.Count != wantB || x.TimeSec != float64(2*wantA) || cov.Count != wantA+wantB ||
			cov.Classes != len(cs) || cov.TimeSec != x.TimeSec+y.TimeSec {
			t.Errorf("%s: A %d, B %d (want %d, %d), %+v", name, x.Count, y.Count, wantA, wantB, cov)
		}
		if x.Examined != known.Of(wantA*10) || x.Fingerprint != "select ?" || x.Schema != "d" {
			t.Errorf("%s: %+v", name, x)
		}
	}
	const h1, m1 = time.Hour, time.Minute
	all := func(when string) {
		t.Helper()
		f(when+": a day", 0, 24*h1, 360, 540, 0, 24*h1)
		f(when+": hours", 3*h1, 5*h1, 30, 45, 3*h1, 5*h1)
		f(when+": over midnight, minutes at the end", 20*h1, 25*h1+36*m1, 84, 126, 20*h1, 25*h1+36*m1)
	}
	all("fresh")
	f("minutes", 92*m1, 96*m1, 1, 3, 92*m1, 96*m1)
	f("minutes and hours", 32*m1, 152*m1, 30, 45, 32*m1, 152*m1)
	f("more than there is", -9*h1, 900*h1, 390, 585, 0, 26*h1)
	cs, _, err := h.Classes(t.Context(), "shop", day, day.Add(48*h1), 1)
	if err != nil || len(cs) != 1 || cs[0].ID != "A" || cs[0].MaxSec.Or(0) != 389 || cs[0].P95Sec.OK() {
		t.Errorf("%+v, %v", cs, err)
	}
	if cs, _, err := h.Classes(t.Context(), "shop", day, day.Add(m1), 1); err != nil || !cs[0].P95Sec.OK() {
		t.Errorf("a percentile of one window: %+v, %v", cs, err)
	}
	// The minutes of the first hours age out.
	ok(t, h.Maintain(t.Context(), day.Add(30*h1)))
	var n int
	ok(t, h.db.QueryRow("SELECT count(*) FROM win WHERE level = 60").Scan(&n))
	if n != 20*15+1 { // one ends at the very moment
		t.Fatalf("%d minutes left", n)
	}
	all("aged")
	f("minutes that are gone", 92*m1, 152*m1, 15, 21, 2*h1, 3*h1) // the hour that begins in there, whole
	if cs, cov, err := h.Classes(t.Context(), "nobody", day, day.Add(h1), 0); err != nil ||
		len(cs) != 0 || !cov.From.IsZero() {
		t.Errorf("%+v %+v %v", cs, cov, err)
	}
}

func TestUnknownStaysUnknown(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	one, two := a(1, 1, 1), a(1, 1, 9)
	two.Examined = known.None[uint64]()
	one.Errors, two.Errors = known.Of(uint64(0)), known.Of(uint64(2))
	ok(t, h.PutClasses(t.Context(), "shop", noon, noon.Add(time.Minute), []class.Class{one}))
	ok(t, h.PutClasses(t.Context(), "shop", noon.Add(time.Minute), noon.Add(2*time.Minute), []class.Class{two}))
	for _, to := range []time.Duration{30 * time.Minute, 48 * time.Hour} { // of minutes, and of sums
		cs, _, err := h.Classes(t.Context(), "shop", noon, noon.Add(to), 0)
		if err != nil || len(cs) != 1 || cs[0].Examined.OK() || cs[0].LockSec.OK() ||
			cs[0].Errors != known.Of(uint64(2)) || cs[0].MaxSec != known.Of(9.0) {
			t.Errorf("%+v, %v", cs, err)
		}
	}
}

func TestNothingIsCountedTwice(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	put := func(from, to int) error {
		return h.PutClasses(t.Context(), "shop", noon.Add(time.Duration(from)*time.Second),
			noon.Add(time.Duration(to)*time.Second), []class.Class{a(1, 1, 1)})
	}
	ok(t, put(0, 60))
	for _, x := range [][2]int{{0, 60}, {59, 120}, {30, 40}} {
		if err := put(x[0], x[1]); !errors.Is(err, ErrOverlap) {
			t.Errorf("%v: %v", x, err)
		}
	}
	ok(t, put(60, 121))
	if err := put(200, 200); err == nil || errors.Is(err, ErrOverlap) {
		t.Error(err)
	}
	ok(t, h.PutClasses(t.Context(), "other", noon, noon.Add(time.Minute), nil)) // nothing ran: watched all the same
	if cs, cov, err := h.Classes(t.Context(), "other", noon, noon.Add(time.Hour), 0); err != nil ||
		len(cs) != 0 || cov.Seconds != 60 {
		t.Errorf("%+v %+v %v", cs, cov, err)
	}
	if cs, _, err := h.Classes(t.Context(), "shop", noon, noon.Add(48*time.Hour), 0); err != nil || cs[0].Count != 2 {
		t.Errorf("%+v %v", cs, err)
	}
}

func TestTimeline(t *testing.T) {
	h := mustOpen(t, file(t), Options{MinuteAge: 12 * time.Hour})
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	minutes(t, h, day, 120)
	minutes(t, h, day.Add(3*time.Hour), 60) // after a gap
	f := func(from, to time.Duration, id string, n int, count uint64, zeros int) {
		t.Helper()
		bs, err := h.Timeline(t.Context(), "shop", id, day.Add(from), day.Add(to))
		var sum uint64
		none := 0
		for i, b := range bs {
			sum += b.Count
			if b.Count == 0 {
				none++
			}
			if i > 0 && b.From.Before(bs[i-1].To) {
				t.Errorf("%v overlaps %v", b, bs[i-1])
			}
		}
		if err != nil || len(bs) != n || sum != count || none != zeros {
			t.Errorf("%s %v to %v: %d buckets, %d, %d with nothing, %v", id, from, to, len(bs), sum, none, err)
		}
	}
	f(0, 4*time.Hour, "A", 180, 180, 0)
	f(0, 4*time.Hour, "B", 180, 270, 90)
	f(0, 24*time.Hour, "B", 3, 270, 0)
	f(0, 40*24*time.Hour, "B", 1, 270, 0)
	f(0, time.Hour, "C", 60, 0, 60)
	ok(t, h.Maintain(t.Context(), day.Add(13*time.Hour))) // the minutes of the first hour go
	f(0, 4*time.Hour, "A", 1+61+60-1, 180, 0)
}

func TestChoice(t *testing.T) {
	// Two days that begin within the bounds; only the second has hours.
	d := func(n int64) window { return window{86400, n * 86400000, (n + 1) * 86400000, 86400} }
	all := []window{d(0), d(1)}
	for i := range int64(24) {
		at := 86400000 + i*3600000
		all = append(all, window{3600, at, at + 3600000, 3600})
	}
	f := func(to int64, coarse bool, want int) {
		t.Helper()
		if got := choose(all, to*3600000, coarse); len(got) != want {
			t.Errorf("to %d h: %v", to, got)
		}
	}
	f(48, true, 2)
	f(48, false, 25)
	f(100, true, 2)
}

// TestBeforeTheFirst asks for a stretch of the first day before anything was observed: the day's sum is not its own.
func TestBeforeTheFirst(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	first := day.Add(time.Hour)
	for i := range 42 {
		at := first.Add(time.Duration(i) * time.Minute)
		ok(t, h.PutClasses(t.Context(), "shop", at, at.Add(time.Minute),
			[]class.Class{{ID: "A", Fingerprint: "a", Schema: "s", Count: 1, TimeSec: 1}}))
	}
	f := func(from, to time.Time, want float64) {
		t.Helper()
		_, c, err := h.Classes(t.Context(), "shop", from, to, 0)
		ok(t, err)
		line, err := h.Timeline(t.Context(), "shop", "A", from, to)
		ok(t, err)
		sum := 0.0
		for _, b := range line {
			sum += b.Seconds
		}
		if c.Seconds != want || sum != want {
			t.Errorf("%v to %v: %v s of classes, %v s of the course, want %v", from, to, c.Seconds, sum, want)
		}
	}
	f(day, first, 0)
	f(day, first.Add(10*time.Minute), 600)
	f(day, first.Add(time.Hour), 2520)
	f(day, day.Add(24*time.Hour), 2520)
	f(day.Add(-time.Hour), day.Add(48*time.Hour), 2520)
}

// TestClassesWithoutEnd: tenants make a class of each statement, and whoever may see them asks for a year of them.
func TestClassesWithoutEnd(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	all := make([]class.Class, MostClasses+10)
	for i := range all {
		id := fmt.Sprintf("%032X", i)
		all[i] = class.Class{
			ID: id, Fingerprint: id[26:], Origin: class.PerformanceSchema, Count: 1, TimeSec: 1 + float64(i),
		}
	}
	ok(t, h.PutClasses(t.Context(), "shop", noon, noon.Add(time.Minute), all))
	cs, cov, err := h.Classes(t.Context(), "shop", noon, noon.Add(time.Hour), 0)
	if err != nil || len(cs) != MostClasses || cov.Classes != len(all) || cs[0].TimeSec != float64(len(all)) {
		t.Errorf("%d of %d, %v", len(cs), cov.Classes, err)
	}
	last := func(c class.Class) bool { return c.TimeSec < 3 }
	cs, cov, err = h.Classes(t.Context(), "shop", noon, noon.Add(time.Hour), 0, last)
	if err != nil || len(cs) != 2 || cov.Classes != len(all) { // they are found all the same
		t.Errorf("%d of %d, %v", len(cs), cov.Classes, err)
	}
	if cs, _, err := h.Classes(t.Context(), "shop", noon, noon.Add(time.Hour), 1, last); err != nil || len(cs) != 1 ||
		cs[0].TimeSec != 2 {
		t.Errorf("%+v, %v", cs, err)
	}
}
