package loader

import (
	"math"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/workload"
)

// sample is what a look at some rows of a table tells of all.
type sample struct {
	load.Sample
	bytes float64 // of a row on a page of InnoDB, on average; without secondary indexes
}

// look samples the rows of a table, one of n.
func look(tb *workload.Table, seed uint64, n int) (s sample) {
	rows, size := 0, 0
	s.Sample = load.Look(tb, seed, n, func(row []workload.Datum) {
		rows++
		size += rowBytes(row)
	})
	if rows > 0 {
		s.bytes = float64(size) / float64(rows)
	}
	return s
}

// rowBytes estimates a row on a leaf page in the compact formats: header, transaction and roll pointer, lengths and
// values. https://dev.mysql.com/doc/refman/9.0/en/innodb-row-format.html
func rowBytes(row []workload.Datum) int {
	n := 5 + 6 + 7 + (len(row)+7)/8
	for _, d := range row {
		switch d.Kind() {
		case workload.IntDatum, workload.UintDatum:
			if v := int64(d.Bits()); v >= math.MinInt32 && v <= math.MaxUint32 {
				n += 4
			} else {
				n += 8
			}
		case workload.FloatDatum:
			n += 8
		case workload.BytesDatum:
			n += 1 + len(d.Raw())
		case workload.NullDatum:
		}
	}
	return n
}
