package panel

import (
	"math"
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
)

const at = int64(1_800_000_000_000)

// points makes samples a second apart; -1 leaves a second out, -2 is the end of a series.
func points(vs ...float64) (out []metric.Point) {
	for i, v := range vs {
		switch v {
		case -1:
			continue
		case -2:
			v = math.NaN()
		}
		out = append(out, metric.Point{At: at + int64(i)*1000, Value: v})
	}
	return out
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y || math.Abs(x-y) < 1e-9 })
}

var nan = math.NaN()

func TestTracerRates(t *testing.T) {
	f := func(name string, ps []metric.Point, want ...float64) {
		t.Helper()
		x := NewTracer(Grid{From: at, Cell: 1000, N: len(want)})
		c := x.None()
		x.Begin()
		x.Rate(ps, 0)
		x.Add(&c)
		if !same(c.Mean, want) {
			t.Errorf("%s: got %v, want %v", name, c.Mean, want)
		}
	}
	f("steady", points(0, 10, 20, 30), 10, 10, 10)
	f("standing still is 0 and known", points(5, 5, 5), 0, 0)
	f("a restart is no negative rate", points(100, 110, 4, 9), 10, 4, 5)
	f("one second that is missing is bridged", points(0, 10, -1, 40, 50), 10, 15, 15, 10)
	f("a pause is not observed", points(0, 10, 20, -1, -1, -1, 999, 1009), 10, 10, nan, nan, nan, nan, 10)
	f("an end is not observed", points(0, 10, -2, 50, 60), 10, nan, nan, 10)
	f("nothing", nil, nan, nan)
	f("one sample says nothing", points(5), nan)
}

func TestTracerOfWhatIsReadRarely(t *testing.T) {
	x := NewTracer(Grid{From: at, Cell: 1000, N: 40})
	var ps []metric.Point
	for i := int64(0); i <= 4; i++ {
		ps = append(ps, metric.Point{At: at + i*10_000, Value: float64(100 * i)})
	}
	c := x.None()
	x.Begin()
	x.Rate(ps, 0)
	x.Add(&c)
	for i, v := range c.Mean {
		if v != 10 {
			t.Fatalf("second %d: rate %v, want 10", i, v)
		}
	}
	c = x.None()
	x.Begin()
	x.Gauge(ps)
	x.Add(&c)
	if c.Mean[0] != 0 || c.Mean[8] != 0 || c.Mean[9] != 100 || c.Mean[39] != 400 {
		t.Errorf("a value holds from its second until the next one: %v", c.Mean)
	}
}

func TestTracerSlowingDown(t *testing.T) {
	var ps []metric.Point
	for _, s := range []int64{0, 1, 2, 3, 11, 19, 27} { // its source is read each eight seconds from then on
		ps = append(ps, metric.Point{At: at + s*1000, Value: float64(s)})
	}
	x := NewTracer(Grid{From: at, Cell: 1000, N: 27})
	c := x.None()
	x.Begin()
	x.Rate(ps, 0)
	x.Add(&c)
	if c.Mean[2] != 1 || c.Mean[5] == c.Mean[5] || c.Mean[15] != 1 || c.Mean[26] != 1 {
		t.Errorf("one pause, then the new pace: %v", c.Mean)
	}
}

// TestTracerPausesAlike has two pauses of one length with steady seconds between them: neither is a new pace.
func TestTracerPausesAlike(t *testing.T) {
	var ps []metric.Point
	for _, part := range [][2]int64{{0, 3}, {33, 93}, {121, 124}} { // 30 s are missing, then 28 s
		for s := part[0]; s <= part[1]; s++ {
			ps = append(ps, metric.Point{At: at + s*1000, Value: float64(s)})
		}
	}
	f := func(name string, trace func(x *Tracer), first, last int64) {
		t.Helper()
		x := NewTracer(Grid{From: at - 1000, Cell: 1000, N: 125})
		c := x.None()
		x.Begin()
		trace(x)
		x.Add(&c)
		for i, v := range c.Mean { // cell i ends with second i
			s := int64(i)
			known := s >= first && s <= 3 || s >= 33+first && s <= 93 || s >= 121+first && s <= last
			if known != (v == v) {
				t.Errorf("%s in second %d: %v, known: %t", name, s, v, known)
			}
		}
	}
	f("rate", func(x *Tracer) { x.Rate(ps, 0) }, 1, 124)
	f("gauge", func(x *Tracer) { x.Gauge(ps) }, 0, 124)
}

// TestTracerPausesAroundAnEnd has a pause before a series ends and one of the same length after it began anew: they are
// not in a row.
func TestTracerPausesAroundAnEnd(t *testing.T) {
	var ps []metric.Point
	for _, s := range []int64{0, 1, 2, 32, 33, 60, 90, 120} {
		v := float64(s)
		if s == 33 {
			v = nan
		}
		ps = append(ps, metric.Point{At: at + s*1000, Value: v})
	}
	f := func(name string, trace func(x *Tracer)) {
		t.Helper()
		x := NewTracer(Grid{From: at - 1000, Cell: 1000, N: 121})
		c := x.None()
		x.Begin()
		trace(x)
		x.Add(&c)
		for _, s := range []int64{10, 40, 70, 100} { // the second time in a row it is read more rarely
			if v := c.Mean[s]; (v == v) != (s == 100) {
				t.Errorf("%s in second %d: %v", name, s, v)
			}
		}
	}
	f("rate", func(x *Tracer) { x.Rate(ps, 0) })
	f("gauge", func(x *Tracer) { x.Gauge(ps) })
}

