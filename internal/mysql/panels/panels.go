// Package panels lists the graphs of MySQL's and MariaDB's servers.
package panels

import (
	"slices"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/source"
)

// Names of what is stored begin with these.
const (
	status  = "mysql_global_status_"
	setting = "mysql_global_variables_"
	metrics = "mysql_info_schema_innodb_metrics_"
	pfs     = "mysql_perf_schema_"
)

// clients returns two ways to a rate of the status: of the server's clients alone, or with what Dyno itself makes the
// server count, where its part is not known.
func clients(variable string) []panel.Way {
	return []panel.Way{sum(rate(metric.ClientStatusTotal, is("variable", variable))), sum(rate(status + variable))}
}

func threads(state string) []panel.Way {
	return []panel.Way{
		sum(gauge(metric.ClientStatus, is("variable", "threads_"+state))),
		sum(gauge(status + "threads_" + state)),
	}
}

// The words of package panel in short.
var (
	rate, gauge, less, is   = panel.Rate, panel.Gauge, panel.Less, panel.Is
	like, unlike, sum, line = panel.Like, panel.Unlike, panel.Sum, panel.NewLine
)

// handlers returns the lines of calls of the storage engines' interface.
func handlers(names ...string) (all []panel.Line) {
	for _, n := range names {
		all = append(all, line(n, source.GlobalStatus,
			sum(rate(metric.ClientStatusTotal, is("variable", "handler_"+n))),
			sum(rate(status+"handlers_total", is("handler", n)))))
	}
	return all
}

// latches returns a line for each kind of InnoDB's latches that its status text counts.
func latches(figure string) (all []panel.Line) {
	for _, l := range [][2]string{
		{"mutexes", "mutex"},
		{"rw-locks, shared", "rw_shared"},
		{"rw-locks, exclusive", "rw_excl"},
		{"rw-locks, sx", "rw_sx"},
	} {
		all = append(all, line(l[0], figures.InnodbStatus, sum(rate("dyno_innodb_"+figure, is("lock", l[1])))).
			Else("SHOW ENGINE INNODB STATUS of this version does not count them"))
	}
	return all
}

const (
	noHost    = panel.NoHost
	noReplica = "this server is not a replica"
	noInstr   = "this server does not count these waits"
	noClasses = "set performance_schema=ON, or log every statement: slow_query_log=ON, log_output=FILE, " +
		"long_query_time=0"
	otherServer = "this server does not report it"
	noIndex     = "these counters are off; Fix: SET GLOBAL innodb_monitor_enable='module_index'"
	noUsers     = "this server does not report memory by user"
)

// List returns the panels of a server, in the order they are shown. The slice is the caller's.
func List() []panel.Panel { return slices.Concat(busy(), work(), waits(), limits()) }

