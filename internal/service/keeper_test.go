package service

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// TestWarningsAreSaidByKind: a figure that changes is no other warning.
func TestWarningsAreSaidByKind(t *testing.T) {
	var w warned
	f := func(after time.Duration, want int, all ...string) {
		t.Helper()
		if got := w.due(all, time.Unix(1e9, 0).Add(after)); len(got) != want {
			t.Errorf("after %v %q is said, want %d", after, got, want)
		}
	}
	for i := range 60 {
		f(time.Duration(i)*time.Second, max(0, 2-2*i), fmt.Sprintf("nothing is stored: %d MiB are free", 100-i),
			"the log is damaged")
	}
	f(2*time.Hour, 1, "nothing is stored: 1 MiB are free", "the log is damaged")
	f(3*time.Hour, 0, "nothing is stored: 1 MiB are free", "the log is damaged")
}

func TestMinuteAddsWindowsUp(t *testing.T) {
	at := func(sec int) time.Time { return time.Unix(60_000+int64(sec), 0) }
	window := func(from, to int, count uint64) ClassWindow {
		return ClassWindow{Target: "x", From: at(from), To: at(to), Classes: []class.Class{
			{ID: "a", Count: count, TimeSec: 1, Examined: known.Of(count)},
			{ID: "a", Schema: "other", Count: 1, TimeSec: 5},
		}}
	}
	var m minute
	for i := range 11 {
		if _, ok := m.add(window(i*5, i*5+5, 2)); ok {
			t.Fatalf("full after window %d", i)
		}
	}
	full, ok := m.add(window(55, 60, 2))
	if !ok || !full.from.Equal(at(0)) || !full.to.Equal(at(60)) {
		t.Fatalf("%+v %v", full, ok)
	}
	list := full.list()
	if len(list) != 2 || list[0].Schema != "other" || list[0].Count != 12 || list[1].Count != 24 ||
		list[1].Examined != known.Of(uint64(24)) {
		t.Errorf("%+v", list)
	}
	if full, ok := m.add(window(60, 65, 7)); ok {
		t.Errorf("%+v", full)
	}
	if got := m.list(); got[1].Count != 7 || !m.from.Equal(at(60)) {
		t.Errorf("%+v", got)
	}
	if full, ok := m.add(window(65, 200, 1)); !ok || !full.from.Equal(at(60)) || !full.to.Equal(at(200)) {
		// nobody looked for a while
		t.Errorf("%+v %v", full, ok)
	}
	if _, ok := m.add(window(200, 205, 1)); ok || !m.from.Equal(at(200)) {
		t.Errorf("%+v", m)
	}
}

// TestMinuteHasABoundInBytes: of all that a server names in a minute; what is known already counts
// on.
func TestMinuteHasABoundInBytes(t *testing.T) {
	long := strings.Repeat("x", mostOfMinuteBytes/8)
	var m minute
	add := func(c class.Class) {
		c.Count = 1
		m.add(ClassWindow{From: time.Unix(60_000, 0), To: time.Unix(60_005, 0), Classes: []class.Class{c}})
	}
	for i := range 20 {
		id := fmt.Sprint(i)
		add(class.Class{ID: id, Schema: long[i:]})
		add(class.Class{
			ID: id, Schema: long[i:], Users: []string{long[i+1:]},
			Hosts: []string{long[i+2:]}, Example: long[i+3:],
		})
	}
	n, count := 0, 0
	for _, c := range m.classes {
		n, count = n+texts(c), count+int(c.Count)
	}
	rest := m.classes[history.ClassKey{ID: history.Others}]
	if n != m.bytes || n > mostOfMinuteBytes+1<<10 || len(m.classes) < 3 || count != 40 || rest == nil ||
		m.left != int(rest.Count) {
		t.Errorf("%d classes of %d bytes, counted as %d, with %d statements; %d left out", len(m.classes), n,
			m.bytes, count, m.left)
	}
}

