package sources

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// TestReplication reads a primary and its standby, and the standby without its primary.
func TestReplication(t *testing.T) {
	primary := pgserver.Start(t, "17", "wal_level=replica", "max_wal_senders=4")
	standby := pgserver.Start(t, "17")
	primary.Exec(t, "postgres", "SELECT pg_create_physical_replication_slot('s', true)", "SELECT pg_switch_wal()")
	follow(t, standby, primary)
	up := scraper(t, open(t, primary, "postgres"), "replication", "processlist")
	down := scraper(t, open(t, standby, "postgres"), "replication", "processlist", "checkpoints", "wal")
	primary.Exec(t, "postgres", "CREATE TABLE t AS SELECT generate_series(1, 1000)")
	r := until(t, down, "it follows", func(r reading.Reading) bool {
		running, _ := find(r, "dyno_replica_running", "thread", "io")
		lag, ok := find(r, "dyno_replica_lag_seconds")
		return running == 1 && ok && lag < 60
	})
	for name, want := range map[string]float64{"pg_replication_is_replica": 1, "dyno_replica_channels": 1} {
		if v := value(t, r, name); v != want {
			t.Errorf("%s is %v", name, v)
		}
	}
	value(t, r, "dyno_checkpoint_age_bytes")
	for _, x := range r.Sources {
		if x.State != "ok" {
			t.Errorf("%+v", x)
		}
	}
	r = until(t, up, "it has a standby", func(r reading.Reading) bool {
		v, ok := find(r, "pg_stat_replication_pg_wal_lsn_diff", "application_name", "walreceiver", "state", "streaming")
		return ok && v >= 0
	})
	if v := value(t, r, "pg_replication_is_replica"); v != 0 {
		t.Errorf("%v", v)
	}
	if v := value(t, r, "pg_replication_slots_active", "slot_name", "s"); v != 0 {
		t.Errorf("the slot is active: %v", v)
	}
	if v := value(t, r, "pg_replication_slots_pg_wal_lsn_diff", "slot_name", "s"); v <= 0 {
		t.Errorf("%v bytes are kept for the slot", v)
	}
	if _, ok := find(r, "dyno_replica_lag_seconds"); ok {
		t.Error("a primary has a lag")
	}
	if f := open(t, standby, "postgres").Facts(); !f.Replica || !f.ReadOnly {
		t.Errorf("%+v", f)
	}
	primary.Stop(t)
	r = until(t, down, "it does not receive", func(r reading.Reading) bool {
		v, ok := find(r, "dyno_replica_running", "thread", "io")
		return ok && v == 0
	})
	if v, ok := find(r, "dyno_replica_lag_seconds"); ok {
		t.Errorf("without its primary the lag is said to be %v", v)
	}
}

// follow makes a server a standby of another, with its data.
func follow(t *testing.T, s, primary *pgserver.Server) {
	t.Helper()
	s.Stop(t)
	primary.Stop(t)
	if err := os.RemoveAll(s.Data); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", primary.Data, s.Data).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	owner := exec.Command("chown", "--reference="+filepath.Join(primary.Data, "PG_VERSION"))
	conf := fmt.Sprintf("primary_conninfo = 'host=%s port=%d user=postgres'\n", primary.Dir, primary.Port)
	for name, text := range map[string]string{"standby.signal": "", "postgresql.auto.conf": conf} {
		path := filepath.Join(s.Data, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		owner.Args = append(owner.Args, path)
	}
	if out, err := owner.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	primary.Launch(t)
	s.Launch(t)
}
