package sources

import (
	"database/sql/driver"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

// testReplication reads a real replica: following, standing, behind.
func testReplication(t *testing.T, s *sqlServer) {
	src := newReplication(s.l, s.t)
	if got := mustRead(t, src); len(got) != 0 {
		t.Fatalf("a server that is no replica gave %v", got)
	}
	settings := []string{"performance_schema=ON", "log-bin=b", "server-id=2", "binlog-format=ROW", "sync-binlog=0"}
	if s.Flavor == "mysql" {
		settings = append(settings, "gtid-mode=ON", "enforce-gtid-consistency=ON",
			"replica-parallel-workers=3", "skip-replica-start")
	} else {
		settings = append(settings, "slave-parallel-threads=3", "skip-slave-start")
	}
	r := connect(t, servers.Start(t, s.Flavor, settings...), "root")
	s.Exec(t, "CREATE USER rep@'%' IDENTIFIED BY 'Rep-1234'", "GRANT REPLICATION SLAVE ON *.* TO rep@'%'",
		"CREATE DATABASE rp", "CREATE TABLE rp.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT) ENGINE=InnoDB")
	port := strconv.Itoa(s.Port)
	start, stopSQL, startSQL := "START REPLICA", "STOP REPLICA SQL_THREAD", "START REPLICA SQL_THREAD"
	if s.Flavor == "mysql" {
		r.Exec(t, "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT="+port+
			", SOURCE_USER='rep', SOURCE_PASSWORD='Rep-1234', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, "+
			"SOURCE_SSL=1, SOURCE_CONNECT_RETRY=1")
	} else {
		start, stopSQL, startSQL = "START SLAVE", "STOP SLAVE SQL_THREAD", "START SLAVE SQL_THREAD"
		r.Exec(t, "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT="+port+
			", MASTER_USER='rep', MASTER_PASSWORD='Rep-1234', MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1")
	}
	src = newReplication(r.l, r.t)
	got := mustRead(t, src)
	if value(t, got, "dyno_replica_channels") != 1 || value(t, got, "dyno_replica_running", "thread", "sql") != 0 ||
		value(t, got, "dyno_replica_running", "thread", "io") != 0 {
		t.Fatalf("before it began: %v", got)
	}
	if _, ok := find(got, "dyno_replica_lag_seconds"); ok {
		t.Fatal("a lag while nothing runs")
	}
	r.Exec(t, start)
	s.Exec(t, "INSERT INTO rp.t (v) VALUES ('x')")
	wait(t, "the first row on the replica", func() bool {
		var n int
		return r.db.QueryRow("SELECT COUNT(*) FROM rp.t").Scan(&n) == nil && n == 1
	})
	wait(t, "both threads and no lag", func() bool {
		got = mustRead(t, src)
		lag, ok := find(got, "dyno_replica_lag_seconds")
		return ok && lag.Value == 0 && value(t, got, "dyno_replica_running", "thread", "sql") == 1 &&
			value(t, got, "dyno_replica_running", "thread", "io") == 1
	})
	workers := value(t, got, "dyno_replica_workers", "state", "idle") +
		value(t, got, "dyno_replica_workers", "state", "busy")
	if workers != 3 {
		t.Errorf("%v workers", workers)
	}
	x, ok := find(got, "mysql_slave_status_seconds_behind_master", "master_host", "127.0.0.1")
	if y, ok2 := find(got, "mysql_slave_status_seconds_behind_source", "master_host", "127.0.0.1"); ok == ok2 ||
		x.Value+y.Value != 0 {
		t.Errorf("the server's own words: %v %v", x, y)
	}

	r.Exec(t, stopSQL)
	s.Exec(t, "INSERT INTO rp.t (v) VALUES (REPEAT('y',100000))")
	wait(t, "bytes that wait to be applied", func() bool {
		got = mustRead(t, src)
		b, ok := find(got, "dyno_replica_unapplied_bytes")
		return ok && b.Value > 100000
	})
	if _, ok := find(got, "dyno_replica_lag_seconds"); ok || value(t, got, "dyno_replica_running",
		"thread", "sql") != 0 {
		t.Errorf("with the applier stopped: %v", got)
	}

	// A transaction that cannot go on: the applier is busy with it, and its age grows.
	c := r.conn(t)
	exec(t, c, "BEGIN", "INSERT INTO rp.t (id, v) VALUES (2, 'mine')")
	r.Exec(t, startSQL)
	wait(t, "a busy worker", func() bool {
		got = mustRead(t, src)
		b, ok := find(got, "dyno_replica_workers", "state", "busy")
		return ok && b.Value >= 1
	})
	if s.Flavor == "mysql" {
		wait(t, "an age of what is being applied", func() bool {
			return value(t, mustRead(t, src), "dyno_replica_apply_seconds") > 0.2
		})
	}
	exec(t, c, "COMMIT") // now the row is there already: a duplicate key stops the applier
	wait(t, "the error", func() bool {
		got = mustRead(t, src)
		return value(t, got, "dyno_replica_error", "thread", "sql") == 1062
	})
}

func TestReadChannelInBothFlavorsWords(t *testing.T) {
	f := func(row map[string]string, want map[string]float64, name string) {
		t.Helper()
		var cols []string
		var vals []driver.Value
		for _, k := range sortedKeys(row) {
			cols = append(cols, k)
			if row[k] == "NULL" {
				vals = append(vals, nil)
			} else {
				vals = append(vals, []byte(row[k]))
			}
		}
		c := readChannel(cols, vals)
		got := map[string]float64{}
		for _, x := range c.figures {
			got[strings.TrimSuffix(x.name+" "+x.extra, " ")] = x.value
		}
		for k, v := range want {
			if g, ok := got[k]; v == -1 && ok || v != -1 && (!ok || g != v) {
				t.Errorf("%s: got %v %v, want %v", k, g, ok, v)
			}
		}
		if c.name != name {
			t.Errorf("channel %q, want %q", c.name, name)
		}
	}
	f(map[string]string{
		"Connection_name": "east", "Slave_IO_Running": "Connecting", "Slave_SQL_Running": "Yes",
		"Seconds_Behind_Master": "NULL", "Last_IO_Errno": "2003",
		"Master_Host": "db1", "Master_Log_File": "b.000012", "Read_Master_Log_Pos": "700",
		"Relay_Master_Log_File": "b.000012", "Exec_Master_Log_Pos": "450", "Master_SSL_Allowed": "No",
	}, map[string]float64{
		"dyno_replica_lag_seconds": -1, "dyno_replica_running thread=io": 0, "dyno_replica_running thread=sql": 1,
		"dyno_replica_error thread=io": 2003,
		"dyno_replica_unapplied_bytes": 250, "mysql_slave_status_master_log_file own": 12,
		"mysql_slave_status_master_ssl_allowed own": 0, "mysql_slave_status_master_host own": -1,
	}, "east")
	f(map[string]string{
		"Channel_Name": "", "Replica_IO_Running": "Yes", "Replica_SQL_Running": "No", "Seconds_Behind_Source": "17",
		"Last_SQL_Errno":  "1062",
		"Source_Log_File": "b.000013", "Read_Source_Log_Pos": "4", "Relay_Source_Log_File": "b.000012",
		"Exec_Source_Log_Pos": "450", "Source_UUID": "u",
	}, map[string]float64{
		"dyno_replica_lag_seconds": 17, "dyno_replica_running thread=sql": 0, "dyno_replica_error thread=sql": 1062,
		"dyno_replica_unapplied_bytes":                 -1,
		"mysql_slave_status_seconds_behind_source own": 17, "mysql_slave_status_replica_io_running own": 1,
	}, "")
}
