package series

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// expander reads a sparse series as if it had been written at every mark. See AppendRound for the rules.
type expander struct {
	in     chunkenc.Iterator
	marks  runs
	lo, hi int64 // what is outside is not told
	reach  int64 // a sample is not repeated that long after it, for it would have been written again

	begun   bool
	have    bool // cur is a sample of the store
	curT    int64
	curV    float64
	aheadOK bool // the one after it
	aheadT  int64
	aheadV  float64
	outT    int64 // what was told last
	run     int   // the run of marks that outT lies in, -1 for none
	hint    int   // the run that the last sample of the store lay in
	limit   int64 // cur is repeated before that time only
	even    bool  // outT is a mark of the run
}

// iterator is an expander as the chunkenc.Iterator it is. T is always int64: vet takes a plain Seek(int64) for a wrong
// io.Seeker.
type iterator[T int64] struct{ expander }

// Seek is part of chunkenc.Iterator.
func (x *iterator[T]) Seek(t T) chunkenc.ValueType { return x.seek(int64(t)) }

// before returns the time d before t, or the earliest there is.
func before(t, d int64) int64 {
	if t < math.MinInt64+d {
		return math.MinInt64
	}
	return t - d
}

// pull reads the next stored sample into ahead.
func (x *expander) pull(typ chunkenc.ValueType) {
	for typ != chunkenc.ValNone && typ != chunkenc.ValFloat { // a histogram: not written by us
		typ = x.in.Next()
	}
	if x.aheadOK = typ == chunkenc.ValFloat; x.aheadOK {
		x.aheadT, x.aheadV = x.in.At()
	}
}

// step makes the sample ahead the current one.
func (x *expander) step() bool {
	if !x.aheadOK {
		return false
	}
	x.have, x.curT, x.curV = true, x.aheadT, x.aheadV
	x.pull(x.in.Next())
	x.outT, x.even = x.curT, false
	x.run, x.limit = -1, x.curT
	if len(x.marks) == 0 || value.IsStaleNaN(x.curV) {
		return true
	}
	if h := &x.marks[x.hint]; h.from <= x.curT && x.curT <= h.last {
		x.run = x.hint
	} else if x.run = x.marks.find(x.curT); x.run < 0 {
		return true
	}
	x.hint = x.run
	r := &x.marks[x.run] // a sample of minutes may lie behind its last mark
	x.even = x.curT <= r.last && (x.curT-r.from)%r.step == 0
	if x.limit = x.curT + x.reach; x.hi < x.limit {
		x.limit = x.hi + 1
	}
	if x.aheadOK {
		x.limit = min(x.limit, x.aheadT)
	}
	return true
}

// repeat goes to the first mark after t at which the current sample is repeated.
func (x *expander) repeat(t int64) bool {
	for x.run >= 0 {
		if m, ok := x.marks[x.run].next(t); ok {
			if m >= x.limit {
				break
			}
			x.outT, x.even = m, true
			return true
		}
		if x.run+1 == len(x.marks) || x.marks[x.run+1].epoch != x.marks[x.run].epoch {
			break
		}
		x.run++
	}
	x.run = -1
	return false
}

// Next is part of chunkenc.Iterator.
func (x *expander) Next() chunkenc.ValueType {
	if !x.begun {
		return x.seek(x.lo)
	}
	if !x.have {
		return chunkenc.ValNone
	}
	if x.run >= 0 { // the way most samples go
		r := &x.marks[x.run]
		if m := x.outT + r.step; x.even && m <= r.last {
			if m < x.limit {
				x.outT = m
				return chunkenc.ValFloat
			}
			x.run = -1
		} else if x.repeat(x.outT) {
			return chunkenc.ValFloat
		}
	}
	return x.tell(x.step())
}

func (x *expander) tell(ok bool) chunkenc.ValueType {
	if !ok || x.outT > x.hi {
		x.have, x.aheadOK = false, false
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

// seek goes to the first sample at or after t.
func (x *expander) seek(t int64) chunkenc.ValueType {
	t = max(t, x.lo)
	if !x.begun {
		x.begun = true
		x.pull(x.in.Seek(before(t, x.reach)))
		if !x.step() {
			return x.tell(false)
		}
	} else if !x.have {
		return chunkenc.ValNone
	}
	if x.outT >= t {
		return x.tell(true)
	}
	if x.aheadOK && x.aheadT < before(t, x.reach) { // far behind: pass over whole chunks
		x.pull(x.in.Seek(before(t, x.reach)))
		if !x.aheadOK {
			return x.tell(false)
		}
		x.step()
	}
	for x.aheadOK && x.aheadT <= t {
		x.step()
	}
	if x.outT >= t || x.repeat(t-1) {
		return x.tell(true)
	}
	return x.tell(x.step())
}

// At is part of chunkenc.Iterator.
func (x *expander) At() (int64, float64) { return x.outT, x.curV }

// AtT is part of chunkenc.Iterator.
func (x *expander) AtT() int64 { return x.outT }

// AtST is part of chunkenc.Iterator.
func (x *expander) AtST() int64 { return 0 }

// AtHistogram is part of chunkenc.Iterator; there are none.
func (x *expander) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) { return 0, nil }

// AtFloatHistogram is part of chunkenc.Iterator; there are none.
func (x *expander) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return 0, nil
}

// Err is part of chunkenc.Iterator.
func (x *expander) Err() error { return x.in.Err() }
