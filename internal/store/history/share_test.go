package history

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
)

// TestStatesOfAQuietTarget: a target whose states are large loses its own oldest, not those of another.
func TestStatesOfAQuietTarget(t *testing.T) {
	h := mustOpen(t, file(t), Options{StateBytes: 60_000})
	put := func(target string, i, bytes int) {
		t.Helper()
		s := aState(target, noon.Add(time.Duration(i)*time.Second))
		s.EngineStatus = random(bytes, uint64(i))
		ok(t, h.PutState(s))
	}
	for i := range 120 {
		put("quiet", i, 50)
	}
	for i := range 300 {
		put("noisy", 120+i, 1000)
	}
	for range 2 {
		ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	}
	count := func(target string) (n int, last time.Time) {
		t.Helper()
		ts, err := h.StateTimes(t.Context(), target, noon, noon.Add(time.Hour), 0)
		ok(t, err)
		if len(ts) > 0 {
			last = ts[len(ts)-1]
		}
		return len(ts), last
	}
	if n, _ := count("quiet"); n != 120 {
		t.Errorf("%d of 120 states of the quiet target are kept", n)
	}
	if n, last := count("noisy"); n < 30 || n == 300 || !last.Equal(noon.Add(419*time.Second)) {
		t.Errorf("%d of 300 states of the noisy target are kept, the last of %v", n, last)
	}
	var bytes int
	ok(t, h.db.QueryRow("SELECT (SELECT coalesce(sum(bytes), 0) FROM state) + (SELECT coalesce(sum(bytes), 0) FROM "+
		"pack)").Scan(&bytes))
	if bytes > 60_000 {
		t.Errorf("%d bytes are kept", bytes)
	}
}

// TestClassesOfAQuietTarget: a target with ever other statements loses its own oldest windows, and all of them together
// keep to the bound.
func TestClassesOfAQuietTarget(t *testing.T) {
	t.Run("over days", func(t *testing.T) { noisyClasses(t, 3*time.Hour, true) })
	t.Run("within a day", func(t *testing.T) { noisyClasses(t, 16*time.Minute, false) })
}

// noisyClasses fills a history with windows of a noisy target, so far from each other, of which it must keep the
// newest.
func noisyClasses(t *testing.T, every time.Duration, newest bool) {
	const bound, quiet, each = 1 << 20, 60, 60
	h := mustOpen(t, file(t), Options{ClassBytes: bound})
	minutes(t, h, noon, quiet) // of shop
	most := int64(0)
	end := noon
	for m := range 40 {
		at := noon.Add(time.Hour + time.Duration(m)*every)
		end = at.Add(time.Minute)
		var cs []class.Class
		for i := range each {
			id := fmt.Sprintf("%032d", m*1000+i)
			cs = append(cs, class.Class{
				ID: id, Fingerprint: "select " + id + random(200, uint64(m*1000+i)),
				Origin: class.PerformanceSchema, Count: 1, TimeSec: 1,
			})
		}
		ok(t, h.PutClasses(t.Context(), "noisy", at, end, cs))
		ok(t, h.Maintain(t.Context(), end))
		bytes := int64(0)
		for _, name := range []string{"figure", "class", "sqlite_autoindex_class_1"} {
			n, err := h.retention.pages(t.Context(), name)
			ok(t, err)
			bytes += n
		}
		most = max(most, bytes)
	}
	if most > bound*5/4 { // what a minute adds, and pages that are not full
		t.Errorf("%d bytes of classes were kept, of %d", most, bound)
	}
	for id, want := range map[string]int{"A": quiet, "B": quiet / 2} {
		bs, err := h.Timeline(t.Context(), "shop", id, noon, noon.Add(time.Hour))
		n := 0
		for _, b := range bs {
			if b.Count > 0 {
				n++
			}
		}
		if err != nil || len(bs) != quiet || n != want {
			t.Errorf("of %s of the quiet target %d of %d minutes are kept, in %d buckets: %v",
				id, n, want, len(bs), err)
		}
	}
	if cs, _, err := h.Classes(t.Context(), "noisy", end.Add(-time.Minute), end, 0); newest &&
		len(cs) < each || err != nil {
		t.Errorf("%d classes in the last minute of the noisy target: %v", len(cs), err)
	}
	var first int64
	ok(t, h.db.QueryRow("SELECT coalesce(min(at), 0) FROM win WHERE target = (SELECT id FROM target WHERE name = "+
		"'noisy') AND level = 60").Scan(&first))
	if first == noon.Add(time.Hour).UnixMilli() {
		t.Error("the noisy target lost nothing")
	}
	if r, err := Check(t.Context(), h.Path()); err != nil || !r.OK() {
		t.Errorf("%+v %v", r, err)
	}
}

