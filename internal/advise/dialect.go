package advise

import (
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/source"
)

// Dialect is how judgement reads the statements of a family of servers, how the family words what rules suggest, and
// what it calls things. A family brings one.
type Dialect struct {
	Reader
	Indexes
	Alterations
	Commands
	Words
	Figures
	Traits
}

// Parse is that of the Reader; without one nothing is understood.
func (d Dialect) Parse(sql string) (shape.Shape, error) {
	if d.Reader == nil {
		return shape.Shape{}, shape.ErrNotUnderstood
	}
	return d.Reader.Parse(sql)
}

// System reports whether a schema is the server's own.
func (d Dialect) System(name string) bool { return schema.Own(name, d.OwnSchemas) }

// Reader reads the statements of classes: their examples, and the spelling of class.Class.Text.
type Reader interface {
	Parser
	Namer
}

// Parser reads what a statement asks of its tables.
type Parser interface {
	Parse(sql string) (shape.Shape, error)
	// Compared returns the shape of a statement without its Parts, and the comparisons that AND connects at the
	// outermost level.
	Compared(sql string) (shape.Shape, []shape.Comparison, error)
	Fingerprint(sql string) string // the statement without its values
}

// Namer reads the names in a statement.
type Namer interface {
	// Touches returns the tables and views that a statement names anywhere, some of them with an error when it names
	// too many.
	Touches(sql string) ([]shape.TableRef, error)
	Hinted(sql string) []string // those that its hints name
}

// Indexes words what is done to indexes. Whole statements have no semicolon, as finding.Action.SQL has them.
type Indexes interface {
	Parts(parts []schema.IndexPart) string // as they stand between the parentheses of an index
	AddIndex(t schema.Ref, x schema.Index) string
	DropIndex(t schema.Ref, name string) string
}

// Alterations words changes of a table that not every family has.
type Alterations interface {
	// Change makes several changes in one statement; not ok where each is a statement of its own.
	Change(t schema.Ref, changes []schema.Clause) (sql string, ok bool)
	// HideIndex has the optimizer of the view's server ignore an index, and show takes that back; not ok where the
	// server cannot do that.
	HideIndex(v *View, t schema.Ref, name string) (hide, show string, ok bool)
}

// Commands words what is done to a server.
type Commands interface {
	Quote(name string) string
	Set(variable, value string) string // while the server runs
	Kill(session uint64) string
}

// Words are parts of sentences and names of settings; one that a family has not is empty.
type Words struct {
	// Clustered are the engines, in lower case, that keep rows in the order of the primary key, so that every index
	// ends with it; "" among them is for a table whose engine is not told.
	Clustered []string
	// Building says in a sentence what building an index blocks; empty where the plan of the change tells it.
	Building string
	// LockTimeout and IdleTimeout name the settings that end a wait for a lock and an idle transaction. A value of 0 is
	// off. File is the server's file of settings.
	LockTimeout, IdleTimeout, File string
	// TableLocks are the modes in which a session holds a table that it locked for itself beyond its transactions.
	TableLocks []string
	IdleLimit  string             // a minute, as a value of IdleTimeout
	Manual     map[Subject]string // chapters about a subject, for Finding.Reference
	// Clocked says for what else than each statement a server reads the clock: ", and with … for each …".
	Clocked string
	Growing string // what grows in a data directory besides logs and foreign files
	// UnionPlan says what EXPLAIN says, or what falls, when a statement uses the indexes of several conditions.
	UnionPlan string
	// CountReads says how to have the server count who reads an index.
	CountReads  string
	Connections Connections
}

// Traits are in what ways the servers of a family differ that rules of all families have to know.
type Traits struct {
	// CountsScans says that the catalog counts the scans of every index, through restarts and since a moment that may
	// be unknown. Elsewhere sources count the rows found by an index, since the server's start.
	CountsScans bool
	CountsPages bool // of what a statement reads pages are counted, not rows
	// KeepsChanges says that a transaction tells how many rows it has changed, not only whether it may have.
	KeepsChanges bool
	Milliseconds bool // settings of a time are milliseconds, and 0 is off
	Constraints  bool // a unique index may belong to a constraint
	HidesIndexes bool // servers of the family can hide an index from the optimizer
	// IndexName is how many characters the name of an index has at most; with SharedNames the indexes of a schema share
	// their names.
	IndexName   int
	SharedNames bool
	OwnSchemas  []string // that every server has, see schema.Own
	// ReadWith are the sources that are read along with another one.
	ReadWith map[source.Name]source.Name
}

// Connections are the words about connections that are used up.
type Connections struct {
	Limit   string // the setting that bounds them
	Refused string // the error of a client that is turned away
	Less    string // what else than smaller pools leaves fewer of them open
	List    string // where they are listed
	End     string // a sentence on how to end one
	Costs   string // what a higher limit takes for each
}

// Figures name the metrics that rules of all families ask a family's server for; "" where it has none.
type Figures struct {
	// Status begins the names of the server's own counters, see View.Status.
	Status    string
	RowsSent  string // rows a second that all statements return
	Connected string // connections that are open; where there is none the sessions are counted
	// Handlers are the ways in which rows are read, and ConnectionErrors those that kept clients out.
	Handlers, ConnectionErrors metric.Family

	Deadlocks   []string // transactions ended because of them; the first that was observed counts
	RowLocks    RowLocks
	IndexReads  []Reads // of indexes; the first source that gave anything counts
	TableAccess string  // of tables by any way, with the labels schema and name
}

// RowLocks are the server's own figures of waits for locks on rows. Names are the server's: an answer to a user says
// them.
type RowLocks struct {
	Waits   Named // waits that began
	Millis  Named // what those that ended had taken, in milliseconds
	Current Named // sessions that wait now
}

// Named is a metric and what the server calls it.
type Named struct{ Metric, Name string }

// Reads is a metric of the reads of each index, with the labels schema, index and one that names the table.
type Reads struct {
	Source        source.Name
	Metric, Table string
}

// Subject is something that manuals have a chapter about.
type Subject int

// The subjects.
const (
	MultiColumnIndexes Subject = iota
	RedundantIndexes
	UnusedIndexes
	FewValues // indexes by which no few rows are found
	LocksAndTransactions
	RowLockQueues
	LongTransactions
	ConnectionLimit
)
