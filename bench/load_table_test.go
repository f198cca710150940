//go:build bench

package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// tally counts goals.
type tally struct{ held, all int }

func (a *tally) add(b tally) { a.held, a.all = a.held+b.held, a.all+b.all }

// table prints comparisons as Markdown, a row as soon as it is known.
type table struct {
	off     [2]float64 // Questions that were not reported: ours and theirs
	queries [2]float64
	worst   [2]float64 // of one run
	stolen  []float64
	invalid int
	runs    int
}

// newTable prints the head of a table.
func newTable(title string) *table {
	fmt.Printf("\n%s.\n\n", title)
	fmt.Printf("| %-38s | n | %-15s | %9s | %9s | %-22s | %-14s |\n", "placement, workload, threads", "figure", "Dyno",
		"sysbench", "ratio (range)", "goal")
	fmt.Printf("|%s|---|%s|%s:|%s:|%s|%s|\n", strings.Repeat("-", 40), strings.Repeat("-", 17), strings.Repeat("-", 10),
		strings.Repeat("-", 10), strings.Repeat("-", 24), strings.Repeat("-", 16))
	return &table{}
}

// row prints a figure of both in pairs. least and most bound the median of the ratios, 0 where nothing is promised.
func row(name, figure string, ours, theirs []float64, least, most float64) (goals tally) {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = ours[i] / theirs[i]
	}
	m := median(ratios)
	goal := ""
	judge := func(sign string, bound float64, held bool) {
		goals.all++
		goal = fmt.Sprintf("%s %.2f missed", sign, bound)
		if held {
			goals.held++
			goal = fmt.Sprintf("%s %.2f holds", sign, bound)
		}
	}
	if least > 0 {
		judge("≥", least, m >= least)
	}
	if most > 0 {
		judge("≤", most, m <= most)
	}
	fmt.Printf("| %-38s | %d | %-15s | %9s | %9s | ×%-21s | %-14s |\n", name, len(ours), figure,
		short(median(ours)), short(median(theirs)),
		fmt.Sprintf("%.2f (%.2f to %.2f)", m, slices.Min(ratios), slices.Max(ratios)), goal)
	return goals
}

// short writes a figure with three digits or more.
func short(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// rows prints all figures of a case.
func (x *table) rows(name string, pairs []pair, tps, cpu float64) (goals tally) {
	column := func(f func(m measured) float64) (ours, theirs []float64) {
		for _, p := range pairs {
			ours, theirs = append(ours, f(p.ours)), append(theirs, f(p.theirs))
		}
		return ours, theirs
	}
	for _, f := range []struct {
		name        string
		of          func(m measured) float64
		least, most float64
	}{
		{"transactions/s", func(m measured) float64 { return m.tps }, tps, 0},
		{"client µs/query", func(m measured) float64 { return m.client }, 0, cpu},
		{"server µs/query", func(m measured) float64 { return m.server }, 0, 0},
		{"p95 ms", func(m measured) float64 { return m.p95 }, 0, 0},
	} {
		a, b := column(f.of)
		goals.add(row(name, f.name, a, b, f.least, f.most))
	}
	for _, p := range pairs {
		for i, m := range []measured{p.ours, p.theirs} {
			x.off[i], x.queries[i], x.worst[i] = x.off[i]+m.off, x.queries[i]+m.queries,
				max(x.worst[i], math.Abs(m.off))
		}
		x.stolen = append(x.stolen, p.ours.stolen, p.theirs.stolen)
		x.runs++
		if p.ours.invalid {
			x.invalid++
		}
	}
	return goals
}

// notes prints what a reader of the rows must know.
func (x *table) notes() {
	if x == nil {
		return // no case was asked for
	}
	fmt.Printf("\nOver all runs the server counted %+.3f %% more Questions than Dyno reports queries (goal: within "+
		"0.1 %%), at most %.0f in one run; for sysbench %+.3f %%, at most %.0f. "+
		"The hypervisor took %.1f %% of the CPUs' time in the median run and %.1f %% in the worst. Of Dyno's %d runs "+
		"it called %d invalid, its client being the limit.\n",
		x.off[0]/x.queries[0]*100, x.worst[0], x.off[1]/x.queries[1]*100, x.worst[1], median(x.stolen)*100,
		slices.Max(x.stolen)*100, x.runs, x.invalid)
}

func TestLoadRow(t *testing.T) {
	f := func(ours, theirs []float64, least, most float64, want tally) {
		t.Helper()
		if got := row("", "", ours, theirs, least, most); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	f([]float64{10, 12, 14}, []float64{10, 10, 10}, 1.2, 0, tally{1, 1})
	f([]float64{10, 12, 14}, []float64{10, 10, 10}, 1.21, 0, tally{0, 1})
	f([]float64{5, 1, 9}, []float64{10, 10, 10}, 0, 0.5, tally{1, 1})
	f([]float64{5}, []float64{10}, 0, 0, tally{})
}
