package shape

// OperandKind says what one side of a comparison is.
type OperandKind string

// The kinds of operand. What one cannot tell from the text is Anything.
const (
	Column    OperandKind = "column"
	Wrapped   OperandKind = "wrapped"   // an expression around exactly one column
	Number    OperandKind = "number"    // a literal without quotes
	Text      OperandKind = "text"      // a literal in quotes
	Null      OperandKind = "null"      // NULL
	Parameter OperandKind = "parameter" // ? of a prepared statement or of a fingerprint: its type is not known
	Anything  OperandKind = "anything"
)

// Operand is one side of a comparison.
type Operand struct {
	Kind   OperandKind
	Table  int    // of Column and Wrapped: index in Shape.Tables, or Unresolved
	Column string // of Column and Wrapped
	Func   string // of Wrapped: the outermost function in lower case, "arithmetic" for an operator
	// Expr is the operand as SQL with names in backticks, columns without their table.
	Expr string
	// Plain is set for a Wrapped whose function takes the bare column as its only argument: DATE(c).
	Plain bool
	Value string // of Number and Text: the literal's value
}

// Comparison is one condition that every row must meet: Left compared with one of Right.
type Comparison struct {
	Op    string    // "=", "<=>", "<", "<=", ">", ">=", "in", "between", "like"
	Left  Operand   // holds a column, always
	Right []Operand // one; the list of IN; lower and upper bound of BETWEEN
	Outer bool      // of an outer join's ON clause
	// LeftCollate and RightCollate tell that somebody wrote COLLATE there: then the statement chose how to compare.
	LeftCollate, RightCollate string
}
