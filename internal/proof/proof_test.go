package proof

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/figures"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

func compared(before, after *snapshot.Snapshot, a finding.Action, about finding.Subject) Proof {
	return Compare(before, after, a, about, sqlshape.Parse)
}

var action = finding.Action{Kind: finding.AddIndex, Table: schema.Ref{Schema: "shop", Table: "orders"}}

// exact returns a class as performance_schema tells it.
func exact(id, fingerprint string, calls uint64, sec float64, examined uint64) class.Class {
	return class.Class{
		ID: id, Fingerprint: fingerprint, Schema: "shop", Count: calls, TimeSec: sec,
		Examined: known.Of(examined), RowsSent: known.Of(calls),
	}
}

func window10(at int64, classes ...class.Class) *snapshot.Snapshot {
	counter := func(name string, perSec float64, labels ...string) metric.Series {
		s := metric.Series{Name: name, Labels: metric.L(labels...), Kind: metric.Counter}
		for i := range int64(11) {
			s.Points = append(s.Points, metric.Point{At: (at + i) * 1000, Value: perSec * float64(i)})
		}
		return s
	}
	s := &snapshot.Snapshot{
		From: time.Unix(at, 0), To: time.Unix(at+10, 0), Classes: classes,
		Target: snapshot.Target{Server: "one", UptimeSec: at},
		Series: []metric.Series{counter("mysql_global_status_questions", 50)},
	}
	for _, c := range rowReads {
		s.Series = append(s.Series, counter(c.Name, 100, c.By.Name, c.By.Value))
	}
	return s
}

// Names of MySQL's.
var (
	statements = metric.Ref{Name: "mysql_global_status_questions"}
	rowReads   = []metric.Ref{
		figures.Handlers.Ref("read_first"), figures.Handlers.Ref("read_key"), figures.Handlers.Ref("read_last"),
		figures.Handlers.Ref("read_next"), figures.Handlers.Ref("read_prev"), figures.Handlers.Ref("read_rnd"),
		figures.Handlers.Ref("read_rnd_next"),
	}
)

const scan, point, other = "select * from orders where status = ?", "select * from orders where id = ?",
	"select * from customers where id = ?"

func TestCallsAreComparedAndTheMixIsTold(t *testing.T) {
	before := window10(1000, exact("A", scan, 100, 50, 1e7), exact("B", point, 1000, 1, 1000),
		exact("C", other, 900, 1, 900))
	after := window10(2000, exact("A", scan, 1000, 1, 1e5), exact("B", point, 10000, 10, 10000),
		exact("C", other, 9000, 9, 9000))
	p := compared(before, after, action, finding.Subject{Classes: []string{"A"}})
	if len(p.Touched) != 2 || p.Touched[0].Class != "A" || p.Touched[1].Class != "B" {
		t.Fatalf("touched %+v: want the scan first, then the other class on the table, not the one on another table",
			p.Touched)
	}
	a := p.Touched[0]
	if v, _ := a.TimeRatio.Get(); v != 500 {
		t.Errorf("time ratio %v, want 0.5 s ÷ 1 ms", v)
	}
	if v, _ := a.ExaminedRatio.Get(); v != 1000 {
		t.Errorf("examined ratio %v", v)
	}
	if a.Before.PerSec != 10 || a.After.PerSec != 100 {
		t.Errorf("per second %v and %v", a.Before.PerSec, a.After.PerSec)
	}
	if v, ok := p.Mix.Shift.Get(); !ok || v > 1e-9 {
		t.Errorf("ten times everything is no change of mix: %v %v", v, ok)
	}
	if len(p.Warnings) != 0 {
		t.Errorf("warnings %q", p.Warnings)
	}
	all := Server(before, after, statements, rowReads)
	if v, ok := all[0].Before.Get(); !ok || v != 50 {
		t.Errorf("statements %v %v", v, ok)
	}
	if v, ok := all[1].Before.Get(); !ok || v != 700 {
		t.Errorf("rows read %v %v", v, ok)
	}
	if all[2].Before.OK() {
		t.Error("the CPU of a remote server is known")
	}
	if all := Server(before, after, metric.Ref{}, nil); all[0].Before.OK() || all[1].Before.OK() {
		t.Errorf("what the family does not count is known: %+v", all)
	}
}

