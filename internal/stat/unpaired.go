package stat

import (
	"fmt"
	"math"
	"strings"
)

// Ratio estimates b ÷ a of independent trials that are not paired, such as those of two machines, from at least three
// positive values each. Its interval is the wider one of Welch's on the logarithms (The Generalization of Student's
// Problem when Several Different Population Variances are Involved, 1947), which holds for unequal spread, and
// Student's with a common spread, which holds when the few trials of one side happen to agree. N is the number of
// trials of the side that has fewer.
//
// The tests of this package show the coverage: at least 92 % for 3 to 12 trials, equal or unequal in number and spread,
// of normal, heavy-tailed and skewed noise. Where trials are on one of two levels and three of one side are all on the
// same, no interval can know of the other level; from five trials on JudgeApart finds and tells it.
func Ratio(a, b []float64, confidence float64) (Interval, error) {
	if confidence <= 0 || confidence >= 1 {
		return Interval{}, fmt.Errorf("%w: confidence %v does not lie between 0 and 1", ErrPairs, confidence)
	}
	s, err := welch(a, b)
	if err != nil {
		return Interval{}, err
	}
	return s.ratio(confidence), nil
}

// Two are the values of two sides that were not measured in pairs.
type Two struct{ Baseline, Variant []float64 }

// JudgeApart judges comparisons whose sides were not measured in pairs, as JudgeAll does those that were; there is one
// look.
func JudgeApart(comparisons []Two, r Rules) []Verdict {
	r = r.withDefaults()
	out := make([]Verdict, len(comparisons))
	samples := make([]sample, len(comparisons))
	var open []int
	for i, c := range comparisons {
		out[i] = Verdict{Result: Invalid, Margin: r.Margin, Metric: r.Metric, Adjusted: 1}
		if r.LowerIsBetter {
			c.Baseline, c.Variant = c.Variant, c.Baseline
		}
		s, err := welch(c.Baseline, c.Variant)
		if err != nil {
			out[i].Reasons = []string{err.Error()}
			continue
		}
		samples[i] = s
		open = append(open, i)
		won, of := 0.0, float64(len(c.Baseline)*len(c.Variant))
		for _, x := range c.Baseline {
			for _, y := range c.Variant {
				switch {
				case y > x:
					won++
				case y == x:
					won += 0.5
				}
			}
		}
		out[i].Favour = won / of
	}
	m := max(r.Family, len(comparisons))
	r.settle(out, samples, open, 1-r.Confidence, m, m)
	for _, i := range open {
		out[i].doubtLevels(comparisons[i])
		if n := samples[i].least; n < fewPairs {
			out[i].Reasons = append(out[i].Reasons, fmt.Sprintf("only %d trials of one side: the interval is wide, "+
				"and a small difference cannot be detected", n))
		}
	}
	return out
}

// doubtLevels takes back a verdict when the trials of a side fall into groups far apart.
func (v *Verdict) doubtLevels(c Two) {
	var whys []string
	for _, side := range []struct {
		name string
		xs   []float64
	}{{"baseline", c.Baseline}, {"variant", c.Variant}} {
		ls, err := logs(side.xs)
		if err != nil {
			continue
		}
		if groups, ok := Groups(ls, 2*math.Log1p(v.Margin)); ok {
			var parts []string
			for _, g := range groups {
				parts = append(parts, fmt.Sprintf("%d near %.4g", g.N, math.Exp(g.Center)))
			}
			v.Result, v.Withdrawn = Unstable, true
			whys = append(whys, "the trials of the "+side.name+" fall into groups far apart: "+
				strings.Join(parts, ", "))
		}
	}
	v.Reasons = append(whys, v.Reasons...)
}

func welch(a, b []float64) (sample, error) {
	la, err := logs(a)
	if err != nil {
		return sample{}, err
	}
	lb, err := logs(b)
	if err != nil {
		return sample{}, err
	}
	ma, sa := mean(la)
	mb, sb := mean(lb)
	na, nb := float64(len(a)), float64(len(b))
	va, vb := sa*sa/na, sb*sb/nb
	s := sample{m: mb - ma, se: math.Sqrt(va + vb), df: 1, least: min(len(a), len(b))}
	if s.se > 0 {
		s.df = (va + vb) * (va + vb) / (va*va/(na-1) + vb*vb/(nb-1))
		s.df2 = na + nb - 2
		s.se2 = math.Sqrt(((na-1)*sa*sa + (nb-1)*sb*sb) / s.df2 * (1/na + 1/nb))
	}
	return s, nil
}

func logs(xs []float64) ([]float64, error) {
	if len(xs) < minPairs {
		return nil, fmt.Errorf("%w: it needs at least 3 trials and has %d", ErrPairs, len(xs))
	}
	ls := make([]float64, len(xs))
	for i, x := range xs {
		ls[i] = math.Log(x)
		if !(x > 0) || math.IsInf(ls[i], 0) {
			return nil, fmt.Errorf("%w: trial %d is %v, only positive values have a ratio", ErrPairs, i+1, x)
		}
	}
	return ls, nil
}
