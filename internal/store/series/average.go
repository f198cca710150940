package series

import (
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

const avgFunc = "avg_over_time"

// averaged is a series of which only the means of its minutes are told, each at the end of its minute, as the level of
// minutes does it. Stale markers are left out: they do not count in a mean.
type averaged struct{ storage.Series }

// Iterator is part of storage.Series.
func (s *averaged) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return &averager[int64]{Iterator: s.Series.Iterator(nil)}
}

type averager[T int64] struct {
	chunkenc.Iterator
	begun, more bool
	end         int64
	mean        float64
}

// Next is part of chunkenc.Iterator.
func (x *averager[T]) Next() chunkenc.ValueType {
	if !x.begun {
		x.begun, x.more = true, x.Iterator.Next() != chunkenc.ValNone
	}
	n, sum := 0, 0.0
	for x.more {
		t, v := x.Iterator.At()
		end := floor(t-1, minuteMS) + minuteMS
		if n > 0 && end != x.end {
			break
		}
		if !value.IsStaleNaN(v) {
			x.end = end
			sum += v
			n++
		}
		x.more = x.Iterator.Next() != chunkenc.ValNone
	}
	if n == 0 {
		return chunkenc.ValNone
	}
	if x.mean = sum / float64(n); x.mean != x.mean {
		x.mean = ordinaryNaN
	}
	return chunkenc.ValFloat
}

// Seek is part of chunkenc.Iterator.
func (x *averager[T]) Seek(t T) chunkenc.ValueType {
	if x.begun && x.end >= int64(t) {
		return chunkenc.ValFloat
	}
	for typ := x.Next(); typ != chunkenc.ValNone; typ = x.Next() {
		if x.end >= int64(t) {
			return typ
		}
	}
	return chunkenc.ValNone
}

// At is part of chunkenc.Iterator.
func (x *averager[T]) At() (int64, float64) { return x.end, x.mean }

// AtT is part of chunkenc.Iterator.
func (x *averager[T]) AtT() int64 { return x.end }
