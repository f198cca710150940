package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"

	"github.com/google/go-cmp/cmp"
)

func TestScale(t *testing.T) {
	f := func(values []float64, log bool, ticks ...float64) {
		t.Helper()
		s := scaleFor(values)
		if s.log != log {
			t.Errorf("%v: logarithmic is %v", values, s.log)
		}
		if d := cmp.Diff(ticks, s.ticks()); d != "" {
			t.Errorf("%v: ticks (-want +got)\n%s", values, d)
		}
		for _, v := range values {
			if h := s.at(v); !(h >= 0 && h <= 1+1e-9) {
				t.Errorf("%v: %v stands at %v", values, v, h)
			}
		}
	}
	f(nil, false, 0, 0.2, 0.4, 0.6, 0.8, 1)
	f([]float64{0, 0}, false, 0, 0.2, 0.4, 0.6, 0.8, 1)
	f([]float64{3.4e6, 3.2e6}, false, 0, 1e6, 2e6, 3e6, 4e6)
	f([]float64{0.3}, false, 0, 0.1, 0.2, 0.3)
	f([]float64{-4, 7}, false, -5, 0, 5, 10)
	f([]float64{17, 4040}, true, 10, 100, 1000)
	f([]float64{0, 17, 4040}, true, 0, 10, 100, 1000)
	f([]float64{2, 150}, true, 2, 5, 10, 20, 50, 100, 200)
	f([]float64{1e-6, 1e9}, true, 1e-6, 1e-3, 1, 1e3, 1e6, 1e9)
	f([]float64{-1, 17, 4040}, false, -1000, 0, 1000, 2000, 3000, 4000, 5000)

	// One odd reading of many does not bend the axis.
	many := make([]float64, 100)
	for i := range many {
		many[i] = 1000
	}
	many[50] = 1
	if scaleFor(many).log {
		t.Error("one low reading of a hundred makes the axis logarithmic")
	}
}

func TestScaleIsMonotone(t *testing.T) {
	for _, s := range []scale{
		scaleFor([]float64{0, 1, 10_000}), scaleFor([]float64{1, 10_000}),
		scaleFor([]float64{1, 2, 3}),
	} {
		last := -1.0
		for _, v := range []float64{0, 1, 1.5, 2, 3, 100, 1000, 10_000} {
			if v > s.hi || s.log && v < s.lo && (v > 0 || !s.zero) {
				continue
			}
			if h := s.at(v); h <= last {
				t.Errorf("%+v: %v stands at %v, not above %v", s, v, h, last)
			} else {
				last = h
			}
		}
	}
}

func TestTimeTicks(t *testing.T) {
	f := func(span float64, n int, want ...string) {
		t.Helper()
		var got []string
		for _, v := range timeTicks(span, n) {
			got = append(got, timeText(v, span))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v s: (-want +got)\n%s", span, d)
		}
	}
	f(96, 10, "0", "10", "20", "30", "40", "50", "60", "70", "80", "90")
	f(96, 5, "0", "30", "60", "90")
	f(1, 5, "0", "0.2", "0.4", "0.6", "0.8", "1")
	f(600, 5, "0:00", "2:00", "4:00", "6:00", "8:00", "10:00")
	f(6*3600, 6, "0:00", "1:00", "2:00", "3:00", "4:00", "5:00", "6:00")
	if n := len(timeTicks(40*86400, 10)); n > 11 {
		t.Errorf("40 days: %d ticks", n)
	}
}

func TestSegments(t *testing.T) {
	f := func(at []int64, want ...int) {
		t.Helper()
		var ps []metric.Point
		for _, a := range at {
			ps = append(ps, metric.Point{At: a})
		}
		var got []int
		for _, s := range segments(ps) {
			got = append(got, len(s))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v: (-want +got)\n%s", at, d)
		}
	}
	f(nil)
	f([]int64{5}, 1)
	f([]int64{0, 1000, 2000, 3000}, 4)
	f([]int64{0, 1000, 3100, 4100}, 4) // a second late is no gap
	f([]int64{0, 1000, 2000, 5000, 6000}, 3, 2)
	f([]int64{0, 100, 200, 1150}, 4) // finer than a second: neither
	f([]int64{0, 60_000, 120_000, 300_000, 360_000}, 3, 2)
}