func TestWeaknessesAreWarned(t *testing.T) {
	base := func() (*snapshot.Snapshot, *snapshot.Snapshot) {
		return window10(1000, exact("A", scan, 100, 50, 1e7)), window10(2000, exact("A", scan, 100, 1, 1e5))
	}
	f := func(what string, bend func(before, after *snapshot.Snapshot)) {
		t.Helper()
		b, a := base()
		bend(b, a)
		p := compared(b, a, action, finding.Subject{Classes: []string{"A"}})
		if !strings.Contains(strings.Join(p.Warnings, "\n"), what) {
			t.Errorf("no warning of %q in %q", what, p.Warnings)
		}
	}
	f("different servers", func(_, a *snapshot.Snapshot) { a.Target.Server = "two" })
	f("restarted", func(_, a *snapshot.Snapshot) { a.Target.UptimeSec = 20 })
	f("mix of calls changed", func(_, a *snapshot.Snapshot) {
		a.Classes = append(a.Classes, exact("N", other, 100, 1, 1))
	})
	f("sampled", func(_, a *snapshot.Snapshot) { a.Classes[0].Sampled = true })
	f("not observed after", func(_, a *snapshot.Snapshot) { a.Classes = nil })
	f("less than 20 calls", func(b, _ *snapshot.Snapshot) { b.Classes[0].Count = 5 })
	f("nothing to compare", func(b, a *snapshot.Snapshot) { b.Classes, a.Classes = nil, nil })
}

func TestASampledSideHasNoTimePerCall(t *testing.T) {
	b, a := window10(1000, exact("A", scan, 100, 50, 1e7)), window10(2000, exact("A", scan, 100, 1, 1e5))
	b.Classes[0].Sampled = true
	p := compared(b, a, action, finding.Subject{Classes: []string{"A"}})
	if p.Touched[0].TimeRatio.OK() || p.Mix.Shift.OK() {
		t.Fatalf("got %+v", p.Touched[0])
	}
}

func TestAVariableTouchesAllClassesThatCount(t *testing.T) {
	before := window10(1000, exact("A", scan, 100, 50, 1e7), exact("B", point, 1000, 2, 1000),
		exact("C", other, 900, 0.1, 900))
	after := window10(2000, exact("A", scan, 1000, 50, 1e5), exact("B", point, 1000, 1, 1000),
		exact("C", other, 900, 0.1, 900))
	p := compared(before, after, finding.Action{Kind: finding.SetVariable, Variable: "innodb_buffer_pool_size"},
		finding.Subject{})
	if len(p.Touched) != 2 || p.Touched[0].Class != "A" || p.Touched[1].Class != "B" {
		t.Fatalf("touched %+v: want the two classes that hold 2 %% or more", p.Touched)
	}
	p = compared(window10(1000), window10(2000), finding.Action{Kind: finding.SetVariable}, finding.Subject{})
	if w := strings.Join(p.Warnings, " "); !strings.Contains(w, "no class was observed") {
		t.Errorf("warnings %q", w)
	}
}

// One statement in the databases of two tenants is two classes of one id, and either may be first.
func TestAStatementOfTwoDatabasesIsNotMixed(t *testing.T) {
	in := func(db string, calls uint64, sec float64) class.Class {
		c := exact("A", scan, calls, sec, calls)
		c.Schema = db
		return c
	}
	before := window10(1000, in("shop", 100, 50), in("other", 1000, 1)) // 0.5 s and 0.001 s a call
	after := window10(2000, in("other", 1000, 1), in("shop", 100, 0.5))
	is := func(name string, p Proof, want map[string]float64) {
		t.Helper()
		got := map[string]float64{}
		for _, c := range p.Touched {
			got[c.Schema] = c.TimeRatio.Or(0)
		}
		if len(p.Touched) != len(want) || !maps.Equal(got, want) {
			t.Errorf("%s: times faster %v, want %v", name, got, want)
		}
	}
	is("index", compared(before, after, action, finding.Subject{Classes: []string{"A"}}),
		map[string]float64{"shop": 100})
	v := finding.Action{Kind: finding.SetVariable, Variable: "x"}
	is("variable", compared(before, after, v, finding.Subject{Classes: []string{"A"}}),
		map[string]float64{"shop": 100, "other": 1})
	before.Classes[1].TimeSec, after.Classes[0].TimeSec = 0.001, 0.001
	is("variable, one database too light to count", compared(before, after, v, finding.Subject{}),
		map[string]float64{"shop": 100})
}