func TestTracerGauges(t *testing.T) {
	f := func(name string, ps []metric.Point, want ...float64) {
		t.Helper()
		x := NewTracer(Grid{From: at - 1000, Cell: 1000, N: len(want)})
		c := x.None()
		x.Begin()
		x.Gauge(ps)
		x.Add(&c)
		if !same(c.Mean, want) {
			t.Errorf("%s: got %v, want %v", name, c.Mean, want)
		}
	}
	f("each its second", points(3, 4, 5), 3, 4, 5)
	f("one second that is missing keeps the value", points(3, -1, 5), 3, 3, 5)
	f("a pause is not observed", points(3, 4, -1, -1, -1, 9, 9), 3, 4, nan, nan, nan, 9, 9)
	f("an end", points(3, -2, -1, -1, -1, 7), 3, nan, nan, nan, nan, 7)
}

func TestTracerAddsSeries(t *testing.T) {
	x := NewTracer(Grid{From: at, Cell: 1000, N: 2})
	sum := x.None()
	for _, ps := range [][]metric.Point{points(0, 1, 2), points(0, 10), points(0, 5, 10)} {
		x.Begin()
		x.Rate(ps, 0)
		x.Add(&sum)
	}
	if !same(sum.Mean, []float64{16, 6}) {
		t.Errorf("sum %v", sum.Mean)
	}
}

func TestTracerMinutes(t *testing.T) {
	const minute = 60_000
	from := at - at%minute
	x := NewTracer(Grid{From: from, Cell: minute, N: 3})
	c := x.None()
	x.Begin()
	// The first and the last of each minute of a counter that grows by 2 a second, then a restart.
	x.Rate([]metric.Point{
		{At: from, Value: 0},
		{At: from + 1000, Value: 2},
		{At: from + minute, Value: 120},
		{At: from + minute + 1000, Value: 122},
		{At: from + 2*minute, Value: 240},
		{
			At:    from + 2*minute + 1000,
			Value: 6,
		},
		{At: from + 3*minute, Value: 6},
	}, 150_000)
	x.Add(&c)
	if !same(c.Mean, []float64{2, 2, 0.1}) {
		t.Errorf("got %v", c.Mean)
	}
	c = x.None()
	x.Begin()
	x.GaugeMinutes([]metric.Point{{At: from + 5000, Value: 1}, {At: from + minute, Value: 9}},
		[]metric.Point{{At: from + minute, Value: 4}})
	x.Since(from + minute)
	x.Gauge([]metric.Point{
		{At: from + minute, Value: 70},
		{At: from + minute + 1000, Value: 7},
		{At: from + minute + 2000, Value: 8},
	})
	x.Add(&c)
	x.Extremes(&c)
	if c.Mean[0] != 4 || math.Abs(c.Mean[1]-7.5) > 0.5 || c.Mean[2] == c.Mean[2] {
		t.Errorf("means %v: a minute's is taken as it is, the seconds behind it are added up", c.Mean)
	}
	if c.Low[0] != 1 || c.High[0] != 9 || c.Low[1] != 7 || c.High[1] != 8 {
		t.Errorf("low %v, high %v", c.Low, c.High)
	}
}

func TestBuckets(t *testing.T) {
	mean, low, high := Buckets(Course{Mean: []float64{1, 3, nan, 8, nan, nan}}, nil, 2, 10, true)
	if !same(mean, []float64{20, 80, nan}) || !same(low, []float64{10, 80, nan}) ||
		!same(high, []float64{30, 80, nan}) {
		t.Errorf("got %v, %v, %v", mean, low, high)
	}
	if _, low, _ = Buckets(Course{Mean: []float64{2, 2, 2, 2}}, nil, 2, 0, true); low != nil {
		t.Errorf("a line that stands still has no range: %v", low)
	}
	if _, low, _ = Buckets(Course{Mean: []float64{1, 2}}, nil, 2, 0, false); low != nil {
		t.Errorf("the range of what is known by the minute only: %v", low)
	}
	// 2 s for 1 statement, then 1 s for 100: a mean of 3/101 s, not of the means; and nothing without statements.
	mean, low, high = Buckets(Course{Mean: []float64{2, 1, 0, 0}}, &Course{Mean: []float64{1, 100, 0, 0}}, 2, 0, true)
	if !same(mean, []float64{3.0 / 101, nan}) || !same(low, []float64{0.01, nan}) || !same(high, []float64{2, nan}) {
		t.Errorf("ratio: got %v, %v, %v", mean, low, high)
	}
}

func TestPlus(t *testing.T) {
	if c := Plus(Course{Mean: []float64{5, nan, 5}}, Course{Mean: []float64{1, 1, nan}}, true); !same(c.Mean,
		[]float64{4, nan, nan}) {
		t.Errorf("got %v", c.Mean)
	}
}

// TestNoLineThroughWhatIsOut: what is read every five seconds would bridge seven without a server.
func TestNoLineThroughWhatIsOut(t *testing.T) {
	x := NewTracer(Grid{Cell: 1000, N: 20})
	ps := []metric.Point{{At: 0, Value: 0}, {At: 5000, Value: 5}, {At: 13_000, Value: 13}, {At: 18_000, Value: 18}}
	out := make([]bool, x.N)
	for i := 6; i < 12; i++ {
		out[i] = true
	}
	f := func(out []bool, want int) {
		t.Helper()
		x.Out(out)
		x.Begin()
		x.Rate(ps, 0)
		c, known := x.None(), 0
		x.Add(&c)
		for _, v := range c.Mean {
			if v == v {
				known++
			}
		}
		if known != want {
			t.Errorf("%d seconds are known, want %d", known, want)
		}
	}
	f(nil, 18)
	f(out, 12)
	f(nil, 18)
}