func busy() []panel.Panel {
	percentile := func(name, quantile string) panel.Line {
		return line(name, source.Latency, sum(gauge("dyno_statement_latency_seconds", is("quantile", quantile)))).
			Else("this needs the statement histogram of MySQL 8.0 or later, and at least 90 % client statements in it")
	}
	return []panel.Panel{
		{
			ID: panel.Throughput, Group: panel.Busy, Title: "Throughput", Unit: "/s",
			About: "Statements that clients sent, without Dyno's own, and transactions that they ended with COMMIT " +
				"or ROLLBACK; without them each statement is its own transaction.", Lines: []panel.Line{
				line("statements", source.GlobalStatus, clients("questions")...),
				line("transactions", source.GlobalStatus,
					sum(rate(status+"commands_total", like("command", "commit|rollback")))),
				line("slow statements", source.GlobalStatus, clients("slow_queries")...),
			},
		},
		{
			ID: "latency", Group: panel.Busy, Title: "Statement time", Unit: "s",
			About: "Mean time of a statement, as the " +
				"server counts it.", Lines: []panel.Line{
				line("mean", "", sum(rate("dyno_statements_seconds_total")).Over(rate("dyno_statements_total")),
					sum(rate(pfs+"events_statements_seconds_total")).Over(rate(pfs+"events_statements_total"))).
					Else(noClasses),
			},
		},
		{
			ID: "percentiles", Group: panel.Busy, Title: "Latency percentiles", Unit: "s",
			About: "Half, 95 % and 99 % of the " +
				"statements took no longer, from the server's histogram, whose steps are 4.7 % wide. Up to 10 % of " +
				"the statements may be Dyno's own.", Lines: []panel.Line{
				percentile("median", "0.5"),
				percentile("p95", "0.95"),
				percentile("p99", "0.99"),
			},
		},
		{
			ID: "connections", Group: panel.Busy, Title: "Connections", Unit: "connections",
			About: "Open connections, and those that run a statement, without Dyno's own; at the limit new ones are " +
				"refused.", Lines: []panel.Line{
				line("running", source.GlobalStatus, threads("running")...),
				line("connected", source.GlobalStatus, threads("connected")...),
				line("limit", source.Variables, sum(gauge(setting+"max_connections"))).AsLimit(),
			},
		},
		panel.CPU(),
	}
}

func work() []panel.Panel {
	com := func(name, commands string) panel.Line {
		return line(name, source.GlobalStatus, sum(rate(status+"commands_total", like("command", commands))))
	}
	rows := func(name, operation, handlers string) panel.Line {
		return line(name, source.GlobalStatus,
			sum(rate(status+"innodb_row_ops_total", is("operation", operation))),
			sum(rate(metric.ClientStatusTotal, like("variable", "handler_("+handlers+")"))),
			sum(rate(status+"handlers_total", like("handler", handlers))))
	}
	return []panel.Panel{
		{
			ID: "kinds", Group: panel.Work, Title: "Statements by kind", Unit: "/s",
			About: "What was executed, prepared " +
				"statements too.", Lines: []panel.Line{
				line("select", source.GlobalStatus, sum(rate(metric.ClientStatusTotal, is("variable", "com_select"))),
					sum(rate(status+"commands_total", is("command", "select")))),
				com("insert", "insert|insert_select|replace|replace_select|load"),
				com("update", "update|update_multi"),
				com("delete", "delete|delete_multi"),
				com("commit", "commit"),
				com("rollback", "rollback"),
				com("DDL", "(create|alter|drop|rename|truncate|optimize|analyze)(_.*)?"),
			},
		},
		{
			ID: "rows", Group: panel.Work, Title: "Rows", Unit: "rows/s",
			About: "Rows that InnoDB read and changed; where " +
				"the server does not count them, the calls of its storage engines.", Lines: []panel.Line{
				rows("read", "read", "read_(first|key|last|next|prev|rnd|rnd_next)"),
				rows("inserted", "inserted", "write"),
				rows("updated", "updated", "update"),
				rows("deleted", "deleted", "delete"),
			},
		},
		{
			ID: "handlers", Group: panel.Work, Title: "Handler reads", Unit: "/s",
			About: "Calls that read rows, by how: read_rnd_next is the next row of a whole table, read_next of an " +
				"index, read_key a row by its key. After an index was added, read_rnd_next becomes read_key and " +
				"read_next. Without Dyno's own.",
			Lines: handlers("read_rnd_next", "read_next", "read_key", "read_first", "read_last", "read_prev",
				"read_rnd"),
		},
		{
			ID: "handlerwrites", Group: panel.Work, Title: "Handler writes", Unit: "/s",
			About: "Calls that change rows, those of temporary tables inside the server too, and the commits and " +
				"rollbacks of each engine. Without Dyno's own.",
			Lines: handlers("write", "update", "delete", "commit", "rollback"),
		},
		{
			ID: "tables", Group: panel.Work, Title: "Time by table", Unit: "s/s",
			About: "Time a second that statements spent on the rows of a table, waits for its disk and locks " +
				"included; tables of one name in several schemas are one line.", Lines: []panel.Line{
				line("other tables", source.TableIO, sum(rate(pfs+"table_io_waits_seconds_total"))).Each("name"),
			},
		},
		{
			ID: "tablerows", Group: panel.Work, Title: "Rows by table", Unit: "rows/s",
			About: "Rows that were read and changed of each table, of one name in several schemas together.",
			Lines: []panel.Line{
				line("other tables", source.TableIO, sum(rate(pfs+"table_io_waits_total"))).Each("name"),
			},
		},
		{
			ID: "temporary", Group: panel.Work, Title: "Scans, sorts, temporary tables", Unit: "/s",
			About: "Work that an index often saves, without Dyno's own.", Lines: []panel.Line{
				line("full scans", source.GlobalStatus, clients("select_scan")...),
				line("joins without index", source.GlobalStatus, clients("select_full_join")...),
				line("temporary tables", source.GlobalStatus, clients("created_tmp_tables")...),
				line("on disk", source.GlobalStatus, clients("created_tmp_disk_tables")...),
				line("merge passes of sorts", source.GlobalStatus, clients("sort_merge_passes")...),
			},
		},
		{
			ID: "network", Group: panel.Work, Title: "Network of the server", Unit: "B/s",
			About: "Bytes between the server and its clients.", Lines: []panel.Line{
				line("sent", source.GlobalStatus, clients("bytes_sent")...),
				line("received", source.GlobalStatus, clients("bytes_received")...),
			},
		},
		{
			ID: "attempts", Group: panel.Work, Title: "New connections", Unit: "/s",
			About: "Connections opened, aborted by " +
				"the client, and failed.", Lines: []panel.Line{
				line("new", source.GlobalStatus, clients("connections")...),
				line("aborted", source.GlobalStatus, sum(rate(status+"aborted_clients"))),
				line("failed", source.GlobalStatus, sum(rate(status+"aborted_connects"))),
			},
		},
	}
}

