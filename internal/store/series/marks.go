package series

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// run is a row of marks at equal distances, Unix milliseconds: from, from+step, …, last.
type run struct {
	from, last, step int64
	epoch            float64
}

// next returns the first mark behind t; not ok when there is none in the run.
func (r run) next(t int64) (int64, bool) {
	switch {
	case t < r.from:
		return r.from, true
	case t >= r.last:
		return 0, false
	}
	return r.from + ((t-r.from)/r.step+1)*r.step, true
}

// runs are all marks of a source within some time, in order. A day of marks each second is one run.
type runs []run

func (rs runs) add(t int64, epoch float64) runs {
	if n := len(rs) - 1; n >= 0 && rs[n].epoch == epoch {
		r := &rs[n]
		if t <= r.last {
			return rs
		}
		switch {
		case r.from == r.last:
			r.step, r.last = t-r.from, t
			return rs
		case t-r.last == r.step:
			r.last = t
			return rs
		}
	}
	return append(rs, run{t, t, 1, epoch})
}

// find returns the index of the last run that begins at or before t, -1 when there is none.
func (rs runs) find(t int64) int {
	i, ok := slices.BinarySearchFunc(rs, t, func(r run, t int64) int { return cmp.Compare(r.from, t) })
	if ok {
		return i
	}
	return i - 1
}

// readRuns reads marks.
func readRuns(it chunkenc.Iterator) (rs runs, err error) {
	for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
		if typ == chunkenc.ValFloat {
			rs = rs.add(it.At())
		}
	}
	return rs, it.Err()
}
