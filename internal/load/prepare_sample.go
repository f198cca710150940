package load

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"

	"github.com/dyno-perf/dyno/internal/workload"
)

// sample is what a look at some rows of a table tells of all.
type sample struct {
	rows  float64 // a number stands for, on average
	bytes float64 // of a row on a page of InnoDB, on average; without secondary indexes
	// a hash of the table's definition and of the rows looked at: another size, seed or option makes another
	what string
}

const (
	sampledMost = 256 // numbers of one table
	sampledAll  = 100_000
)

// Identities returns a hash of each table of a plan, of its definition and of some of its rows as Prepare fills it with
// a seed: tables of another size, seed or option that decides what they hold have others.
func Identities(p *workload.Plan, seed uint64) []string {
	out := make([]string, len(p.Tables))
	for i := range p.Tables {
		out[i] = look(&p.Tables[i], seed, len(p.Tables)).what
	}
	return out
}

// look samples the rows of a table, one of n, spread evenly.
func look(tb *workload.Table, seed uint64, n int) sample {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode([]any{1, tb.Name, tb.Create, tb.After, tb.Columns, tb.Rows, seed})
	numbers := min(tb.Rows, max(4, min(sampledMost, sampledAll/max(1, n))))
	s := sample{rows: 1}
	rows, size := 0, 0
	if numbers > 0 {
		fill := tb.Fill(seed)
		var b []byte
		emit := func(row []workload.Datum) {
			rows++
			size += rowBytes(row)
			b = b[:0]
			for _, d := range row {
				// The length keeps neighbours apart.
				at := len(b)
				b = append(b, 0, 0, 0, 0)
				b = appendValue(b, d)
				binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at))
			}
			h.Write(b)
		}
		for i := range numbers {
			at := 1
			if numbers > 1 {
				at = 1 + int(float64(i)*float64(tb.Rows-1)/float64(numbers-1))
			}
			fill(min(at, tb.Rows), emit)
		}
		s.rows = float64(rows) / float64(numbers)
		if rows > 0 {
			s.bytes = float64(size) / float64(rows)
		}
	}
	s.what = hex.EncodeToString(h.Sum(nil)[:16])
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
