package state

import (
	"math"
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Figures are those values of one reading that vitals are made of. They hold no part of the samples they were taken
// from.
type Figures struct {
	sums  [figures]float64
	known [figures]bool
	users [figures]bool // of clients alone
	disks map[string]disk
	cpus  map[string]bool // labels of the CPUs
}

type disk struct{ reads, writes, readBytes, writeBytes, busy float64 }

// figure is one input: values of the samples of its name, summed or the largest.
type figure uint8

const (
	questions figure = iota
	commits
	rollbacks
	transactions
	statements
	statementSec
	running
	connected
	slow
	serverCPU
	rowsRead
	rowsInserted
	rowsUpdated
	rowsDeleted
	handlerReads
	handlerWrite
	handlerUpdate
	handlerDelete
	poolMisses
	poolRequests
	pagesDirty
	pagesFree
	pagesTotal
	redo
	checkpointAge
	checkpointAgeMetric
	redoLSN
	redoCheckpointLSN
	history
	historyMetric
	rowLockWaits
	rowLockWaiting
	tmpDisk
	received
	sent
	abortedClients
	abortedConnects
	lag
	serverLag
	uptime
	memAvailable
	rss
	cpuAll // seconds of all CPUs in all modes
	cpuBusy
	cpuSystem
	cpuIOWait
	cpuSteal
	cpuEachAll // the same where the samples are by CPU
	cpuEachBusy
	cpuEachSystem
	cpuEachIOWait
	cpuEachSteal
	pressureCPU
	pressureIO
	pressureMemory
	sourceSec
	targetCPU
	clientCPU
	cpuCount
	figures // how many there are
)

const status = "mysql_global_status_"

// input tells the samples of a figure from others: by their name, and by the label of those status variables that are
// gathered under one.
type input struct{ name, of string }

// inputs lists the samples that are looked at but for those of CPUs and disks: those of all families, and what each
// family of servers has. No name is of two families, so a server's own samples say which it is.
var inputs = func() map[input][]figure {
	all := map[input][]figure{}
	for name, k := range everywhere {
		all[input{name: name}] = []figure{k}
	}
	for in, k := range ofMySQL {
		all[in] = []figure{k}
	}
	for name, ks := range ofPostgres {
		all[input{name: name}] = ks
	}
	return all
}()

// everywhere are the samples of the machine and of Dyno's own, of servers of all families.
var everywhere = map[string]figure{
	"dyno_server_cpu_seconds_total":              serverCPU,
	"dyno_replica_lag_seconds":                   lag,
	"node_memory_MemAvailable_bytes":             memAvailable,
	"dyno_server_resident_bytes":                 rss,
	"node_pressure_cpu_waiting_seconds_total":    pressureCPU,
	"node_pressure_io_waiting_seconds_total":     pressureIO,
	"node_pressure_memory_waiting_seconds_total": pressureMemory,
	"dyno_scrape_server_seconds_total":           sourceSec,
	"dyno_classes_server_seconds_total":          sourceSec,
	"dyno_target_cpu_seconds_total":              targetCPU,
	"dyno_scrape_client_cpu_seconds_total":       clientCPU,
	"dyno_host_cpus":                             cpuCount,
}

// ofMySQL are those of MySQL and MariaDB.
var ofMySQL = map[input]figure{
	{name: status + "questions"}:                                questions,
	{metric.Commands.Name, "commit"}:                            commits,
	{metric.Commands.Name, "rollback"}:                          rollbacks,
	{name: "mysql_perf_schema_events_statements_total"}:         statements,
	{name: "mysql_perf_schema_events_statements_seconds_total"}: statementSec,
	{name: status + "threads_running"}:                          running,
	{name: status + "threads_connected"}:                        connected,
	{name: status + "slow_queries"}:                             slow,
	{metric.RowOps.Name, "read"}:                                rowsRead,
	{metric.RowOps.Name, "inserted"}:                            rowsInserted,
	{metric.RowOps.Name, "updated"}:                             rowsUpdated,
	{metric.RowOps.Name, "deleted"}:                             rowsDeleted,
	{metric.Handlers.Name, "read_first"}:                        handlerReads,
	{metric.Handlers.Name, "read_key"}:                          handlerReads,
	{metric.Handlers.Name, "read_last"}:                         handlerReads,
	{metric.Handlers.Name, "read_next"}:                         handlerReads,
	{metric.Handlers.Name, "read_prev"}:                         handlerReads,
	{metric.Handlers.Name, "read_rnd"}:                          handlerReads,
	{metric.Handlers.Name, "read_rnd_next"}:                     handlerReads,
	{metric.Handlers.Name, "write"}:                             handlerWrite,
	{metric.Handlers.Name, "update"}:                            handlerUpdate,
	{metric.Handlers.Name, "delete"}:                            handlerDelete,
	{name: status + "innodb_buffer_pool_reads"}:                 poolMisses,
	{name: status + "innodb_buffer_pool_read_requests"}:         poolRequests,
	{name: metric.PoolDirtyPages}:                               pagesDirty,
	{metric.PoolPages, "free"}:                                  pagesFree,
	{name: status + "innodb_buffer_pool_pages_total"}:           pagesTotal,
	{name: status + "innodb_os_log_written"}:                    redo,
	{name: status + "innodb_checkpoint_age"}:                    checkpointAge,
	{name: status + "innodb_redo_log_current_lsn"}:              redoLSN,
	{name: status + "innodb_redo_log_checkpoint_lsn"}:           redoCheckpointLSN,
	{name: status + "innodb_history_list_length"}:               history,
	{name: status + "innodb_row_lock_waits"}:                    rowLockWaits,
	{name: status + "innodb_row_lock_current_waits"}:            rowLockWaiting,
	{name: status + "created_tmp_disk_tables"}:                  tmpDisk,
	{name: status + "bytes_received"}:                           received,
	{name: status + "bytes_sent"}:                               sent,
	{name: status + "aborted_clients"}:                          abortedClients,
	{name: status + "aborted_connects"}:                         abortedConnects,
	{name: status + "uptime"}:                                   uptime,
	{name: "mysql_slave_status_seconds_behind_master"}:          serverLag,
	// INNODB_METRICS, where the status lacks them.
	{name: "mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len"}:      historyMetric,
	{name: "mysql_info_schema_innodb_metrics_log_log_lsn_checkpoint_age"}:            checkpointAgeMetric,
	{name: "mysql_info_schema_innodb_metrics_log_log_lsn_checkpoint_age_total"}:      checkpointAgeMetric,
	{name: "mysql_info_schema_innodb_metrics_recovery_log_lsn_checkpoint_age"}:       checkpointAgeMetric,
	{name: "mysql_info_schema_innodb_metrics_recovery_log_lsn_checkpoint_age_total"}: checkpointAgeMetric,
}

// ofPostgres are those of PostgreSQL. It has no figure for slow statements, free and dirty pages of its buffers, a
// history of row versions, past waits for rows and bytes from and to clients; and of the time of statements Dyno's own
// part is not known, which would be most of it on a quiet server.
var ofPostgres = map[string][]figure{
	"dyno_client_statements_total":        {questions},
	"dyno_client_transactions_total":      {transactions},
	"dyno_sessions_running":               {running},
	"dyno_sessions":                       {connected},
	"pg_stat_database_tup_returned":       {rowsRead},
	"pg_stat_database_tup_inserted":       {rowsInserted},
	"pg_stat_database_tup_updated":        {rowsUpdated},
	"pg_stat_database_tup_deleted":        {rowsDeleted},
	"pg_stat_database_blks_read":          {poolMisses, poolRequests},
	"pg_stat_database_blks_hit":           {poolRequests},
	"pg_stat_database_temp_files":         {tmpDisk},
	"pg_stat_database_sessions_abandoned": {abortedClients},
	"pg_stat_database_sessions_fatal":     {abortedClients},
	"pg_stat_database_sessions_killed":    {abortedClients},
	"pg_stat_wal_bytes_total":             {redo},
	"dyno_checkpoint_age_bytes":           {checkpointAge},
	"dyno_row_lock_waiters":               {rowLockWaiting},
	"dyno_uptime_seconds":                 {uptime},
}

// ofClients finds the input of a status variable, by its name in lower case.
var ofClients = func() map[string]input {
	by := map[string]input{}
	for in := range ofMySQL {
		by[strings.TrimPrefix(in.name, status)] = in
		for _, f := range []metric.Family{metric.Commands, metric.Handlers, metric.RowOps} {
			if f.Name == in.name {
				by[f.Prefix+in.of] = in
			}
		}
	}
	return by
}()

// Take picks from the samples of one reading what vitals are made of. Where the status of clients is known, Dyno's own
// part is left out.
func Take(samples []metric.Sample) Figures {
	var f Figures
	clients := map[input]bool{} // the server's totals that are not needed
	for i := range samples {
		if x := &samples[i]; x.Name == metric.ClientStatus || x.Name == metric.ClientStatusTotal {
			if in, ok := ofClients[x.Labels.Get("variable")]; ok {
				k := ofMySQL[in]
				f.add(k, x.Value)
				clients[in], f.users[k] = true, true
			}
		}
	}
	for i := range samples {
		x := &samples[i]
		in := input{name: x.Name}
		if len(x.Labels) == 1 && strings.HasPrefix(x.Name, status) {
			in.of = x.Labels[0].Value
		}
		if ks, ok := inputs[in]; ok {
			for _, k := range ks {
				switch {
				case clients[in]:
				case k != lag && k != serverLag:
					f.add(k, x.Value)
				case !f.known[k] || x.Value > f.sums[k]: // the worst channel
					f.sums[k], f.known[k] = x.Value, true
				}
			}
			continue
		}
		switch {
		case x.Name == "node_cpu_seconds_total":
			f.cpu(x)
		case strings.HasPrefix(x.Name, "node_disk_"):
			f.disk(x)
		}
	}
	return f
}

func (f *Figures) add(k figure, v float64) {
	f.sums[k] += v
	f.known[k] = true
}

func (f *Figures) get(k figure) (float64, bool) { return f.sums[k], f.known[k] }

// cpu adds a sample of CPU time; one without the label cpu is of all of them.
func (f *Figures) cpu(x *metric.Sample) {
	by := figure(0)
	if id := x.Labels.Get("cpu"); id != "" {
		by = cpuEachAll - cpuAll
		if f.cpus == nil {
			f.cpus = map[string]bool{}
		}
		f.cpus[id] = true
	}
	f.add(cpuAll+by, x.Value)
	switch x.Labels.Get("mode") {
	case "idle":
	case "iowait":
		f.add(cpuIOWait+by, x.Value)
	case "steal":
		f.add(cpuSteal+by, x.Value)
		f.add(cpuBusy+by, x.Value)
	case "system", "irq", "softirq":
		f.add(cpuSystem+by, x.Value)
		f.add(cpuBusy+by, x.Value)
	default:
		f.add(cpuBusy+by, x.Value)
	}
}

func (f *Figures) disk(x *metric.Sample) {
	var set func(*disk)
	switch x.Name {
	case "node_disk_reads_completed_total":
		set = func(d *disk) { d.reads = x.Value }
	case "node_disk_writes_completed_total":
		set = func(d *disk) { d.writes = x.Value }
	case "node_disk_read_bytes_total":
		set = func(d *disk) { d.readBytes = x.Value }
	case "node_disk_written_bytes_total":
		set = func(d *disk) { d.writeBytes = x.Value }
	case "node_disk_io_time_seconds_total":
		set = func(d *disk) { d.busy = x.Value }
	default:
		return
	}
	if f.disks == nil {
		f.disks = map[string]disk{}
	}
	name := x.Labels.Get("device")
	d := f.disks[name]
	set(&d)
	f.disks[name] = d
}

// Between makes the headline figures of a reading from its figures and those of the reading before, which was taken
// seconds earlier. What a figure is made of must be in both for a rate, and a counter must not have fallen; else the
// figure is missing. Rates have six significant digits.
func Between(prev, cur Figures, seconds float64) []Vital {
	var out []Vital
	put := func(name string, v float64, ok bool) {
		if ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, Vital{name, v})
		}
	}
	gauge := func(name string, ks ...figure) bool {
		for _, k := range ks {
			if v, ok := cur.get(k); ok {
				put(name, v, true)
				return true
			}
		}
		return false
	}
	ratio := func(name string, part, whole figure) {
		p, ok1 := cur.get(part)
		w, ok2 := cur.get(whole)
		put(name, digits(p/w), ok1 && ok2 && w > 0)
	}
	b, ok1 := prev.get(uptime)
	a, ok2 := cur.get(uptime)
	restarted := ok1 && ok2 && a < b
	// growth sums what counters of the server grew by.
	growth := func(ks ...figure) (sum float64, ok bool) {
		for _, k := range ks {
			x, ok1 := prev.get(k)
			y, ok2 := cur.get(k)
			if !ok1 || !ok2 || y < x || seconds <= 0 || prev.users[k] != cur.users[k] {
				return 0, false
			}
			sum += y - x
		}
		return sum, true
	}
	rate := func(name string, ks ...figure) bool {
		v, ok := growth(ks...)
		ok = ok && !(restarted && ks[0] < memAvailable)
		put(name, digits(v/seconds), ok)
		return ok
	}
	rate(QPS, questions)
	if !rate(TPS, commits, rollbacks) {
		rate(TPS, transactions)
	}
	if n, ok := growth(statements); ok && n > 0 && !restarted {
		sec, ok := growth(statementSec)
		put(Latency, digits(sec/n), ok)
	}
	gauge(Uptime, uptime)
	gauge(Running, running)
	gauge(Connected, connected)
	rate(SlowQueries, slow)
	cpus, counted := cur.get(cpuCount)
	if !counted {
		cpus, counted = float64(len(cur.cpus)), len(cur.cpus) > 0
	}
	put(HostCPUs, cpus, counted)
	if v, ok := growth(serverCPU); ok && !restarted {
		if v /= seconds; counted { // the process is read at another moment in each second
			v = min(v, cpus)
		}
		put(ServerCPU, digits(v), true)
	}
	by := figure(0)
	if _, ok := cur.get(cpuAll); !ok {
		by = cpuEachAll - cpuAll
	}
	if all, ok := growth(cpuAll + by); ok && all > 0 {
		share := func(name string, k figure) {
			v, ok := growth(k + by)
			put(name, digits(min(1, v/all)), ok)
		}
		share(HostCPUBusy, cpuBusy)
		share(HostCPUSystem, cpuSystem)
		share(HostIOWait, cpuIOWait)
		share(HostSteal, cpuSteal)
	}
	gauge(MemAvailable, memAvailable)
	gauge(ServerRSS, rss)
	disks(prev, cur, seconds, put)
	if !rate(RowsRead, rowsRead) {
		rate(RowsRead, handlerReads)
	}
	if !rate(RowsWritten, rowsInserted, rowsUpdated, rowsDeleted) {
		rate(RowsWritten, handlerWrite, handlerUpdate, handlerDelete)
	}
	rate(PoolMisses, poolMisses)
	rate(PoolRequests, poolRequests)
	ratio(PoolDirty, pagesDirty, pagesTotal)
	ratio(PoolFree, pagesFree, pagesTotal)
	rate(RedoBytes, redo)
	if lsn, ok := cur.get(redoLSN); ok && !gauge(Checkpoint, checkpointAge) {
		at, ok := cur.get(redoCheckpointLSN)
		put(Checkpoint, lsn-at, ok && lsn >= at)
	} else if !ok {
		gauge(Checkpoint, checkpointAge, checkpointAgeMetric)
	}
	gauge(History, history, historyMetric)
	rate(RowLockWaits, rowLockWaits)
	gauge(RowLockWaiting, rowLockWaiting)
	rate(TmpDisk, tmpDisk)
	rate(BytesIn, received)
	rate(BytesOut, sent)
	if !rate(Aborted, abortedClients, abortedConnects) && !cur.known[abortedConnects] {
		rate(Aborted, abortedClients)
	}
	gauge(ReplicaLag, lag, serverLag)
	rate(PressureCPU, pressureCPU)
	rate(PressureIO, pressureIO)
	rate(PressureMemory, pressureMemory)
	rate(ScrapeServer, sourceSec)
	if !rate(ScrapeClient, targetCPU) {
		rate(ScrapeClient, clientCPU)
	}
	return out
}

