package stat

import "math"

// Center estimates the middle of independent values, such as one figure of several windows of the same variant, with
// its interval: of positive values in the scale of their logarithms, as PairedRatio does, so that wild ones do not
// carry it away and the interval stays positive; otherwise on the values themselves. Fewer than three values have no
// interval: Lo and Hi are then the smallest and the largest and Confidence is 0. No values give the zero Interval.
func Center(xs []float64, confidence float64) Interval {
	n := len(xs)
	if n == 0 {
		return Interval{}
	}
	if n < 3 {
		return Interval{Center: Median(xs), Lo: Quantile(xs, 0), Hi: Quantile(xs, 1), N: n}
	}
	logs := make([]float64, n)
	positive := true
	for i, x := range xs {
		logs[i] = math.Log(x)
		positive = positive && x > 0
	}
	if !positive {
		c, lo, hi := middle(xs, confidence)
		return Interval{Center: c, Lo: lo, Hi: hi, N: n, Confidence: confidence}
	}
	c, lo, hi := middle(logs, confidence)
	return Interval{Center: exp(c), Lo: exp(lo), Hi: exp(hi), N: n, Confidence: confidence}
}
