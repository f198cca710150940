// Package source holds the name, state and reason of a data source: where figures come from, and
// whether they arrived. Snapshots and states list their sources with it, so that all outputs use
// the same words.
package source

// Name names a source. Package scrape reads those of metrics, package digestsource those of classes of statements, and
// package capture the others.
type Name string

// Sources of metrics.
const (
	Binlog           = Name("binlog")
	Cgroup           = Name("cgroup")
	Compression      = Name("compression")
	FileIO           = Name("file_io")
	Files            = Name("files")
	GlobalStatus     = Name("global_status")
	GroupReplication = Name("group_replication")
	Host             = Name("host")
	HostCPUs         = Name("host_cpus")
	HostDetail       = Name("host_detail")
	Latency          = Name("latency")
	Locks            = Name("locks")
	Deadlocks        = Name("deadlocks")
	Memory           = Name("memory")
	MemoryUsers      = Name("memory_users")
	Process          = Name("process")
	ProcessDetail    = Name("process_detail")
	ProcessMemory    = Name("process_memory")
	ProcessThreads   = Name("process_threads")
	Processlist      = Name("processlist")
	Replication      = Name("replication")
	Sizes            = Name("sizes")
	Stages           = Name("stages")
	TableIO          = Name("table_io")
	Transactions     = Name("transactions")
	Userstat         = Name("userstat")
	Variables        = Name("variables")
	Waits            = Name("waits")
)

// Sources of metrics that only PostgreSQL has. Its sessions are Processlist, and what its tables and indexes were used
// for is TableIO.
const (
	Checkpoints     = Name("checkpoints")      // pg_stat_checkpointer, pg_stat_bgwriter
	Database        = Name("database")         // pg_stat_database
	IO              = Name("io")               // pg_stat_io
	LockCounts      = Name("lock_counts")      // pg_locks
	StatementTotals = Name("statement_totals") // pg_stat_statements
	WAL             = Name("wal")              // pg_stat_wal
)

// Sources of classes of statements.
const (
	Digests    = Name("digests")           // performance_schema counts every class
	SlowLog    = Name("slow_log")          // the server's log
	GeneralLog = Name("general_log")       // the other log, of a file that is read
	Samples    = Name("statement_samples") // statements that were seen to run
)

// Other sources of a snapshot. Some are listed only when they say what is left out.
const (
	Accounts   = Name("accounts")
	Classes    = Name("classes")
	HostFacts  = Name("host_facts")
	Plans      = Name("plans")
	Programs   = Name("programs")
	RowSamples = Name("row_samples")
	Series     = Name("series")
	Statements = Name("statements")
	Tables     = Name("tables")
)

// Sources of evidence that no snapshot lists: nothing is read for them.
const (
	Arithmetic = Name("arithmetic") // of package arith
	Catalog    = Name("catalog")    // of package catalog
	Plan       = Name("plan")       // one of the plans
	Statement  = Name("statement")  // the text of a class
)

// State says what a source gave.
type State string

const (
	OK      State = "ok"
	Missing State = "missing" // the server has no such thing, or it is switched off
	Denied  State = "denied"  // a grant is missing
	Failed  State = "failed"  // it answered with an error
	Slow    State = "slow"    // it did not answer in time
)

// Source is one place that figures come from, and whether they came.
type Source struct {
	Name   Name    `json:"name"` // "global_status", "innodb_metrics", "digests", "processlist", "host", "process", …
	State  State   `json:"state"`
	Reason string  `json:"reason,omitzero"`  // of any state but ok; with ok a remark: overflow, cut texts, a restart
	Fix    string  `json:"fix,omitzero"`     // the GRANT or setting that would fix it
	Took   float64 `json:"took_ms,omitzero"` // mean wall-clock time of one reading, milliseconds
	Reads  int     `json:"reads"`            // successful readings within the window
}
