package report

import (
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

func TestThree(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		if got := three(v); got != want {
			t.Errorf("three(%v) = %q, want %q", v, got, want)
		}
	}
	f(0, "0")
	f(7, "7")
	f(182, "182")
	f(0.1, "0.100")
	f(0.09996, "0.100")
	f(3.9, "3.90")
	f(9.996, "10.0")
	f(64.04, "64.0")
	f(99.96, "100")
	f(414.4, "414")
	f(1305.2, "1305")
	f(99015, "99015")
	f(99999.6, "100k")
	f(1.234e6, "1.23M")
	f(-2.5, "-2.50")
}

func TestRatioText(t *testing.T) {
	f := func(c, lo, hi float64, want, bounds string) {
		t.Helper()
		got, b := ratioText(stat.Interval{Center: c, Lo: lo, Hi: hi, N: 5, Confidence: 0.95})
		if got != want || b != bounds {
			t.Errorf("ratioText(%v, %v, %v) = %q, %q, want %q, %q", c, lo, hi, got, b, want, bounds)
		}
	}
	f(0.914, 0.9, 0.93, "×0.91", "0.90–0.93")
	f(0.956, 0.952, 0.96, "×0.956", "0.952–0.960") // narrower than two decimals tell
	f(237, 229, 246, "×237", "229–246")
	f(0.004, 0.002, 0.005, "÷250", "200–500")
	f(0.05, 0, 0.5, "÷20.0", "2.00–…") // no bound on that side
	if c, b := ratioText(stat.Interval{Center: 1.5, Lo: 1.4, Hi: 1.6, N: 2}); c != "×1.50" || b != "" {
		t.Errorf("without a confidence: %q, %q", c, b)
	}
}

func TestRangeText(t *testing.T) {
	f := func(lo, hi, want string) {
		t.Helper()
		if got := rangeText(lo, hi); got != want {
			t.Errorf("rangeText(%q, %q) = %q, want %q", lo, hi, got, want)
		}
	}
	f("1.21 GiB", "1.25 GiB", "1.21–1.25 GiB")
	f("900 MiB", "1.25 GiB", "900 MiB–1.25 GiB")
	f("12", "14", "12–14")
}

// TestBeside: the direction of what was published is set against verdicts, never against a ratio that is not decided.
func TestBeside(t *testing.T) {
	f := func(lo, hi float64, results []stat.Result, ratios []float64, want string) {
		t.Helper()
		r := &trial.Result{Plan: plan.Plan{
			Axes: []plan.Axis{{Name: "v", Levels: []plan.Level{
				{Name: "base"},
				{Name: "a"},
				{Name: "b"},
				{Name: "c"},
			}}},
			Table:  plan.Table{Rows: []string{"v"}, Show: []string{"tps"}},
			Trials: plan.Trials{Margin: 0.02},
		}}
		r.Variants = append(r.Variants, plan.Variant{
			Key: "base", Baseline: "base",
			Levels: map[string]string{"v": "base"},
		})
		r.Cells = append(r.Cells, trial.Cell{Variant: "base"})
		for i, x := range results {
			k := r.Plan.Axes[0].Levels[i+1].Name
			r.Variants = append(r.Variants, plan.Variant{Key: k, Baseline: "base", Levels: map[string]string{"v": k}})
			r.Cells = append(r.Cells, trial.Cell{Variant: k, Verdict: &stat.Verdict{
				Result: x,
				Ratio: stat.Interval{
					Center: ratios[i], Lo: ratios[i] - 0.1, Hi: ratios[i] + 0.1,
					N: 5, Confidence: 0.95,
				},
			}})
		}
		here, got := besidePublished(newComparison(r), nil, lo, hi)
		if len(results) == 3 && here != "×0.90 at b to ×1.20 at a in 3 cells" {
			t.Errorf("here %q", here)
		}
		if got != want {
			t.Errorf("published %v to %v, here %v %v: %q, want %q", lo, hi, results, ratios, got, want)
		}
	}
	one := func(r stat.Result) []stat.Result { return []stat.Result{r} }
	f(0.8, 0.84, one(stat.Worse), []float64{0.9}, "agrees")
	f(0.8, 0.84, one(stat.Better), []float64{1.2}, "differs")
	f(0.8, 0.84, one(stat.Same), []float64{1}, "differs")
	f(0.99, 1.01, one(stat.Same), []float64{1.01}, "agrees")
	f(0.8, 0.84, one(stat.Unstable), []float64{0.8}, "not decided here")
	f(0.8, 0.84, one(stat.Invalid), []float64{0.8}, "not measured here")
	f(1.2, 0, one(stat.Better), []float64{1.5}, "agrees")
	f(0, 0, one(stat.Better), []float64{1.5}, "") // no ratio was published
	f(1.2, 1.3, []stat.Result{stat.Better, stat.Worse, stat.Unstable}, []float64{1.2, 0.9, 1.1},
		"agrees in 1 of 3 cells, differs in 1")
}

