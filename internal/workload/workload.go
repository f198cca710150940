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
	// Build checks the options given (any that is absent has its default) and returns what is to be run. Errors name
	// the option and what it takes.
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
	Checks     []Check           // what must hold of the tables at any time; empty when nothing is known of them
	// Generator returns the source of operations of one session, numbered from 0. The same seed and session give the
	// same operations. A Generator belongs to one goroutine.
	Generator func(seed uint64, session int) Generator
}

// Check is a condition that the tables meet after prepare and after every committed operation.
type Check struct {
	Name  string // short, such as the number of a clause
	Title string // the condition, in one sentence
	// SQL is one statement that selects what violates the condition, nothing when it holds. Table names are
	// unqualified, figures are added up by the server in the columns' own exact types, and one statement sees one state
	// of the tables: it may run during a load.
	SQL string
}

// Generator is the program of one session, or of one terminal where many share a session: it deals out operations, and
// the statements of each one after the other, seeing the answers. It knows nothing of connections, clocks and errors of
// the server. The order of calls is: Begin, then Next until it reports false, with Row for each row of an answer
// between one Next and the following. After a failed attempt Again takes the place of Begin. None of them allocates in
// the steady state.
type Generator interface {
	// Begin draws the next operation and fills in op.
	Begin(op *Op)
	// Next fills c with the operation's next statement. It reports false when there is none: the operation is complete.
	// An error means that the data are not what the workload has made, and ends the run.
	Next(c *Call) (bool, error)
	// Row takes a row of the answer to the latest statement. The row is valid only during the call.
	Row(row []Datum)
	// Again goes back to before the first statement of the same operation, with everything that was drawn for it.
	Again()
}

// Op says what an operation is: statements sent one after the other, timed together.
type Op struct {
	Kind  int           // index into Plan.Operations
	Think time.Duration // wait before it; not part of its latency
	// Mark is what the generator wants told of the operation when its last statement has been acknowledged, such as the
	// number of an order. It may fill it in as late as in the last Next.
	Mark [4]int64
}

// Call is one execution of a statement.
type Call struct {
	Statement int     // index into Plan.Statements
	Args      []Datum // one for each marker; they belong to the generator and hold until the next call of Next
	// Text, when not nil, is sent in the text protocol in place of the statement's own, whose Kind and Rows still hold;
	// for statements whose text differs each time.
	Text []byte
}

// Listed is a part of a Generator whose operations are statements known before the first of them is sent: Begin sets
// Calls, the rest is here.
type Listed struct {
	Calls []Call
	next  int
}

// Next fills c with the next of Calls.
func (l *Listed) Next(c *Call) (bool, error) {
	if l.next >= len(l.Calls) {
		return false, nil
	}
	*c = l.Calls[l.next]
	l.next++
	return true, nil
}

// Row drops the row.
func (l *Listed) Row([]Datum) {}

// Again goes back to the first of Calls. Begin calls it too.
func (l *Listed) Again() { l.next = 0 }

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
	// Name is what figures per kind of statement call it; statements of the same Name are counted together, those
	// without a Name by their Kind alone.
	Name string
}

// Table is one table that prepare makes.
type Table struct {
	Name   string   // without its database
	Create string   // CREATE TABLE with an unqualified name
	Rows   int      // numbered from 1
	After  []string // statements for when the rows are in, such as CREATE INDEX
	// Columns are the names that a table of this workload has, in order: a table of the same name with others is
	// somebody else's.
	Columns []string
	// Key is the column that numbers the rows, indexed; "" when there is none.
	Key string
	// Fill returns a function that hands the row of that number to emit, a Datum for each of Columns. A number may also
	// stand for several rows of the table, or for none: the lines of one order. Every goroutine asks for a function of
	// its own. The same seed and number give the same rows. What emit gets is valid only during the call.
	Fill func(seed uint64) func(row int, emit func([]Datum))
}