func TestThinKeepsSpikes(t *testing.T) {
	var ps []metric.Point
	for i := range 10_000 {
		ps = append(ps, metric.Point{At: int64(i) * 1000, Value: 10})
	}
	ps[7_777].Value, ps[1_234].Value = 99, -5
	out := thin(ps, 300)
	if len(out) > 600 {
		t.Errorf("%d points left", len(out))
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, p := range out {
		lo, hi = min(lo, p.Value), max(hi, p.Value)
		if i > 0 && p.At <= out[i-1].At {
			t.Fatal("out of order")
		}
	}
	if lo != -5 || hi != 99 {
		t.Errorf("from %v to %v", lo, hi)
	}
	if len(thin(ps[:100], 300)) != 100 {
		t.Error("few points were thinned")
	}
}

func TestPath(t *testing.T) {
	if got := path([]float64{0, 1.25, 10.06, -0.04}); got != "M0 1.3L10.1 0" {
		t.Error(got)
	}
}

// TestPlace checks that no label overlaps another, is crossed by a mark's line, or leaves the plot.
func TestPlace(t *testing.T) {
	f := func(xs []float64, texts []string, rows, empty int) {
		t.Helper()
		const left, right, size = 40, 400, 12
		out := place(xs, texts, left, right, size, rows)
		missing := 0
		type box struct {
			a, b float64
			row  int
		}
		boxes := make([]box, len(out))
		for i, p := range out {
			if p.text == "" {
				missing++
				continue
			}
			w := textWidth(p.text, size)
			boxes[i] = box{p.x, p.x + w, p.row}
			if p.end {
				boxes[i] = box{p.x - w, p.x, p.row}
			}
			if boxes[i].a < left || boxes[i].b > right || p.row >= rows {
				t.Errorf("%q leaves the plot: %+v", p.text, boxes[i])
			}
		}
		for i, a := range boxes {
			for j, b := range boxes {
				if i == j || out[i].text == "" || out[j].text == "" {
					continue
				}
				if a.row == b.row && a.a < b.b && b.a < a.b {
					t.Errorf("%q overlaps %q", out[i].text, out[j].text)
				}
				if a.a < xs[j] && xs[j] < a.b && b.row >= a.row {
					t.Errorf("the line of %q crosses %q", out[j].text, out[i].text)
				}
			}
		}
		if missing != empty {
			t.Errorf("%d labels had no room, want %d", missing, empty)
		}
	}
	f([]float64{40, 96, 134}, []string{"load started, 8 sessions", "looked for 9 s", "index added"}, 3, 0)
	f([]float64{390}, []string{"at the right edge"}, 1, 0)
	f([]float64{40, 399}, []string{"first", "last"}, 1, 0)
	f([]float64{200, 200, 200}, []string{"three at", "the same", "moment"}, 3, 0)
	f([]float64{200}, []string{strings.Repeat("far too long to fit anywhere ", 20)}, 2, 1)
	f([]float64{100, 101, 102, 103, 104, 105, 106}, strings.Split("aaaaaaaa bbbbbbbb cccccccc dddddddd eeeeeeee "+
		"ffffffff gggggggg", " "), 2, 3)
}

func TestQuantity(t *testing.T) {
	f := func(v float64, u, want string) {
		t.Helper()
		if got := quantity(v, u); got != want {
			t.Errorf("quantity(%v, %q) = %q, want %q", v, u, got, want)
		}
	}
	f(17.1, "1/s", "17.1/s")
	f(604, "ms", "604 ms")
	f(0.468, "s", "468 ms")
	f(97.2, "%", "97 %")
	f(3.42e6, "rows/s", "3.42M rows/s")
	f(1.5, "cores", "1.5 cores")
	f(1<<20, "B", "1 MiB")
	f(5, "", "5")
}

func TestFactor(t *testing.T) {
	f := func(r float64, want string) {
		t.Helper()
		if got := factor(r); got != want {
			t.Errorf("factor(%v) = %q, want %q", r, got, want)
		}
	}
	f(237, "×237")
	f(0.93, "×0.93")
	f(0.5, "×0.50")
	f(1.0/263, "÷263")
	f(0, "×0")
}

func TestSparkline(t *testing.T) {
	from := time.Unix(1000, 0)
	to := from.Add(10 * time.Second)
	var ps []metric.Point
	for i := range 10 {
		if i < 4 || i > 6 {
			ps = append(ps, metric.Point{
				At:    from.Add(time.Duration(i)*time.Second + 500*time.Millisecond).UnixMilli(),
				Value: float64(i),
			})
		}
	}
	s := scaleFor([]float64{0, 10})
	if got, want := sparkline(ps, from, to, 10, s), "▁▁▂▃   ▆▇█"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := sparkline(ps[:4], from, from.Add(4*time.Second), 8, s); strings.Contains(strings.Trim(got, " "), " ") {
		t.Errorf("finer columns than readings are gaps: %q", got)
	}
	if got := sparkline(nil, from, to, 5, s); got != "     " {
		t.Errorf("nothing measured: %q", got)
	}
}

func TestVisible(t *testing.T) {
	f := func(in string, multi bool, want string) {
		t.Helper()
		if got := Visible(in, multi); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
	f("plain, ünï 数 🙂", false, "plain, ünï 数 🙂")
	f("a\x00b\x1b[31m\x7f", false, "a␀b␛[31m␡")
	f("a\nb\tc\r\n", false, "a b c ")
	f("a\r\nb\tc", true, "a\nb    c")
	f("x\u202ey\u2066\u200b\u00a0\u0085\U000e0041", false, "x⟨U+202E⟩y⟨U+2066⟩⟨U+200B⟩⟨U+00A0⟩⟨U+0085⟩⟨U+E0041⟩")
	f("\xff\xc3", false, "⟨xFF⟩⟨xC3⟩")
	f("\ufffd", false, "\ufffd") // it is its own picture
}

func TestPairs(t *testing.T) {
	e := &Experiment{Baseline: "a", Variant: "b", Metrics: Metrics("p95_ms", "qps"), Main: "p95_ms", Windows: []Window{
		{Pair: 2, Variant: "b", Values: map[string]float64{"p95_ms": 5}},
		{Pair: 1, Variant: "a", Values: map[string]float64{"p95_ms": 10}},
		{Pair: 1, Variant: "b", Values: map[string]float64{"p95_ms": 2}},
		{Pair: 2, Variant: "a", Values: map[string]float64{"p95_ms": 5}, Invalid: "errors"},
		{Pair: 3, Variant: "a", Values: map[string]float64{"qps": 5}},
	}}
	ps := e.pairs()
	if len(ps) != 3 || ps[0].N != 1 {
		t.Fatalf("%+v", ps)
	}
	if ps[0].Ratio != known.Of(5.0) { // a fifth of the latency is 5 times better
		t.Errorf("pair 1: %+v", ps[0])
	}
	if ps[1].Ratio.OK() || ps[1].Invalid != "errors" {
		t.Errorf("an invalid window counts: %+v", ps[1])
	}
	if ps[2].Ratio.OK() || ps[2].Before.OK() {
		t.Errorf("a value that was not measured: %+v", ps[2])
	}
	ms := MeasuresOf(e)
	if ms[0].Before != known.Of(10.0) || ms[0].After != known.Of(3.5) || ms[1].Before != known.Of(5.0) ||
		ms[1].After.OK() {
		t.Errorf("%+v", ms)
	}
}

func TestForestAxis(t *testing.T) {
	f := func(one bool, ratios ...float64) {
		t.Helper()
		e := &Experiment{Baseline: "a", Variant: "b", Metrics: Metrics("qps")}
		for i, r := range ratios {
			e.Windows = append(e.Windows, Window{Pair: i, Variant: "a", Values: map[string]float64{"qps": 100}},
				Window{Pair: i, Variant: "b", Values: map[string]float64{"qps": 100 * r}})
		}
		x, ok := newForest(&Document{Experiment: e})
		if !ok || x.one != one || (x.note == "") != one {
			t.Fatalf("%v: %+v", ratios, x)
		}
		for _, r := range ratios {
			if h := x.at(r); h < 0 || h > 1 {
				t.Errorf("%v: %v stands at %v", ratios, r, h)
			}
		}
		if n := len(x.ticks()); n < 2 || n > 12 {
			t.Errorf("%v: %d ticks", ratios, n)
		}
	}
	f(true, 1, 1, 1)
	f(true, 1.02, 0.99, 1.05)
	f(true, 0.9, 0.8)
	f(false, 222, 241, 231)
	f(false, 0.010, 0.011)
	f(true, 1.5, 2.5)
	f(false, 2, 2.001)
	if _, ok := newForest(&Document{}); ok {
		t.Error("a forest without an experiment")
	}
}
