// Package shape holds what a statement asks of its tables: tables, predicates, comparisons, order
// and output, as rules work on them. A parser of a family of servers makes these values; nothing
// here knows a grammar.
package shape

import "errors"

// ErrNotUnderstood is the answer to a text that a parser does not take for a statement.
var ErrNotUnderstood = errors.New("parse statement: not understood")

// Parse reads the shape of one statement: a fingerprint, or a statement with its literals. The error never holds any of
// the text.
type Parse func(sql string) (Shape, error)

// Kind is the verb of a statement.
type Kind string

const (
	Select Kind = "select"
	Insert Kind = "insert" // REPLACE too
	Update Kind = "update"
	Delete Kind = "delete"
	Other  Kind = "other"
)

// Op is how a predicate compares its column.
type Op string

const (
	Eq         Op = "eq"          // = or <=> with a value that does not depend on the row
	In         Op = "in"          // one of several values
	Range      Op = "range"       // < <= > >= BETWEEN
	LikePrefix Op = "like_prefix" // LIKE with a pattern that is known not to begin with a wildcard
	IsNull     Op = "is_null"
	// no index can look it up: <>, IS NOT NULL, a function around the column, LIKE with any pattern
	OtherOp Op = "other"
)

// Unresolved is the table of a column that was named without its table in a statement with several tables. Who knows
// the catalog can tell which one it is.
const Unresolved = -1

// TableRef is one table of the FROM clause, as written. A name from a fingerprint may hold ? for digits (sbtest?): see
// Match.
type TableRef struct {
	Schema, Name, Alias string
	// Hint names the only indexes that the statement lets the server use for it: "FORCE INDEX (by_day, by_shop)", "USE
	// INDEX ()" for none of them; "" for any.
	Hint string
}

// ColumnRef is a column of Tables[Table].
type ColumnRef struct {
	Table  int // index in Tables, or Unresolved
	Column string
	Desc   bool // in an order
}

// Predicate is one condition that every row must meet.
type Predicate struct {
	Table  int // index in Tables, or Unresolved
	Column string
	Op     Op
	// Bounded marks a range that ends on both sides: BETWEEN, or a lower and an upper bound.
	Bounded bool
	Func    string // the function around the column, if there is one; Op is then OtherOp
	// Number marks a column that is held against a number, written without quotes: texts are turned into numbers for
	// it, and no index helps.
	Number bool
	// Join marks a condition that holds the column against a column of another table.
	Join        bool
	OtherTable  int
	OtherColumn string
	// Outer marks a condition of an outer join's ON clause: it selects rows of this table only, never of the result.
	Outer bool
}

// Branch is one alternative of an OR: predicates that AND connects. A branch that is not understood is empty.
type Branch []Predicate

// Role says what a part is to the statement that holds it.
type Role string

// The roles of parts.
const (
	Subquery Role = "sub-query"     // in a condition or a select list
	Derived  Role = "derived table" // in FROM or WITH
	Union    Role = "union"         // one branch of a UNION
	Source   Role = "source"        // the SELECT of an INSERT
)

// Shape is what a statement asks of its tables. Sub-queries, derived tables and the branches of a UNION are not part of
// it: Opaque says so, and Parts has them.
type Shape struct {
	Kind   Kind
	Role   Role // of a part; empty for the statement itself
	Tables []TableRef
	// all AND-connected; what stands under NOT is in Opaque only, what stands under OR in Any as well
	Predicates []Predicate
	// Any holds the ORs that every row must meet, each with its branches. One that is a list of values of one column is
	// a predicate with In.
	Any        [][]Branch
	OrderBy    []ColumnRef // empty when one of its expressions is no column
	GroupBy    []ColumnRef
	Output     []ColumnRef // columns that the select list mentions
	Reads      []ColumnRef // every column that the statement names, in its Parts those of its own tables only
	Set        []string    // columns that an UPDATE assigns
	Star       bool        // select *
	Limit      bool
	Folded     bool     // an aggregate, GROUP BY or DISTINCT: rows sent do not tell how many rows matched
	Distinct   bool     // SELECT DISTINCT
	Correlated bool     // of a part: it names columns of what it stands in, which are constant for one execution of it
	Locking    bool     // FOR UPDATE, LOCK IN SHARE MODE
	Opaque     []string // why parts are not understood, each once
	Parts      []Shape  // SELECTs within the statement, those within them included, in the order of the text
}
