package act

import (
	"dyno/internal/known"
	"dyno/internal/schema"
)

const (
	// entryOverhead is what InnoDB keeps beside the columns of an entry: header, null bits, lengths.
	entryOverhead = 8
	// fill is how full the pages of a fresh index are.
	fill = 0.85
	// Building an index reads the table and sorts and writes the entries. A quick disk or a table in memory manages the first rate,
	// a poor one the second, bytes per second.
	quick, slow = 150e6, 10e6
)

// indexBytes estimates the size of an index from the server's number of rows and the widths of its columns; a column of variable width
// counts with half its most, and with no more than the mean length of a row.
func indexBytes(t schema.Table, x schema.Index) known.Value[float64] {
	rows, ok := t.Rows.Get()
	if !ok {
		return known.None[float64]()
	}
	row := 0.0
	if data, ok := t.DataBytes.Get(); ok && rows > 0 {
		row = float64(data) / float64(rows)
	}
	width := float64(entryOverhead)
	seen := map[string]bool{}
	add := func(p schema.IndexPart) bool {
		if p.Expr != "" {
			return false
		}
		c, ok := t.Column(p.Column)
		if !ok || seen[c.Name] {
			return ok
		}
		seen[c.Name] = true
		w := float64(c.Bytes)
		if c.Charset != "" || c.DataType == "varbinary" || c.DataType == "blob" {
			if p.Prefix > 0 {
				w = min(w, float64(p.Prefix)*4)
			}
			w /= 2
			if row > 0 {
				w = min(w, row)
			}
		}
		width += w
		return true
	}
	for _, p := range x.Parts {
		if !add(p) {
			return known.None[float64]()
		}
	}
	if pk, ok := t.PrimaryKey(); ok { // every entry ends with the primary key
		for _, p := range pk.Parts {
			add(p)
		}
	} else {
		width += 6 // the hidden row id
	}
	return known.Of(float64(rows) * width / fill)
}

// buildSeconds estimates how long the server builds an index of that size: from, to.
func buildSeconds(t schema.Table, size known.Value[float64]) (lo, hi known.Value[float64]) {
	data, ok1 := t.DataBytes.Get()
	n, ok2 := size.Get()
	if !ok1 || !ok2 {
		return lo, hi
	}
	bytes := float64(data) + 2*n
	return known.Of(bytes / quick), known.Of(bytes / slow)
}

// keyLimit is the most bytes of an index entry for InnoDB's row formats DYNAMIC and COMPRESSED with pages of 16 KiB, and of one column
// for REDUNDANT and COMPACT: https://dev.mysql.com/doc/refman/9.0/en/innodb-limits.html
const (
	keyLimit     = 3072
	oldPartLimit = 767
	maxIndexes   = 64
	maxParts     = 16
)
