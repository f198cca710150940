package advise

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
)

// Tables are those that a statement, or one SELECT of it, reads, as its Shape.Tables has them; one without a name is
// not known. Each name of a column is looked for once: a statement may have hundreds, and as many tables with a
// thousand columns each.
type Tables struct {
	List []schema.Table

	columns  []map[string]int // of each table, the place of a column by its name in lower case; nil at first
	owners   map[column]owner
	patterns int // names with ? that were looked for
}

// mostPatterns bounds the names of columns without their digits that are looked for: each is compared with all columns
// of all tables.
const mostPatterns = 64

// column is a name as a statement has it.
type column struct {
	at   int // index of its table, or Unresolved
	name string
}

type owner struct {
	at     int
	column schema.Column
	ok     bool
}

// Column finds the one column of table at that a name means; of a fingerprint a name may have lost its digits.
func (x *Tables) Column(at int, name string) (schema.Column, bool) {
	if at < 0 || at >= len(x.List) {
		return schema.Column{}, false
	}
	t := &x.List[at]
	if strings.Contains(name, "?") {
		var found []schema.Column
		for _, c := range t.Columns {
			if shape.Match(name, c.Name) {
				found = append(found, c)
			}
		}
		if len(found) != 1 {
			return schema.Column{}, false
		}
		return found[0], true
	}
	if x.columns == nil {
		x.columns = make([]map[string]int, len(x.List))
	}
	if x.columns[at] == nil {
		x.columns[at] = make(map[string]int, len(t.Columns))
		for i := len(t.Columns) - 1; i >= 0; i-- {
			x.columns[at][strings.ToLower(t.Columns[i].Name)] = i
		}
	}
	i, ok := x.columns[at][strings.ToLower(name)]
	if !ok {
		return schema.Column{}, false
	}
	return t.Columns[i], true
}

// Owner finds the table and the column that a name means which was written with table at, or without one
// (shape.Unresolved). A name that several tables could own, or one that is not known, is nobody's.
func (x *Tables) Owner(at int, name string) (table int, c schema.Column, ok bool) {
	k := column{at, name}
	o, asked := x.owners[k]
	if !asked {
		if strings.Contains(name, "?") {
			x.patterns++
		}
		if x.patterns <= mostPatterns || !strings.Contains(name, "?") {
			o = x.owner(at, name)
		}
		if x.owners == nil {
			x.owners = map[column]owner{}
		}
		x.owners[k] = o
	}
	return o.at, o.column, o.ok
}

func (x *Tables) owner(at int, name string) (o owner) {
	if at != shape.Unresolved {
		o.at = at
		o.column, o.ok = x.Column(at, name)
		return o
	}
	owners := 0
	for i, t := range x.List {
		if t.Table == "" {
			return owner{}
		}
		if c, ok := x.Column(i, name); ok {
			o.at, o.column = i, c
			owners++
		}
	}
	o.ok = owners == 1
	return o
}
