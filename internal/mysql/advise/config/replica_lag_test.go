package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/test/snap"
)

// behind is a replica whose lag goes from one value to another, and whose appliers are so many.
func behind(m *snap.Made, workers string, from, to float64) *snap.Made {
	name := "slave_parallel_threads"
	if m.S.Target.Flavor != "mariadb" {
		name = "replica_parallel_workers"
	}
	x := metric.Series{Name: "dyno_replica_lag_seconds", Labels: metric.L("channel", "")}
	for i := range snap.Window + 1 {
		x.Points = append(x.Points, metric.Point{At: m.S.From.UnixMilli() + int64(i)*1000, Value: from +
			(to-from)*float64(i)/snap.Window})
	}
	m.S.Series = append(m.S.Series, x)
	return m.Set(name, workers).Gauge("dyno_replica_running", 1, "channel", "", "thread", "sql").
		Rate("mysql_slave_status_read_master_log_pos", 500_000, "channel_name", "", "connection_name", "").
		Rate("mysql_slave_status_exec_master_log_pos", 60_000, "channel_name", "", "connection_name", "")
}

func TestReplicaLag(t *testing.T) {
	f, ok := told(t, replicaLag, behind(snap.Build(), "0", 3, 11))
	if !ok || f.Severity != finding.Critical || len(f.Setting) == 0 ||
		!strings.HasPrefix(f.Setting[0], "slave_parallel_threads = ") || f.Title != "the replica lags by 11 s, and "+
		"the lag grows by 800 ms each second" {
		t.Errorf("MariaDB: %v %+v", ok, f)
	}
	f, ok = told(t, replicaLag, behind(snap.Build().MySQL("9.7.4"), "1", 300, 300))
	if !ok || !strings.HasPrefix(f.Setting[0], "replica_parallel_workers = ") {
		t.Errorf("MySQL: %v %+v", ok, f)
	}
	// it applies in parallel: something else is wrong
	f, ok = told(t, replicaLag, behind(snap.Build().MySQL("9.7.4"), "8", 3, 11))
	if !ok || len(f.Setting) != 0 || f.Confidence != finding.Possible {
		t.Errorf("parallel: %v %+v", ok, f)
	}
}

// An applier that stands in one transaction is not helped by more of them, and one that shares the work by schema not
// by a number alone.
func TestReplicaLagOf(t *testing.T) {
	m := behind(snap.Build(), "0", 3, 13)
	for i, x := range m.S.Series {
		if x.Name == "mysql_slave_status_exec_master_log_pos" {
			for n := range x.Points {
				m.S.Series[i].Points[n].Value = 4711
			}
		}
	}
	if f, ok := told(t, replicaLag, m); !ok || len(f.Setting) != 0 || f.Severity != finding.Warning {
		t.Errorf("one transaction: %v %+v", ok, f)
	}
	old := behind(snap.Build().MySQL("5.7.44"), "1", 3, 13).Set("slave_parallel_workers", "0").
		Set("slave_parallel_type", "DATABASE")
	delete(old.S.Variables, "replica_parallel_workers")
	if f, ok := told(t, replicaLag, old); !ok || len(f.Setting) != 2 ||
		f.Setting[1] != "slave_parallel_type = LOGICAL_CLOCK" {
		t.Errorf("by schema: %v %+v", ok, f.Setting)
	}
	many := behind(snap.Build().MySQL("8.0.20"), "8", 3, 13).Set("slave_parallel_type", "DATABASE")
	if f, ok := told(t, replicaLag, many); !ok || len(f.Setting) != 1 ||
		f.Setting[0] != "slave_parallel_type = LOGICAL_CLOCK" {
		t.Errorf("by schema with many: %v %+v", ok, f.Setting)
	}
}

func TestReplicaLagOfSeconds(t *testing.T) {
	if f, ok := told(t, replicaLag, behind(snap.Build(), "0", 2, 6)); !ok || f.Severity != finding.Warning {
		t.Errorf("six seconds: %v %s", ok, f.Severity)
	}
}

func TestReplicaLagSilent(t *testing.T) {
	quiet(t, replicaLag, behind(snap.Build(), "0", 2, 4)) // whole seconds again
	quiet(t, replicaLag, behind(snap.Build(), "0", 0, 0))
	quiet(t, replicaLag, behind(snap.Build(), "0", 0, 1))     // whole seconds
	quiet(t, replicaLag, behind(snap.Build(), "0", 600, 560)) // it catches up
	quiet(t, replicaLag, behind(snap.Build(), "0", 8, 8))     // a short one that stays
	quiet(t, replicaLag, snap.Build())                        // no replica
	m := behind(snap.Build(), "0", 3600, 3601).Gauge("mysql_slave_status_sql_delay", 3600, "channel_name",
		"", "connection_name", "")
	quiet(t, replicaLag, m) // it is meant to be an hour behind
	m = behind(snap.Build(), "0", 100, 110)
	for i, x := range m.S.Series {
		if x.Name == "dyno_replica_running" {
			for n := range x.Points {
				m.S.Series[i].Points[n].Value = 0
			}
		}
	}
	quiet(t, replicaLag, m) // its applier stands
}
