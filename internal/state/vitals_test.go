package state

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
)

// reading makes samples of "name" or "name value-of-its-label".
func reading(kv map[string]float64, ls ...metric.Sample) []metric.Sample {
	for n, v := range kv {
		x := metric.Sample{Name: n, Value: v}
		if name, of, ok := strings.Cut(n, " "); ok {
			x.Name, x.Labels = name, metric.L("by", of)
		}
		ls = append(ls, x)
	}
	return ls
}

func named(vs []Vital) map[string]float64 {
	m := map[string]float64{}
	for _, v := range vs {
		m[v.Name] = v.Value
	}
	return m
}

func TestVitals(t *testing.T) {
	f := func(name string, prev, cur []metric.Sample, seconds float64, want map[string]float64) {
		t.Helper()
		vs := Between(Take(prev), Take(cur), seconds)
		got := named(vs)
		if len(got) != len(vs) {
			t.Errorf("%s: a name stands twice: %v", name, vs)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	const g = "mysql_global_status_"
	const commit, rollback = g + "commands_total commit", g + "commands_total rollback"
	type m = map[string]float64
	f("nothing", nil, nil, 1, m{})
	f("a rate", reading(m{g + "questions": 10}), reading(m{g + "questions": 30}), 2, m{QPS: 10})
	f("no time passed", reading(m{g + "questions": 10}), reading(m{g + "questions": 30}), 0, m{})
	f("fallen", reading(m{g + "questions": 10}), reading(m{g + "questions": 3}), 1, m{})
	f("not there before", nil, reading(m{g + "questions": 3, g + "threads_running": 2}), 1, m{Running: 2})
	f("a restart that a counter does not show",
		reading(m{g + "uptime": 100, g + "questions": 10, commit: 5, rollback: 1}),
		reading(m{g + "uptime": 3, g + "questions": 500, commit: 7, rollback: 1}), 1, m{Uptime: 3})
	f("both or none", reading(m{commit: 1}), reading(m{commit: 5}), 1, m{})
	f("sums", reading(m{commit: 1, rollback: 1}),
		reading(m{commit: 5, rollback: 2}), 1, m{TPS: 5})
	f("an idle server", reading(m{g + "questions": 10}), reading(m{g + "questions": 10}), 1, m{QPS: 0})
	f("rows by InnoDB's count", reading(m{g + "innodb_row_ops_total read": 1, g + "handlers_total read_next": 5}),
		reading(m{g + "innodb_row_ops_total read": 4, g + "handlers_total read_next": 50}), 1, m{RowsRead: 3})
	f("rows by the handlers", reading(m{g + "handlers_total read_key": 1, g + "handlers_total read_next": 5}),
		reading(m{g + "handlers_total read_key": 2, g + "handlers_total read_next": 50}), 1, m{RowsRead: 46})
	f("the pool", nil, reading(m{
		g + "buffer_pool_dirty_pages": 25, g + "buffer_pool_pages free": 0,
		g + "innodb_buffer_pool_pages_total": 100,
	}), 1, m{PoolDirty: 0.25, PoolFree: 0})
	f("no pool", nil, reading(m{g + "buffer_pool_dirty_pages": 0, g + "innodb_buffer_pool_pages_total": 0}), 1,
		m{})
	f("checkpoint age by the log's positions", nil, reading(m{
		g + "innodb_redo_log_current_lsn":    500,
		g + "innodb_redo_log_checkpoint_lsn": 100,
	}), 1, m{Checkpoint: 400})
	f("history in INNODB_METRICS", nil,
		reading(m{"mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len": 7}), 1, m{History: 7})
	f("digits", reading(m{g + "questions": 0}), reading(m{g + "questions": 1e7}), 3, m{QPS: 3333330})

	cpu := func(mode, id string, v float64) metric.Sample {
		x := metric.Sample{Name: "node_cpu_seconds_total", Labels: metric.L("mode", mode), Value: v}
		if id != "" {
			x.Labels = metric.L("mode", mode, "cpu", id)
		}
		return x
	}
	before := reading(nil, cpu("user", "", 10), cpu("system", "", 10), cpu("idle", "", 10),
		cpu("iowait", "", 10), cpu("steal", "", 0))
	after := reading(nil, cpu("user", "", 10.5), cpu("system", "", 10.25), cpu("idle", "", 11),
		cpu("iowait", "", 10.25), cpu("steal", "", 0))
	cores := m{HostCPUBusy: 0.375, HostCPUSystem: 0.125, HostIOWait: 0.125, HostSteal: 0}
	f("CPU", before, after, 1, cores)
	for i := range 5 { // by CPU as well: counted once
		before = append(before, cpu([]string{"user", "system", "idle", "iowait", "steal"}[i], "0", before[i].Value/2))
		after = append(after, cpu([]string{"user", "system", "idle", "iowait", "steal"}[i], "0", after[i].Value/2))
	}
	cores[HostCPUs] = 1
	f("CPU twice", before, after, 1, cores)
	f("CPU by CPU alone", before[5:], after[5:], 1, cores)

	disk := func(dev string, reads, busy float64) []metric.Sample {
		l := metric.L("device", dev)
		return []metric.Sample{
			{Name: "node_disk_reads_completed_total", Labels: l, Value: reads},
			{Name: "node_disk_io_time_seconds_total", Labels: l, Value: busy},
		}
	}
	io := m{DiskReads: 5, DiskWrites: 0, DiskReadBytes: 0, DiskWriteBytes: 0, DiskBusy: 0.5}
	f("disks", append(disk("sda", 1, 1), disk("sdb", 0, 0)...), append(disk("sda", 5, 1.25), disk("sdb", 1, 0.5)...), 1,
		io)
	f("a disk that came and one that stands on another", append(disk("sda", 1, 1), disk("dm-0", 1, 0)...),
		append(disk("sda", 6, 1.5), append(disk("dm-0", 50, 0.1), disk("sdc", 1e6, 1e6)...)...), 1, io)
	f("stacked ones alone", disk("dm-0", 1, 1), disk("dm-0", 6, 1.5), 1, io)

	lagOf := func(c string, v float64) metric.Sample {
		return metric.Sample{
			Name: "mysql_slave_status_seconds_behind_master", Labels: metric.L("channel_name", c),
			Value: v,
		}
	}
	f("the worst channel", nil, reading(nil, lagOf("a", 3), lagOf("b", 9), lagOf("c", 0)), 1, m{ReplicaLag: 9})
}

func TestFiguresKeepNothingOfTheSamples(t *testing.T) {
	s := reading(map[string]float64{"mysql_global_status_questions": 10})
	a := Take(s)
	s[0].Value = 20
	b := Take(s)
	s[0] = metric.Sample{}
	if got := named(Between(a, b, 1)); got[QPS] != 10 {
		t.Fatal(got)
	}
}

func TestVitalsLeaveDynoOut(t *testing.T) {
	read := func(total, clients float64, known bool) (all []metric.Sample) {
		all = append(all, metric.Sample{Name: "mysql_global_status_questions", Value: total},
			metric.Sample{Name: "mysql_global_status_threads_running", Value: 3})
		if known {
			all = append(all, metric.Sample{
				Name: metric.ClientStatusTotal, Labels: metric.L("variable", "questions"),
				Value: clients,
			},
				metric.Sample{Name: metric.ClientStatus, Labels: metric.L("variable", "threads_running"), Value: 2})
		}
		return all
	}
	f := func(a, b []metric.Sample, want string) {
		t.Helper()
		if got := fmt.Sprint(Between(Take(a), Take(b), 2)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(read(1000, 900, true), read(1030, 910, true), "[{qps 5} {threads_running 2}]")
	f(read(1000, 0, false), read(1030, 0, false), "[{qps 15} {threads_running 3}]")
	f(read(1000, 900, true), read(1030, 0, false), "[{threads_running 3}]") // one with Dyno's part, one without
}

// TestVitalsOfPostgres: what it counts by its own names, and what has no meaning there is absent.
func TestVitalsOfPostgres(t *testing.T) {
	const d = "pg_stat_database_"
	of := func(name, database string, v float64) metric.Sample {
		return metric.Sample{Name: d + name, Labels: metric.L("datid", "1", "datname", database), Value: v}
	}
	read := func(n float64) []metric.Sample {
		return reading(map[string]float64{
			"dyno_client_transactions_total": 10 + 2*n, "dyno_client_statements_total": 5 + 4*n, "dyno_sessions": 7,
			"dyno_sessions_running": 3, "pg_stat_wal_bytes_total": 1000 * n, "dyno_checkpoint_age_bytes": 50,
			"dyno_uptime_seconds": 100 + n, "dyno_row_lock_waiters": 1,
		}, of("blks_read", "a", n), of("blks_read", "b", n), of("blks_hit", "a", 10*n), of("tup_returned", "a", 6*n),
			of("tup_inserted", "a", n), of("tup_updated", "a", n), of("tup_deleted", "a", 0), of("temp_files", "a", n),
			of("sessions_killed", "a", n), of("sessions_fatal", "a", 0), of("sessions_abandoned", "a", 0))
	}
	want := map[string]float64{
		TPS: 2, QPS: 4, Connected: 7, Running: 3, RedoBytes: 1000, Checkpoint: 50, Uptime: 102, RowLockWaiting: 1,
		PoolMisses: 2, PoolRequests: 12, RowsRead: 6, RowsWritten: 2, TmpDisk: 1, Aborted: 1,
	}
	if got := named(Between(Take(read(1)), Take(read(2)), 1)); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
