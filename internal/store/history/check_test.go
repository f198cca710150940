package history

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
)

// filled makes a history with something of each kind and closes it.
func filled(t *testing.T) string {
	t.Helper()
	h := mustOpen(t, file(t), Options{})
	for i := range 100 {
		seconds(t, h, "shop", i)
	}
	ok(t, h.Maintain(t.Context(), noon.Add(100*time.Second)))
	minutes(t, h, noon, 3)
	_, err := h.PutPlan(t.Context(), "shop", "d", noon, plan("ALL", 10))
	ok(t, err)
	ok(t, h.PutSample(t.Context(), "shop", Sample{Class: "A", At: noon, SQL: "SELECT 1"}))
	ok(t, h.Close())
	return h.Path()
}

func plan(access string, rows float64) explain.Plan {
	return explain.Plan{Class: "A", Steps: []explain.Step{{
		SelectType: "SIMPLE", Table: "t", Access: access, Rows: rows,
		Extra: []string{"Using where"},
	}}}
}

func TestCheck(t *testing.T) {
	path := filled(t)
	r, err := Check(t.Context(), path)
	if err != nil || !r.OK() || r.Version != format.Version || !strings.Contains(r.Text(), "sound") {
		t.Fatalf("%+v, %v", r, err)
	}
	// A in 3 minutes, B in one of them, both in the hour and in the day.
	want := map[string]int{"states": 100, "classes": 4 + 2 + 2, "plans": 1, "examples": 1}
	for _, x := range r.Rows {
		if x.Readable != want[x.Kind] {
			t.Errorf("%+v", x)
		}
	}
	f := func(name, statement string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			path := filled(t)
			db, err := format.Connect(path)
			ok(t, err)
			if _, err := db.Exec("PRAGMA foreign_keys = OFF; " + statement); err != nil {
				t.Fatal(err)
			}
			ok(t, db.Close())
			r, err := Check(t.Context(), path)
			if err != nil || r.OK() || !strings.Contains(r.Text(), "DAMAGED") {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	f("a row", "UPDATE state SET doc = x'00' WHERE at = (SELECT max(at) FROM state)")
	f("a pack", "UPDATE pack SET doc = substr(doc, 1, length(doc)/2)")
	f("times of a pack", "UPDATE pack SET times = substr(times, 9)")
	f("a class", "DELETE FROM class WHERE class = 'B'")
	f("a plan", "UPDATE plan SET doc = '{'")
	f("an example", "UPDATE sample SET doc = 'x'")
	t.Run("garbage", func(t *testing.T) {
		path := filled(t)
		b, err := os.ReadFile(path)
		ok(t, err)
		for i := 4096; i < len(b); i++ {
			b[i] = byte(i * 7)
		}
		ok(t, os.WriteFile(path, b, 0o600))
		if r, err := Check(t.Context(), path); err != nil || r.OK() {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestCheckOfNothing(t *testing.T) {
	path := file(t)
	r, err := Check(t.Context(), path)
	if err != nil || r.Exists || !r.OK() || !strings.Contains(r.Text(), "nothing stored") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("the check made the directory")
	}
}

func TestPlans(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	put := func(at int, p explain.Plan, want bool) {
		t.Helper()
		changed, err := h.PutPlan(t.Context(), "shop", "d", noon.Add(time.Duration(at)*time.Minute), p)
		if err != nil || changed != want {
			t.Errorf("at %d: %v, %v", at, changed, err)
		}
	}
	put(0, plan("ref", 10), false)
	put(1, plan("ref", 9999), false) // the same but for its estimate
	put(2, plan("ALL", 10), true)
	put(3, explain.Plan{Class: "A", Error: "no privilege"}, false)
	put(4, plan("ref", 10), true) // back again
	ps, err := h.Plans(t.Context(), "shop", "A")
	if err != nil || len(ps) != 3 || ps[0].Plan.Steps[0].Access != "ref" || ps[2].Plan.Steps[0].Rows != 10 ||
		ps[0].Hash != ps[2].Hash || ps[0].Hash == ps[1].Hash ||
		!ps[2].First.Equal(noon) || !ps[2].Last.Equal(noon.Add(time.Minute)) || ps[1].Schema != "d" {
		t.Errorf("%+v, %v", ps, err)
	}
	long := plan("ref", 1)
	long.Raw = strings.Repeat("\x01", longestPlan/5)
	if _, err := h.PutPlan(t.Context(), "shop", "d", noon, long); err == nil {
		t.Error("a plan of any length is kept")
	}
	ok(t, h.PutSample(t.Context(), "shop", Sample{Class: "A", At: noon, SQL: strings.Repeat("x", longestSample+1)}))
	ok(t, h.PutSample(t.Context(), "shop", Sample{Class: "A", At: noon, SQL: strings.Repeat("\x01", longestSample)}))
	if ss, err := h.Samples(t.Context(), "shop", "A"); err != nil || len(ss) != 0 {
		t.Errorf("%d examples of any length are kept, %v", len(ss), err)
	}
	of := strings.Repeat("<", longestSample)
	ok(t, h.PutSample(t.Context(), "shop", Sample{Class: "A", At: noon, SQL: of}))
	var doc int
	ok(t, h.db.QueryRow("SELECT octet_length(doc) FROM sample").Scan(&doc))
	if ss, err := h.Samples(t.Context(), "shop", "A"); err != nil || len(ss) != 1 || ss[0].SQL != of ||
		doc > longestSample+1000 {
		t.Errorf("an example of %d bytes takes %d, %v", len(of), doc, err)
	}
	if ps, err := h.Plans(t.Context(), "nobody", "A"); err != nil || ps != nil {
		t.Error(ps, err)
	}
}

func TestSamples(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	for i := range 40 { // the slowest are in the middle
		s := Sample{Class: "A", At: noon.Add(time.Duration(i) * time.Second), SQL: "SELECT 1"}
		s.Sec = known.Of(float64(100 - (i-20)*(i-20)/4))
		ok(t, h.PutSample(t.Context(), "shop", s))
	}
	ss, err := h.Samples(t.Context(), "shop", "A")
	if err != nil || len(ss) != 2*keptSamples || ss[0].Sec.Or(0) != 100 ||
		!ss[len(ss)-1].At.After(noon.Add(34*time.Second)) {
		t.Errorf("%+v, %v", ss, err)
	}
}

func TestRetention(t *testing.T) {
	h := mustOpen(t, file(t), Options{StateAge: time.Hour, ClassAge: time.Hour, MinuteAge: time.Hour})
	for i := range 120 {
		s := aState("shop", noon.Add(time.Duration(i)*time.Minute))
		s.EngineStatus = random(2000, uint64(i))
		ok(t, h.PutState(s))
	}
	minutes(t, h, noon, 120)
	usage := func(kind string) Usage {
		t.Helper()
		us, err := h.Usage(t.Context())
		ok(t, err)
		for _, u := range us {
			if u.Kind == kind {
				return u
			}
		}
		t.Fatalf("%s is not in %+v", kind, us)
		return Usage{}
	}
	ok(t, h.Maintain(t.Context(), noon.Add(time.Minute)))
	if u := usage("states"); u.Bytes < 120*1000 || !u.Oldest.Equal(noon) || !u.Newest.Equal(noon.Add(119*time.Minute)) {
		t.Errorf("%+v", u)
	}
	if u := usage("classes"); !u.Oldest.Equal(noon) || !u.Newest.Equal(noon.Add(2*time.Hour)) {
		// no day before it was watched
		t.Errorf("%+v", u)
	}
	ok(t, h.Maintain(t.Context(), noon.Add(2*time.Hour)))
	if u := usage("states"); u.Oldest.Before(noon.Add(55*time.Minute)) || u.Bytes > 400_000 || u.Bytes < 60*1000 {
		t.Errorf("%+v", u)
	}
	var n int
	ok(t, h.db.QueryRow("SELECT count(*) FROM win WHERE level = 60").Scan(&n))
	if n > 62 || n < 60 {
		t.Errorf("%d minutes left", n)
	}
	// By size.
	h.o.StateBytes = 20_000
	h.o.ClassBytes = 1
	for range 20 {
		ok(t, h.Maintain(t.Context(), noon.Add(2*time.Hour)))
	}
	var bytes int
	ok(t, h.db.QueryRow("SELECT (SELECT coalesce(sum(bytes), 0) FROM state) + (SELECT sum(bytes) FROM pack)").
		Scan(&bytes))
	if bytes > 20_000 || bytes < 10_000 {
		t.Errorf("%d bytes left", bytes)
	}
	if s, err := h.StateAt(t.Context(), "shop", noon.Add(119*time.Minute)); err != nil ||
		!s.At.Equal(noon.Add(119*time.Minute)) {
		t.Errorf("the newest is gone: %v", err)
	}
	ok(t, h.db.QueryRow("SELECT count(*) FROM win WHERE level = 60").Scan(&n))
	if n > 15 {
		t.Errorf("%d minutes left", n)
	}
	if r, err := Check(t.Context(), h.Path()); err != nil || !r.OK() {
		t.Errorf("%+v %v", r, err)
	}
}

// TestWrongClockExpiresNothing keeps three days; a clock that is a year ahead when the program starts lets nothing of
// them go.
func TestWrongClockExpiresNothing(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	ok(t, h.PutState(aState("shop", noon)))
	ok(t, h.Flush(t.Context()))
	minutes(t, h, noon, 2)
	for range 3 {
		now := noon.Add(365 * 24 * time.Hour)
		end, err := h.retention.horizon(t.Context(), now)
		ok(t, err)
		ok(t, h.maintain(t.Context(), now, end.Add(-time.Minute))) // a slow machine's minute
	}
	if _, err := h.StateAt(t.Context(), "shop", noon); err != nil {
		t.Error(err)
	}
	var n int
	ok(t, h.db.QueryRow("SELECT count(*) FROM win WHERE level = 60").Scan(&n))
	if n != 2 {
		t.Errorf("%d minutes left", n)
	}
}

// TestWindowsOfTheFutureGiveWay: what was kept while the clock was ahead is not in the way of what comes when it is
// right.
func TestWindowsOfTheFutureGiveWay(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	now := time.Now().Truncate(time.Minute)
	put := func(from time.Time) error { return h.PutClasses(t.Context(), "shop", from, from.Add(time.Minute), nil) }
	ok(t, put(now.Add(-time.Hour)))
	ok(t, put(now.Add(time.Hour)))
	if err := put(now.Add(time.Hour - 10*time.Second)); err != nil {
		t.Errorf("over one of the future: %v", err)
	}
	if err := put(now.Add(-time.Hour - 10*time.Second)); !errors.Is(err, ErrOverlap) {
		t.Errorf("over one of the past: %v", err)
	}
}
