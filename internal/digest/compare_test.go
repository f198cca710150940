package digest

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/stat"
)

// steadyAt returns a class whose statements take about so many seconds, minute by minute.
func steadyAt(seconds float64) [][]float64 {
	r := rand.New(rand.NewPCG(1, uint64(seconds*1e6)))
	return independent(func(r *rand.Rand) float64 { return seconds * (0.9 + 0.2*r.Float64()) })(r, 20, 20)
}

func TestCompare(t *testing.T) {
	a := reportOf(map[string][][]float64{
		"slower": steadyAt(0.01), "faster": steadyAt(0.05), "same": steadyAt(0.02),
		"gone": steadyAt(0.03), "rare": {{0.01, 0.02}},
	})
	b := reportOf(map[string][][]float64{
		"slower": steadyAt(0.03), "faster": steadyAt(0.02), "same": steadyAt(0.02),
		"new": steadyAt(0.04), "rare": {{0.09, 0.1}},
	})
	c := Compare(a, b, "monday", "tuesday", CompareOptions{})
	var got []string
	for _, x := range c.Classes {
		got = append(got, x.ID+" "+string(x.Change))
	}
	want := []string{"slower slower", "new appeared", "faster faster", "gone vanished", "rare unclear", "same same"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("classes are %q, want %q", got, want)
	}
	if c.Result != stat.Worse || c.Judged != 3 || c.A.Name != "monday" || c.B.Name != "tuesday" {
		t.Errorf("result %s of %d judged, %q against %q", c.Result, c.Judged, c.B.Name, c.A.Name)
	}
	if n := c.Totals[Slower] + c.Totals[Appeared] + c.Totals[Faster] + c.Totals[Vanished] + c.Totals[Unclear] +
		c.Totals[Unchanged]; n != 6 {
		t.Errorf("totals are %v", c.Totals)
	}
	slow := c.Classes[0]
	if m, ok := slow.Mean.Get(); !ok || m.Center < 2.9 || m.Center > 3.1 || m.N != 20 {
		t.Errorf("slower is %+v", m)
	}
	if p, ok := slow.P95.Get(); !ok || p < 2.8 || p > 3.2 {
		t.Errorf("95 %% of slower rose ×%v", p)
	}
	if slow.Impact < 0.9*0.02*float64(slow.B.Count) || slow.Impact > 1.1*0.02*float64(slow.B.Count) {
		t.Errorf("slower takes %v s more, of %d statements", slow.Impact, slow.B.Count)
	}
	if x := c.Classes[1]; x.A != nil || x.B == nil || x.Impact != x.B.QuerySec {
		t.Errorf("what appeared has %+v and %+v", x.A, x.B)
	}
	if x := c.Classes[3]; x.B != nil || x.A == nil || x.Impact != -x.A.QuerySec {
		t.Errorf("what vanished has %+v and %+v", x.A, x.B)
	}
	if x := c.Classes[4]; !strings.Contains(x.Reason, "30 are needed") {
		t.Errorf("why rare is unclear: %q", x.Reason)
	}
	if _, err := json.Marshal(c); err != nil {
		t.Error(err)
	}
}

func TestCompareResult(t *testing.T) {
	f := func(a, b map[string][][]float64, want stat.Result, reason string) {
		t.Helper()
		c := Compare(reportOf(a), reportOf(b), "a", "b", CompareOptions{})
		if c.Result != want || !strings.Contains(strings.Join(c.Reasons, "; "), reason) {
			t.Errorf("the result is %s %q, want %s %q", c.Result, c.Reasons, want, reason)
		}
	}
	one := func(id string, v float64) map[string][][]float64 { return map[string][][]float64{id: steadyAt(v)} }
	f(one("x", 0.01), one("x", 0.01), stat.Same, "")
	f(one("x", 0.01), one("x", 0.02), stat.Worse, "1 class slower")
	f(one("x", 0.02), one("x", 0.01), stat.Better, "1 class faster")
	f(one("x", 0.01), one("y", 0.01), stat.Worse, "1 class not in A takes 5 % or more of the time of B")
	f(map[string][][]float64{"x": {{1, 2, 3}}}, map[string][][]float64{"x": {{1, 2, 3}}}, stat.Invalid,
		"no class is in both often enough")
	f(map[string][][]float64{}, map[string][][]float64{}, stat.Invalid, "A holds no statement; B holds no statement")
	f(map[string][][]float64{}, one("x", 0.01), stat.Invalid, "A holds no statement")
	f(one("x", 0.01), map[string][][]float64{}, stat.Invalid, "B holds no statement")
	// Sources may name one class differently: with none in common nothing is new by that.
	from := func(source string, r Report) Report { r.Global.Source = source; return r }
	slow, tables := from("slow log", reportOf(one("x", 0.01))), from("performance_schema", reportOf(one("y", 0.01)))
	if c := Compare(slow, tables, "a", "b", CompareOptions{}); c.Result != stat.Invalid ||
		!strings.Contains(strings.Join(c.Reasons, "; "), "different sources") {
		t.Errorf("of two sources: %s %q", c.Result, c.Reasons)
	}
	// A class that hardly takes any time makes nothing worse.
	f(map[string][][]float64{"x": steadyAt(1), "y": steadyAt(0.0001)}, map[string][][]float64{
		"x": steadyAt(1),
		"y": steadyAt(0.0003),
	}, stat.Same, "")
	f(map[string][][]float64{"x": steadyAt(1)}, map[string][][]float64{"x": steadyAt(1), "y": steadyAt(0.0003)},
		stat.Same, "")
}

