package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
)

// What the rules about keys and storage share.
const (
	// layoutShare of the statement time is the least that a change of a table is worth: it is written anew for it.
	layoutShare = 0.10
	// layoutLoad is the least load, seconds of statement time per second: a share of nothing is nothing.
	layoutLoad = 0.05
	// topShare and topClasses bound which classes are parsed.
	topShare   = 0.01
	topClasses = 200

	pageBytes   = 16 << 10
	rowHeader   = 5 + 6 + 7 // record header, transaction number, roll pointer: "InnoDB Row Formats" in the manual
	entryHeader = 5 + 2     // record header, and its part of the page's directory
	sortedFill  = 15.0 / 16 // of a page that was filled in the order of its key
	randomFill  = 0.69      // of a page that was filled at random: ln 2, Yao 1978, "On random 2-3 trees"
)

// use is a class with the table that a rule looks at it for.
type use struct {
	c     class.Class
	shape shape.Shape
	t     schema.Table
}

// uses returns the classes of at least topShare of the statement time that keep wants, with one table each, most time
// first: statements of several tables stand there once for each that resolves.
func uses(v *advise.View, keep func(class.Class, shape.Shape) bool) (out []use) {
	var cs []class.Class
	for _, c := range v.Classes {
		if c.TimeSec > 0 && c.TimeSec >= topShare*v.Total {
			cs = append(cs, c)
		}
	}
	slices.SortStableFunc(cs, func(a, b class.Class) int {
		return cmp.Or(cmp.Compare(b.TimeSec, a.TimeSec), cmp.Compare(a.ID, b.ID))
	})
	for _, c := range cs[:min(len(cs), topClasses)] {
		sh, err := v.Shape(c)
		if err != nil || !keep(c, sh) { // finding its tables is the dear part
			continue
		}
		seen := map[schema.Ref]bool{}
		for _, r := range sh.Tables {
			if t, ok := v.Resolve(c, r); ok && !t.View && !seen[t.Ref] && !ddl.System(t.Schema) {
				seen[t.Ref] = true
				out = append(out, use{c, sh, t})
			}
		}
	}
	return out
}

// every keeps all classes.
func every(class.Class, shape.Shape) bool { return true }

// changing keeps classes that change rows.
func changing(_ class.Class, s shape.Shape) bool { return writes(s.Kind) }

// writes reports whether a statement changes rows.
func writes(k shape.Kind) bool {
	return k == shape.Insert || k == shape.Update || k == shape.Delete
}

// worth reports whether so much statement time is worth a finding.
func worth(v *advise.View, sec float64) bool {
	return v.Window > 0 && v.Total > 0 && sec >= layoutShare*v.Total && sec >= layoutLoad*v.Window
}

// givesBack is the part of the statement time that comes back when a share of it becomes lo to hi times as fast.
func givesBack(share, lo, hi float64) float64 { return min(1, share) * (1 - 2/(lo+hi)) }

// exact reports whether the class was counted.
func exact(c class.Class) bool { return !c.Sampled }

// innodb reports whether InnoDB keeps a table.
func innodb(t schema.Table) bool { return strings.EqualFold(t.Engine, "InnoDB") && !t.View }

// names returns the columns of an index.
func names(x schema.Index) (out []string) {
	for _, p := range x.Parts {
		out = append(out, cmp.Or(p.Column, p.Expr))
	}
	return out
}

// has reports whether a list holds a name, as MySQL compares those of columns.
func has(list []string, name string) bool {
	return slices.ContainsFunc(list, func(x string) bool { return strings.EqualFold(x, name) })
}

// freeIndex returns a name for an index on columns that no index of the table has.
func freeIndex(t schema.Table, columns []string) string {
	return free(strings.Join(columns, "_"), func(n string) bool {
		return slices.ContainsFunc(t.Indexes, func(x schema.Index) bool { return strings.EqualFold(x.Name, n) })
	})
}

// freeColumn returns a name for a new column: the first of the wishes that is free.
func freeColumn(t schema.Table, wishes ...string) string {
	taken := func(n string) bool { _, ok := t.Column(n); return ok }
	for _, w := range wishes {
		if !taken(w) {
			return w
		}
	}
	return free(wishes[0], taken)
}

const longestName = 64 // characters of an identifier

func free(base string, taken func(string) bool) string {
	r := []rune(base)
	base = string(r[:min(len(r), longestName-4)])
	name := base
	for i := 2; taken(name); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	return name
}

// width returns how few and how many bytes a value of a column takes in a row; most is 0 when nothing bounds it.
func width(c schema.Column) (least, most int) {
	switch c.DataType {
	case "varchar", "varbinary":
		return 1, c.Bytes + 2
	case "char":
		if n := characters(c.Type); n > 0 && n < c.Bytes {
			// of a charset of several bytes: as varchar, but never below a byte each
			return n, c.Bytes + 2
		}
		return c.Bytes, c.Bytes
	case "tinyblob", "blob", "mediumblob", "longblob", "tinytext", "text", "mediumtext", "longtext", "json", "geometry":
		return 1, 0
	}
	return c.Bytes, c.Bytes // 0 when the server does not say
}

// characters returns the length in a type: 36 of char(36).
func characters(typ string) (n int) {
	_, in, ok := strings.Cut(typ, "(")
	if !ok {
		return 0
	}
	_, _ = fmt.Sscanf(in, "%d", &n)
	return n
}

// fixed sets the widths of types that the server gives no bytes for.
var fixedBytes = map[string]int{
	"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8, "float": 4, "double": 8, "date": 3,
	"time": 6, "datetime": 8,
	"timestamp": 7, "year": 1, "enum": 2, "set": 8, "bit": 8, "decimal": 30,
}

// widths adds up columns of a table by name; most is 0 when nothing bounds one of them.
func widths(t schema.Table, names []string) (least, most int) {
	columns := make([]schema.Column, 0, len(names))
	for _, name := range names {
		c, ok := t.Column(name)
		if !ok {
			least, _ = widthOf(columns)
			return least, 0
		}
		columns = append(columns, c)
	}
	return widthOf(columns)
}

// widthOf adds up columns; most is 0 when nothing bounds one of them.
func widthOf(columns []schema.Column) (least, most int) {
	bounded := true
	for _, c := range columns {
		lo, hi := width(c)
		if hi == 0 && lo == 0 {
			lo, hi = fixedBytes[c.DataType], fixedBytes[c.DataType]
		}
		least, most = least+lo, most+hi
		bounded = bounded && hi > 0
	}
	if !bounded {
		most = 0
	}
	return least, most
}

// listed joins names for people.
func listed(list []string) string { return strings.Join(list, ", ") }

// clip shortens a text to what fits a line.
func clip(s string) string {
	const most = 160
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// asking makes a step of reasoning.
func asking(ask string, from source.Name, format string, args ...any) finding.Reason {
	return finding.Reason{Ask: ask, Answer: fmt.Sprintf(format, args...), Source: from}
}
