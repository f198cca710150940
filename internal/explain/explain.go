// Package explain holds execution plans as values and decodes the output of EXPLAIN into them. The
// package sends no EXPLAIN itself.
package explain

// Plan is how a server would execute one statement, asked without executing it.
type Plan struct {
	Class string `json:"class"` // id of the query class the statement belongs to
	// default database of that class: the same statement in another one has a plan of its own
	Schema string `json:"schema,omitzero"`
	Error  string `json:"error,omitzero"`  // why there is no plan; Steps is then empty
	Denied bool   `json:"denied,omitzero"` // the error is that the account may not
	Guess  bool   `json:"guess,omitzero"`  // the statement's parameters were unknown; typical values were used
	Steps  []Step `json:"steps,omitempty"` // in the order of execution, as the rows of a tabular EXPLAIN
	Raw    string `json:"raw,omitzero"`    // the server's text, as it came
}

// Step is the access to one table. The words are the server's own.
type Step struct {
	SelectType   string   `json:"select_type,omitzero"` // SIMPLE, DERIVED, …
	Table        string   `json:"table"`                // name or alias in the statement
	Access       string   `json:"access"`               // ALL, index, range, ref, eq_ref, const, …; Seq Scan, …
	PossibleKeys []string `json:"possible_keys,omitempty"`
	Key          string   `json:"key,omitzero"`
	KeyLen       string   `json:"key_len,omitzero"`
	Ref          string   `json:"ref,omitzero"`
	Rows         float64  `json:"rows"`              // estimate per execution of the step
	Filtered     float64  `json:"filtered,omitzero"` // percent of Rows that the condition keeps; 0 when not reported
	Extra        []string `json:"extra,omitempty"`   // Using where, Using filesort, …
}

// SeqScan is PostgreSQL's word for reading all rows of a table.
const SeqScan = "Seq Scan"

// All reports whether the step reads all rows of its table.
func (s Step) All() bool { return s.Access == "ALL" || s.Access == SeqScan }
