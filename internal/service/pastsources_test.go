package service

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// TestClassSources: what classes of a past window came from is what the states of the window say, and without states
// what the classes themselves do.
func TestClassSources(t *testing.T) {
	off := source.Source{
		Name: source.Digests, State: source.Missing, Reason: "performance_schema is OFF", Fix: "performance_schema=ON",
	}
	noLog := source.Source{Name: source.SlowLog, State: source.Missing, Reason: "slow_query_log is OFF"}
	sampled := class.Class{ID: "a", Origin: class.Processlist, Sampled: true}
	counted := class.Class{ID: "a", Origin: class.PerformanceSchema}
	moments := func(all ...source.Source) []state.State {
		return []state.State{{}, {Sources: all}, {Sources: all}}
	}
	stored := source.Source{Name: source.Digests, State: source.OK, Reads: 1}
	none := source.Source{Name: source.Digests, State: source.Missing, Reason: "nothing is stored"}
	f := func(name string, of source.Source, m []state.State, c class.Class, want ...source.Source) {
		t.Helper()
		x := &snapshot.Snapshot{
			Target: snapshot.Target{Flavor: dbms.MariaDB}, Moments: m, Classes: []class.Class{c},
		}
		for i, got := range classSources(x, of) {
			w := want[i]
			if got.Name != w.Name || got.State != w.State || got.Fix != w.Fix ||
				!strings.Contains(got.Reason, w.Reason) {
				t.Errorf("%s: %+v, want %+v", name, got, w)
			}
		}
	}
	ok := func(n source.Name) source.Source { return source.Source{Name: n, State: source.OK} }
	gone := func(n source.Name, fix string) source.Source {
		return source.Source{Name: n, State: source.Missing, Reason: "nothing is stored", Fix: fix}
	}
	unknown := func(n source.Name) source.Source {
		return source.Source{Name: n, State: source.Missing, Reason: "no query class"}
	}
	f("counted", stored, moments(noLog), counted, ok(source.Digests), noLog, ok(source.Samples))
	f("sampled", stored, moments(off, noLog), sampled, off, noLog, ok(source.Samples))
	f("sampled, the states have expired", stored, nil, sampled, unknown(source.Digests), unknown(source.SlowLog),
		ok(source.Samples))
	f("counted, the states have expired", stored, nil, counted, ok(source.Digests), unknown(source.SlowLog),
		ok(source.Samples))
	f("no classes", none, moments(off, noLog), counted, gone(source.Digests, off.Fix), gone(source.SlowLog, ""),
		gone(source.Samples, ""))
}

// TestBlind: what a diagnosis does not find is taken for gone unless something that the server has did not answer.
func TestBlind(t *testing.T) {
	f := func(want bool, digests, samples, tables source.State) {
		t.Helper()
		x := &snapshot.Snapshot{Sources: []source.Source{
			{Name: source.Digests, State: digests},
			{Name: source.Samples, State: samples},
			{Name: source.Tables, State: tables},
		}}
		if blind(x) != want {
			t.Errorf("digests %s, samples %s, tables %s: %v", digests, samples, tables, !want)
		}
	}
	f(false, source.OK, source.OK, source.OK)
	f(false, source.Missing, source.OK, source.Denied)
	f(true, source.Missing, source.Failed, source.OK)
	f(true, source.Failed, source.OK, source.OK)
	f(true, source.OK, source.OK, source.Slow)
}

// TestInWindow: a counter that was read once in a window has a rate from the reading before it on.
func TestInWindow(t *testing.T) {
	f := func(kind metric.Kind, name string, want int, at ...int64) {
		t.Helper()
		m := metric.Series{Name: name, Kind: kind}
		for _, a := range at {
			m.Points = append(m.Points, metric.Point{At: a})
		}
		if got := inWindow(m, 100); len(got) != want {
			t.Errorf("%v %s of %v: %v", kind, name, at, got)
		}
	}
	f(metric.Counter, "c", 2, 80, 95, 105)
	f(metric.Counter, "c", 2, 95, 105, 115)
	f(metric.Counter, "c", 1, 105)
	f(metric.Counter, "c", 0, 95, 99)
	f(metric.Gauge, "g", 1, 80, 95, 105)
	f(metric.Gauge, scrapeSuccess, 2, 80, 95, 105)
}

