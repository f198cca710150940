package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// TestCorrectionShown: who reads a corrected ratio is told so, and finds the measured one beside it; without a
// correction there is neither.
func TestCorrectionShown(t *testing.T) {
	f := func(c *trial.Correction, want, not []string) {
		t.Helper()
		r := trial.Result{
			Format: trial.Format, ID: "x-1", Correction: c,
			Plan: plan.Plan{
				Name: "x", Table: plan.Table{Rows: []string{"flush"}, Show: []string{"tps"}},
				Axes: []plan.Axis{{Name: "flush", Levels: []plan.Level{{Name: "0"}, {Name: "1"}}}},
			},
			Variants: []plan.Variant{
				{Key: "flush=0", Levels: map[string]string{"flush": "0"}, Baseline: "flush=0"},
				{Key: "flush=1", Levels: map[string]string{"flush": "1"}, Baseline: "flush=0"},
			},
			Cells: []trial.Cell{
				{Variant: "flush=0", Trials: 5, Valid: 5},
				{
					Variant: "flush=1", Trials: 5, Valid: 5,
					Verdict: &stat.Verdict{Result: stat.Worse, Metric: "tps", Ratio: stat.Interval{
						Center: 0.91,
						Lo:     0.88, Hi: 0.94, N: 5, Confidence: 0.95,
					}},
					Ratios: map[string]stat.Interval{"tps": {
						Center: 0.83, Lo: 0.61, Hi: 1.13,
						N: 5, Confidence: 0.95,
					}},
				},
			},
		}
		d := Comparison(&r, r.Ended)
		var text, md, page bytes.Buffer
		if err := Text(&text, d, Options{Width: 100}); err != nil {
			t.Fatal(err)
		}
		if err := Markdown(&md, d); err != nil {
			t.Fatal(err)
		}
		if err := HTML(&page, d); err != nil {
			t.Fatal(err)
		}
		for form, got := range map[string]string{
			"text": text.String(), "markdown": md.String(),
			"page": page.String(),
		} {
			for _, w := range want {
				if !strings.Contains(got, w) {
					t.Errorf("%s lacks %q", form, w)
				}
			}
			for _, w := range not {
				if strings.Contains(got, w) {
					t.Errorf("%s has %q", form, w)
				}
			}
		}
	}
	f(&trial.Correction{Used: true, Slope: 0.9, Fit: 0.95, Blocks: 40, Spread: 0.12},
		[]string{"corrected for the speed of the CPUs", "Corrected and as measured", "×0.91", "×0.83"}, nil)
	f(&trial.Correction{Why: "the speed explains little"}, []string{"the speed explains little"},
		[]string{"Corrected and as measured"})
	f(nil, nil, []string{"corrected", "Corrected"})
	f(&trial.Correction{Used: true, Spread: 0.12, Except: []string{"flush=1"}},
		[]string{"No ratio is corrected for the speed of the CPUs"}, []string{"Corrected and as measured"})
}

// TestNotCorrected: a ratio that the correction leaves out does not stand below its head, and the head line tells of
// it.
func TestNotCorrected(t *testing.T) {
	f := func(control *stat.Verdict, said string, want map[string]string, except ...string) {
		t.Helper()
		r := trial.Result{
			Control: control, Correction: &trial.Correction{Used: true, Except: except},
			Plan: plan.Plan{
				Table: plan.Table{Rows: []string{"flush"}, Show: []string{"tps"}},
				Axes:  []plan.Axis{{Name: "flush"}},
			},
		}
		for i, level := range []string{"0", "1", "2"} {
			r.Plan.Axes[0].Levels = append(r.Plan.Axes[0].Levels, plan.Level{Name: level})
			r.Variants = append(r.Variants, plan.Variant{
				Key: level, Levels: map[string]string{"flush": level},
				Baseline: "0",
			})
			c := trial.Cell{Variant: level, Trials: 5, Valid: 5}
			if i > 0 {
				c.Verdict = &stat.Verdict{Result: stat.Worse, Metric: "tps", Ratio: stat.Interval{Center: 0.5, N: 5}}
				c.Ratios = map[string]stat.Interval{"tps": {Center: 0.75, N: 5}}
			}
			r.Cells = append(r.Cells, c)
		}
		c := newComparison(&r)
		if got := correctionText(c); !strings.HasPrefix(got, said+" for the speed of the CPUs, ") {
			t.Errorf("without %q: %q, want %q", except, got, said)
		}
		l := uncorrectedTable(c)
		if len(l.Cells) != len(want) {
			t.Fatalf("without %q: %+v, want %v", except, l, want)
		}
		for i, cells := range l.Cells {
			if level := l.Labels[i][0]; cells[0].Lines[0].Text != want[level] ||
				cells[1].Lines[0].Text != "×0.75" {
				t.Errorf("without %q: %s has %q and %q, want %q", except, level, cells[0].Lines[0].Text,
					cells[1].Lines[0].Text, want[level])
			}
		}
	}
	f(nil, "Ratios are corrected", map[string]string{"1": "×0.50", "2": "×0.50"})
	f(nil, "Unless noted, ratios are corrected", map[string]string{"1": "×0.50", "2": "not corrected"}, "2")
	f(nil, "No ratio is corrected", nil, "1", "2")
	f(&stat.Verdict{Result: stat.Same}, "Only the control is corrected", nil, "1", "2")
}