// TestCompareSwapped expects a comparison the other way round to be its mirror.
func TestCompareSwapped(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	mirror := map[ClassVerdict]ClassVerdict{
		Slower: Faster, Faster: Slower, Appeared: Vanished, Vanished: Appeared,
		Unclear: Unclear, Unchanged: Unchanged,
	}
	for range 20 {
		a, b := map[string][][]float64{}, map[string][][]float64{}
		for _, id := range []string{"k", "l", "m", "n", "o"} {
			if r.IntN(5) > 0 {
				a[id] = steadyAt(0.01 * float64(1+r.IntN(3)))
			}
			if r.IntN(5) > 0 {
				b[id] = steadyAt(0.01 * float64(1+r.IntN(3)))
			}
		}
		x, y := Compare(reportOf(a), reportOf(b), "a", "b", CompareOptions{}), Compare(reportOf(b), reportOf(a),
			"b", "a", CompareOptions{})
		of := map[string]ClassVerdict{}
		for _, c := range x.Classes {
			of[c.ID] = c.Change
		}
		for _, c := range y.Classes {
			if of[c.ID] != mirror[c.Change] {
				t.Errorf("class %s is %s one way and %s the other", c.ID, of[c.ID], c.Change)
			}
		}
	}
}

func TestCompareTellsWhatLimitsIt(t *testing.T) {
	has := func(c Comparison, want string) {
		t.Helper()
		if !strings.Contains(strings.Join(c.Notes, "\n"), want) {
			t.Errorf("notes are %q, want %q among them", c.Notes, want)
		}
	}
	a, b := reportOf(map[string][][]float64{"x": steadyAt(0.01)}),
		reportOf(map[string][][]float64{"x": steadyAt(0.01), "y": steadyAt(0.01)})
	a.Other = Rest{Classes: 7}
	b.Global.Source, b.Global.Skipped = "performance_schema", 3
	a.Global.Notes = []string{"the clock went back"}
	c := Compare(a, b, "a", "b", CompareOptions{})
	has(c, "another id")
	has(c, "3 parts of B")
	has(c, "7 classes of A")
	has(c, "A: the clock went back")
	if x := c.Classes[0]; x.ID != "y" || x.Change != Unclear || !strings.Contains(x.Reason, "7 classes of A") {
		t.Errorf("a class that may be among those left out is %s %s: %s", x.ID, x.Change, x.Reason)
	}

	why := func(change func(x, y *Row), want string) {
		t.Helper()
		a, b := reportOf(map[string][][]float64{"x": steadyAt(0.01)}),
			reportOf(map[string][][]float64{"x": steadyAt(0.03)})
		change(&a.Classes[0], &b.Classes[0])
		c := Compare(a, b, "a", "b", CompareOptions{})
		if x := c.Classes[0]; x.Change != Unclear || !strings.Contains(x.Reason, want) {
			t.Errorf("the class is %s: %q, want %q", x.Change, x.Reason, want)
		}
	}
	set := func(c *Row, f func(*Figures)) {
		q := c.Attributes[timeKey]
		f(&q)
		c.Attributes[timeKey] = q
	}
	why(func(x, _ *Row) { set(x, func(f *Figures) { f.Stddev = known.None[float64]() }) }, "no distribution")
	why(func(_, y *Row) { delete(y.Attributes, timeKey) }, "in B its query time is unknown")
	why(func(_, y *Row) { y.Truncated = true }, "cut on one side")
	why(func(x, _ *Row) {
		set(x, func(f *Figures) { f.Sum, f.Max, f.Stddev = 0, known.Of(0.0), known.Of(0.0) })
	}, "too coarse")
}

// TestCompareRateLimit expects statements that a rate limit stands for to make nothing surer.
func TestCompareRateLimit(t *testing.T) {
	width := func(rate uint64) float64 {
		of := func(v float64) Report {
			r := reportOf(map[string][][]float64{"x": steadyAt(v)})
			c := &r.Classes[0]
			c.PerMinute.QuerySec = nil
			q := c.Attributes[timeKey]
			q.Count, q.Sum = q.Count*rate, q.Sum*float64(rate)
			c.Count, c.Attributes[timeKey] = q.Count, q
			r.Global.Count *= rate
			return r
		}
		c := Compare(of(0.01), of(0.012), "a", "b", CompareOptions{})
		m, ok := c.Classes[0].Mean.Get()
		if !ok {
			t.Fatalf("not judged: %s", c.Classes[0].Reason)
		}
		return m.Hi / m.Lo
	}
	if one, hundred := width(1), width(100); hundred < 0.99*one || hundred > 1.01*one {
		t.Errorf("the interval is ×%v wide, and ×%v when each statement stands for a hundred", one, hundred)
	}
}

func TestSideOf(t *testing.T) {
	r := reportOf(map[string][][]float64{"x": steadyAt(0.01)})
	if s, _ := sideOf(&r, "x").Seconds.Get(); s != 1200 {
		t.Errorf("a log of 20 minutes has %v s", s)
	}
	r.Global.Began, r.Global.Ended = time.Unix(100, 0), time.Unix(110, 0)
	if s, _ := sideOf(&r, "x").Seconds.Get(); s != 10 {
		t.Errorf("a window of 10 s has %v s", s)
	}
	r.Global = Global{}
	if s := sideOf(&r, "x").Seconds; s.OK() {
		t.Errorf("a report without times has %v s", s)
	}
}
