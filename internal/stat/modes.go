package stat

import (
	"math"
	"slices"
)

// Group is one of several clusters of values.
type Group struct {
	Center float64 // median
	N      int
}

// Groups finds out whether values fall into two or three clusters far apart, as the trials of a variant do whose
// threads are placed now well and now badly. Each gap between clusters must be at least least, and so wide beside the
// spread within them as is found in fewer than one of 400 samples of normal values; at least two clusters have two
// members or more, so that a single wild value is none. It returns the clusters in rising order, or false. It needs
// five values, and looks at no more than 100.
func Groups(xs []float64, least float64) ([]Group, bool) {
	n := len(xs)
	if n < 5 || n > 100 {
		return nil, false
	}
	s := slices.Sorted(slices.Values(xs))
	sum, sq := make([]float64, n+1), make([]float64, n+1)
	for i, x := range s {
		x -= s[0]
		sum[i+1], sq[i+1] = sum[i]+x, sq[i]+x*x
	}
	squares := func(i, j int) float64 { // of the deviations of s[i:j] from their mean
		d := sum[j] - sum[i]
		return max(sq[j]-sq[i]-d*d/float64(j-i), 0)
	}
	// far is how many standard deviations a gap must have; found by simulation, see TestGroups.
	far := 4 + 175/math.Pow(float64(n-2), 1.7)
	best, cut, second := 0.0, 0, 0
	try := func(gap, within, needs float64, i, j int) {
		if gap < least {
			return
		}
		if t := gap / max(within, 1e-12) / needs; t >= 1 && t > best {
			best, cut, second = t, i, j
		}
	}
	for i := 1; i < n; i++ {
		gap := s[i] - s[i-1]
		if i >= 2 && n-i >= 2 {
			try(gap, math.Sqrt((squares(0, i)+squares(i, n))/float64(n-2)), far, i, n)
		}
		for j := i + 1; j < n; j++ {
			if two := b2i(i >= 2) + b2i(j-i >= 2) + b2i(n-j >= 2); two >= 2 {
				within := math.Sqrt((squares(0, i) + squares(i, j) + squares(j, n)) / float64(n-3))
				try(min(gap, s[j]-s[j-1]), within, 1.5*far, i, j)
			}
		}
	}
	if best == 0 {
		return nil, false
	}
	var gs []Group
	for _, part := range [][]float64{s[:cut], s[cut:second], s[second:]} {
		if len(part) > 0 {
			gs = append(gs, Group{Center: Median(part), N: len(part)})
		}
	}
	return gs, true
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
