// Package panels lists the graphs of PostgreSQL's servers.
package panels

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/source"
)

// Names of what is stored begin with these.
const (
	database = "pg_stat_database_"
	setting  = "pg_settings_"
)

// The words of package panel in short.
var (
	rate, gauge, is, like = panel.Rate, panel.Gauge, panel.Is, panel.Like
	sum, line             = panel.Sum, panel.NewLine
)

const (
	noStatements = "this needs the extension pg_stat_statements: shared_preload_libraries = 'pg_stat_statements', " +
		"and CREATE EXTENSION pg_stat_statements"
	noReplica   = "this server is not a standby"
	otherServer = "this server does not report it"
	rarely      = "tables are read every 30 s, and a rate needs two readings of a table"
)

// counted is a line of pg_stat_database, all databases together.
func counted(name, column string) panel.Line {
	return line(name, source.Database, sum(rate(database+column)))
}

// List returns the panels of a server, in the order they are shown. The slice is the caller's.
func List() []panel.Panel { return slices.Concat(busy(), work(), waits(), limits()) }

func busy() []panel.Panel {
	return []panel.Panel{
		{
			ID: panel.Throughput, Group: panel.Busy, Title: "Throughput", Unit: "/s",
			About: "Statements, as pg_stat_statements counts them, and transactions that clients ended with COMMIT " +
				"or ROLLBACK; without those that read the server's figures.", Lines: []panel.Line{
				line("statements", source.StatementTotals, sum(rate("dyno_client_statements_total"))).
					Else(noStatements),
				line("transactions", source.Database, sum(rate("dyno_client_transactions_total"))),
			},
		},
		{
			ID: "latency", Group: panel.Busy, Title: "Statement time", Unit: "s",
			About: "Mean time of execution of a statement without Dyno's, as pg_stat_statements counts it.",
			Lines: []panel.Line{
				line("mean", source.Digests,
					sum(rate("dyno_statements_seconds_total")).Over(rate("dyno_statements_total"))).Else(noStatements),
			},
		},
		{
			ID: "connections", Group: panel.Busy, Title: "Connections", Unit: "connections",
			About: "Sessions of clients without Dyno's own, and those that run a statement; at the limit new ones " +
				"are refused.", Lines: []panel.Line{
				line("running", source.Processlist, sum(gauge("pg_stat_activity_count", is("state", "active")))),
				line("in a transaction", source.Processlist,
					sum(gauge("pg_stat_activity_count", like("state", "idle in transaction.*")))),
				line("connected", source.Processlist, sum(gauge("pg_stat_activity_count"))),
				line("limit", source.Variables, sum(gauge(setting+"max_connections"))).AsLimit(),
			},
		},
		panel.CPU(),
	}
}

func work() []panel.Panel {
	return []panel.Panel{
		{
			ID: "rows", Group: panel.Work, Title: "Rows", Unit: "rows/s",
			About: "Rows that scans returned, that were fetched through indexes, and that were changed.",
			Lines: []panel.Line{
				counted("returned by scans", "tup_returned"), counted("fetched by index", "tup_fetched"),
				counted("inserted", "tup_inserted"), counted("updated", "tup_updated"),
				counted("deleted", "tup_deleted"),
			},
		},
		{
			ID: "scans", Group: panel.Work, Title: "Scans of tables", Unit: "/s",
			About: "Scans of whole tables and through indexes, in the database that the target names.",
			Lines: []panel.Line{
				line("whole tables", source.TableIO, sum(rate("pg_stat_user_tables_seq_scan"))).Else(rarely),
				line("through an index", source.TableIO, sum(rate("pg_stat_user_tables_idx_scan"))).Else(rarely),
			},
		},
		{
			ID: "temporary", Group: panel.Work, Title: "Temporary files", Unit: "/s",
			About: "Files for sorts and hashes that found no room in work_mem.", Lines: []panel.Line{
				counted("files", "temp_files"),
			},
		},
		{
			ID: "attempts", Group: panel.Work, Title: "New connections", Unit: "/s",
			About: "Sessions begun, and those that ended badly.", Lines: []panel.Line{
				counted("new", "sessions"), counted("lost by the client", "sessions_abandoned"),
				counted("fatal errors", "sessions_fatal"), counted("ended by an administrator", "sessions_killed"),
			},
		},
	}
}

