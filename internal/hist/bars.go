package hist

import "time"

// Bar is one bucket of a histogram: how many durations lie From one to the other, both included.
type Bar struct {
	From, To time.Duration
	Count    uint64
}

// Bars returns the buckets that hold something, in order. Durations above Highest are in none.
func (x *Histogram) Bars() []Bar {
	var out []Bar
	for _, b := range x.h.Distribution() {
		if b.Count > 0 {
			out = append(out, Bar{time.Duration(b.From), time.Duration(b.To), uint64(b.Count)})
		}
	}
	return out
}
