// Package schema holds tables, columns and indexes as plain values. Package catalog reads them from
// a server; this package does no I/O.
package schema

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/known"
)

// Ref names a table.
type Ref struct {
	Schema string `json:"schema"`
	Table  string `json:"table"`
}

// String returns schema.table, unquoted: for people, never for SQL.
func (r Ref) String() string {
	if r.Schema == "" {
		return r.Table
	}
	return r.Schema + "." + r.Table
}

// Table is one base table or view with the server's own statistics about it.
type Table struct {
	Ref
	View       bool                `json:"view,omitzero"`
	Engine     string              `json:"engine,omitzero"`
	Collation  string              `json:"collation,omitzero"`
	RowFormat  string              `json:"row_format,omitzero"`
	Partitions int                 `json:"partitions,omitzero"`
	Rows       known.Value[uint64] `json:"rows,omitzero"` // the engine's estimate, for InnoDB often ±40 %
	DataBytes  known.Value[uint64] `json:"data_bytes,omitzero"`
	IndexBytes known.Value[uint64] `json:"index_bytes,omitzero"` // all secondary indexes
	// allocated and not used: DATA_FREE, of the whole tablespace where tables share one
	FreeBytes known.Value[uint64] `json:"free_bytes,omitzero"`
	// as information_schema.TABLES has them: "row_format=COMPRESSED KEY_BLOCK_SIZE=4"
	Options string `json:"options,omitzero"`
	// AgeSec is how many seconds ago, by the server's clock, the table was created or last rebuilt; unknown where the
	// engine does not report it.
	AgeSec known.Value[uint64] `json:"age_sec,omitzero"`
	// CountedSec is for how many seconds at most the use of the indexes has been counted: in PostgreSQL since the
	// database's statistics were reset (stats_reset of pg_stat_database); unknown where no reset is on record.
	CountedSec known.Value[uint64] `json:"counted_sec,omitzero"`
	Columns    []Column            `json:"columns"`
	Indexes    []Index             `json:"indexes"`
	Foreign    []ForeignKey        `json:"foreign_keys,omitempty"` // from this table to others
	Triggers   []Trigger           `json:"triggers,omitempty"`
}

// ForeignKey is a reference from one table to another. Both ends need an index.
type ForeignKey struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
	To      Ref      `json:"to"`
	Refers  []string `json:"refers"` // columns of To
}

// Trigger is one trigger of a table.
type Trigger struct {
	Name   string `json:"name"`
	Timing string `json:"timing"`        // BEFORE, AFTER
	Event  string `json:"event"`         // INSERT, UPDATE, DELETE
	Body   string `json:"body,omitzero"` // empty when it may not be seen or was redacted
}

// Column is one column, in the order of the table.
type Column struct {
	Name      string `json:"name"`
	Type      string `json:"type"`      // as SHOW CREATE TABLE writes it: varchar(40), int(10) unsigned
	DataType  string `json:"data_type"` // bare: varchar, int
	Nullable  bool   `json:"nullable,omitzero"`
	Charset   string `json:"charset,omitzero"`
	Collation string `json:"collation,omitzero"`
	Bytes     int    `json:"bytes,omitzero"`     // maximum bytes of one value; 0 if unknown
	Generated string `json:"generated,omitzero"` // expression of a generated column
	Extra     string `json:"extra,omitzero"`     // auto_increment and the like
	// Distinct is the server's own estimate of how many different values the column has, where it keeps one for columns
	// without an index: n_distinct of PostgreSQL's pg_stats.
	Distinct known.Value[uint64] `json:"distinct,omitzero"`
	// Sample is what a sample of the rows showed; nil when there was none.
	Sample *ColumnSample `json:"sample,omitempty"`
}

// ColumnSample is what rows taken from all over a table show of a column. It holds no value.
type ColumnSample struct {
	Rows     int     `json:"rows"`     // rows sampled
	Distinct int     `json:"distinct"` // different values among them
	Top      float64 `json:"top"`      // part of the rows that hold the most frequent value, 0 to 1
	Nulls    float64 `json:"nulls"`    // part that is NULL
}

// Index is one key.
type Index struct {
	Name   string `json:"name"`
	Unique bool   `json:"unique,omitzero"`
	// BTREE, HASH, FULLTEXT, SPATIAL; any other word is an index that serves nothing but its own purpose
	Type   string      `json:"type"`
	PK     bool        `json:"primary,omitzero"` // it is the primary key under a name of its own, as in PostgreSQL
	Hidden bool        `json:"hidden,omitzero"`  // INVISIBLE (MySQL) or IGNORED (MariaDB): kept up to date, not used
	Parts  []IndexPart `json:"parts"`
	// Handled is how many rows were read, changed or deleted by way of it since the server began to count
	// (performance_schema's table_io_waits_summary_by_index_usage), in PostgreSQL how many scans used it (idx_scan of
	// pg_stat_user_indexes); unknown where the server does not count, or the table was not opened since.
	Handled known.Value[uint64] `json:"rows_handled,omitzero"`
}

// IndexPart is one column or expression of an index.
type IndexPart struct {
	Column string `json:"column,omitzero"` // empty for an expression
	Expr   string `json:"expr,omitzero"`
	Prefix int    `json:"prefix,omitzero"` // characters, 0 for the whole column
	Desc   bool   `json:"desc,omitzero"`
	// Cardinality is the server's estimate of distinct values of the index up to and including this part.
	Cardinality known.Value[uint64] `json:"cardinality,omitzero"`
}

// Own reports whether a schema is one of those that a server has of its own: their tables are not the user's to change.
func Own(schema string, of []string) bool {
	return slices.ContainsFunc(of, func(own string) bool { return equalFold(schema, own) })
}

// Primary reports whether the index is the primary key.
func (i Index) Primary() bool { return i.PK || i.Name == "PRIMARY" }

// Column returns the named column, compared as MySQL does: without regard to ASCII case.
func (t Table) Column(name string) (Column, bool) {
	for _, c := range t.Columns {
		if equalFold(c.Name, name) {
			return c, true
		}
	}
	return Column{}, false
}

// PrimaryKey returns the primary key.
func (t Table) PrimaryKey() (Index, bool) {
	for _, i := range t.Indexes {
		if i.Primary() {
			return i, true
		}
	}
	return Index{}, false
}

func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		x, y := a[i], b[i]
		if 'A' <= x && x <= 'Z' {
			x += 'a' - 'A'
		}
		if 'A' <= y && y <= 'Z' {
			y += 'a' - 'A'
		}
		if x != y {
			return false
		}
	}
	return true
}
