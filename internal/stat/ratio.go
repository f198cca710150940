package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Pair is one measurement of baseline and variant next to each other in time.
type Pair struct {
	Baseline     float64
	Variant      float64
	VariantFirst bool   // the order in which they were measured
	Invalid      string // why this pair must not count, "" for a good one
	Round        int    // from 1, in which it was measured; 0 when pairs are simply in order
}

// ErrPairs is the answer to pairs of which no ratio can be told.
var ErrPairs = errors.New("no ratio can be computed")

// walshMin is the smallest number of pairs of which Wilcoxon's interval reaches 95 %.
const walshMin = 6

// PairedRatio estimates variant ÷ baseline with its interval of the given confidence (0.95 for 95 %) from at least
// three pairs of positive values; Invalid is not looked at. Pairs are the independent samples; each gives one
// log-ratio.
//
// From six pairs on, centre and interval are the Hodges-Lehmann estimate and the interval that inverts Wilcoxon's
// signed-rank test (Hollander and Wolfe, Nonparametric Statistical Methods, sections 3.2 and 3.3). It is exact for any
// distribution of the noise as long as the noise hits both variants alike, which the random order within each pair is
// there for, and one wild pair moves its centre and near end hardly at all. With fewer pairs no such interval reaches
// 95 %: then it is Student's on the log-ratios, around their mean. The bootstrap is not used: with five to eight pairs
// its percentile interval of 95 % holds the truth of normal noise in only 82 to 88 % of cases.
//
// The tests of this package show the coverage: at least 93 % for normal, heavy-tailed, skewed and bimodal noise, 4 to
// 12 pairs. When the noise of one variant alone is strongly skewed, the ratio of medians and the ratio of means differ
// and the interval, which is for the middle of the log-ratios, need not hold either.
func PairedRatio(pairs []Pair, confidence float64) (Interval, error) {
	if confidence <= 0 || confidence >= 1 {
		return Interval{}, fmt.Errorf("%w: confidence %v does not lie between 0 and 1", ErrPairs, confidence)
	}
	ds, err := logRatios(pairs)
	if err != nil {
		return Interval{}, err
	}
	center, lo, hi := middle(ds, confidence)
	return Interval{Center: exp(center), Lo: exp(lo), Hi: exp(hi), N: len(pairs), Confidence: confidence}, nil
}

// exp is math.Exp without infinity, which JSON has no word for: an interval of three wild pairs may reach it.
func exp(x float64) float64 { return min(math.Exp(x), math.MaxFloat64) }

// logRatios returns those of at least three pairs of positive values.
func logRatios(pairs []Pair) ([]float64, error) {
	if len(pairs) < minPairs {
		return nil, fmt.Errorf("%w: it needs at least 3 pairs and has %d", ErrPairs, len(pairs))
	}
	ds := make([]float64, len(pairs))
	for i, p := range pairs {
		ds[i] = math.Log(p.Variant / p.Baseline)
		if !(p.Baseline > 0) || !(p.Variant > 0) || math.IsInf(ds[i], 0) || math.IsNaN(ds[i]) {
			return nil, fmt.Errorf("%w: pair %d is %v and %v, only positive values have a ratio", ErrPairs,
				i+1, p.Baseline, p.Variant)
		}
	}
	return ds, nil
}

// middle returns the centre of ds and its interval.
func middle(ds []float64, confidence float64) (center, lo, hi float64) {
	n := len(ds)
	k := 0
	if n >= walshMin && n <= 300 { // above, Student's is as good and far cheaper
		k = signedRank(n, confidence)
	}
	if k == 0 {
		m, sd := mean(ds)
		h := studentQuantile(confidence, float64(n-1)) * sd / math.Sqrt(float64(n))
		return m, m - h, m + h
	}
	w := walsh(ds)
	return Median(w), w[k-1], w[len(w)-k]
}

// walsh returns the averages of all pairs of values, each with itself, too, sorted.
func walsh(ds []float64) []float64 {
	w := make([]float64, 0, len(ds)*(len(ds)+1)/2)
	for i, a := range ds {
		for _, b := range ds[i:] {
			w = append(w, (a+b)/2)
		}
	}
	slices.Sort(w)
	return w
}
