package finding

import "strings"

// SymptomKind names what is out of order.
type SymptomKind string

// Kinds of symptoms of resources.
const (
	CPUSaturated SymptomKind = "cpu-saturated" // the server uses most of the CPU it may use
	CPUQueue     SymptomKind = "cpu-queue"     // many threads of the server wait for a CPU
	IOWait       SymptomKind = "io-wait"       // the machine waits for its disks
	SlowReads    SymptomKind = "slow-reads"    // reads of data files take long, many at a time
)

// Kinds of symptoms of memory and the engine that writes to the disk.
const (
	PoolMisses  SymptomKind = "pool-misses"  // pages are wanted that the buffer pool does not hold
	Checkpoint  SymptomKind = "checkpoint"   // the redo log is full of changes to pages that are not written yet
	LogWaits    SymptomKind = "log-waits"    // sessions wait for room in the log buffer
	LogSync     SymptomKind = "log-sync"     // threads wait for the logs to reach the disk
	TableOpens  SymptomKind = "table-opens"  // tables are opened again and again
	EngineQueue SymptomKind = "engine-queue" // statements stand before the engine, which lets so many in at a time
)

// Kinds of symptoms of connections and replication.
const (
	Connects        SymptomKind = "connects"         // connections come and go
	ConnectionsFull SymptomKind = "connections-full" // hardly any connection is left
	ReplicaBehind   SymptomKind = "replica-behind"   // a replica has not applied what its source wrote
	ReplicaStopped  SymptomKind = "replica-stopped"  // a thread of a replica does not run
)

// Kinds of symptoms of locks and transactions.
const (
	LockQueue SymptomKind = "lock-queue" // sessions wait for locks of one kind, which is the subject
	// LockWaiting says that a class of statements spends its time waiting for locks: its time tells nothing about how
	// it is executed, and no index or rewrite gives it back. The subject is the class.
	LockWaiting SymptomKind = "lock-waiting"
	Deadlocks   SymptomKind = "deadlocks"    // the server ended transactions because of deadlocks
	OldVersions SymptomKind = "old-versions" // old row versions pile up
)

// Kinds of symptoms of statements, and of what was not seen.
const (
	RndNext       SymptomKind = "rnd-next"       // the server reads row after row of whole tables and sends few
	ReadNext      SymptomKind = "read-next"      // it does so along indexes
	DominantClass SymptomKind = "dominant-class" // one class holds a large part of the statement time
	Scan          SymptomKind = "scan"           // a class examines many rows for each that it returns or changes
	NotObservable SymptomKind = "not-observable" // a source gave nothing
)

// ID returns the id of a symptom: its kind, and what tells it from others of the kind, joined by colons.
func (k SymptomKind) ID(of ...string) string {
	return strings.Join(append([]string{string(k)}, of...), ":")
}