// disks sums over the disks that are in both readings.
func disks(prev, cur Figures, seconds float64, put func(string, float64, bool)) {
	var sum disk
	n := 0
	stacked := func(name string) bool { return strings.HasPrefix(name, "dm-") || strings.HasPrefix(name, "md") }
	whole := false // there is one that stands on no other: what is stacked upon them would be counted twice
	for name := range cur.disks {
		whole = whole || !stacked(name)
	}
	for name, y := range cur.disks {
		if whole && stacked(name) {
			continue
		}
		x, ok := prev.disks[name]
		if !ok || y.reads < x.reads || y.writes < x.writes || y.readBytes < x.readBytes ||
			y.writeBytes < x.writeBytes || y.busy < x.busy {
			continue
		}
		n++
		sum.reads += y.reads - x.reads
		sum.writes += y.writes - x.writes
		sum.readBytes += y.readBytes - x.readBytes
		sum.writeBytes += y.writeBytes - x.writeBytes
		sum.busy = max(sum.busy, y.busy-x.busy)
	}
	ok := n > 0 && seconds > 0
	put(DiskReads, digits(sum.reads/seconds), ok)
	put(DiskWrites, digits(sum.writes/seconds), ok)
	put(DiskReadBytes, digits(sum.readBytes/seconds), ok)
	put(DiskWriteBytes, digits(sum.writeBytes/seconds), ok)
	put(DiskBusy, digits(min(1, sum.busy/seconds)), ok)
}

// digits rounds to six significant digits: more is noise, and noise is what a kept state would mostly be made of.
func digits(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	p := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(v))))
	if math.IsInf(p, 0) || p == 0 {
		return v
	}
	return math.Round(v*p) / p
}