func waits() []panel.Panel {
	event := func(name string, ms ...panel.Match) panel.Line {
		return line(name, source.Waits, sum(rate(pfs+"events_waits_seconds_total", ms...))).Else(noInstr)
	}
	const name = "event_name"
	sessions := func(states string) panel.Way {
		w := sum(gauge("mysql_info_schema_processlist_threads", like("state", states)))
		w.Zero = "mysql_info_schema_processlist_longest_seconds"
		return w
	}
	session := func(name, state string) panel.Line { return line(name, source.Processlist, sessions(state)) }
	// A server books a wait when it ends: a long one would show as a peak after it. Those who wait in each second are
	// its seconds.
	const waitingForRow = status + "innodb_row_lock_current_waits"
	return []panel.Panel{
		{
			ID: "time", Group: panel.Waits, Title: "Server time by wait class", Unit: "s/s", Stacked: true,
			About: "Time a second that all threads of the server, those in the background too, spent on a CPU or " +
				"waiting; idle connections are left out. Waits for locks are the sessions that waited in each second.",
			Lines: []panel.Line{
				line("on a CPU", source.Process, sum(rate("dyno_server_cpu_seconds_total"))).Else(noHost),
				line("waiting for a CPU", source.ProcessThreads, sum(rate("dyno_server_run_queue_seconds_total"))).
					Else(noHost),
				event("data files", like(name, "wait/io/file/innodb/innodb_(data|temp|dblwr|arch|clone)_file")),
				event("redo log", is(name, "wait/io/file/innodb/innodb_log_file")),
				event("binary log",
					like(name,
						"wait/io/file/sql/(binlog|binlog_index|binlog_cache|binlog_index_cache|relaylog|"+
							"relaylog_index|relaylog_cache)")),
				event("other files", like(name, "wait/io/file/.*"),
					unlike(name, "wait/io/file/(innodb/innodb_.*|sql/(binlog|relaylog).*)")),
				line("row locks", source.GlobalStatus, sum(gauge(waitingForRow)),
					sum(rate(status+"innodb_row_lock_time")).Times(0.001)),
				line("table and metadata locks", source.Processlist, sessions("metadata_lock|lock"),
					sum(rate(pfs+"events_waits_seconds_total", like(name, "wait/lock/.*")))),
			},
		},
		{
			ID: "states", Group: panel.Waits, Title: "Sessions by state", Unit: "sessions", Stacked: true,
			About: "What the sessions do, idle ones left out, sampled once a second: of a state shorter than that, " +
				"the share of samples that met it. No performance_schema is needed.", Lines: []panel.Line{
				line("other states", source.Processlist,
					sum(gauge("mysql_info_schema_processlist_threads", unlike("command", "sleep|daemon|binlog_dump.*"),
						unlike("state", "server|replication")))).
					Each("state"),
			},
		},
		{
			ID: "waitevents", Group: panel.Waits, Title: "Time by wait event", Unit: "s/s",
			About: "Time a second of the longest waits, as performance_schema counts them when they end: files, " +
				"locks, and mutexes and rw-locks when their instruments are on (UPDATE " +
				"performance_schema.setup_instruments SET ENABLED='YES', TIMED='YES' WHERE NAME LIKE " +
				"'wait/synch/%'). Idle connections, tables as a whole, and threads that wait for work are left out.",
			Lines: []panel.Line{
				line("other events", source.Waits, sum(rate(pfs+"events_waits_seconds_total",
					unlike(name, "idle|wait/io/(table|socket)/.*|wait/synch/(cond|sxlock/.*_event).*")))).
					Each(name).Else(noInstr),
			},
		},
		{
			ID: "latches", Group: panel.Waits, Title: "InnoDB latch waits", Unit: "/s",
			About: "How often a thread went to sleep for one of InnoDB's latches, after spinning without success.",
			Lines: latches("os_waits_total"),
		},
		{
			ID: "spins", Group: panel.Waits, Title: "InnoDB latch spin rounds", Unit: "/s",
			About: "Rounds in which a thread waited on a CPU for one of InnoDB's latches. Many rounds cost CPU time.",
			Lines: latches("spin_rounds_total"),
		},
		{
			ID: "rowlocktime", Group: panel.Waits, Title: "Row lock time", Unit: "s/s",
			About: "Time a second that statements waited for row locks, as InnoDB counts it: a wait counts when it " +
				"ends, so a long one is a peak after it.", Lines: []panel.Line{
				line("row locks", source.GlobalStatus, sum(rate(status+"innodb_row_lock_time")).Times(0.001)),
			},
		},
		{
			ID: "locks", Group: panel.Waits, Title: "Locks", Unit: "/s",
			About: "Statements that waited for a lock, and those " +
				"that timed out or were rolled back.", Lines: []panel.Line{
				line("row lock waits", source.GlobalStatus, sum(rate(status+"innodb_row_lock_waits"))),
				line("table lock waits", source.GlobalStatus, sum(rate(status+"table_locks_waited"))),
				line("deadlocks", figures.InnodbMetrics, sum(rate(status+"innodb_deadlocks")),
					sum(rate(metrics+"lock_lock_deadlocks_total"))),
				line("lock timeouts", figures.InnodbMetrics, sum(rate(metrics+"lock_lock_timeouts_total"))),
			},
		},
		{
			ID: "waiting", Group: panel.Waits, Title: "Waiting for locks", Unit: "sessions",
			About: "Sessions that waited for a lock at that moment; row locks as InnoDB counts them, the others by " +
				"the process list.", Lines: []panel.Line{
				line("row locks", source.GlobalStatus, sum(gauge(waitingForRow))),
				session("metadata locks", "metadata_lock"),
				session("other locks", "lock"),
			},
		},
		{
			ID: "purge", Group: panel.Waits, Title: "Purge", Unit: "transactions",
			About: "Old row versions that wait for " +
				"purge: the history list. It grows while an old transaction is open.", Lines: []panel.Line{
				line("history list", figures.InnodbMetrics, sum(gauge(status+"innodb_history_list_length")),
					sum(gauge(metrics+"transaction_trx_rseg_history_len")), sum(gauge("dyno_innodb_history_length"))),
				line("purge lag", figures.InnodbStatus, sum(gauge("dyno_innodb_purge_behind_transactions"))),
			},
		},
		{
			ID: "transaction", Group: panel.Waits, Title: "Longest transaction", Unit: "s",
			About: "Age of the oldest open transaction; while it is open, nothing younger can be purged.",
			Lines: []panel.Line{
				line("oldest", figures.InnodbStatus, sum(gauge("dyno_innodb_transaction_longest_seconds"))),
				line("longest lock wait", figures.InnodbStatus, sum(gauge("dyno_innodb_lock_wait_longest_seconds"))),
			},
		},
		{
			ID: "replication", Group: panel.Waits, Title: "Replication", Unit: "s",
			About: "Lag of this replica behind its " +
				"source; of several channels the worst.", Lines: []panel.Line{
				line("lag", source.Replication,
					panel.Way{Terms: []panel.Term{gauge("dyno_replica_lag_seconds")}, Most: true},
					panel.Way{Terms: []panel.Term{gauge("mysql_slave_status_seconds_behind_master")}, Most: true}).
					Else(noReplica),
				line("oldest being applied", source.Replication,
					panel.Way{Terms: []panel.Term{gauge("dyno_replica_apply_seconds")}, Most: true}).Else(noReplica),
			},
		},
		{
			ID: "workers", Group: panel.Waits, Title: "Replication workers", Unit: "workers", Stacked: true,
			About: "Threads that apply what a replica has received, by what they do.", Lines: []panel.Line{
				line("other states of workers", source.Replication, sum(gauge("dyno_replica_workers"))).Each("state").
					Else(noReplica),
			},
		},
	}
}

