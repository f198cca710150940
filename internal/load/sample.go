package load

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/workload"
)

// Sample is what a look at some rows of a table tells of all.
type Sample struct {
	Rows float64 // a number stands for, on average
	// What is a hash of the table's definition and of the rows looked at: another size, seed or option makes another.
	What string
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
		out[i] = Look(&p.Tables[i], seed, len(p.Tables), func([]workload.Datum) {}).What
	}
	return out
}

// Look samples the rows of a table, one of n, spread evenly. each gets the rows looked at.
func Look(tb *workload.Table, seed uint64, n int, each func(row []workload.Datum)) Sample {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode([]any{1, tb.Name, tb.Create, tb.After, tb.Columns, tb.Rows, seed})
	numbers := min(tb.Rows, max(4, min(sampledMost, sampledAll/max(1, n))))
	s := Sample{Rows: 1}
	rows := 0
	if numbers > 0 {
		fill := tb.Fill(seed)
		var b []byte
		emit := func(row []workload.Datum) {
			rows++
			each(row)
			b = b[:0]
			for _, d := range row {
				// The length keeps neighbours apart.
				at := len(b)
				b = append(b, 0, 0, 0, 0)
				b = appendHashed(b, d)
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
		s.Rows = float64(rows) / float64(numbers)
	}
	s.What = hex.EncodeToString(h.Sum(nil)[:16])
	return s
}

// appendHashed appends d as it goes into the hash: hashes are kept with data sets and with unfinished tables.
func appendHashed(dst []byte, d workload.Datum) []byte {
	if d.Kind() == workload.BytesDatum && !utf8.Valid(d.Raw()) {
		return append(hex.AppendEncode(append(dst, "x'"...), d.Raw()), '\'')
	}
	return d.AppendLiteral(dst)
}