// TestMinuteKeepsSourcesApart: what two sources counted of a class is not one class: they do not count alike.
func TestMinuteKeepsSourcesApart(t *testing.T) {
	var m minute
	for i, origin := range []class.Origin{class.PerformanceSchema, class.SlowLog} {
		from := time.Unix(60_000+5*int64(i), 0)
		m.take(ClassWindow{From: from, To: from.Add(5 * time.Second), Classes: []class.Class{
			{ID: "a", Origin: origin, Count: 1},
		}})
	}
	if got := m.list(); len(got) != 2 || got[0].Count != 1 || got[1].Count != 1 {
		t.Errorf("%+v", got)
	}
}

// TestMinuteEndsAtAGap: the time in which nobody looked is not of the minute, nor is a window in which the clock was
// set.
func TestMinuteEndsAtAGap(t *testing.T) {
	now := time.Now()                                          // with a monotonic reading
	now = now.Add(now.Truncate(time.Minute).Sub(now.Round(0))) // the end of a minute ends what is gathered
	at := func(sec int) time.Time { return now.Add(time.Duration(sec) * time.Second) }
	var m minute
	if !m.follows(ClassWindow{From: at(0), To: at(5)}) {
		t.Error("a first window follows")
	}
	m.add(ClassWindow{From: at(0), To: at(5)})
	if !m.follows(ClassWindow{From: at(5), To: at(10)}) || m.follows(ClassWindow{From: at(6), To: at(10)}) ||
		m.follows(ClassWindow{From: at(1200), To: at(1205)}) {
		t.Error("only a window that begins where the last one ended follows")
	}
	for by, want := range map[time.Duration]bool{
		0: false, 300 * time.Millisecond: false,
		time.Hour: true, -time.Hour: true,
	} {
		// What a clock that was set by so much reads: the wall clock differs, the monotonic reading does not.
		w := ClassWindow{From: at(0), To: at(5)}
		if got := stepped(w.From, w.To.Round(0).Add(by), w.To.Sub(w.From)); got != want {
			t.Errorf("set by %v: %v", by, got)
		}
	}
}

func TestFullDiskIsAGap(t *testing.T) {
	m := &member{entry: ledger.Target{Name: "x"}}
	at := func(sec int64) time.Time { return time.Unix(sec, 0) }
	f := func(sec int64, full, want bool) event.Event {
		t.Helper()
		e, ok := m.lost(at(sec), full)
		if ok != want {
			t.Errorf("at %d: %+v %v", sec, e, ok)
		}
		return e
	}
	f(1, false, false)
	f(2, true, false)
	f(3, true, false)
	if e := f(4, false, true); e.Kind != event.Gap || !e.At.Equal(at(2)) || !e.Until.Equal(at(4)) || e.Target != "x" ||
		e.Text != "the disk was full: the series of 2 scrapes were not stored" {
		t.Errorf("%+v", e)
	}
	f(5, false, false)
}

// TestMarksAreKeptAtTheEnd: what was seen last is on the timeline, though the watching ends meanwhile.
func TestMarksAreKeptAtTheEnd(t *testing.T) {
	a := alone(t)
	l, err := a.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := wired(&Service{app: a, ledger: l})
	at := time.Unix(60_000, 0)
	e := event.Event{At: at, Target: "shop", Kind: event.Config, Text: "another plan"}
	if s.Events.marks.mark(&e, 0); e.ID == "" {
		t.Fatalf("%+v", e)
	}
	end := make(chan struct{})
	close(end)
	s.Events.storeMarks(end)
	all, err := app.Actions{App: a}.Events(t.Context(), "shop", at.Add(-time.Second), at.Add(time.Second))
	if err != nil || len(all) != 1 || all[0].ID != e.ID {
		t.Errorf("kept %+v, %v", all, err)
	}
}

