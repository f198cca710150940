package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// TestSweepUnits: what stands beside a curve is in the unit that its head tells, in the report as in what is laid out.
func TestSweepUnits(t *testing.T) {
	f := func(name, unit string, center float64, figure string, laid float64, tick, not string) {
		t.Helper()
		r := &trial.Result{Plan: plan.Plan{
			Axes:  []plan.Axis{{Name: "threads", Numeric: true}},
			Table: plan.Table{Rows: []string{"threads"}, Show: []string{name}},
		}}
		for i, level := range []string{"1", "2", "4"} {
			share := []float64{0.25, 0.5, 1}[i]
			r.Plan.Axes[0].Levels = append(r.Plan.Axes[0].Levels,
				plan.Level{Name: level, Numeric: float64(int(1) << i)})
			r.Variants = append(r.Variants, plan.Variant{
				Key: level, Baseline: level,
				Levels: map[string]string{"threads": level},
			})
			r.Cells = append(r.Cells, trial.Cell{Variant: level, Trials: 5, Valid: 5, Values: map[string]stat.Interval{
				name: {Center: center * share, Lo: center * share, Hi: center * share, N: 5, Confidence: 0.95},
			}})
		}
		ss := sweepsOf(newComparison(r))
		if len(ss) != 1 || !strings.HasSuffix(ss[0].Unit, unit) {
			t.Fatalf("%s: %+v", name, ss)
		}
		s := ss[0]
		if got := s.figures().Rows[2][1]; !strings.HasPrefix(got, figure+" (") ||
			!strings.Contains(s.label(), "threads 4 "+figure) {
			t.Errorf("%s: %q and %q, want %q", name, got, s.label(), figure)
		}
		var ticks []string
		for _, x := range s.draw("x", sizes[0]).Texts {
			ticks = append(ticks, x.Text)
		}
		if !slices.Contains(ticks, tick) || slices.Contains(ticks, not) {
			t.Errorf("%s: the axis has %q, want %q and no %q", name, ticks, tick, not)
		}
		if l := s.laid(); l.Unit != s.Unit || math.Abs(*l.Lines[0].Center[2]-laid) > laid*1e-9 ||
			math.Abs(*l.Lines[0].Hi[2]-laid) > laid*1e-9 {
			t.Errorf("%s: laid out as %v %s, want %v", name, *l.Lines[0].Center[2], l.Unit, laid)
		}
	}
	f("client_cpu_share", ", %", 0.87, "87", 87, "80", "0.8")
	f("tps", "transactions/s", 0.87, "0.87", 0.87, "0.8", "80")
	f("data_bytes", ", bytes", 128<<20, "128 MiB", 128<<20, "0 B", "134M")
}
