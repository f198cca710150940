package config

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/test/snap"
)

// channel is a replica with one channel whose threads run or not, and have an error or not.
func channel(m *snap.Made, name string, io, sql, ioError, sqlError float64) *snap.Made {
	return m.Gauge("dyno_replica_running", io, "channel", name, "thread", "io").Gauge("dyno_replica_error", ioError,
		"channel", name, "thread", "io").
		Gauge("dyno_replica_running", sql, "channel", name, "thread", "sql").Gauge("dyno_replica_error", sqlError,
		"channel", name, "thread", "sql")
}

func TestReplicaStopped(t *testing.T) {
	f := func(m *snap.Made, want finding.Severity, title, suggestion string) {
		t.Helper()
		got, ok := told(t, replicaStopped, m)
		if !ok || got.Severity != want || got.Title != title || !strings.Contains(got.Suggestion, suggestion) {
			t.Errorf("%v %s %q: %s", ok, got.Severity, got.Title, got.Suggestion)
		}
	}
	f(channel(snap.Build().MySQL("8.0.33"), "", 1, 0, 0, 1062), finding.Critical,
		"replication is stopped by error 1062 of the SQL thread", "SHOW REPLICA STATUS")
	f(channel(snap.Build(), "", 1, 0, 0, 1032), finding.Critical, "replication is stopped by error 1032 of the SQL "+
		"thread", "SHOW SLAVE STATUS")
	f(channel(snap.Build(), "eu", 0, 1, 2003, 0), finding.Critical, "replication of the channel eu is stopped by "+
		"error 2003 of the IO thread", "cannot connect to its source")
	f(channel(snap.Build(), "", 1, 0, 0, 0), finding.Warning, "replication is stopped: the SQL thread does not run",
		"START")
	f(channel(snap.Build(), "", 0, 0, 0, 0), finding.Notice, "replication is stopped, without an error",
		"RESET REPLICA")
}

func TestReplicaStoppedSilent(t *testing.T) {
	quiet(t, replicaStopped, snap.Build()) // no replica
	quiet(t, replicaStopped, channel(snap.Build(), "", 1, 1, 0, 0))
	quiet(t, replicaStopped, channel(snap.Build(), "", 1, 1, 2003, 0)) // it connected again
	m := channel(snap.Build(), "", 1, 0, 0, 0)
	for i, x := range m.S.Series {
		if x.Name == "dyno_replica_running" && x.Labels.Get("thread") == "sql" {
			m.S.Series[i].Points[0].Value = 1 // it ran at the window's beginning
		}
	}
	quiet(t, replicaStopped, m)
}
