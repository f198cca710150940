package config

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/test/snap"
)

// durable is a server that syncs its logs at every commit and inserts single rows: so many a second, so long each, with
// so many syncs a second of so many seconds each.
func durable(perSec, each, syncs, sync float64) *snap.Made {
	m := snap.Build().MySQL("9.7.4").Set("innodb_flush_log_at_trx_commit", "1").Set("sync_binlog", "1").Set("log_bin",
		"ON").Status("Com_insert", perSec).Status("Com_update", 0).Status("Com_commit", 0)
	for _, e := range []string{"wait/io/file/innodb/innodb_log_file", "wait/io/file/sql/binlog"} {
		m.Rate("mysql_perf_schema_file_events_seconds_total", syncs*sync/2, "event_name", e, "mode", "misc").
			Rate("mysql_perf_schema_file_events_total", syncs/2, "event_name", e, "mode", "misc")
	}
	m.Exact("INSERT INTO orders (customer) VALUES (7)", uint64(perSec*snap.Window), each, 0, 0, func(c *class.Class) {
		c.Affected = known.Of(c.Count)
	})
	return m
}

func TestCommitFlush(t *testing.T) {
	commit := map[string]int{"waiting for handler commit": 2}
	idle := func(m *snap.Made) *snap.Made { // there are CPUs for all
		return m.Rate("dyno_server_run_queue_seconds_total", 0.01).Rate("dyno_server_context_switches_total",
			1000, "kind", "voluntary")
	}
	f, ok := told(t, commitFlush, sessions(idle(durable(70, 0.028, 140, 0.011)), 10, commit))
	if !ok || f.Severity != finding.Critical || f.Confidence != finding.Certain || f.Action != nil ||
		len(f.Setting) != 0 || len(f.Subject.Classes) != 1 {
		t.Errorf("%v %+v", ok, f)
	}
	// Without performance_schema the phases of statements tell.
	m := sessions(idle(durable(70, 0.028, 140, 0.011)).Set("sync_binlog", "0"), 10, map[string]int{"Commit": 2})
	keep := m.S.Series[:0]
	for _, x := range m.S.Series {
		if len(x.Labels) == 0 || x.Labels.Get("event_name") == "" {
			keep = append(keep, x)
		}
	}
	m.S.Series = keep
	if f, ok = told(t, commitFlush, m); !ok || f.Confidence != finding.Likely {
		t.Errorf("%v %+v", ok, f)
	}
	// From afar nobody can tell a slow disk from a machine without a free CPU.
	if f, ok = told(t, commitFlush, sessions(durable(70, 0.028, 140, 0.011), 10, commit)); !ok ||
		f.Confidence != finding.Possible || len(f.Unobserved) == 0 {
		t.Errorf("%v %+v", ok, f)
	}
}

func TestCommitFlushSilent(t *testing.T) {
	commit := map[string]int{"waiting for handler commit": 2}
	// a quick disk
	quiet(t, commitFlush, sessions(durable(1000, 0.002, 1200, 0.0003), 10, commit))
	// nothing is synced
	quiet(t, commitFlush, sessions(durable(70, 0.028, 140, 0.011).Set("innodb_flush_log_at_trx_commit", "2").
		Set("sync_binlog", "0"), 10, commit))
	// hardly any writes
	quiet(t, commitFlush, sessions(durable(2, 0.028, 4, 0.011), 10, commit))
	// the CPUs are what is waited for
	quiet(t, commitFlush, sessions(durable(70, 0.028, 140, 0.011).Rate("dyno_server_run_queue_seconds_total", 12).
		Rate("dyno_server_context_switches_total", 1000, "kind", "voluntary"), 10, commit))
	// one sync for many commits
	quiet(t, commitFlush, sessions(durable(70, 0.0004, 2, 0.011), 10, map[string]int{"Sending data": 2}))
	// Without performance_schema samples see few of many short writes: 40 a second of 2.4 ms, each that was seen taken
	// for the 100 ms between two samples. Ten a second of 9.6 ms are a slow disk's.
	for perSec, want := range map[float64]bool{40: false, 10: true} {
		m := snap.Build().Set("innodb_flush_log_at_trx_commit", "1").Status("Com_insert", perSec).
			Status("Com_commit", 0)
		m.Exact("INSERT INTO orders (customer) VALUES (7)", 10, 0.096, 0, 0, func(c *class.Class) { c.Sampled = true })
		if f, ok := told(t, commitFlush, sessions(m, 40, map[string]int{"Commit": 1})); ok != want {
			t.Errorf("%v writes a second: %+v", perSec, f)
		}
	}
	// Grouped as it is: ten rows to a transaction.
	m := durable(700, 0.0001, 140, 0.011)
	for i, x := range m.S.Series {
		if x.Labels.Get("command") == "commit" {
			for n := range x.Points {
				m.S.Series[i].Points[n].Value = float64(70 * n)
			}
		}
	}
	quiet(t, commitFlush, sessions(m, 10, commit))
	// The commits of a replica's applier are no matter of its clients.
	quiet(t, commitFlush, durable(70, 0.028, 140, 0.011).Gauge("dyno_replica_channels", 1))
	// Reads take the time.
	quiet(t, commitFlush, durable(10, 0.028, 20, 0.011).Exact("SELECT name FROM customers WHERE id = 5", 20_000, 0.01,
		1, 1))
	quiet(t, commitFlush, snap.Build())
}