// TestPlansAndExamplesOfAQuietTarget: neither goes because another target has many.
func TestPlansAndExamplesOfAQuietTarget(t *testing.T) {
	t.Run("rows", func(t *testing.T) { noisyPlans(t, 10, maxBytes) })
	t.Run("bytes", func(t *testing.T) { noisyPlans(t, maxRows, 77_000) })
}

// noisyPlans keeps the plans and examples of a noisy target, of about 10 kB each, beside few and
// short ones of a quiet target. There is room for seven.
func noisyPlans(t *testing.T, rows, bytes int64) {
	h := mustOpen(t, file(t), Options{})
	h.retention.maxRows, h.retention.maxBytes = rows, bytes
	bulk := ""
	put := func(target, id string, at time.Duration) {
		t.Helper()
		_, err := h.PutPlan(t.Context(), target, "d", noon.Add(at), explain.Plan{
			Class: id, Raw: bulk,
			Steps: []explain.Step{{Table: "t", Access: "ALL"}},
		})
		ok(t, err)
		ok(t, h.PutSample(t.Context(), target, Sample{Class: id, At: noon.Add(at), SQL: "SELECT 1 " + bulk}))
	}
	for i := range 3 {
		put("quiet", fmt.Sprint("Q", i), time.Duration(i)*time.Second)
	}
	bulk = strings.Repeat("<", 10_000)
	for i := range 30 {
		put("noisy", fmt.Sprint("N", i), time.Minute+time.Duration(i)*time.Second)
	}
	ok(t, h.Maintain(t.Context(), noon.Add(time.Hour)))
	f := func(target, prefix string, n, want int) {
		t.Helper()
		plans, samples := 0, 0
		for i := range n {
			ps, err := h.Plans(t.Context(), target, fmt.Sprint(prefix, i))
			ok(t, err)
			ss, err := h.Samples(t.Context(), target, fmt.Sprint(prefix, i))
			ok(t, err)
			plans, samples = plans+len(ps), samples+len(ss)
		}
		if plans != want || samples != want {
			t.Errorf("%s: %d plans and %d examples are kept, want %d", target, plans, samples, want)
		}
	}
	f("quiet", "Q", 3, 3)
	f("noisy", "N", 30, 7)
}

// TestWaitingStatesOfAQuietTarget: while nothing can be written, what waits of a target is not given up for the states
// of another.
func TestWaitingStatesOfAQuietTarget(t *testing.T) {
	h := mustOpen(t, file(t), Options{BufferBytes: 8000})
	ok(t, h.PutState(aState("quiet", noon)))
	ok(t, h.Flush(t.Context()))
	maxPages(t, h, 1)
	for i := range 60 {
		s := aState("noisy", noon.Add(time.Duration(i)*time.Second))
		s.EngineStatus = random(2000, uint64(i))
		if i < 4 {
			ok(t, h.PutState(aState("quiet", noon.Add(time.Duration(i+1)*time.Second))))
		}
		ok(t, h.PutState(s))
		_ = h.Flush(t.Context()) // says that the file is full
	}
	maxPages(t, h, 1_000_000)
	ok(t, h.Flush(t.Context()))
	if len(h.waiting.list) != 0 || h.waiting.bytes != 0 {
		t.Errorf("%d states of %d bytes wait", len(h.waiting.list), h.waiting.bytes)
	}
	for target, want := range map[string]int{"quiet": 5, "noisy": 3} {
		ts, err := h.StateTimes(t.Context(), target, noon, noon.Add(time.Hour), 0)
		if err != nil || len(ts) < want || len(ts) > 20 {
			t.Errorf("%s: %d states are kept, want %d or more: %v", target, len(ts), want, err)
		}
	}
}

