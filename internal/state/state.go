// Package state holds what a server was doing at one moment: its sessions, who waited for whom, and
// the open transactions.
//
// A value that was not observed is unknown or listed under Missing. An empty list without a Missing
// entry means that there was nothing.
package state

import (
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
)

// State is one target at one moment.
type State struct {
	Target string    `json:"target"`
	At     time.Time `json:"at"`
	Up     bool      `json:"up"`              // the server answered what it was asked
	Reason string    `json:"reason,omitzero"` // why it did not
	// LoginRefused says that the server is there and does not let Dyno in, see Reason.
	LoginRefused bool `json:"login_refused,omitzero"`
	// Slow says that it is not up only because it did not answer in time, and not for long enough to count as down.
	Slow bool `json:"slow,omitzero"`
	// NotConfigured says that Dyno did not ask: something that the login needs is missing on its side, see Reason.
	NotConfigured bool `json:"not_configured,omitzero"`

	Server string  `json:"server,omitzero"`  // "mariadb 10.11.19"
	Vitals []Vital `json:"vitals,omitempty"` // by name, each once

	// busy ones first, longest first, at most MaxSessions; Dyno's own left out
	Sessions []Session `json:"sessions,omitempty"`
	// of clients, idle ones too, without Dyno's own and the server's threads
	Connections  known.Value[int] `json:"connections,omitzero"`
	Idle         known.Value[int] `json:"idle,omitzero"`   // of these, sleeping outside of a transaction
	Waits        []Wait           `json:"waits,omitempty"` // who waits for whose lock
	Transactions []Transaction    `json:"transactions,omitempty"`
	Classes      []ActiveClass    `json:"classes,omitempty"`       // of the last seconds, most time first
	ClassSeconds float64          `json:"class_seconds,omitzero"`  // window of Classes
	EngineStatus string           `json:"innodb_status,omitempty"` // SHOW ENGINE INNODB STATUS, as the server wrote it
	Sources      []source.Source  `json:"sources,omitempty"`       // unavailable ones, with the reason
	Left         Left             `json:"left,omitzero"`           // what the limits left out
}

// Left counts what the limits left out.
type Left struct {
	Sessions     int `json:"sessions,omitzero"`
	Waits        int `json:"waits,omitzero"`
	Transactions int `json:"transactions,omitzero"`
}

// Limits of a kept state. A server with more shows the most telling ones and counts the rest.
const (
	MaxSessions = 200  // sessions of one state
	MaxWaits    = 500  // waits
	MaxText     = 2048 // bytes of a statement, cut at a character
)

// Vital is one headline figure, see the names below.
type Vital struct {
	Name  string  `json:"n"`
	Value float64 `json:"v"`
}

// Names of vitals. A rate is over the time since the reading before; after a restart or a gap it is missing, not zero.
const (
	QPS            = "qps"                 // statements a second: Questions, or those of pg_stat_statements
	TPS            = "tps"                 // commits and rollbacks a second, Com_commit + Com_rollback
	Latency        = "latency_seconds"     // mean time of a statement, where digests tell it
	Uptime         = "uptime_seconds"      // Uptime
	Running        = "threads_running"     // Threads_running
	Connected      = "threads_connected"   // Threads_connected
	SlowQueries    = "slow_qps"            // Slow_queries a second
	ServerCPU      = "server_cpu_cores"    // CPU seconds a second of the server's process
	HostCPUBusy    = "host_cpu_busy_ratio" // 0..1 of all CPUs, iowait not counted as busy
	HostCPUSystem  = "host_cpu_system_ratio"
	HostIOWait     = "host_cpu_iowait_ratio"
	HostSteal      = "host_cpu_steal_ratio"
	HostCPUs       = "host_cpus"
	MemAvailable   = "host_mem_available_bytes"
	ServerRSS      = "server_resident_bytes"
	DiskReads      = "disk_reads_per_second" // of all disks of the host that are not partitions
	DiskWrites     = "disk_writes_per_second"
	DiskReadBytes  = "disk_read_bytes_per_second"
	DiskWriteBytes = "disk_write_bytes_per_second"
	DiskBusy       = "disk_busy_ratio" // of the busiest disk
	// Innodb_rows_read, Handler_read_* where that is missing; tup_returned, which has entries of indexes
	RowsRead       = "rows_read_per_second"
	RowsWritten    = "rows_written_per_second"  // inserted, updated and deleted
	PoolMisses     = "pool_misses_per_second"   // Innodb_buffer_pool_reads, blks_read
	PoolRequests   = "pool_requests_per_second" // Innodb_buffer_pool_read_requests
	PoolDirty      = "pool_dirty_ratio"         // 0..1 of the pool's pages
	PoolFree       = "pool_free_ratio"
	RedoBytes      = "redo_bytes_per_second" // Innodb_os_log_written, wal_bytes
	Checkpoint     = "checkpoint_age_bytes"
	History        = "history_length" // undo records that purge has not removed
	RowLockWaits   = "row_lock_waits_per_second"
	RowLockWaiting = "row_lock_waiting"           // sessions that wait now
	TmpDisk        = "tmp_disk_tables_per_second" // Created_tmp_disk_tables, temp_files
	BytesIn        = "net_received_bytes_per_second"
	BytesOut       = "net_sent_bytes_per_second"
	Aborted        = "aborted_per_second"  // Aborted_clients + Aborted_connects
	ReplicaLag     = "replica_lag_seconds" // of the worst channel
	PressureCPU    = "pressure_cpu_ratio"  // PSI some, 0..1
	PressureIO     = "pressure_io_ratio"
	PressureMemory = "pressure_memory_ratio"
	// what reading costs the server, as wall-clock time of its statements
	ScrapeServer = "dyno_server_seconds_per_second"
	ScrapeClient = "dyno_cpu_cores" // what it costs here
)

