package stat

import (
	"math"
	"slices"
)

// Quantile returns the value that a share q of xs, 0 to 1, does not exceed, interpolated between the two nearest (type
// 7 of Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996; what R and NumPy do). It is NaN for no values.
// xs is not changed.
func Quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	h := float64(len(s)-1) * min(max(q, 0), 1)
	i := int(h)
	if i == len(s)-1 {
		return s[i]
	}
	return s[i] + (h-float64(i))*(s[i+1]-s[i])
}

// Median returns the middle value, NaN for no values.
func Median(xs []float64) float64 { return Quantile(xs, 0.5) }

// MAD returns the median absolute deviation from the median, scaled by 1.4826 so that it estimates the standard
// deviation of normal values: a measure of spread that a few wild values do not move. It is NaN for no values.
func MAD(xs []float64) float64 {
	m := Median(xs)
	ds := make([]float64, len(xs))
	for i, x := range xs {
		ds[i] = math.Abs(x - m)
	}
	return 1.4826 * Median(ds)
}

// mean returns the mean and the standard deviation (n-1) of at least two values.
func mean(xs []float64) (m, sd float64) {
	for _, x := range xs {
		m += x
	}
	m /= float64(len(xs))
	for _, x := range xs {
		sd += (x - m) * (x - m)
	}
	return m, math.Sqrt(sd / float64(len(xs)-1))
}