func waits() []panel.Panel {
	return []panel.Panel{
		{
			ID: "time", Group: panel.Waits, Title: "Time of sessions", Unit: "s/s", Stacked: true,
			About: "Time a second that sessions ran statements or were idle in a transaction; the server books it " +
				"when a statement ends.", Lines: []panel.Line{
				line("running", source.Database, sum(rate(database+"active_time")).Times(0.001)),
				line("idle in transaction", source.Database,
					sum(rate(database+"idle_in_transaction_time")).Times(0.001)),
			},
		},
		{
			ID: "locks", Group: panel.Waits, Title: "Locks", Unit: "/s",
			About: "Deadlocks, and statements that a standby ended because of its primary.", Lines: []panel.Line{
				counted("deadlocks", "deadlocks"), counted("conflicts", "conflicts"),
			},
		},
		{
			ID: "waiting", Group: panel.Waits, Title: "Waiting for locks", Unit: "sessions",
			About: "Sessions that waited for a lock at that moment.", Lines: []panel.Line{
				line("row locks", source.Locks, sum(gauge("dyno_lock_waiters", is("kind", "row")))),
				line("other locks", source.Locks, sum(gauge("dyno_lock_waiters", panel.Unlike("kind", "row")))),
			},
		},
		{
			ID: "transaction", Group: panel.Waits, Title: "Longest transaction", Unit: "s",
			About: "Age of the oldest open transaction; while it is open, no row version that is younger can be " +
				"removed.",
			Lines: []panel.Line{line("oldest", source.Processlist,
				panel.Way{Terms: []panel.Term{gauge("pg_stat_activity_max_tx_duration")}, Most: true})},
		},
		{
			ID: "replication", Group: panel.Waits, Title: "Replication", Unit: "s",
			About: "Lag of this standby behind its primary.", Lines: []panel.Line{
				line("lag", source.Replication,
					panel.Way{Terms: []panel.Term{gauge("dyno_replica_lag_seconds")}, Most: true}).Else(noReplica),
			},
		},
	}
}

func limits() []panel.Panel {
	const age = "dyno_checkpoint_age_bytes"
	read, hit := rate(database+"blks_read"), rate(database+"blks_hit")
	return []panel.Panel{
		{
			ID: "misses", Group: panel.Limit, Title: "Buffer misses", Unit: "/s",
			About: "Blocks that were not in shared_buffers; the system's cache may have had them.", Lines: []panel.Line{
				counted("misses", "blks_read"),
			},
		},
		{
			ID: "hits", Group: panel.Limit, Title: "Buffer hit ratio", Unit: "ratio",
			About: "Share of the block requests that found their block in shared_buffers.", Lines: []panel.Line{
				line("hits", source.Database, sum(hit).Over(hit, read)),
			},
		},
		{
			ID: "redo", Group: panel.Limit, Title: "WAL written", Unit: "B/s",
			About: "What changes write to the write-ahead log.", Lines: []panel.Line{
				line("written", source.WAL, sum(rate("pg_stat_wal_bytes_total"))),
			},
		},
		{
			ID: "checkpoint", Group: panel.Limit, Title: "Checkpoint age", Unit: "B",
			About: "Log that a crash would have to replay. At max_wal_size a checkpoint is asked for.",
			Lines: []panel.Line{
				line("age", source.Checkpoints, sum(gauge(age))).Else(otherServer),
				line("max_wal_size", source.Variables, sum(gauge(setting+"max_wal_size_bytes"))).AsLimit(),
			},
		},
		panel.DiskOperations(),
		panel.DiskThroughput(),
		panel.DiskBusy(),
		panel.Memory(),
		panel.Pressure(),
	}
}