// Get returns a vital; unknown when it was not observed.
func (s *State) Get(name string) known.Value[float64] {
	for _, v := range s.Vitals {
		if v.Name == name {
			return known.Of(v.Value)
		}
	}
	return known.None[float64]()
}

// Session is one connection of a client or one thread of the server.
type Session struct {
	ID      uint64  `json:"id"` // as KILL takes it
	User    string  `json:"user,omitzero"`
	Host    string  `json:"host,omitzero"`
	DB      string  `json:"db,omitzero"`
	Command string  `json:"command"`        // "Query", "Sleep", "Binlog Dump", …
	Phase   string  `json:"phase,omitzero"` // the server's own word for what it does: STATE
	Wait    string  `json:"wait,omitzero"`  // performance_schema's current wait, where that is on
	Seconds float64 `json:"seconds"`        // in this command
	SQL     string  `json:"sql,omitzero"`   // at most MaxText bytes, made valid UTF-8
	ClassID string  `json:"class,omitzero"` // of SQL
	// of one that blocks others and runs nothing: what it ran last, where performance_schema has it
	Last string `json:"last_sql,omitzero"`
	// LastClass is the class id of Last.
	LastClass string               `json:"last_class,omitzero"`
	Examined  known.Value[uint64]  `json:"examined,omitzero"` // rows, by the running statement
	Sent      known.Value[uint64]  `json:"sent,omitzero"`
	Memory    known.Value[uint64]  `json:"memory,omitzero"`   // bytes
	Progress  known.Value[float64] `json:"progress,omitzero"` // 0..1, of ALTER and the like
}

// Transaction is one that is open in InnoDB.
type Transaction struct {
	Session  uint64              `json:"session"` // 0: none, such as a prepared XA transaction after a restart
	ID       string              `json:"id"`
	Phase    string              `json:"phase"` // "RUNNING", "LOCK WAIT", …
	Seconds  float64             `json:"seconds"`
	Locks    known.Value[uint64] `json:"rows_locked,omitzero"`
	Modified known.Value[uint64] `json:"rows_modified,omitzero"`
	ReadOnly bool                `json:"read_only,omitzero"`
}

// WaitKind is what sort of lock is waited for.
type WaitKind string

// The kinds of lock.
const (
	RowLock      WaitKind = "row"      // InnoDB record, gap or auto-increment
	TableLock    WaitKind = "table"    // LOCK TABLES, InnoDB table locks
	MetadataLock WaitKind = "metadata" // DDL and what uses the table
	GlobalLock   WaitKind = "global"   // FLUSH TABLES WITH READ LOCK, BACKUP STAGE
	UserLock     WaitKind = "user"     // GET_LOCK
)

// Wait is a session that waits for a lock. A waiter with several blockers has a Wait for each.
type Wait struct {
	Kind   WaitKind `json:"kind"`
	Waiter uint64   `json:"waiter"` // session
	// session; unknown where the server does not report it: never guessed
	Blocker known.Value[uint64]  `json:"blocker,omitzero"`
	Why     string               `json:"unknown,omitzero"` // with an unknown blocker: why, and what would show it
	Object  string               `json:"object,omitzero"`  // schema.table, and the index
	Mode    string               `json:"mode,omitzero"`    // the lock that is wanted: "X,REC_NOT_GAP", "EXCLUSIVE"
	Held    string               `json:"held,omitzero"`    // the one that is in the way
	Seconds known.Value[float64] `json:"seconds,omitzero"`
}

// ActiveClass is a query class with what it did in the last seconds.
type ActiveClass struct {
	ID          string `json:"id"`
	Fingerprint string `json:"fingerprint"`
	Schema      string `json:"schema,omitzero"`
	// Load is estimated from samples, PerSecond is a lower bound
	Sampled   bool    `json:"sampled,omitzero"`
	PerSecond float64 `json:"per_second"` // executions
	// seconds of statement time a second: how many ran at a time
	Load     float64              `json:"load"`
	MeanSec  known.Value[float64] `json:"mean_sec,omitzero"`
	Examined known.Value[float64] `json:"examined_per_call,omitzero"`
	Errors   known.Value[float64] `json:"errors_per_second,omitzero"`
}
