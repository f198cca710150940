package panel

import (
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// The questions that groups of panels answer, in the order of looking for a bottleneck.
const (
	Busy  = "Is it busy?"
	Work  = "With what?"
	Waits = "What does it wait for?"
	Limit = "Is memory or the disk the limit?"
)

// Names of what is stored begin with these.
const (
	status  = "mysql_global_status_"
	setting = "mysql_global_variables_"
	metrics = "mysql_info_schema_innodb_metrics_"
	pfs     = "mysql_perf_schema_"
)

func rate(name string, ms ...Match) Term  { return Term{Name: name, Rate: true, Match: ms} }
func gauge(name string, ms ...Match) Term { return Term{Name: name, Match: ms} }

// clients returns two ways to a rate of the status: of the server's clients alone, or with what Dyno itself makes the
// server count, where its part is not known.
func clients(variable string) []Way {
	return []Way{way(rate(metric.ClientStatusTotal, is("variable", variable))), way(rate(status + variable))}
}

func threads(state string) []Way {
	return []Way{
		way(gauge(metric.ClientStatus, is("variable", "threads_"+state))),
		way(gauge(status + "threads_" + state)),
	}
}

func less(t Term) Term              { t.Minus = true; return t }
func is(label, value string) Match  { return Match{label, "=", value} }
func like(label, re string) Match   { return Match{label, "=~", re} }
func unlike(label, re string) Match { return Match{label, "!~", re} }
func way(ts ...Term) Way            { return Way{Terms: ts} }

// times returns the way with its figures times f.
func (w Way) times(f float64) Way { w.Scale = f; return w }

// over returns the way over a sum.
func (w Way) over(ts ...Term) Way { w.Per = ts; return w }

func line(name string, from source.Name, ways ...Way) Line {
	return Line{Name: name, Source: from, Ways: ways}
}

// else_ returns the line with what is told when it has nothing though its source is well.
func (l Line) else_(why string) Line { l.Unknown = why; return l }

func (l Line) limit() Line { l.Limit = true; return l }
func (l Line) rest() Line  { l.Rest = true; return l }

const (
	noReplica = "this server is not a replica"
	noHost    = "the machine can be observed only where Dyno runs on it"
	noInstr   = "this server does not count these waits"
	noClasses = "set performance_schema=ON, or log every statement: slow_query_log=ON, log_output=FILE, " +
		"long_query_time=0"
	otherServer = "this server does not report it"
)

// Throughput is the id of the panel whose first line is the statements a second.
const Throughput = "throughput"

// Server returns the panels of a server, in the order they are shown. The slice is the caller's.
func Server() []Panel {
	var all []Panel
	all = append(all, busy()...)
	all = append(all, work()...)
	all = append(all, waits()...)
	return append(all, limits()...)
}

func busy() []Panel {
	cpu := func(name, modes string) Line {
		return line(name, source.Host, way(rate("node_cpu_seconds_total", like("mode", modes)))).else_(noHost)
	}
	percentile := func(name, quantile string) Line {
		return line(name, source.Latency, way(gauge("dyno_statement_latency_seconds", is("quantile", quantile)))).
			else_("this needs the statement histogram of MySQL 8.0 or later, and at least 90 % client statements in it")
	}
	return []Panel{
		{ID: Throughput, Group: Busy, Title: "Throughput", Unit: "/s", About: "Statements that clients sent, without " +
			"Dyno's own, and transactions that they ended with COMMIT or ROLLBACK; without them each statement is " +
			"its own transaction.", Lines: []Line{
			line("statements", source.GlobalStatus, clients("questions")...),
			line("transactions", source.GlobalStatus,
				way(rate(status+"commands_total", like("command", "commit|rollback")))),
			line("slow statements", source.GlobalStatus, clients("slow_queries")...),
		}},
		{ID: "latency", Group: Busy, Title: "Statement time", Unit: "s", About: "Mean time of a statement, as the " +
			"server counts it.", Lines: []Line{
			line("mean", "", way(rate("dyno_statements_seconds_total")).over(rate("dyno_statements_total")),
				way(rate(pfs+"events_statements_seconds_total")).over(rate(pfs+"events_statements_total"))).
				else_(noClasses),
		}},
		{ID: "percentiles", Group: Busy, Title: "Latency percentiles", Unit: "s", About: "Half, 95 % and 99 % of the " +
			"statements took no longer, from the server's histogram, whose steps are 4.7 % wide. Up to 10 % of the " +
			"statements may be Dyno's own.", Lines: []Line{
			percentile("median", "0.5"),
			percentile("p95", "0.95"),
			percentile("p99", "0.99"),
		}},
		{
			ID: "connections", Group: Busy, Title: "Connections", Unit: "connections",
			About: "Open connections, and those that run a statement, without Dyno's own; at the limit new ones are " +
				"refused.", Lines: []Line{
				line("running", source.GlobalStatus, threads("running")...),
				line("connected", source.GlobalStatus, threads("connected")...),
				line("limit", source.Variables, way(gauge(setting+"max_connections"))).limit(),
			},
		},
		{
			ID: "cpu", Group: Busy, Title: "CPU of the machine", Unit: "cores", Stacked: true,
			About: "CPU time a second by mode; the sum is what the machine has. Stolen time went to other guests of " +
				"the host.", Lines: []Line{
				cpu("user", "user|nice"),
				cpu("system", "system|irq|softirq"),
				cpu("waiting for disk", "iowait"),
				cpu("stolen", "steal"),
				cpu("idle", "idle").rest(),
			},
		},
	}
}

func work() []Panel {
	com := func(name, commands string) Line {
		return line(name, source.GlobalStatus, way(rate(status+"commands_total", like("command", commands))))
	}
	rows := func(name, operation, handlers string) Line {
		return line(name, source.GlobalStatus,
			way(rate(status+"innodb_row_ops_total", is("operation", operation))),
			way(rate(metric.ClientStatusTotal, like("variable", "handler_("+handlers+")"))),
			way(rate(status+"handlers_total", like("handler", handlers))))
	}
	return []Panel{
		{ID: "kinds", Group: Work, Title: "Statements by kind", Unit: "/s", About: "What was executed, prepared " +
			"statements too.", Lines: []Line{
			line("select", source.GlobalStatus, way(rate(metric.ClientStatusTotal, is("variable", "com_select"))),
				way(rate(status+"commands_total", is("command", "select")))),
			com("insert", "insert|insert_select|replace|replace_select|load"),
			com("update", "update|update_multi"),
			com("delete", "delete|delete_multi"),
			com("commit", "commit"),
			com("rollback", "rollback"),
			com("DDL", "(create|alter|drop|rename|truncate|optimize|analyze)(_.*)?"),
		}},
		{ID: "rows", Group: Work, Title: "Rows", Unit: "rows/s", About: "Rows that InnoDB read and changed; where " +
			"the server does not count them, the calls of its storage engines.", Lines: []Line{
			rows("read", "read", "read_(first|key|last|next|prev|rnd|rnd_next)"),
			rows("inserted", "inserted", "write"),
			rows("updated", "updated", "update"),
			rows("deleted", "deleted", "delete"),
		}},
		{
			ID: "temporary", Group: Work, Title: "Scans, sorts, temporary tables", Unit: "/s",
			About: "Work that an index often saves, without Dyno's own.", Lines: []Line{
				line("full scans", source.GlobalStatus, clients("select_scan")...),
				line("joins without index", source.GlobalStatus, clients("select_full_join")...),
				line("temporary tables", source.GlobalStatus, clients("created_tmp_tables")...),
				line("on disk", source.GlobalStatus, clients("created_tmp_disk_tables")...),
				line("merge passes of sorts", source.GlobalStatus, clients("sort_merge_passes")...),
			},
		},
		{
			ID: "network", Group: Work, Title: "Network of the server", Unit: "B/s",
			About: "Bytes between the server and its clients.", Lines: []Line{
				line("sent", source.GlobalStatus, clients("bytes_sent")...),
				line("received", source.GlobalStatus, clients("bytes_received")...),
			},
		},
		{ID: "attempts", Group: Work, Title: "New connections", Unit: "/s", About: "Connections opened, aborted by " +
			"the client, and failed.", Lines: []Line{
			line("new", source.GlobalStatus, clients("connections")...),
			line("aborted", source.GlobalStatus, way(rate(status+"aborted_clients"))),
			line("failed", source.GlobalStatus, way(rate(status+"aborted_connects"))),
		}},
	}
}

func waits() []Panel {
	event := func(name string, ms ...Match) Line {
		return line(name, source.Waits, way(rate(pfs+"events_waits_seconds_total", ms...))).else_(noInstr)
	}
	const name = "event_name"
	sessions := func(states string) Way {
		w := way(gauge("mysql_info_schema_processlist_threads", like("state", states)))
		w.Zero = "mysql_info_schema_processlist_longest_seconds"
		return w
	}
	session := func(name, state string) Line { return line(name, source.Processlist, sessions(state)) }
	// A server books a wait when it ends: a long one would show as a peak after it. Those who wait in each second are
	// its seconds.
	const waitingForRow = status + "innodb_row_lock_current_waits"
	return []Panel{
		{
			ID: "time", Group: Waits, Title: "Server time by wait class", Unit: "s/s", Stacked: true,
			About: "Time a second that all threads of the server, those in the background too, spent on a CPU or " +
				"waiting; idle connections are left out. Waits for locks are the sessions that waited in each second.",
			Lines: []Line{
				line("on a CPU", source.Process, way(rate("dyno_server_cpu_seconds_total"))).else_(noHost),
				line("waiting for a CPU", source.ProcessThreads, way(rate("dyno_server_run_queue_seconds_total"))).
					else_(noHost),
				event("data files", like(name, "wait/io/file/innodb/innodb_(data|temp|dblwr|arch|clone)_file")),
				event("redo log", is(name, "wait/io/file/innodb/innodb_log_file")),
				event("binary log",
					like(name,
						"wait/io/file/sql/(binlog|binlog_index|binlog_cache|binlog_index_cache|relaylog|"+
							"relaylog_index|relaylog_cache)")),
				event("other files", like(name, "wait/io/file/.*"),
					unlike(name, "wait/io/file/(innodb/innodb_.*|sql/(binlog|relaylog).*)")),
				line("row locks", source.GlobalStatus, way(gauge(waitingForRow)),
					way(rate(status+"innodb_row_lock_time")).times(0.001)),
				line("table and metadata locks", source.Processlist, sessions("metadata_lock|lock"),
					way(rate(pfs+"events_waits_seconds_total", like(name, "wait/lock/.*")))),
			},
		},
		{ID: "locks", Group: Waits, Title: "Locks", Unit: "/s", About: "Statements that waited for a lock, and those " +
			"that timed out or were rolled back.", Lines: []Line{
			line("row lock waits", source.GlobalStatus, way(rate(status+"innodb_row_lock_waits"))),
			line("table lock waits", source.GlobalStatus, way(rate(status+"table_locks_waited"))),
			line("deadlocks", source.InnodbMetrics, way(rate(status+"innodb_deadlocks")),
				way(rate(metrics+"lock_lock_deadlocks_total"))),
			line("lock timeouts", source.InnodbMetrics, way(rate(metrics+"lock_lock_timeouts_total"))),
		}},
		{
			ID: "waiting", Group: Waits, Title: "Waiting for locks", Unit: "sessions",
			About: "Sessions that waited for a lock at that moment; row locks as InnoDB counts them, the others by " +
				"the process list.", Lines: []Line{
				line("row locks", source.GlobalStatus, way(gauge(waitingForRow))),
				session("metadata locks", "metadata_lock"),
				session("other locks", "lock"),
			},
		},
		{ID: "purge", Group: Waits, Title: "Purge", Unit: "transactions", About: "Old row versions that wait for " +
			"purge: the history list. It grows while an old transaction is open.", Lines: []Line{
			line("history list", source.InnodbMetrics, way(gauge(status+"innodb_history_list_length")),
				way(gauge(metrics+"transaction_trx_rseg_history_len")), way(gauge("dyno_innodb_history_length"))),
			line("purge lag", source.InnodbStatus, way(gauge("dyno_innodb_purge_behind_transactions"))),
		}},
		{
			ID: "transaction", Group: Waits, Title: "Longest transaction", Unit: "s",
			About: "Age of the oldest open transaction; while it is open, nothing younger can be purged.",
			Lines: []Line{
				line("oldest", source.InnodbStatus, way(gauge("dyno_innodb_transaction_longest_seconds"))),
				line("longest lock wait", source.InnodbStatus, way(gauge("dyno_innodb_lock_wait_longest_seconds"))),
			},
		},
		{ID: "replication", Group: Waits, Title: "Replication", Unit: "s", About: "Lag of this replica behind its " +
			"source; of several channels the worst.", Lines: []Line{
			line("lag", source.Replication,
				Way{Terms: []Term{gauge("dyno_replica_lag_seconds")}, Most: true},
				Way{Terms: []Term{gauge("mysql_slave_status_seconds_behind_master")}, Most: true}).else_(noReplica),
		}},
	}
}

func limits() []Panel {
	whole := unlike("device", "(dm-|md|loop|zram|sr).*")
	disk := func(name, series string) Line {
		return line(name, source.Host, way(rate(series, whole)), way(rate(series))).else_(noHost)
	}
	const (
		rss   = "dyno_server_resident_bytes"
		pool  = status + "innodb_buffer_pool_bytes_data"
		total = "node_memory_MemTotal_bytes"
		avail = "node_memory_MemAvailable_bytes"
	)
	return []Panel{
		{ID: "misses", Group: Limit, Title: "Buffer pool misses", Unit: "/s", About: "Pages that were not in the " +
			"buffer pool and had to be read, on demand or by read-ahead.", Lines: []Line{
			line("misses", source.GlobalStatus, way(rate(status+"innodb_buffer_pool_reads"))),
			line("read ahead", source.GlobalStatus, way(rate(status+"innodb_buffer_pool_read_ahead"))),
			line("waits for a free page", source.GlobalStatus, way(rate(status+"innodb_buffer_pool_wait_free"))),
		}},
		{ID: "hits", Group: Limit, Title: "Buffer pool hit ratio", Unit: "ratio", About: "Share of the page requests " +
			"that found their page in the buffer pool.", Lines: []Line{
			line("hits", source.GlobalStatus, way(rate(status+"innodb_buffer_pool_read_requests"),
				less(rate(status+"innodb_buffer_pool_reads"))).over(rate(status+"innodb_buffer_pool_read_requests"))),
		}},
		{
			ID: "pool", Group: Limit, Title: "Buffer pool", Unit: "B", Stacked: true,
			About: "What the pages of InnoDB's buffer pool hold. Dirty pages must be written before they can be " +
				"replaced; free pages include InnoDB's own tables.", Lines: []Line{
				line("changed", source.GlobalStatus, way(gauge(status+"innodb_buffer_pool_bytes_dirty"))),
				line("unchanged", source.GlobalStatus,
					way(gauge(pool), less(gauge(status+"innodb_buffer_pool_bytes_dirty")))),
				line("free", source.Variables, way(gauge(setting+"innodb_buffer_pool_size"), less(gauge(pool)))).rest(),
			},
		},
		{ID: "redo", Group: Limit, Title: "Redo log written", Unit: "B/s", About: "What changes write to InnoDB's " +
			"redo log.", Lines: []Line{
			line("written", source.GlobalStatus, way(rate(status+"innodb_os_log_written"))),
		}},
		{ID: "checkpoint", Group: Limit, Title: "Checkpoint age", Unit: "B", About: "Redo log that a crash would " +
			"have to read again. At the limit every change waits until pages are written.", Lines: []Line{
			line("age", source.GlobalStatus,
				way(gauge(status+"innodb_checkpoint_age")),
				way(gauge(status+"innodb_redo_log_current_lsn"), less(gauge(status+"innodb_redo_log_checkpoint_lsn"))),
				way(gauge("dyno_innodb_checkpoint_age_bytes"))),
			line("limit", source.Variables, way(gauge(status+"innodb_checkpoint_max_age")),
				way(gauge(setting+"innodb_redo_log_capacity"))).else_(otherServer).limit(),
		}},
		{
			ID: "diskops", Group: Limit, Title: "Disk operations", Unit: "/s",
			About: "Reads and writes of the machine's disks, by all programs.", Lines: []Line{
				disk("reads", "node_disk_reads_completed_total"),
				disk("writes", "node_disk_writes_completed_total"),
			},
		},
		{
			ID: "diskbytes", Group: Limit, Title: "Disk throughput", Unit: "B/s",
			About: "Bytes to and from the machine's disks, and what of it is the server's.", Lines: []Line{
				disk("read", "node_disk_read_bytes_total"),
				disk("written", "node_disk_written_bytes_total"),
				line("read by the server", source.Process, way(rate("dyno_server_io_read_bytes_total"))).else_(noHost),
				line("written by the server", source.Process,
					way(rate("dyno_server_io_written_bytes_total"))).else_(noHost),
			},
		},
		{
			ID: "diskbusy", Group: Limit, Title: "Disk busy", Unit: "ratio",
			About: "Share of the time in which a disk " +
				"had something to do, the busiest of them. A disk that serves many requests at once can do more at " +
				"100 %.",
			Lines: []Line{
				line("busy", source.Host,
					Way{Terms: []Term{rate("node_disk_io_time_seconds_total", whole)}, Most: true},
					Way{Terms: []Term{rate("node_disk_io_time_seconds_total")}, Most: true}).else_(noHost),
			},
		},
		{
			ID: "memory", Group: Limit, Title: "Memory of the machine", Unit: "B", Stacked: true,
			About: "Use of memory. Available memory includes file caches that can be reclaimed.", Lines: []Line{
				line("buffer pool", source.GlobalStatus, way(gauge(pool))),
				line("the rest of the server", source.Process, way(gauge(rss), less(gauge(pool)))).else_(noHost),
				line("others", source.Host, way(gauge(total), less(gauge(avail)), less(gauge(rss)))).else_(noHost),
				line("available", source.Host, way(gauge(avail))).else_(noHost).rest(),
			},
		},
		{
			ID: "pressure", Group: Limit, Title: "Resource pressure (PSI)", Unit: "ratio",
			About: "Share of the time in which some process was stalled for lack of a CPU, the disk or memory.",
			Lines: []Line{
				line("CPU", source.Host, way(rate("node_pressure_cpu_waiting_seconds_total"))).else_(noHost),
				line("disk", source.Host, way(rate("node_pressure_io_waiting_seconds_total"))).else_(noHost),
				line("memory", source.Host, way(rate("node_pressure_memory_waiting_seconds_total"))).else_(noHost),
			},
		},
	}
}
