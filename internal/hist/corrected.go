package hist

import (
	"math"
	"time"
)

// walk is the number of missing durations up to which they are recorded one by one; more are counted by bucket.
const walk = 1000

// Corrected returns a copy with the durations that a load which waits for each answer did not see: for each one longer
// than expected, the time that a session meant to start an operation every expected would have waited for those it
// could not start meanwhile. That is HdrHistogram's correction for coordinated omission: a duration of d adds
// d-expected, d-2·expected and so on down to expected. It tells how long users would have waited who come at that rate
// whatever the server does; it is an estimate, not a measurement.
//
// expected is the mean time from one start of an operation of a session to the next: sessions divided by the operations
// per second of all of them. 0 or less gives a plain copy. Durations above Highest add nothing but themselves.
//
// Source: G. Tene, "How not to measure latency", and copyCorrectedForCoordinatedOmission of HdrHistogram.
func (x *Histogram) Corrected(expected time.Duration) *Histogram {
	c := x.Clone()
	e := int64(expected)
	if e <= 0 {
		return c
	}
	bars := x.h.Distribution() // all up to the last that holds something, empty ones too
	sum := float64(c.sum)
	for _, b := range bars {
		v := min(b.To, int64(x.max))
		k := v/e - 1 // missing durations of each one like v
		if b.Count == 0 || k < 1 {
			continue
		}
		sum += float64(b.Count) * (float64(k)*float64(v) - float64(e)*float64(k)*float64(k+1)/2)
		c.min = min(c.min, time.Duration(v-k*e))
		if k <= walk {
			for j := range k {
				_ = c.h.RecordValues(v-(j+1)*e, b.Count) // within range: smaller than v
			}
			continue
		}
		for _, to := range bars {
			if v < to.From {
				break
			}
			if first, last := max((v-to.To+e-1)/e, 1), min((v-to.From)/e, k); last >= first {
				_ = c.h.RecordValues(to.From, b.Count*(last-first+1))
			}
		}
	}
	if sum < math.MaxInt64 {
		c.sum = int64(sum)
	} else {
		c.sum = math.MaxInt64
	}
	return c
}
