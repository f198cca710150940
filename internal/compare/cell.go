package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// monthHours is the month of the clouds' price lists.
const monthHours = 730

// mostTexts is how many different texts of one name a cell shows.
const mostTexts = 4

// cells describes each variant by its valid trials; those of the control are not among them.
func (j *judgement) cells() []trial.Cell {
	cells := make([]trial.Cell, len(j.vs))
	for i, v := range j.vs {
		c := trial.Cell{Variant: v.Key}
		values := map[string][]float64{}
		texts := map[string][]string{}
		var seconds [][]float64
		for _, t := range j.trials {
			if t.Variant != v.Key || t.Control {
				continue
			}
			if !t.Unusable {
				c.Trials++
			}
			if t.Invalid != "" || j.by[place{t.Round, t.Variant, false}].Seq != t.Seq {
				// of a round that was repeated the last one stands
				continue
			}
			c.Valid++
			for name, x := range t.Values {
				if finite(x) {
					values[name] = append(values[name], x)
				}
			}
			for name, s := range t.Texts {
				if !slices.Contains(texts[name], s) {
					texts[name] = append(texts[name], s)
				}
			}
			if rates := rates(t); len(rates) > 0 {
				seconds = append(seconds, rates)
			}
		}
		for name, xs := range values {
			x := stat.Center(xs, stat.DefaultConfidence)
			x.Unit = trial.MetricOf(name, j.p.Table.Unit).Unit
			if !finite(x.Center) || !finite(x.Lo) || !finite(x.Hi) { // sums of values near the end of all numbers
				continue
			}
			set(&c.Values, name, x)
		}
		for name, ss := range texts {
			if len(ss) > mostTexts {
				ss = append(ss[:mostTexts:mostTexts], "…")
			}
			set(&c.Texts, name, strings.Join(ss, " | "))
		}
		if len(seconds) > 0 {
			s := stat.Steady(seconds)
			c.Steady = &s
		}
		if c.Valid == 0 {
			c.Failed = j.failed[v.Key]
		}
		if v.Baseline != "" && v.Baseline != v.Key {
			c.Ratios = j.ratios(v)
		}
		price(&c, j.p.Prices, v)
		cells[i] = c
	}
	return cells
}

// rates returns the operations per second of the ticks of a trial. What is left of a tick that is shorter than half of
// the usual one says little and is left out.
func rates(t trial.Trial) []float64 {
	var lengths, rs []float64
	for _, s := range t.Seconds {
		lengths = append(lengths, s.Length)
	}
	usual := stat.Median(lengths)
	for _, s := range t.Seconds {
		if s.Length > 0 && s.Length >= usual/2 {
			rs = append(rs, float64(s.Ops)/s.Length)
		}
	}
	return rs
}

// ratios sets every value that variant and baseline have in pairs that count, variant ÷ baseline whatever is better, at
// 95 % each and uncorrected for their number.
func (j *judgement) ratios(v plan.Variant) map[string]stat.Interval {
	pairs := map[string][]stat.Pair{}
	for r := 1; r <= j.last; r++ {
		b, okb := j.by[place{r, v.Baseline, false}]
		x, okx := j.by[place{r, v.Key, false}]
		if !okb || !okx || b.Invalid != "" || x.Invalid != "" || unlimited(x, b) != "" || unlimited(b, x) != "" {
			continue
		}
		for name, y := range x.Values {
			if base, ok := b.Values[name]; ok && base > 0 && y > 0 && finite(base) && finite(y) {
				pairs[name] = append(pairs[name], stat.Pair{Baseline: base, Variant: y, Round: r})
			}
		}
	}
	var ratios map[string]stat.Interval
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		if x, err := stat.PairedRatio(pairs[name], stat.DefaultConfidence); err == nil {
			set(&ratios, name, x)
		}
	}
	return ratios
}

// price applies the price that names the most levels of v.
func price(c *trial.Cell, prices []plan.Price, v plan.Variant) {
	best := -1
	for _, p := range prices {
		fits := len(p.For) > best
		for axis, level := range p.For {
			fits = fits && v.Levels[axis] == level
		}
		if fits {
			best, c.Month, c.Currency = len(p.For), p.Month, p.Currency
		}
	}
	if best < 0 {
		return
	}
	if c.Currency == "" {
		c.Currency = "$"
	}
	tps, ok := c.Values["tps"]
	if !ok || !(tps.Lo > 0) {
		return
	}
	per := func(tps float64) float64 { return c.Month / (tps * monthHours * 3600) * 1e6 }
	c.Million = &stat.Interval{
		Center: per(tps.Center), Lo: per(tps.Hi), Hi: per(tps.Lo), N: tps.N,
		Confidence: tps.Confidence, Unit: c.Currency,
	}
}

func set[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}
