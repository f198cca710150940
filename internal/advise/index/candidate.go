package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"dyno/internal/schema"
	"dyno/internal/sqlshape"
)

// wish is the index that one statement would like on one table.
type wish struct {
	Parts   []schema.IndexPart
	Equal   int  // how many of Parts, from the front, are compared for equality: their order among each other is free
	Cond    int  // how many of Parts stand for conditions; the rest are there for the order
	Sorted  bool // the tail gives the order of ORDER BY
	Notes   []string
	Bytes   int // most bytes of an entry's key
	Columns []string
}

// wishFor puts the columns of a statement's conditions on table i into the order equality, then one list or range, or
// else the sort. inner says that rows come to the table from a join, so that join conditions count as equalities.
func wishFor(sh sqlshape.Shape, tables []schema.Table, i int, inner bool) (wish, bool) {
	t := tables[i]
	var w wish
	var equal, lists, ranges []schema.Column
	add := func(to *[]schema.Column, c schema.Column) {
		for _, set := range [][]schema.Column{equal, lists, ranges} {
			if slices.ContainsFunc(set, func(x schema.Column) bool { return x.Name == c.Name }) {
				return
			}
		}
		*to = append(*to, c)
	}
	for _, op := range [][]sqlshape.Op{{sqlshape.Eq, sqlshape.IsNull}, {sqlshape.In}, {sqlshape.Range, sqlshape.LikePrefix}} {
		for _, p := range sh.Predicates {
			if !slices.Contains(op, p.Op) || p.Join && !inner {
				continue
			}
			c, ok := owned(tables, i, p.Table, p.Column)
			if !ok || !indexable(c) {
				continue
			}
			switch op[0] {
			case sqlshape.Eq:
				add(&equal, c)
			case sqlshape.In:
				add(&lists, c)
			default:
				add(&ranges, c)
			}
		}
	}
	if len(equal)+len(lists)+len(ranges) == 0 {
		return w, false
	}
	known := 0
	for _, c := range equal {
		if distinct(t, c.Name) > 0 {
			known++
		}
	}
	slices.SortFunc(equal, func(a, b schema.Column) int {
		if known == len(equal) {
			if d := cmp.Compare(distinct(t, b.Name), distinct(t, a.Name)); d != 0 {
				return d
			}
		}
		return cmp.Compare(a.Name, b.Name)
	})
	if len(equal) > 1 {
		if known == len(equal) {
			w.Notes = append(w.Notes, "The equality columns stand with the most distinct values first, by the server's statistics.")
		} else {
			w.Notes = append(w.Notes, "How selective each equality column is by itself is not known, so they stand in the order of their names: any order serves this statement.")
		}
	}
	cols := slices.Clone(equal)
	w.Equal = len(equal)
	order := sortColumns(sh, tables, i, equal)
	switch {
	case len(lists) > 0:
		slices.SortFunc(lists, func(a, b schema.Column) int { return cmp.Compare(a.Name, b.Name) })
		cols = append(cols, lists[0])
	case len(ranges) > 0:
		slices.SortFunc(ranges, func(a, b schema.Column) int { return cmp.Compare(a.Name, b.Name) })
		pick := ranges[0]
		if len(order) > 0 { // a range that is also the sort serves both
			for _, r := range ranges {
				if r.Name == order[0].Name {
					pick, w.Sorted = r, len(order) == 1
				}
			}
		}
		cols = append(cols, pick)
		if len(ranges) > 1 {
			w.Notes = append(w.Notes, "An index can use one range: "+pick.Name+" was taken, the other is checked row by row.")
		}
	case len(order) > 0 && len(equal) > 0:
		cols = append(cols, order...)
		w.Sorted = true
		w.Notes = append(w.Notes, "The columns of ORDER BY follow, so that rows come in order without a sort.")
	}
	w.Cond = len(cols)
	if w.Sorted && len(lists)+len(ranges) == 0 {
		w.Cond = len(equal)
	}
	return w, w.fit(t, cols)
}

// fit turns columns into parts within the engine's limits; it is false when nothing useful fits.
func (w *wish) fit(t schema.Table, cols []schema.Column) bool {
	limit := 3072 // InnoDB, row formats DYNAMIC and COMPRESSED
	switch {
	case strings.EqualFold(t.RowFormat, "compact"), strings.EqualFold(t.RowFormat, "redundant"):
		limit = 767
	case strings.EqualFold(t.Engine, "myisam"), strings.EqualFold(t.Engine, "aria"):
		limit = 1000
	}
	for n, c := range cols {
		if n == 16 { // the most parts that either server takes
			break
		}
		p := schema.IndexPart{Column: c.Name}
		size := c.Bytes
		if size <= 0 {
			size = 8
		}
		if large(c) || size > limit-w.Bytes {
			width := charWidth(c)
			chars := min(64, (limit-w.Bytes)/width)
			if chars < 8 || !stringType(c) {
				break
			}
			p.Prefix, size = chars, chars*width
			w.Notes = append(w.Notes, fmt.Sprintf("Of %s, which is %s, the first %d characters are indexed: a whole value can be larger than a key may be.", c.Name, c.Type, chars))
			w.Sorted = false
		}
		if w.Bytes+size > limit {
			break
		}
		w.Bytes += size
		w.Parts = append(w.Parts, p)
		w.Columns = append(w.Columns, c.Name)
		if p.Prefix > 0 {
			break // nothing after a prefix can be looked up
		}
	}
	w.Equal, w.Cond = min(w.Equal, len(w.Parts)), min(w.Cond, len(w.Parts))
	return len(w.Parts) > 0
}

