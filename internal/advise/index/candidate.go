package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/unit"
)

// wish is the index that one statement would like on one table.
type wish struct {
	Parts   []schema.IndexPart
	Equal   int  // how many of Parts, from the front, are compared for equality: their order among each other is free
	Cond    int  // how many of Parts stand for conditions; the rest are there for the order
	Sorted  bool // the tail gives the order of ORDER BY
	Covers  int  // how many of Parts, at the end, are there only so that rows need not be looked up
	Notes   []string
	Bytes   int // most bytes of an entry's key
	Columns []string
	desc    []bool // of the columns of the order, which parts have to run downwards
}

// block is one SELECT of a statement, or the statement itself, with its tables.
type block struct {
	sh shape.Shape
	*advise.Tables
	wishes map[wished]wish
}

// wished is what a wish is for.
type wished struct {
	table int
	inner bool
}

// wish returns the index that the statement would like on table i; not ok when there is none. inner says that rows come
// to the table from a join, so that join conditions count as equalities.
func (b *block) wish(i int, inner bool) (wish, bool) {
	k := wished{i, inner}
	w, known := b.wishes[k]
	if !known {
		if found, ok := b.wishFor(i, inner); ok {
			w = found
		}
		if b.wishes == nil {
			b.wishes = map[wished]wish{}
		}
		b.wishes[k] = w
	}
	return w, len(w.Parts) > 0
}

