// Package hist holds latency histograms that merge without loss and count values out of range
// separately.
//
// The buckets are those of HdrHistogram (https://hdrhistogram.github.io/HdrHistogram/) with two
// significant digits, so a quantile is at most 1 % away from the true value.
package hist

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// Lowest is the finest difference that a histogram tells apart.
	Lowest = 100 * time.Nanosecond
	// Highest is the longest duration that has a bucket; longer ones are counted by Over.
	Highest = time.Hour
	digits  = 2
)

// Histogram counts durations. The zero value is not usable, New makes one. It is not safe for concurrent use:
// every session records into its own and the owner merges them.
type Histogram struct {
	h    *hdr.Histogram
	over uint64
	sum  int64 // nanoseconds, exact, of the durations within range
	min  time.Duration
	max  time.Duration
}

// New returns an empty histogram.
func New() *Histogram {
	return &Histogram{h: hdr.New(int64(Lowest), int64(Highest), digits)}
}

// Record counts one duration. A negative one counts as zero, one above Highest only in Over. It allocates nothing.
func (x *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	if d > Highest || x.h.RecordValue(int64(d)) != nil {
		x.over++
		x.max = max(x.max, d)
		return
	}
	if x.h.TotalCount() == 1 || d < x.min {
		x.min = d
	}
	x.max = max(x.max, d)
	x.sum += int64(d)
}

// Count returns the number of recorded durations, those above Highest included.
func (x *Histogram) Count() uint64 { return uint64(x.h.TotalCount()) + x.over }

// Over returns the number of recorded durations above Highest.
func (x *Histogram) Over() uint64 { return x.over }

// Sum returns the exact sum of the durations up to Highest.
func (x *Histogram) Sum() time.Duration { return time.Duration(x.sum) }

// Min returns the exact shortest duration, 0 when there is none.
func (x *Histogram) Min() time.Duration { return x.min }

// Max returns the exact longest duration, 0 when there is none.
func (x *Histogram) Max() time.Duration { return x.max }

// Mean returns the exact mean of the durations up to Highest, 0 when there is none.
func (x *Histogram) Mean() time.Duration {
	if n := x.h.TotalCount(); n > 0 {
		return time.Duration(x.sum / n)
	}
	return 0
}

// Quantile returns the duration that a share q, 0 to 1, of the recorded ones does not exceed; 0 when there is
// none. Where the quantile lies above Highest it returns Max.
func (x *Histogram) Quantile(q float64) time.Duration {
	n := x.Count()
	if n == 0 {
		return 0
	}
	in := float64(x.h.TotalCount())
	if rank := q * float64(n); rank > in {
		return x.max
	}
	if in == 0 {
		return x.max
	}
	return min(time.Duration(x.h.ValueAtPercentile(q*float64(n)/in*100)), x.max)
}

// Merge adds what o counted; the result is the same as if every duration had been recorded here.
func (x *Histogram) Merge(o *Histogram) {
	if o.h.TotalCount() > 0 {
		if x.h.TotalCount() == 0 || o.min < x.min {
			x.min = o.min
		}
		x.h.Merge(o.h) // same bounds, nothing can be dropped
	}
	x.max = max(x.max, o.max)
	x.sum += o.sum
	x.over += o.over
}

// Reset forgets everything.
func (x *Histogram) Reset() {
	x.h.Reset()
	x.over, x.sum, x.min, x.max = 0, 0, 0, 0
}

// Clone returns an independent copy.
func (x *Histogram) Clone() *Histogram {
	c := New()
	c.Merge(x)
	return c
}

type wire struct {
	HDR  string `json:"hdr"` // base64 of HdrHistogram's V2 compressed form, nanoseconds
	Over uint64 `json:"over,omitempty"`
	Sum  int64  `json:"sum_ns"`
	Min  int64  `json:"min_ns"`
	Max  int64  `json:"max_ns"`
}

// MarshalJSON writes the histogram so that UnmarshalJSON gives back an equal one. Other HdrHistogram
// implementations read the member hdr.
func (x *Histogram) MarshalJSON() ([]byte, error) {
	b, err := x.h.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, fmt.Errorf("encode histogram: %w", err)
	}
	return json.Marshal(wire{HDR: string(b), Over: x.over, Sum: x.sum, Min: int64(x.min), Max: int64(x.max)})
}

// UnmarshalJSON reads what MarshalJSON wrote. Anything else is an error and leaves x as it was.
func (x *Histogram) UnmarshalJSON(b []byte) (err error) {
	var w wire
	if err := json.Unmarshal(b, &w); err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	if _, err := base64.StdEncoding.DecodeString(w.HDR); err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	// The library indexes into what it decodes without checking the bounds.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("decode histogram: damaged: %v", p)
		}
	}()
	h, err := hdr.Decode([]byte(w.HDR))
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	y := New()
	if dropped := y.h.Merge(h); dropped > 0 {
		return fmt.Errorf("decode histogram: %d values lie outside 0 to %v", dropped, Highest)
	}
	y.over, y.sum, y.min, y.max = w.Over, w.Sum, time.Duration(w.Min), time.Duration(w.Max)
	*x = *y
	return nil
}
