package service

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

var periodNoon = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)

// past is a service with nothing but a real history.
func past(t *testing.T) *Service {
	t.Helper()
	h, err := history.Open(t.Context(), filepath.Join(t.TempDir(), "history.db"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	l, err := ledger.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := wired(&Service{app: alone(t), History: h})
	s.ledger, s.Classes.ledger = l, l
	return s
}

// put keeps a minute of classes, i minutes after noon.
func (s *Service) put(t *testing.T, i int, cs ...class.Class) {
	t.Helper()
	at := periodNoon.Add(time.Duration(i) * time.Minute)
	if err := s.History.PutClasses(t.Context(), "shop", at, at.Add(time.Minute), cs); err != nil {
		t.Fatal(err)
	}
}

func exact(id string, count uint64, sec float64) class.Class {
	return class.Class{
		ID: id, Fingerprint: "select * from orders where " + id + " = ?", Schema: "shop",
		Origin: class.PerformanceSchema, Count: count, TimeSec: sec, Examined: known.Of(count * 10),
		RowsSent: known.Of(count),
	}
}

func TestClassLines(t *testing.T) {
	s := past(t)
	for i := range 30 {
		if i < 10 || i >= 20 { // ten minutes of nothing
			s.put(t, i, exact("a", 60, 30), exact("b", 1, float64(i)))
		}
	}
	s.put(t, 30, exact("a", 1, 6))
	list := []class.Class{exact("a", 0, 0), exact("none", 0, 0)}
	f := func(from, to int, step int64, want map[int]float64, unknown ...int) {
		t.Helper()
		lines, err := s.Classes.ClassLines(t.Context(), "shop", list, periodNoon.Add(time.Duration(from)*time.Minute),
			periodNoon.Add(time.Duration(to)*time.Minute))
		if err != nil || len(lines) != 2 {
			t.Fatal(lines, err)
		}
		l := lines[0]
		if l.Step != step || l.From > periodNoon.Unix()+int64(from)*60 ||
			l.From+step*int64(len(l.Values)) < periodNoon.Unix()+int64(to)*60 || len(l.Values) > lineSteps+1 {
			t.Fatalf("from %d, step %d, %d values", l.From, l.Step, len(l.Values))
		}
		for i, w := range want {
			if v, ok := l.Values[i].Get(); !ok || math.Abs(v-w) > 1e-9 {
				t.Errorf("step %d: %v %v, want %v", i, v, ok, w)
			}
			if v, ok := lines[1].Values[i].Get(); !ok || v != 0 {
				t.Errorf("a class that did not run in step %d: %v %v", i, v, ok)
			}
		}
		for _, i := range unknown {
			if l.Values[i].OK() || lines[1].Values[i].OK() {
				t.Errorf("step %d is known", i)
			}
		}
	}
	f(0, 31, 60, map[int]float64{0: 0.5, 9: 0.5, 20: 0.5, 30: 0.1}, 10, 19)
	f(-60, 60, 120, map[int]float64{30: 0.5, 34: 0.5, 45: 6.0 / 60}, 0, 29, 35, 39, 50)
	f(-660, 60, 900, map[int]float64{44: 0.5, 45: 0.5, 46: 0.1}, 0, 43, 47)
	// Beyond twelve hours windows are of an hour: 21 minutes of it were watched.
	f(-24*60, 24*60, 3600, map[int]float64{24: (20*30 + 6) / (21 * 60.0)}, 0, 23, 25)
}

// TestComparePeriods plants what changed: a is three times as slow, b the same, c is gone, d is new, e runs twice as
// often, f is rare.
func TestComparePeriods(t *testing.T) {
	s := past(t)
	wobble := []float64{1, 1.1, 0.9, 1.05, 0.95}
	for i := range 60 {
		w := wobble[i%len(wobble)]
		s.put(t, i, exact("a", 600, 6*w), exact("b", 600, 6*w), exact("c", 60, 30*w), exact("e", 100, 1*w))
	}
	f := exact("f", 3, 9)
	for i := range 30 {
		w := wobble[(i+2)%len(wobble)]
		cs := []class.Class{exact("a", 600, 18*w), exact("b", 600, 6*w), exact("d", 60, 42*w), exact("e", 200, 2*w)}
		if i == 0 {
			cs = append(cs, f)
		}
		cs[0].Examined = known.Of(uint64(600_000))
		s.put(t, 120+i, cs...)
	}
	s.put(t, 59-120, f)
	min := func(i int) time.Time { return periodNoon.Add(time.Duration(i) * time.Minute) }
	p, err := s.Classes.ComparePeriods(t.Context(), "shop", Period{min(-61), min(60)}, Period{min(120), min(180)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	by := map[string]PeriodClass{}
	for _, c := range p.Classes {
		order = append(order, c.ID)
		by[c.ID] = c
	}
	if !slices.Equal(order[:3], []string{"d", "c", "a"}) || p.Total != 6 || p.Result != stat.Worse {
		t.Errorf("%v of %d, %s %v", order, p.Total, p.Result, p.Reasons)
	}
	change := func(id string, want digest.ClassVerdict) PeriodClass {
		t.Helper()
		c := by[id]
		if c.Change != want {
			t.Errorf("%s is %s (%s), want %s; %+v", id, c.Change, c.Reason, want, c.Mean)
		}
		return c
	}
	near := func(what string, v known.Value[float64], want float64) {
		t.Helper()
		if x, ok := v.Get(); !ok || math.Abs(x/want-1) > 1e-6 {
			t.Errorf("%s: %v %v, want %v", what, x, ok, want)
		}
	}
	a := change("a", digest.Slower)
	near("mean", a.MeanRatio, 3)
	near("calls", a.Calls, 61.0/60)
	near("load", a.Load, 3*61.0/60)
	near("examined", a.Examined, 100)
	near("calls a second", known.Of(a.After.PerSec), 10)
	near("load after", known.Of(a.After.Load), 0.3)
	near("mean after", a.After.Mean, 0.03)
	near("sent", a.After.Sent, 1)
	if m, ok := a.Mean.Get(); !ok || m.Lo > 3 || m.Hi < 3 || m.Lo < 2.5 {
		t.Errorf("%+v", m)
	}
	change("b", digest.Unchanged)
	change("e", digest.Unchanged)
	near("calls of e", by["e"].Calls, 2*61.0/60)
	if c := change("c", digest.Vanished); c.After != nil || c.Before == nil || c.LoadChange >= 0 {
		t.Errorf("%+v", c)
	}
	if c := change("d", digest.Appeared); c.Before != nil || math.Abs(c.LoadChange-0.7) > 1e-9 {
		t.Errorf("%+v", c)
	}
	if c := change("f", digest.Unclear); c.Reason != "it ran 3 times in one of the periods, 30 times are needed" ||
		c.Mean.OK() {
		t.Errorf("%+v", c)
	}
	if want := "1 class not in the period before takes 5 % or more of the time of the period after"; !slices.Contains(
		p.Reasons, want) {
		t.Errorf("%q has not %q", p.Reasons, want)
	}
	if p.Before.Coverage.Seconds != 61*60 || p.After.Coverage.Seconds != 30*60 || len(p.Notes) != 2 {
		t.Errorf("%+v %+v %q", p.Before, p.After, p.Notes)
	}
	near("load of all", known.Of(p.After.Load), 0.3+0.1+0.7+2.0/60+9.0/1800)
	if p, err := s.Classes.ComparePeriods(t.Context(), "shop", Period{min(-61), min(60)}, Period{min(120), min(180)},
		2); err != nil || len(p.Classes) != 2 || p.Total != 6 {
		t.Errorf("%d of %d, %v", len(p.Classes), p.Total, err)
	}
	// Nothing was observed before: nothing can be called new.
	p, err = s.Classes.ComparePeriods(t.Context(), "shop", Period{min(-600), min(-500)}, Period{min(120), min(180)}, 0)
	if err != nil || p.Result != stat.Invalid || len(p.Classes) != 5 || p.Classes[0].Change != digest.Unclear {
		t.Errorf("%s %+v %v", p.Result, p.Classes, err)
	}
}

func TestSampledClassesAreNotJudged(t *testing.T) {
	s := past(t)
	for i := range 40 {
		c := exact("a", 100, 10)
		if i >= 20 {
			c.TimeSec = 100
		}
		c.Sampled, c.Origin = true, class.Processlist
		s.put(t, i, c)
	}
	p, err := s.Classes.ComparePeriods(t.Context(), "shop", Period{periodNoon, periodNoon.Add(20 * time.Minute)},
		Period{periodNoon.Add(20 * time.Minute), periodNoon.Add(40 * time.Minute)}, 0)
	if err != nil || len(p.Classes) != 1 {
		t.Fatal(p, err)
	}
	if c := p.Classes[0]; c.Change != digest.Unclear || c.Reason != "its figures are estimated from samples" ||
		c.MeanRatio.OK() || !c.Load.OK() {
		t.Errorf("%+v", c)
	}
}

func TestClassesAreSearched(t *testing.T) {
	s := past(t)
	if _, err := s.Classes.Classes(t.Context(), "shop", periodNoon, periodNoon.Add(time.Hour),
		"a b c d e f g h i j k l m n o p q", 1); !errors.Is(err, ErrManyWords) {
		t.Error(err)
	}
	if _, err := s.Classes.Classes(t.Context(), "shop", periodNoon, periodNoon.Add(time.Hour),
		strings.Repeat("select ", 5000), 1); err != nil {
		t.Error(err)
	}
	var cs []class.Class
	for i := range 300 {
		cs = append(cs, class.Class{
			ID:          fmt.Sprintf("%032X", i),
			Fingerprint: fmt.Sprintf("select * from t%03d where id = ?", i), Schema: "shop",
			Origin: class.PerformanceSchema, Count: 1, TimeSec: float64(1000 - i),
		})
	}
	cs[290].Fingerprint = "update `Crm`.`Customers` set `Name` = ?"
	s.put(t, 0, cs...)
	f := func(search string, n, found int, want ...string) {
		t.Helper()
		l, err := s.Classes.Classes(t.Context(), "shop", periodNoon, periodNoon.Add(time.Hour), search, n)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range l.Classes {
			got = append(got, strings.TrimLeft(c.ID, "0"))
		}
		if !slices.Equal(got, want) || l.Found.Or(-1) != found || l.Coverage.Classes != 300 {
			t.Errorf("%q: got %q of %v, want %q of %d; %+v", search, got, l.Found, want, found, l.Coverage)
		}
	}
	f("", 2, -1, "", "1")
	f(" ", 1, -1, "")
	f("T299", 50, 1, "12B")          // the last one
	f("012b", 50, 1, "12B")          // its id
	f("customers", 50, 1, "122")     // however it is written
	f("crm.customers", 50, 1, "122") // a table with its database
	f("shop.t299", 50, 1, "12B")     // in the default database
	f("ID  t29", 2, 9, "123", "124")
	f("from shop.t00", 1, 10, "")
	f("crm.t299", 50, 0)
	f("t29 customers", 50, 0)
}

// TestRunningStatementsAreNoEstimates compares a class that is sampled while it runs and counted when it ends: it
// counts once, and is judged.
func TestRunningStatementsAreNoEstimates(t *testing.T) {
	s := past(t)
	for i := range 40 {
		c := exact("a", 100, 50+float64(i%3))
		seen := exact("a", 2, 40)
		seen.Sampled, seen.Origin, seen.Examined = true, class.Processlist, known.None[uint64]()
		s.put(t, i, c, seen)
	}
	p, err := s.Classes.ComparePeriods(t.Context(), "shop", Period{periodNoon, periodNoon.Add(20 * time.Minute)},
		Period{periodNoon.Add(20 * time.Minute), periodNoon.Add(40 * time.Minute)}, 0)
	if err != nil || len(p.Classes) != 1 {
		t.Fatal(p, err)
	}
	c := p.Classes[0]
	if c.Change != digest.Unchanged || c.Before.Sampled || c.After.Sampled || !c.MeanRatio.OK() || !c.Examined.OK() {
		t.Errorf("%+v, before %+v, after %+v", c, c.Before, c.After)
	}
	if want := c.Before.TimeSec / 1200; p.Before.Load != want || c.Before.Load != want || want > 0.9 ||
		p.Before.Coverage.Classes != 1 {
		t.Errorf("load %v of all, %v of it, want %v: %+v", p.Before.Load, c.Before.Load, want, p.Before)
	}
}

func TestPlanChanges(t *testing.T) {
	step := func(table, access, key string, rows float64, extra ...string) explain.Step {
		return explain.Step{SelectType: "SIMPLE", Table: table, Access: access, Key: key, Rows: rows, Extra: extra}
	}
	plan := func(s ...explain.Step) explain.Plan { return explain.Plan{Steps: s} }
	f := func(old, now explain.Plan, want ...string) {
		t.Helper()
		if got := PlanChanges(old, now); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	orders := step("orders", "ref", "by_user", 10, "Using where")
	f(plan(orders), plan(orders))
	f(plan(orders), plan(step("orders", "ref", "by_user", 900, "Using where"))) // estimates move with the data
	f(plan(orders), plan(step("orders", "ALL", "", 90_000, "Using where", "Using filesort")),
		"orders: access ref → ALL", "orders: key by_user → none", "orders: now Using filesort",
		"orders: estimated rows 10 → 90000")
	f(plan(orders, step("u", "eq_ref", "PRIMARY", 1)), plan(step("u", "ALL", "", 5),
		step("orders", "ref", "by_user", 10, "Using where")),
		"order of tables: orders, u → u, orders", "u: access eq_ref → ALL", "u: key PRIMARY → none",
		"u: estimated rows 1 → 5")
	f(plan(orders), plan(step("items", "ALL", "", 5)), "orders: no longer in the plan", "items: new in the plan")
	f(plan(orders, orders), plan(orders, step("orders", "ALL", "", 10, "Using where")), "orders: access ref → ALL",
		"orders: key by_user → none")
}

func TestClassExtra(t *testing.T) {
	s := past(t)
	c := exact("a", 1, 1)
	c.Fingerprint = "select * from shop.orders join users on x = y where id = ?"
	h := s.History
	for i := range 7 {
		if err := h.PutSample(t.Context(), "shop", history.Sample{
			Class: "a",
			At:    periodNoon.Add(time.Duration(i) * time.Minute), SQL: fmt.Sprint("SELECT ", i),
			Schema: "shop",
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i, access := range []string{"ref", "ALL", "ref"} {
		p := explain.Plan{Class: "a", Steps: []explain.Step{{Table: "orders", Access: access, Rows: 1}}, Raw: "raw " +
			access}
		if _, err := h.PutPlan(t.Context(), "shop", "shop", periodNoon.Add(time.Duration(i)*time.Hour), p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.PutPlan(t.Context(), "shop", "other", periodNoon.Add(90*time.Minute),
		explain.Plan{Class: "a", Steps: []explain.Step{{Table: "orders", Access: "const"}}}); err != nil {
		t.Fatal(err)
	}
	x, err := s.Classes.ClassExtra(t.Context(), "shop", c, periodNoon)
	if err != nil {
		t.Fatal(err)
	}
	if x.Item != "SELECT shop.orders users" || !slices.Equal(x.Tables, []string{"shop.orders", "users"}) ||
		len(x.Examples) != 5 || x.Examples[0].SQL != "SELECT 6" {
		t.Errorf("%+v", x)
	}
	var got []string
	for _, p := range x.Plans {
		got = append(got, fmt.Sprint(p.Schema, " ", p.Steps[0].Access, " ", p.FirstSeen.Sub(periodNoon), " ",
			p.Changes))
	}
	if want := []string{
		"shop ref 2h0m0s [orders: access ALL → ref]", "other const 1h30m0s []",
		"shop ALL 1h0m0s [orders: access ref → ALL]", "shop ref 0s []",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if x.Plans[0].Before != x.Plans[2].Hash || x.Plans[3].Before != "" {
		t.Errorf("%+v", x.Plans)
	}
	x, err = s.Classes.ClassExtra(t.Context(), "shop", exact("absent", 1, 1), periodNoon)
	if err != nil || x.Examples == nil || x.Plans == nil || len(x.Plans) != 0 {
		t.Errorf("%+v %v", x, err)
	}
}
