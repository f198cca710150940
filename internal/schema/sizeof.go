package schema

import "github.com/dyno-perf/dyno/internal/known"

const (
	// entryOverhead is what InnoDB keeps beside the columns of an entry: header, null bits, lengths.
	entryOverhead = 8
	// fill is how full the pages of a fresh index are.
	fill = 0.85
)

// SizeOf estimates the size in bytes of an index from the server's number of rows and the widths of its columns; a
// column of variable width counts with half its most, and with no more than the mean length of a row. Unknown without
// the number of rows, or with an expression in it.
func (t Table) SizeOf(x Index) known.Value[float64] {
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
	add := func(p IndexPart) bool {
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
	if t.Engine == "heap" {
		width += 12 // PostgreSQL: the row's place and a line pointer, with what rounds an entry up
	} else if pk, ok := t.PrimaryKey(); ok { // every entry ends with the primary key
		for _, p := range pk.Parts {
			add(p)
		}
	} else {
		width += 6 // the hidden row id
	}
	return known.Of(float64(rows) * width / fill)
}