// wishFor puts the columns of a statement's conditions on table i into the order equality, then one list or range, or
// else the sort.
func (b *block) wishFor(i int, inner bool) (wish, bool) {
	t := b.List[i]
	var w wish
	var equal, lists, ranges []schema.Column
	bounded := map[string]bool{}
	add := func(to *[]schema.Column, c schema.Column) {
		for _, set := range [][]schema.Column{equal, lists, ranges} {
			if slices.ContainsFunc(set, func(x schema.Column) bool { return x.Name == c.Name }) {
				return
			}
		}
		*to = append(*to, c)
	}
	for _, op := range [][]shape.Op{
		{shape.Eq, shape.IsNull},
		{shape.In},
		{shape.Range, shape.LikePrefix},
	} {
		for _, p := range b.sh.Predicates {
			if !slices.Contains(op, p.Op) || p.Join && !inner {
				continue
			}
			c, ok := b.owned(i, p.Table, p.Column)
			if !ok || !indexable(c) || b.turned(c, p) {
				continue
			}
			switch op[0] {
			case shape.Eq:
				add(&equal, c)
			case shape.In:
				add(&lists, c)
			default:
				add(&ranges, c)
				bounded[c.Name] = bounded[c.Name] || p.Bounded || p.Op == shape.LikePrefix
			}
		}
	}
	if len(equal)+len(lists)+len(ranges) == 0 {
		return b.sortOnly(w, i)
	}
	known := 0
	values := map[string]uint64{}
	for _, c := range equal {
		if values[c.Name] = distinct(t, c.Name); values[c.Name] > 0 {
			known++
		}
	}
	slices.SortFunc(equal, func(a, b schema.Column) int {
		if known == len(equal) {
			if d := cmp.Compare(values[b.Name], values[a.Name]); d != 0 {
				return d
			}
		}
		return cmp.Compare(a.Name, b.Name)
	})
	if len(equal) > 1 {
		if known == len(equal) {
			w.Notes = append(w.Notes, "The equality columns are ordered with the most distinct values first, by the "+
				"server's statistics.")
		} else {
			w.Notes = append(w.Notes, "How selective each equality column is alone is unknown, so they are ordered "+
				"by name: any order serves this statement.")
		}
	}
	cols := slices.Clone(equal)
	w.Equal = len(equal)
	order := b.sortColumns(i, equal)
	if len(lists) > 0 {
		slices.SortFunc(lists, func(a, b schema.Column) int { return cmp.Compare(a.Name, b.Name) })
		cols = append(cols, lists[0])
		order = nil
	}
	switch {
	case len(ranges) > 0:
		pick := w.pickRange(t, ranges, bounded, order)
		if len(order) > 0 && order[0].Name == pick.Name { // a range that is also the sort serves both
			w.Sorted = len(order) == 1
		}
		cols = append(cols, pick)
	case len(order) > 0 && len(equal) > 0:
		for _, o := range order {
			cols = append(cols, o.Column)
			w.desc = append(w.desc, o.desc)
		}
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
	limit := 3072 // InnoDB, row formats DYNAMIC and COMPRESSED; of PostgreSQL 2704, with values compressed
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
		if d := n - (len(cols) - len(w.desc)); d >= 0 && len(w.desc) > 0 {
			p.Desc = w.desc[d]
		}
		size := c.Bytes
		if size <= 0 {
			size = 8
		}
		if strings.EqualFold(t.Engine, "heap") { // PostgreSQL: no prefixes, and only a huge value is too long
			size = min(size, limit/16)
		} else if large(c) || size > limit-w.Bytes {
			width := charWidth(c)
			chars := min(64, (limit-w.Bytes)/width)
			if chars < 8 || !stringType(c) {
				break
			}
			p.Prefix, size = chars, chars*width
			w.Notes = append(w.Notes, fmt.Sprintf("Of %s, which is %s, the first %d characters are indexed: a whole "+
				"value can exceed the maximum key length.", c.Name, c.Type, chars))
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

// conditions reports whether a column of that name is among those that stand for conditions.
func (w wish) conditions(name string) bool {
	return slices.ContainsFunc(w.Parts[:w.Cond], func(p schema.IndexPart) bool {
		return strings.EqualFold(p.Column, name)
	})
}

// inside reports whether an index holds all columns that stand for conditions, in whatever order.
func (w wish) inside(x schema.Index) bool {
	for _, p := range w.Parts[:w.Cond] {
		if !slices.ContainsFunc(x.Parts, func(q schema.IndexPart) bool { return samePart(q, p) }) {
			return false
		}
	}
	return w.Cond > 0
}

// within takes off what the server's version cannot do: parts that run downwards.
func (w wish) within(v *advise.View) wish {
	if v.MariaDB() && v.AtLeast(10, 8) || !v.MariaDB() && v.AtLeast(8, 0) {
		return w
	}
	if slices.ContainsFunc(w.Parts, func(p schema.IndexPart) bool { return p.Desc }) { // only parts of the order do
		w.Parts, w.Columns, w.Sorted = w.Parts[:w.Cond:w.Cond], w.Columns[:w.Cond:w.Cond], false
	}
	return w
}

// indexOf returns the index of a name.
func indexOf(t schema.Table, name string) (schema.Index, bool) {
	for _, x := range t.Indexes {
		if name != "" && strings.EqualFold(x.Name, name) {
			return x, true
		}
	}
	return schema.Index{}, false
}

// owned returns the column when it belongs to table i, also when the statement named it without its table.
func (b *block) owned(i, at int, name string) (schema.Column, bool) {
	owner, c, ok := b.Owner(at, name)
	return c, ok && owner == i
}

// sortColumns returns the columns of ORDER BY when an index can give that order: all of this table, all in one
// direction, those compared for equality left out, for they are all the same.
//
// Columns that run in different directions need an index whose parts run as they do, so that it is read forwards: MySQL
// was seen to read the whole of one that runs the other way. Columns that all run downwards are read backwards from an
// index that other statements can use too.
func (b *block) sortColumns(i int, equal []schema.Column) (out []sorted) {
	sh := b.sh
	by := sh.OrderBy
	if len(sh.GroupBy) > 0 {
		// Groups come one after the other when the index has their order.
		for n, o := range by {
			if n >= len(sh.GroupBy) || o.Table != sh.GroupBy[n].Table || o.Column != sh.GroupBy[n].Column {
				return nil
			}
		}
		by = sh.GroupBy
	}
	if len(sh.Tables) != 1 {
		return nil
	}
	for _, o := range by {
		c, ok := b.owned(i, o.Table, o.Column)
		if !ok || large(c) || !indexable(c) {
			return nil
		}
		if !slices.ContainsFunc(equal, func(x schema.Column) bool { return x.Name == c.Name }) {
			out = append(out, sorted{Column: c, desc: o.Desc})
		}
	}
	if !slices.ContainsFunc(out, func(o sorted) bool { return !o.desc }) {
		for n := range out {
			out[n].desc = false
		}
	}
	return out
}

// sorted is a column of an order.
type sorted struct {
	schema.Column
	desc bool
}

// sortOnly is the wish of a statement without any condition that wants the first rows in an order.
func (b *block) sortOnly(w wish, i int) (wish, bool) {
	sh := b.sh
	if !sh.Limit || len(sh.Predicates) > 0 || len(sh.Opaque) > 0 || len(b.List) != 1 || len(sh.GroupBy) > 0 ||
		sh.Folded {
		return w, false
	}
	var cols []schema.Column
	for _, o := range b.sortColumns(i, nil) {
		cols = append(cols, o.Column)
		w.desc = append(w.desc, o.desc)
	}
	if len(cols) == 0 {
		return w, false
	}
	w.Sorted = true
	w.Notes = append(w.Notes, "The index has the order of ORDER BY: its first rows are the answer, the others need "+
		"not be read.")
	return w, w.fit(b.List[i], cols)
}

// pickRange chooses the one range that an index can use: the one that is the sort as well, else the narrower one. A
// range with two ends is narrower than one that is open; else the column with more different values goes first.
func (w *wish) pickRange(t schema.Table, ranges []schema.Column, bounded map[string]bool,
	order []sorted,
) schema.Column {
	if len(order) > 0 {
		for _, r := range ranges {
			if r.Name == order[0].Name {
				if len(ranges) > 1 {
					w.Notes = append(w.Notes, "An index can use one range: "+r.Name+" was taken, because rows come "+
						"in its order as well; the other is checked row by row.")
				}
				return r
			}
		}
	}
	slices.SortFunc(ranges, func(a, b schema.Column) int {
		if bounded[a.Name] != bounded[b.Name] {
			if bounded[a.Name] {
				return -1
			}
			return 1
		}
		x, y := distinct(t, a.Name), distinct(t, b.Name)
		if x > 0 && y > 0 && x != y {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(a.Name, b.Name)
	})
	pick := ranges[0]
	if len(ranges) > 1 {
		why := ""
		other := ranges[1]
		switch x, y := distinct(t, pick.Name), distinct(t, other.Name); {
		case bounded[pick.Name] && !bounded[other.Name]:
			why = ", which has two bounds and so finds fewer rows,"
		case x > 0 && y > 0 && x != y:
			why = fmt.Sprintf(", which has more different values (%s against %s),", unit.Count(float64(x)),
				unit.Count(float64(y)))
		}
		w.Notes = append(w.Notes, "An index can use one range: "+pick.Name+why+" was taken, the other is checked row "+
			"by row.")
	}
	return pick
}

// cover appends the other columns that the statement reads of table i, so that the index alone answers it. It is false
// when it reads all of them, more than coverColumns or coverBytes of them, or when not all that it reads is known.
func (b *block) cover(w wish, i int) (wish, bool) {
	t, sh := b.List[i], b.sh
	if sh.Star || sh.Kind != shape.Select || sh.Locking || len(sh.Reads) == 0 ||
		w.Covers > 0 || len(sh.Tables) != 1 {
		return w, false
	}
	for _, p := range w.Parts {
		if p.Prefix > 0 || p.Expr != "" {
			return w, false
		}
	}
	for _, p := range sh.Parts {
		if p.Correlated {
			return w, false // it reads columns that are not counted here
		}
	}
	pk, _ := t.PrimaryKey()
	in := func(parts []schema.IndexPart, name string) bool {
		return slices.ContainsFunc(parts, func(p schema.IndexPart) bool { return strings.EqualFold(p.Column, name) })
	}
	bytes, parts, cols := 0, slices.Clip(w.Parts), slices.Clip(w.Columns)
	for _, r := range sh.Reads {
		c, ok := b.owned(i, r.Table, r.Column)
		if !ok {
			if r.Table == i {
				continue // an alias of the select list
			}
			return w, false
		}
		if in(parts, c.Name) || in(pk.Parts, c.Name) {
			continue
		}
		if large(c) || !indexable(c) {
			return w, false
		}
		bytes += max(c.Bytes, 8)
		if w.Covers++; w.Covers > coverColumns || bytes > coverBytes {
			return w, false
		}
		parts = append(parts, schema.IndexPart{Column: c.Name})
		cols = append(cols, c.Name)
	}
	if w.Covers == 0 || len(parts) > 16 {
		return w, false
	}
	w.Parts, w.Columns, w.Bytes = parts, cols, w.Bytes+bytes
	w.Notes = append(slices.Clip(w.Notes), fmt.Sprintf("%s at the end: the index then holds all that the statement "+
		"reads, and no row has to be looked up in the table. Before the others it would only cover, not narrow the "+
		"search.",
		strings.Join(cols[len(cols)-w.Covers:], ", ")))
	return w, true
}

// What a covering index may add: a few short columns. More makes the index as large as the table, and every change of
// them a write to it.
const (
	coverColumns = 3
	coverBytes   = 64
)

// serves reports whether an existing index gives all that the wish asks, whatever the order of its equality columns. An
// index of a clustered table ends with the primary key's columns without saying so.
func serves(v *advise.View, t schema.Table, x schema.Index, w wish) bool {
	parts := x.Parts
	if pk, ok := t.PrimaryKey(); ok && !x.Primary() &&
		slices.Contains(v.Dialect.Clustered, strings.ToLower(t.Engine)) {
		for _, p := range pk.Parts {
			if !slices.ContainsFunc(parts, func(q schema.IndexPart) bool {
				return strings.EqualFold(q.Column, p.Column)
			}) {
				parts = append(slices.Clip(parts), p)
			}
		}
	}
	if x.Type != "" && x.Type != "BTREE" && !(x.Type == "HASH" && len(w.Parts) == w.Equal &&
		len(parts) == len(w.Parts)) {
		return false
	}
	if len(parts) < len(w.Parts) {
		return false
	}
	// an order can be read backwards as well
	turned := len(w.Parts) > w.Equal && parts[w.Equal].Desc != w.Parts[w.Equal].Desc
	for n, want := range w.Parts {
		ok := false
		if n < w.Equal {
			for _, have := range parts[:w.Equal] {
				ok = ok || samePart(have, want)
			}
		} else {
			ok = samePart(parts[n], want) && (parts[n].Desc == want.Desc) != turned
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

// distinct returns the number of different values of a column by the statistics of an index that begins with it, or by
// a look at some rows; 0 when nobody tells.
func distinct(t schema.Table, col string) uint64 {
	var n uint64
	if c, ok := t.Column(col); ok {
		n = c.Distinct.Or(0)
	}
	if c, ok := t.Column(col); ok && c.Sample != nil && c.Sample.Rows > 0 {
		n = uint64(max(c.Sample.Distinct, 0))
		// Where nearly every row of the sample has a value of its own, so has nearly every row of the table.
		if rows, ok := t.Rows.Get(); ok && 10*c.Sample.Distinct >= 9*c.Sample.Rows {
			n = max(n, rows)
		}
	}
	for _, x := range t.Indexes {
		if len(x.Parts) > 0 && strings.EqualFold(x.Parts[0].Column, col) && x.Parts[0].Prefix == 0 {
			n = max(n, x.Parts[0].Cardinality.Or(0))
		}
	}
	return n
}

// name returns a free name for an index: idx_ and its columns, at most the characters that a server takes. Where the
// indexes of a schema share their names the table is part of it.
func name(v *advise.View, t schema.Table, cols []string) string {
	base, most := "idx_"+strings.Join(cols, "_"), v.Dialect.IndexName
	if v.Dialect.SharedNames {
		base = "idx_" + t.Table + "_" + strings.Join(cols, "_")
	}
	for n := 1; ; n++ {
		tail := ""
		if n > 1 {
			tail = fmt.Sprintf("_%d", n)
		}
		s := cut(base, most-len(tail)) + tail
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

// turned reports whether the server turns a text column into numbers or times to compare it: an index on it is of no
// use then.
func (b *block) turned(c schema.Column, p shape.Predicate) bool {
	if d := strings.ToLower(c.DataType); !strings.HasSuffix(d, "char") && !strings.HasSuffix(d, "text") {
		return false
	}
	if !p.Join || p.OtherTable < 0 || p.OtherTable >= len(b.List) {
		return p.Number
	}
	other, ok := b.Column(p.OtherTable, p.OtherColumn)
	return ok && !stringType(other) && !strings.EqualFold(other.DataType, "enum") &&
		!strings.EqualFold(other.DataType, "set") && indexable(other)
}

// indexable reports whether a plain index can look values of the type up.
func indexable(c schema.Column) bool {
	switch strings.ToLower(c.DataType) {
	case "jsonb", "xml", "tsvector", "array", "box", "circle", "line", "lseg", "path": // of PostgreSQL
		return false
	case "json", "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
		"geometrycollection", "geomcollection", "vector":
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
	case cs == "ucs2" || cs == "gbk" || cs == "sjis" || cs == "big5" || cs == "cp932" ||
		cs == "euckr" || cs == "gb2312":
		return 2
	default:
		return 3
	}
}
