package stat

import "math"

const (
	// settled is the change of a rate from the first to the last second that does not matter.
	settled = 0.02
	// leastSeconds is how many seconds must be left for a rate to be called stationary.
	leastSeconds = 6
	// hint is how probable a slope by chance may be and still count as a trend. It is no proof, and need not be: in a
	// warm-up it costs a few seconds to wait for nothing, and a wrong figure not to wait.
	hint = 0.2
	// likeness bounds the autocorrelation that is taken for noise: a rising rate resembles its neighbours, too.
	likeness = 0.3
)

// Stationary finds the end of the warm-up in rates per second: from is the index from which they show neither a trend
// nor a change of level. When what is left still moves, or is shorter than six seconds, it is false and from is the
// best there is. It is made to be asked again after each second of a warm-up.
//
// The start is cut where the standard error of the mean of the rest is least (White, An Effective Truncation Heuristic
// for Bias Reduction in Simulation Output, 1997), at most half of all. The rest is then fitted with a line. It moves
// when the line changes by more than 2 % and by more than noise would in four of five cases; seconds that resemble
// their neighbours count as fewer (Zwiers and von Storch, Taking Serial Correlation into Account in Tests of the Mean,
// 1995), corrected for the bias of short series (Marriott and Pope, Bias in the Estimation of Autocorrelations, 1954).
//
// A rate that is level for a while and jumps later is not foreseen, and a trend that is lost in the noise of the
// seconds is not seen; the trials' own rates tell, see Slope.
func Stationary(xs []float64) (from int, ok bool) {
	n := len(xs)
	best := math.Inf(1)
	for d := 0; d <= n/2 && n-d >= leastSeconds; d++ {
		_, sd := mean(xs[d:])
		if v := sd * sd / float64(n-d); v < best {
			best, from = v, d
		}
	}
	if n-from < leastSeconds {
		return from, false
	}
	return from, !moves(xs[from:])
}

// Slope returns the change of the line through the values, from the first to the last, as a share of their mean: 0.1
// for rates that rise by a tenth in the course of a trial. It is 0 for fewer than three values or a mean that is not
// positive.
func Slope(xs []float64) float64 {
	if len(xs) < 3 {
		return 0
	}
	m, slope, _ := line(xs)
	if !(m > 0) {
		return 0
	}
	return slope * float64(len(xs)-1) / m
}

// moves reports whether at least six rates have a trend that matters and that noise does not explain.
func moves(xs []float64) bool {
	if math.Abs(Slope(xs)) <= settled {
		return false
	}
	n := float64(len(xs))
	m, slope, sxx := line(xs)
	var squares, lagged, last float64
	for i, x := range xs {
		e := x - m - slope*(float64(i)-(n-1)/2)
		squares += e * e
		if i > 0 {
			lagged += e * last
		}
		last = e
	}
	if squares == 0 {
		return true
	}
	r := min(max((n*lagged/squares+2)/(n-4), 0), likeness)
	fewer := (1 - r) / (1 + r)
	se := math.Sqrt(squares / (n - 2) / sxx / fewer)
	return math.Abs(slope) > studentQuantile(1-hint, max((n-2)*fewer, 2))*se
}

// line returns the mean of values, the slope per step of the line through them, and the squares of the steps from their
// middle.
func line(xs []float64) (m, slope, sxx float64) {
	n := float64(len(xs))
	m, _ = mean(xs)
	var sxy float64
	for i, x := range xs {
		t := float64(i) - (n-1)/2
		sxy += t * (x - m)
		sxx += t * t
	}
	return m, sxy / sxx, sxx
}