// TestTableTimes: of two readings of a table the one says more about a window between which and it no change is known,
// and then the nearer one.
func TestTableTimes(t *testing.T) {
	at := func(min int) time.Time { return periodNoon.Add(time.Duration(min) * time.Minute) }
	w := tableTimes{from: at(0), to: at(1), changes: []event.Event{
		{At: at(-60), Text: "ALTER TABLE shop.boxes2 ADD KEY a (a)"},
		{At: at(-30), Text: "alter table `Boxes` DROP KEY by_shelf"},
		{At: at(90), Text: "12 more: CREATE TABLE t#"},
	}}
	f := func(table string, a, b int, want bool) {
		t.Helper()
		if got := w.better(schema.Ref{Schema: "shop", Table: table}, at(a), at(b)); got != want {
			t.Errorf("%s read at %d is better than at %d: %v", table, a, b, got)
		}
	}
	f("boxes", 0, -20, true)   // in the window
	f("boxes", -40, 80, false) // it was changed since
	f("boxes", 80, -40, true)
	f("boxes", -40, -50, true)
	f("boxes", 100, -20, false)
	f("boxes2", -50, 80, true)
	f("boxes2", -70, -50, false)
	f("box", -40, 41, true)
	if !w.better(schema.Ref{Table: "boxes"}, at(100), time.Time{}) {
		t.Error("a reading is not better than none")
	}
	plans := []history.Plan{{Schema: "a", First: at(5)}, {Schema: "b", First: at(1)}, {Schema: "a", First: at(0)}}
	if u := followed(plans, plans[2]); !u.Equal(at(5)) || !w.after(u, at(6)) || w.after(u, at(4)) {
		t.Errorf("another plan at %v", u)
	}
	if u := followed(plans, plans[0]); !u.IsZero() || w.after(u, at(6)) {
		t.Errorf("no other plan, but at %v", u)
	}
}

// TestOtherServerNoticedLate: a failover in the last seconds of a window is noticed after it.
func TestOtherServerNoticedLate(t *testing.T) {
	x := &snapshot.Snapshot{From: periodNoon, To: periodNoon.Add(time.Minute)}
	e := event.Event{
		At: x.To.Add(8 * time.Second), Target: "shop", Kind: event.Restart,
		Text: "another server answers: b instead of a",
	}
	if err := (archive{}).whole(x, []event.Event{e}); err == nil || !strings.Contains(err.Error(), e.Text) {
		t.Errorf("a failover: %v", err)
	}
	e.Text = "the server restarted"
	if err := (archive{}).whole(x, []event.Event{e}); err != nil {
		t.Errorf("a restart after the window: %v", err)
	}
}

// TestHoleOfUnknownServer: a window with a hole is refused also where nothing tells any more what kind of server it
// was.
func TestHoleOfUnknownServer(t *testing.T) {
	s := graphService(t)
	h, err := history.Open(t.Context(), filepath.Join(t.TempDir(), "history.db"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	at := func(sec int64) time.Time { return time.Unix(graphStart+sec, 0) }
	for n, f := range app.Families() {
		target := fmt.Sprint("shop", n)
		for i := range int64(600) {
			if i > 60 && i < 400 {
				continue // nothing was read
			}
			up := 1.0
			if i > 500 {
				up = 0
			}
			if err := s.Series.AppendRound(reading.Reading{
				At: at(i), Target: target, Parts: []reading.Part{{Source: "x", Samples: 1}},
				Samples: []metric.Sample{{Name: f.Up(), Kind: metric.Gauge, At: at(i).UnixMilli(), Value: up}},
			}); err != nil {
				t.Fatal(err)
			}
		}
		p := archive{app: s.app, ledger: s.ledger, series: s.Series, history: h}
		for _, w := range []struct {
			from, to int64
			want     string
		}{
			{10, 55, ""},
			{10, 500, "choose " + spanOf(at(400), at(500))},
			{100, 300, "nothing is stored"},
			{440, 580, "nothing was read of"},
			{510, 580, "did not answer"},
		} {
			_, err := p.window(t.Context(), target, at(w.from), at(w.to))
			if err == nil != (w.want == "") || err != nil && !strings.Contains(err.Error(), w.want) {
				t.Errorf("%s, %d to %d: %v, want %q", f.Up(), w.from, w.to, err, w.want)
			}
		}
	}
}