// owned returns the column when it belongs to table i, also when the statement named it without its table.
func owned(tables []schema.Table, i, at int, name string) (schema.Column, bool) {
	if at == i {
		return column(tables[i], name)
	}
	if at != sqlshape.Unresolved {
		return schema.Column{}, false
	}
	var c schema.Column
	owners := 0
	for j, t := range tables {
		if t.Table == "" {
			return schema.Column{}, false // a table that is not known could own it
		}
		if x, ok := column(t, name); ok {
			if owners++; j == i {
				c = x
			}
		}
	}
	return c, owners == 1 && c.Name != ""
}

// sortColumns returns the columns of ORDER BY when an index can give that order: all of this table, all in one direction,
// those compared for equality left out, for they are all the same.
func sortColumns(sh sqlshape.Shape, tables []schema.Table, i int, equal []schema.Column) (out []schema.Column) {
	if sh.Folded && len(sh.GroupBy) > 0 || len(sh.Tables) != 1 {
		return nil
	}
	for _, o := range sh.OrderBy {
		c, ok := owned(tables, i, o.Table, o.Column)
		if !ok || o.Desc != sh.OrderBy[0].Desc || large(c) || !indexable(c) {
			return nil
		}
		if !slices.ContainsFunc(equal, func(x schema.Column) bool { return x.Name == c.Name }) {
			out = append(out, c)
		}
	}
	return out
}

// serves reports whether an existing index gives all that the wish asks, whatever the order of its equality columns. An
// InnoDB index ends with the primary key's columns without saying so.
func serves(t schema.Table, x schema.Index, w wish) bool {
	parts := x.Parts
	if pk, ok := t.PrimaryKey(); ok && !x.Primary() && (t.Engine == "" || strings.EqualFold(t.Engine, "innodb")) {
		for _, p := range pk.Parts {
			if !slices.ContainsFunc(parts, func(q schema.IndexPart) bool { return strings.EqualFold(q.Column, p.Column) }) {
				parts = append(slices.Clip(parts), p)
			}
		}
	}
	if x.Type != "" && x.Type != "BTREE" && !(x.Type == "HASH" && len(w.Parts) == w.Equal && len(parts) == len(w.Parts)) {
		return false
	}
	if len(parts) < len(w.Parts) {
		return false
	}
	for n, want := range w.Parts {
		ok := false
		if n < w.Equal {
			for _, have := range parts[:w.Equal] {
				ok = ok || samePart(have, want)
			}
		} else {
			ok = samePart(parts[n], want)
		}
		if !ok {
			return false
		}
	}
	return true
}

func samePart(have, want schema.IndexPart) bool {
	return have.Column != "" && strings.EqualFold(have.Column, want.Column) && (have.Prefix == 0 || want.Prefix > 0)
}

// leads returns the visible index that begins with one of the wish's columns: the server knew it and did without.
func leads(t schema.Table, w wish) (schema.Index, bool) {
	for _, x := range t.Indexes {
		if x.Hidden || len(x.Parts) == 0 || x.Type != "" && x.Type != "BTREE" {
			continue
		}
		for _, p := range w.Parts {
			if strings.EqualFold(x.Parts[0].Column, p.Column) {
				return x, true
			}
		}
	}
	return schema.Index{}, false
}

// distinct returns the number of different values of a column by the statistics of an index that begins with it; 0 when no
// index tells.
func distinct(t schema.Table, col string) uint64 {
	var n uint64
	for _, x := range t.Indexes {
		if len(x.Parts) > 0 && strings.EqualFold(x.Parts[0].Column, col) && x.Parts[0].Prefix == 0 {
			n = max(n, x.Parts[0].Cardinality.Or(0))
		}
	}
	return n
}

// name returns a free name for an index: idx_ and its columns, at most the 64 characters that a server takes.
func name(t schema.Table, cols []string) string {
	base := "idx_" + strings.Join(cols, "_")
	for n := 1; ; n++ {
		tail := ""
		if n > 1 {
			tail = fmt.Sprintf("_%d", n)
		}
		s := cut(base, 64-len(tail)) + tail
		if !slices.ContainsFunc(t.Indexes, func(x schema.Index) bool { return strings.EqualFold(x.Name, s) }) {
			return s
		}
	}
}

func cut(s string, chars int) string {
	for i := range s {
		if chars == 0 {
			return s[:i]
		}
		chars--
	}
	return strings.TrimRight(s, " ") // a name cannot end with a space
}

// large reports a type that only a prefix of can be indexed.
func large(c schema.Column) bool {
	d := strings.ToLower(c.DataType)
	return strings.HasSuffix(d, "text") || strings.HasSuffix(d, "blob")
}

func stringType(c schema.Column) bool {
	switch d := strings.ToLower(c.DataType); d {
	case "char", "varchar", "binary", "varbinary":
		return true
	default:
		return large(c)
	}
}

// indexable reports whether a plain index can look values of the type up.
func indexable(c schema.Column) bool {
	switch strings.ToLower(c.DataType) {
	case "json", "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection", "vector":
		return false
	}
	// MariaDB's JSON is a longtext with a check.
	return utf8.ValidString(c.Name)
}

func charWidth(c schema.Column) int {
	switch cs := strings.ToLower(c.Charset); {
	case cs == "" || cs == "binary" || cs == "latin1" || cs == "ascii":
		return 1
	case cs == "utf8mb4" || cs == "utf16" || cs == "utf16le" || cs == "utf32" || cs == "gb18030":
		return 4
	case cs == "utf8" || cs == "utf8mb3":
		return 3
	case cs == "ucs2" || cs == "gbk" || cs == "sjis" || cs == "big5" || cs == "cp932" || cs == "euckr" || cs == "gb2312":
		return 2
	default:
		return 3
	}
}
