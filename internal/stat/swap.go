package stat

import "math"

// Inverse returns the interval of baseline ÷ variant from that of variant ÷ baseline. A bound at 0 becomes the largest
// number.
func (i Interval) Inverse() Interval {
	lo, hi := i.Lo, i.Hi
	i.Center, i.Lo, i.Hi = 1/i.Center, 0, 0
	if hi > 0 {
		i.Lo = 1 / hi
	}
	if lo > 0 {
		i.Hi = 1 / lo
	} else {
		i.Hi = math.MaxFloat64
	}
	return i
}

// Swapped returns the verdict on the baseline as seen from the variant.
func (v Verdict) Swapped() Verdict {
	switch v.Result {
	case Better:
		v.Result = Worse
	case Worse:
		v.Result = Better
	case Same, Unstable, Invalid:
	}
	if v.Ratio.N > 0 {
		v.Ratio, v.Favour = v.Ratio.Inverse(), 1-v.Favour
	}
	return v
}
