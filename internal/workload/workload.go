package workload

import "time"

// Workload is one kind of load by name. Implementations are values without state.
type Workload interface {
	// Name is what the command line calls it: oltp_read_write.
	Name() string
	// Title says in one sentence what it does.
	Title() string
	// Options lists what Build understands.
	Options() []Option
	// Build checks the options given (any that is absent has its default) and returns what is to be run. Errors name the
	// option and what it takes.
	Build(given map[string]string) (*Plan, error)
}

// Plan is a workload with all of its options settled. Nobody changes it: all sessions share one.
type Plan struct {
	Workload   string
	Schema     string            // the database that holds the tables
	Options    map[string]string // every option in force, by name
	Operations []string          // names of the kinds of operation, Op.Kind indexes them
	Statements []Statement       // Call.Statement indexes them
	Tables     []Table           // what prepare makes; empty when the workload needs its data from elsewhere
	Notes      []string          // what a reader of the figures must know, in whole sentences
	// Generator returns the source of operations of one session, numbered from 0. The same seed and session give the same
	// operations. A Generator belongs to one goroutine.
	Generator func(seed uint64, session int) Generator
}

// Generator deals out the operations of one session.
type Generator interface {
	// Next fills op with the next operation. Calls and Args belong to the generator and hold until the next Next.
	Next(op *Op)
}

// Op is one operation: statements sent one after the other, timed together.
type Op struct {
	Kind  int           // index into Plan.Operations
	Think time.Duration // wait before it; not part of its latency
	Calls []Call
}

// Call is one execution of a statement.
type Call struct {
	Statement int   // index into Plan.Statements
	Args      []any // int64, float64, string or []byte, one for each marker
}

// Kind says how a statement is counted, with sysbench's words.
type Kind uint8

const (
	Read  Kind = iota // SELECT
	Write             // INSERT, UPDATE, DELETE
	Other             // BEGIN, COMMIT and the like
)

// Statement is one text that sessions execute, with ? for its arguments.
type Statement struct {
	SQL  string
	Kind Kind
	// Rows says that the server answers with rows.
	Rows bool
	// Text sends it in the text protocol even when statements are prepared.
	Text bool
}

// Table is one table that prepare makes.
type Table struct {
	Name   string   // without its database
	Create string   // CREATE TABLE with an unqualified name
	Rows   int      // numbered from 1
	Insert string   // "INSERT INTO t (a, b) VALUES ", the values of the rows follow
	After  []string // statements for when the rows are in, such as CREATE INDEX
	// Columns are the names that a table of this workload has, in order: a table of the same name with others is somebody
	// else's.
	Columns []string
	// Key is the column that numbers the rows, indexed; "" when there is none.
	Key string
	// Values returns a function that appends the values of one row, "(1,'x')", to dst. Every goroutine asks for a function of
	// its own. The same seed and row give the same values.
	Values func(seed uint64) func(dst []byte, row int) []byte
}