func limits() []panel.Panel {
	const pool = status + "innodb_buffer_pool_bytes_data"
	return []panel.Panel{
		{
			ID: "misses", Group: panel.Limit, Title: "Buffer pool misses", Unit: "/s",
			About: "Pages that were not in the " +
				"buffer pool and had to be read, on demand or by read-ahead.", Lines: []panel.Line{
				line("misses", source.GlobalStatus, sum(rate(status+"innodb_buffer_pool_reads"))),
				line("read ahead", source.GlobalStatus, sum(rate(status+"innodb_buffer_pool_read_ahead"))),
				line("waits for a free page", source.GlobalStatus, sum(rate(status+"innodb_buffer_pool_wait_free"))),
			},
		},
		{
			ID: "hits", Group: panel.Limit, Title: "Buffer pool hit ratio", Unit: "ratio",
			About: "Share of the page requests " +
				"that found their page in the buffer pool.", Lines: []panel.Line{
				line("hits", source.GlobalStatus, sum(rate(status+"innodb_buffer_pool_read_requests"),
					less(rate(status+"innodb_buffer_pool_reads"))).
					Over(rate(status+"innodb_buffer_pool_read_requests"))),
			},
		},
		{
			ID: "pool", Group: panel.Limit, Title: "Buffer pool", Unit: "B", Stacked: true,
			About: "What the pages of InnoDB's buffer pool hold. Dirty pages must be written before they can be " +
				"replaced; free pages include InnoDB's own tables.", Lines: []panel.Line{
				line("changed", source.GlobalStatus, sum(gauge(status+"innodb_buffer_pool_bytes_dirty"))),
				line("unchanged", source.GlobalStatus,
					sum(gauge(pool), less(gauge(status+"innodb_buffer_pool_bytes_dirty")))),
				line("free", source.Variables, sum(gauge(setting+"innodb_buffer_pool_size"), less(gauge(pool)))).
					AsRest(),
			},
		},
		{
			ID: "redo", Group: panel.Limit, Title: "Redo log written", Unit: "B/s",
			About: "What changes write to InnoDB's " +
				"redo log.", Lines: []panel.Line{
				line("written", source.GlobalStatus, sum(rate(status+"innodb_os_log_written"))),
			},
		},
		{
			ID: "checkpoint", Group: panel.Limit, Title: "Checkpoint age", Unit: "B",
			About: "Redo log that a crash would " +
				"have to read again. At the limit every change waits until pages are written.", Lines: []panel.Line{
				line("age", source.GlobalStatus,
					sum(gauge(status+"innodb_checkpoint_age")),
					sum(gauge(status+"innodb_redo_log_current_lsn"),
						less(gauge(status+"innodb_redo_log_checkpoint_lsn"))),
					sum(gauge("dyno_innodb_checkpoint_age_bytes"))),
				line("limit", source.Variables, sum(gauge(status+"innodb_checkpoint_max_age")),
					sum(gauge(setting+"innodb_redo_log_capacity"))).Else(otherServer).AsLimit(),
			},
		},
		{
			ID: "splits", Group: panel.Limit, Title: "Page splits and merges", Unit: "/s",
			About: "Pages of indexes that were split for a new row, and tries to merge two that became half empty.",
			Lines: []panel.Line{
				line("splits", figures.InnodbMetrics, sum(rate(metrics+"index_index_page_splits_total"))).Else(noIndex),
				line("merge attempts", figures.InnodbMetrics,
					sum(rate(metrics+"index_index_page_merge_attempts_total"))).Else(noIndex),
				line("merges", figures.InnodbMetrics,
					sum(rate(metrics+"index_index_page_merge_successful_total"))).Else(noIndex),
			},
		},
		{
			ID: "files", Group: panel.Limit, Title: "I/O time by file", Unit: "s/s",
			About: "Time a second that threads spent reading and writing a file; of the 40 files with the most " +
				"time since the server started.", Lines: []panel.Line{
				line("other files", source.Files, sum(rate("dyno_file_seconds_total"))).Each("file_name"),
			},
		},
		{
			ID: "filebytes", Group: panel.Limit, Title: "Bytes by file", Unit: "B/s",
			About: "Bytes a second that were read from and written to a file; of the 40 files with the most time " +
				"since the server started.", Lines: []panel.Line{
				line("other files", source.Files, sum(rate(pfs+"file_instances_bytes"))).Each("file_name"),
			},
		},
		panel.DiskOperations(),
		panel.DiskThroughput(),
		panel.DiskBusy(),
		panel.Memory(line("buffer pool", source.GlobalStatus, sum(gauge(pool))),
			line("the rest of the server", source.Process, sum(gauge("dyno_server_resident_bytes"), less(gauge(pool)))).
				Else(noHost)),
		{
			ID: "memoryevents", Group: panel.Limit, Title: "Server memory by purpose", Unit: "B",
			About: "Memory that the server has taken, by the instrument of performance_schema. What was taken before " +
				"an instrument was switched on is missing.", Lines: []panel.Line{
				line("other purposes", source.Memory, sum(gauge(pfs+"memory_events_used_bytes"))).Each("event_name"),
			},
		},
		{
			ID: "memoryusers", Group: panel.Limit, Title: "Server memory by user", Unit: "B",
			About: "Memory in use for the sessions of each user; the server's own threads are background.",
			Lines: []panel.Line{
				line("other users", source.MemoryUsers, sum(gauge("dyno_memory_user_bytes"))).Each("user").
					Else(noUsers),
			},
		},
		panel.Pressure(),
	}
}