// TestBesideValues: what was published of a cell without a ratio stands beside the cell's value.
func TestBesideValues(t *testing.T) {
	r := &trial.Result{Plan: plan.Plan{
		Axes: []plan.Axis{
			{Name: "asked", Levels: []plan.Level{{Name: "200M"}, {Name: "1500M"}}},
			{Name: "server", Levels: []plan.Level{{Name: "x"}, {Name: "y"}}},
		},
		Table: plan.Table{Rows: []string{"asked"}, Columns: []string{"server"}, Show: []string{"pool"}, Unit: "B"},
		Published: []plan.Published{
			{For: map[string]string{"asked": "1500M"}, Text: "2 GB"},
			{For: map[string]string{"asked": "1500M", "server": "y"}, Text: "less"},
			{For: map[string]string{"asked": "1500M"}, Text: "a ratio", Lo: 1.2},
		},
	}}
	for _, asked := range []string{"200M", "1500M"} {
		for i, server := range []string{"x", "y"} {
			k := asked + server
			r.Variants = append(r.Variants, plan.Variant{
				Key:    k,
				Levels: map[string]string{"asked": asked, "server": server},
			})
			r.Cells = append(r.Cells, trial.Cell{
				Variant: k, Trials: 1, Valid: 1,
				Values: map[string]stat.Interval{"pool": {Center: float64(i+1) * (1 << 30), N: 1}},
			})
		}
	}
	tb := publishedTable(newComparison(r))
	for i, want := range []string{"x 1 GiB n 1, y 2 GiB n 1", "2 GiB n 1", none} {
		if got := tb.Rows[i][2]; got != want {
			t.Errorf("published %q: here %q, want %q", tb.Rows[i][1], got, want)
		}
	}
}

func TestRuns(t *testing.T) {
	is := sweepPoint{At: stat.Interval{N: 1}, Text: "is"}
	var got [][2]int
	for from, to := range (sweepLine{Points: []sweepPoint{is, is, {Text: "failed"}, is, {}, is}}).runs() {
		got = append(got, [2]int{from, to})
	}
	if want := [][2]int{{0, 2}, {3, 4}, {5, 6}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestDoubling(t *testing.T) {
	f := func(want bool, xs ...float64) {
		t.Helper()
		if got := (sweep{Xs: xs}).doubling(); got != want {
			t.Errorf("doubling(%v) = %v", xs, got)
		}
	}
	f(true, 1, 2, 4, 8)
	f(true, 1, 4, 16, 64)
	f(false, 0, 1, 2)
	f(false, 10, 12, 14)
}

func TestThose(t *testing.T) {
	r := &trial.Result{Plan: plan.Plan{Axes: []plan.Axis{
		{Name: "server", Levels: []plan.Level{{Name: "a"}, {Name: "b"}}},
		{Name: "threads", Levels: []plan.Level{{Name: "1"}, {Name: "2"}}},
	}}}
	var all []string
	for _, s := range []string{"a", "b"} {
		for _, n := range []string{"1", "2"} {
			all = append(all, s+n)
			r.Variants = append(r.Variants, plan.Variant{
				Key: s + n, Baseline: s + n,
				Levels: map[string]string{"server": s, "threads": n},
			})
		}
	}
	c := newComparison(r)
	f := func(want string, keys ...string) {
		t.Helper()
		if got := c.those(keys, all); got != want {
			t.Errorf("those(%v) = %q, want %q", keys, got, want)
		}
	}
	f("all variants", all...)
	f("b", "b1", "b2")
	f("threads 2", "a2", "b2")
	f("a · threads 1, b · threads 2", "a1", "b2")
}
