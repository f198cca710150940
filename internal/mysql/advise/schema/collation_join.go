package schema

import (
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// collationJoin finds joins whose columns differ in character set or collation. The server converts one side, for every
// row, and cannot use that side's index.
func collationJoin(v *advise.View) (out []finding.Finding) {
	type pair struct {
		converting
		to schema.Column
	}
	var all []*pair
	rest := 0 // conditions that are not told
	same := map[conversion]*pair{}
	for _, x := range sufferers(v) {
		for _, c := range x.compared {
			if c.Left.Kind != shape.Column || c.Right[0].Kind != shape.Column || c.Op != "=" && c.Op != "<=>" ||
				c.LeftCollate+c.RightCollate != "" {
				continue
			}
			a, left, ok1 := x.owner(c.Left)
			b, right, ok2 := x.owner(c.Right[0])
			if !ok1 || !ok2 || a == b || !stringType(left) || !stringType(right) {
				continue
			}
			side, known := converted(left, right)
			if !known {
				continue
			}
			if side == 1 {
				a, b, left, right = b, a, right, left
			}
			if !x.look(v, a).all {
				continue
			}
			p := pair{converting{
				sufferers: []sufferer{x}, at: a, column: left, op: c.Op, other: right,
				otherTable: x.tables[b].Ref,
			}, right}
			p.index, _ = x.index(v, a, left.Name)
			k := p.subject()
			switch have := same[k]; {
			case have != nil:
				have.sufferers = append(have.sufferers, x)
			case len(all) < maxFindings:
				same[k] = &p
				all = append(all, &p)
			default:
				rest++
			}
		}
	}
	for _, p := range all {
		out = append(out, p.mixed(v))
	}
	return more(out, rest)
}

// unicode are the character sets of Unicode, those true that hold all of it.
var unicode = map[string]bool{
	"utf8mb4": true, "utf16": true, "utf16le": true, "utf32": true, "utf8": false,
	"utf8mb3": false, "ucs2": false,
}

// converted tells which of two columns of text the server converts to compare them: 0 for a, 1 for b. It is not known
// when nothing is converted, when the server refuses to compare them, or when that depends on more than their character
// sets.
//
// A character set that holds all of the other's characters wins: Unicode over all others, one that holds all of Unicode
// over one that does not, anything over ASCII. Within one character set a binary collation wins, and two others are an
// error.
func converted(a, b schema.Column) (side int, known bool) {
	x, y := charset(a), charset(b)
	if x == "" || y == "" {
		return 0, false
	}
	if x == y {
		if strings.EqualFold(a.Collation, b.Collation) {
			return 0, false
		}
		i, j := strings.HasSuffix(strings.ToLower(a.Collation), "_bin"),
			strings.HasSuffix(strings.ToLower(b.Collation), "_bin")
		if i == j {
			return 0, false
		}
		if i {
			return 1, true
		}
		return 0, true
	}
	fullX, uniX := unicode[x]
	fullY, uniY := unicode[y]
	switch {
	case uniX && !uniY:
		return 1, true
	case uniY && !uniX:
		return 0, true
	case uniX && fullX && !fullY:
		return 1, true
	case uniX && fullY && !fullX:
		return 0, true
	case !uniX && y == "ascii":
		return 1, true
	case !uniX && x == "ascii":
		return 0, true
	}
	return 0, false
}

func charset(c schema.Column) string {
	cs := strings.ToLower(c.Charset)
	if cs == "utf8" {
		cs = "utf8mb3"
	}
	if cs == "binary" {
		return ""
	}
	return cs
}

// mixed writes the finding; the other column is the one whose character set wins.
func (k *converting) mixed(v *advise.View) finding.Finding {
	x := k.sufferers[0]
	t, q := x.tables[k.at], ddl.Quote(k.column.Name)
	kind := func(c schema.Column) string { return c.Charset + " (" + c.Collation + ")" }
	f := begin(v, "collation-join", k.sufferers, k.at, k.column.Name, k.column.Name, k.otherTable.String())
	f.Subject.Tables = append(f.Subject.Tables, k.otherTable)
	f.Title = fmt.Sprintf("%s of the statement time reads all of %s, because its %s is converted from %s to %s for a "+
		"join", unit.Percent(f.Share), t.Ref, q, from(k.column, k.other), from(k.other, k.column))
	per := "of every row"
	if e, _, ok := x.counted(); ok {
		per = fmt.Sprintf("of every row, up to %s a call", unit.Count(e))
	}
	f.Cause = fmt.Sprintf("%s of %s is %s, %s of %s is %s. To compare them the server converts the former, %s, and "+
		"an index sorted by the values before the conversion cannot be used. "+
		"The index of the other side still can be used.", q, t.Ref, kind(k.column), ddl.Quote(k.other.Name),
		k.otherTable, kind(k.other), per)
	f.Evidence = append([]finding.Evidence{{
		What: "join", Source: source.Catalog,
		Text: fmt.Sprintf("The join compares %s of %s, %s, with %s of %s, %s.", q, t.Ref, kind(k.column),
			ddl.Quote(k.other.Name), k.otherTable, kind(k.other)),
	}}, f.Evidence...)
	to := k.column
	to.Charset, to.Collation = k.other.Charset, k.other.Collation
	k.change(v, &f, []schema.Clause{{Kind: schema.ModifyColumn, Column: k.column.Name, Definition: definition(to)}},
		fmt.Sprintf("Give %s the character set and collation of the column it is joined with: %s.", q, kind(k.other)))
	if charset(k.column) == charset(k.other) {
		f.Against = append(f.Against, fmt.Sprintf("By %s texts that differ in case or accents are different: other "+
			"statements, ORDER BY and unique keys on %s change with the collation.", k.other.Collation, q))
	} else {
		f.Against = append(f.Against, fmt.Sprintf("Afterwards %s sorts and compares by %s: two texts that are "+
			"different for a unique key today may become equal, then the change is refused.", q, k.other.Collation))
	}
	if wide := key(k, to); wide > 3072 {
		f.Against = append(f.Against, fmt.Sprintf("Its index would have keys of up to %d bytes, InnoDB takes 3072: "+
			"index a prefix, or shorten the column.", wide))
	}
	k.tell(&f, "Do both sides of the join have one character set and collation?", f.Evidence[0].Text)
	f.Reference = "MySQL manual, Collation Coercibility in Expressions; MariaDB manual, Setting Character Sets and " +
		"Collations"
	f.Falsify = fmt.Sprintf("Disproved if EXPLAIN still reads all of %s when both columns have one character set and "+
		"collation.", t.Ref)
	return f
}

// from names what tells a column from the other: its character set, or its collation within one.
func from(c, other schema.Column) string {
	if charset(c) == charset(other) {
		return c.Collation
	}
	return c.Charset
}

// key returns the most bytes of the longest index that holds the column once it has another character set.
func key(k *converting, to schema.Column) (most int) {
	width := map[string]int{"utf8mb4": 4, "utf32": 4, "utf16": 4, "utf16le": 4, "utf8": 3, "utf8mb3": 3, "ucs2": 2}
	w, ok := width[strings.ToLower(to.Charset)]
	old, had := width[strings.ToLower(k.column.Charset)]
	if !had {
		old = 1
	}
	if !ok {
		return 0
	}
	t := k.sufferers[0].tables[k.at]
	for _, i := range t.Indexes {
		n, holds := 0, false
		for _, p := range i.Parts {
			c, _ := t.Column(p.Column)
			bytes := c.Bytes
			if strings.EqualFold(p.Column, to.Name) {
				holds = true
				bytes = c.Bytes / old * w
				if p.Prefix > 0 {
					bytes = p.Prefix * w
				}
			}
			n += bytes
		}
		if holds {
			most = max(most, n)
		}
	}
	return most
}
