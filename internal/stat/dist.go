package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// StudentInterval returns the half width of the interval of the given confidence (0 to 1) around a mean of n values
// whose standard deviation is sd, by Student's t. It holds for independent values; with fewer than two there is none:
// +Inf.
func StudentInterval(sd float64, n int, confidence float64) float64 {
	if n < 2 {
		return math.Inf(1)
	}
	return studentQuantile(confidence, float64(n-1)) * sd / math.Sqrt(float64(n))
}

// studentQuantile returns the t with P(|T| ≤ t) = confidence for Student's distribution with df degrees of freedom: the
// approximation of Wallace (Bounds on Normal Approximations to Student's and the Chi-Square Distributions, 1959), made
// exact by Newton's method. It works on the logarithm of the tail over that of t, which is concave and falling, so that
// it cannot go astray. The inverse of gonum's mathext does, with many degrees of freedom and a high confidence.
func studentQuantile(confidence, df float64) float64 {
	if confidence <= 0 {
		return 0
	}
	if confidence >= 1 {
		return math.Inf(1)
	}
	z := math.Sqrt2 * math.Erfinv(confidence)
	q := df - 2.0/3 + 0.1/df
	t := math.Sqrt(df * math.Expm1(z*z*max(df-5.0/6, 0.1)/(q*q)))
	if !(t > 1e-6) || t > 1e12 {
		t = 1
	}
	half, _ := math.Lgamma((df + 1) / 2)
	full, _ := math.Lgamma(df / 2)
	scale := 2 * math.Exp(half-full) / math.Sqrt(df*math.Pi)
	for range 100 {
		tail := beyond(t, df)
		slope := scale * math.Pow(1+t*t/df, -(df+1)/2) * t / tail // of -log(tail) over log(t)
		step := (math.Log(tail) - math.Log(1-confidence)) / slope
		t *= math.Exp(min(max(step, -2), 2))
		if math.Abs(step) < 1e-12 {
			break
		}
	}
	return t
}

// beyond returns P(|T| > t): Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1.
func beyond(t, df float64) float64 { return mathext.RegIncBeta(df/2, 0.5, df/(df+t*t)) }

// signedRank returns how many of the smallest, and likewise of the largest, Walsh averages of n values lie outside an
// interval of at least that confidence, by the exact distribution of Wilcoxon's signed-rank sum; 0 when n is too small
// for one.
func signedRank(n int, confidence float64) int {
	total := n * (n + 1) / 2
	p := make([]float64, total+1) // probability of each sum of ranks
	p[0] = 1
	for r := 1; r <= n; r++ {
		for s := total; s >= 0; s-- {
			p[s] /= 2
			if s >= r {
				p[s] += p[s-r] / 2
			}
		}
	}
	k, tail := 0, p[0]
	for 2*tail <= 1-confidence+1e-12 {
		k++
		tail += p[k]
	}
	return k
}

// rankTail returns the two-sided probability of a signed-rank sum of n values of at most w, 1 at most.
func rankTail(n, w int) float64 {
	total := n * (n + 1) / 2
	p := make([]float64, total+1)
	p[0] = 1
	for r := 1; r <= n; r++ {
		for s := total; s >= 0; s-- {
			p[s] /= 2
			if s >= r {
				p[s] += p[s-r] / 2
			}
		}
	}
	tail := 0.0
	for s := 0; s <= min(w, total); s++ {
		tail += p[s]
	}
	return min(2*tail, 1)
}

// trend returns Kendall's S, pairs in rising order less those in falling order, and the exact two-sided probability of
// one as far from zero when the order is random (Mann, Nonparametric Tests against Trend, 1945). Ties count as neither,
// which makes it careful. It is for at most a few hundred values.
func trend(xs []float64) (s int, p float64) {
	n := len(xs)
	for i := range xs {
		for _, y := range xs[i+1:] {
			switch {
			case y > xs[i]:
				s++
			case y < xs[i]:
				s--
			}
		}
	}
	most := n * (n - 1) / 2
	w := make([]float64, most+1) // probability of each number of falling pairs
	w[0] = 1
	for k := 2; k <= n; k++ { // the k-th value falls below 0 to k-1 earlier ones
		next := make([]float64, most+1)
		for i, v := range w {
			for j := 0; j < k && i+j <= most && v > 0; j++ {
				next[i+j] += v / float64(k)
			}
		}
		w = next
	}
	for falling, v := range w {
		if d := most - 2*falling; d >= abs(s) || d <= -abs(s) {
			p += v
		}
	}
	return s, min(p, 1)
}

func abs(n int) int { return max(n, -n) }