func TestShare(t *testing.T) {
	f := func(bound, want int64, ns ...int64) {
		t.Helper()
		all := make([]use, len(ns))
		for i, n := range ns {
			all[i] = use{int64(i), n}
		}
		if got := share(all, bound); got != want {
			t.Errorf("%v of %d: %d, want %d", ns, bound, got, want)
		}
	}
	const all = math.MaxInt64
	f(100, all)
	f(100, all, 0)
	f(100, all, 60, 40)
	f(100, 100, 101)
	f(100, 50, 60, 50)
	f(100, 60, 90, 40)
	f(100, 40, 20, 90, 90)
	f(100, 33, 90, 90, 90)
	f(0, 0, 0, 1)
}

// TestSizesOfTargets: what each target takes is counted to the byte, and given back.
func TestSizesOfTargets(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	minutes(t, h, noon, 5)
	ok(t, h.PutClasses(t.Context(), "other", noon, noon.Add(time.Minute),
		[]class.Class{a(1, 1, 1), {ID: "C", Schema: "é", Fingerprint: "select é", Count: 1}}))
	sizes := func() string {
		t.Helper()
		all, err := h.retention.uses(t.Context(), "SELECT id, size FROM target ORDER BY id")
		ok(t, err)
		return fmt.Sprint(all)
	}
	_, err := h.PutPlan(t.Context(), "shop", "é", noon, explain.Plan{
		Class: "A", Raw: "<é",
		Steps: []explain.Step{{Table: "t"}},
	})
	ok(t, err)
	ok(t, h.PutSample(t.Context(), "shop", Sample{Class: "A", At: noon, SQL: "SELECT 'é'"}))
	// B runs in two of the minutes
	const figures, classes = 5 + 2 + 2*2, 2*250 + len("select ?") + len("b") + 2*len("d")
	want := fmt.Sprint([]use{{1, figures*100 + int64(classes)}, {2, 6*100 + 250 + int64(len("select é")+2*len("é"))}})
	if got := sizes(); got != want {
		t.Errorf("counted: %s, want %s", got, want)
	}
	_, err = h.db.Exec("DELETE FROM figure")
	ok(t, errors.Join(err, h.retention.sweep(t.Context())))
	if got := sizes(); got != fmt.Sprint([]use{{1, 0}, {2, 0}}) {
		t.Errorf("with nothing left: %s", got)
	}
}

// TestADayThatIsDroppedBeginsAnew: what is put into it later says nothing of the classes that its hours and minutes
// had.
func TestADayThatIsDroppedBeginsAnew(t *testing.T) {
	h := mustOpen(t, file(t), Options{})
	minutes(t, h, noon, 5)
	day := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	ok(t, h.retention.dropKeys(t.Context(), 86400, []windowKey{{1, day.UnixMilli()}}))
	ok(t, h.PutClasses(t.Context(), "shop", noon.Add(time.Hour), noon.Add(time.Hour+time.Minute),
		[]class.Class{{ID: "C", Count: 1}}))
	ok(t, h.retention.sweep(t.Context()))
	if r, err := Check(t.Context(), h.Path()); err != nil || !r.OK() {
		t.Errorf("%+v %v", r, err)
	}
}

// TestNewStatementsCostTheOldestDays: most of what a target with ever new statements takes is its classes, which go
// with their days.
func TestNewStatementsCostTheOldestDays(t *testing.T) {
	const bound, days, each = 1 << 20, 20, 60
	h := mustOpen(t, file(t), Options{ClassBytes: bound})
	end := noon
	for d := range days {
		end = noon.AddDate(0, 0, d)
		var cs []class.Class
		for i := range each {
			id := fmt.Sprintf("%032d", d*1000+i)
			cs = append(cs, class.Class{
				ID: id, Fingerprint: "select " + id + random(1000, uint64(d*1000+i)),
				Origin: class.PerformanceSchema, Count: 1, TimeSec: 1,
			})
		}
		ok(t, h.PutClasses(t.Context(), "shop", end, end.Add(time.Minute), cs))
	}
	ok(t, h.Maintain(t.Context(), end.Add(time.Minute)))
	var kept, size int64
	ok(t, h.db.QueryRow("SELECT (SELECT count(*) FROM win WHERE level = 86400), (SELECT sum(size) FROM target)").
		Scan(&kept, &size))
	if kept < 5 || kept == days || size > bound {
		t.Errorf("%d of %d days are kept, of %d bytes", kept, days, size)
	}
}