func TestNewestIsWhatStillLives(t *testing.T) {
	m := &member{latest: map[string][]metric.Sample{}}
	take := func(up bool, parts []reading.Part, names ...string) {
		var samples []metric.Sample
		for _, n := range names {
			samples = append(samples, metric.Sample{Name: n, Value: 1})
		}
		m.take(reading.Reading{Samples: samples, Parts: parts, State: &state.State{Up: up}})
	}
	f := func(want ...string) {
		t.Helper()
		got := m.newest()
		if len(got) != len(want) {
			t.Fatalf("%+v, want %v", got, want)
		}
		for i, x := range got {
			if x.Name != want[i] {
				t.Errorf("%d: %s, want %s", i, x.Name, want[i])
			}
		}
	}
	take(true, []reading.Part{{Source: "fast", Samples: 1}, {Source: "slow", Samples: 2}},
		"first", "s1", "s2", "mysql_up")
	f("first", "mysql_up", "s1", "s2")
	take(true, []reading.Part{{Source: "fast", Samples: 1}}, "f", "mysql_up") // the slow one's turn is later
	f("f", "mysql_up", "s1", "s2")
	// the fast one failed
	take(true, []reading.Part{{Source: "fast", Samples: 0}, {Source: "slow", Samples: 1}}, "s1", "mysql_up")
	f("mysql_up", "s1")
	take(false, nil, "mysql_up") // and now the server is gone
	f("mysql_up")
}

func TestPriceOf(t *testing.T) {
	at := func(n int) []metric.Point {
		var ps []metric.Point
		for i := range n {
			ps = append(ps, metric.Point{At: int64(i) * 1000, Value: float64(i)})
		}
		return ps
	}
	scale := func(ps []metric.Point, by float64) []metric.Point {
		for i := range ps {
			ps[i].Value *= by
		}
		return ps
	}
	src := metric.L("source", "a")
	p, err := priceOf("x", time.Unix(0, 0), time.Unix(10, 0), each(
		metric.Series{
			Name: "dyno_source_seconds_total", Labels: src, Kind: metric.Counter,
			Points: scale(at(11), 0.002),
		},
		metric.Series{
			Name: "dyno_source_seconds_total", Labels: metric.L("source", "b"), Kind: metric.Counter,
			Points: scale(at(11), 0.005),
		},
		metric.Series{Name: "dyno_source_bytes_total", Labels: src, Kind: metric.Counter, Points: scale(at(11), 100)},
		metric.Series{Name: "dyno_scrape_duration_seconds", Labels: src, Points: []metric.Point{
			{At: 0, Value: 0.001},
			{At: 1000, Value: 0.003},
			{At: 2000, Value: 0.002},
		}},
		// one point is no rate
		metric.Series{Name: "dyno_scrape_client_cpu_seconds_total", Kind: metric.Counter, Points: at(1)},
	))
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, v known.Value[float64], want float64) {
		t.Helper()
		if x, ok := v.Get(); !ok || x < want*0.999 || x > want*1.001 {
			t.Errorf("%s: %v, want %v", what, v, want)
		}
	}
	near("server", p.Server, 0.007)
	near("bytes", p.Bytes, 100)
	if p.Client.OK() || p.Rows.OK() {
		t.Errorf("what was not measured: %+v", p)
	}
	if len(p.Sources) != 2 || p.Sources[0].Name != "b" || p.Sources[1].Readings != 3 {
		t.Fatalf("%+v", p.Sources)
	}
	a := p.Sources[1]
	near("mean", a.MeanMS, 2)
	if v, ok := a.LowMS.Get(); !ok || v != 0 { // the interval would reach below zero, which no time does
		t.Errorf("low: %v", a.LowMS)
	}
	near("high", a.HighMS, 2+4.3027*1/1.7320508) // t of 2 degrees of freedom × sd / √3
	near("every", known.Of(a.Every), 1)
}

// TestChangedPlansAreFewEvents: a tenant can have the plans of his statements change all the time.
func TestChangedPlansAreFewEvents(t *testing.T) {
	var p planner
	now := time.Unix(60_000, 0)
	told := 0
	for i := range 120 {
		if p.tells(now.Add(time.Duration(i) * time.Minute)) {
			told++
		}
	}
	if told != 2*plansAnHour {
		t.Errorf("%d events in two hours", told)
	}
}
