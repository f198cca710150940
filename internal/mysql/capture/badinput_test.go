package capture

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

// take looks at a server and holds what every snapshot must hold: it can be written and read again, no rate is
// negative, and a source that gave nothing says why.
func take(t *testing.T, s *servers.Server, user string) *snapshot.Snapshot {
	t.Helper()
	snap, err := Take(context.Background(), open(t, s, user), Options{Window: MinWindow})
	if err != nil {
		t.Fatal(err)
	}
	b, err := snap.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Decode(b); err != nil {
		t.Errorf("what was captured cannot be read: %v", err)
	}
	if len(b) > 1<<20 {
		t.Errorf("a snapshot of %d bytes of a small server", len(b))
	}
	for _, x := range snap.Series {
		if r, ok := x.Rate(); ok && r < 0 && x.Kind != 0 {
			t.Errorf("%s %v grows by %v a second", x.Name, x.Labels, r)
		}
	}
	for _, x := range snap.Sources {
		if x.State != source.OK && x.Reason == "" {
			t.Errorf("%s is %s without a reason", x.Name, x.State)
		}
	}
	return snap
}

// traffic runs statements in a schema until the test ends; those that fail are tried again.
func traffic(t *testing.T, s *servers.Server, db string, statements ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	pool := s.DB(t, db)
	for _, q := range statements {
		wg.Go(func() {
			for ctx.Err() == nil {
				if rows, err := pool.QueryContext(ctx, q); err == nil {
					for rows.Next() {
					}
					_ = rows.Err() // servers and tables go away under it
					rows.Close()
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	t.Cleanup(func() { stop(); wg.Wait() })
}

func seen(t *testing.T, snap *snapshot.Snapshot, part string) class.Class {
	t.Helper()
	for _, c := range snap.Classes {
		if strings.Contains(c.Fingerprint, part) {
			return c
		}
	}
	t.Fatalf("no class with %q among %d", part, len(snap.Classes))
	return class.Class{}
}

// TestIdleNewServer looks at a server that has just been started and has nothing to do.
func TestIdleNewServer(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			snap := take(t, s, "root")
			if len(snap.Classes) != 0 || len(snap.Plans) != 0 || len(snap.Tables) != 0 || snap.TablesLeft.Or(-1) != 0 {
				t.Errorf("of nothing: classes %+v, plans %v, tables %v, left %v", snap.Classes, snap.Plans,
					snap.Tables, snap.TablesLeft)
			}
			if snap.Target.UptimeSec > 600 || snap.Target.ReadOnly || snap.Target.Replica {
				t.Errorf("target %+v", snap.Target)
			}
			if n := snap.Moments; len(n) < 2 {
				t.Errorf("%d moments", len(n))
			}
			for _, x := range snap.Moments {
				for _, c := range x.Sessions {
					if strings.Contains(c.SQL, "dyno") {
						t.Errorf("a session of Dyno's own is shown: %+v", c)
					}
				}
			}
			if src := snap.Source("row_samples"); src.State != source.OK || src.Reason == "" {
				t.Errorf("rows: %+v", src)
			}
		})
	}
}

// TestReadOnlyReplica looks at a replica that has lost its source and takes no writes.
func TestReadOnlyReplica(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "server_id=7")
			if flavor == "mariadb" {
				s.Exec(t, "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='r'", "START SLAVE",
					"SET GLOBAL read_only=1")
			} else {
				s.Exec(t, "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='r'",
					"START REPLICA", "SET GLOBAL super_read_only=1")
			}
			snap := take(t, s, "root")
			if !snap.Target.Replica || !snap.Target.ReadOnly {
				t.Errorf("target %+v", snap.Target)
			}
			if src := snap.Source("replication"); src.State != source.OK {
				t.Errorf("replication: %+v", src)
			}
			if !slices.ContainsFunc(snap.Sources, func(x source.Source) bool {
				return x.Name == "accounts" &&
					x.State == source.OK
			}) {
				t.Error("no accounts")
			}
		})
	}
}

// TestStrangeTables looks at statements whose plans cannot be had, and at tables that lie about themselves.
func TestStrangeTables(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.part (id INT PRIMARY KEY, a INT) PARTITION BY RANGE (id) "+
				"(PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN MAXVALUE)",
				"INSERT INTO d.part VALUES (1, 1), (2, 2), (200, 3)", "CREATE VIEW d.eye AS SELECT id, a FROM d.part",
				"CREATE TABLE d.absurd (id INT PRIMARY KEY, a INT, KEY ka (a)) STATS_AUTO_RECALC=0",
				"INSERT INTO d.absurd VALUES (1, 1), (2, 2)", "CREATE TABLE d.leaving (id INT PRIMARY KEY, a INT)",
				"CREATE TABLE d.wide (id INT PRIMARY KEY, a INT)", "INSERT INTO d.wide VALUES (1, 1)",
				"ANALYZE TABLE d.absurd",
				"UPDATE mysql.innodb_table_stats SET n_rows = 9000000000000000000 WHERE database_name = 'd' AND "+
					"table_name = 'absurd'",
				"UPDATE mysql.innodb_index_stats SET stat_value = 9000000000000000000 WHERE database_name = 'd' AND "+
					"table_name = 'absurd'")
			s.Kill(t) // they are read when a table is first opened
			s.Launch(t)
			list := make([]string, 10_000)
			for i := range list {
				list[i] = fmt.Sprint(i)
			}
			traffic(t, s, "d", "SELECT a FROM eye WHERE a > 0 AND id < 300", "SELECT id FROM absurd WHERE a = 2",
				"SELECT a FROM leaving WHERE a = 1 AND id > 0",
				"SELECT a FROM wide WHERE a IN ("+strings.Join(list, ",")+")")
			drop := time.AfterFunc(1500*time.Millisecond, func() { s.DB(t, "d").Exec("DROP TABLE leaving") })
			defer drop.Stop()
			snap := take(t, s, "root")

			if p, ok := snap.Plan(seen(t, snap, "from eye")); !ok || p.Error != "" || len(p.Steps) == 0 ||
				p.Steps[0].Table == "" {
				t.Errorf("plan of a view %+v", p)
			}
			if x, ok := snap.Table(schema.Ref{Schema: "d", Table: "eye"}); !ok || !x.View || x.Rows.OK() {
				t.Errorf("view %+v", x)
			}
			if x, ok := snap.Table(schema.Ref{Schema: "d", Table: "part"}); !ok || x.Partitions != 2 {
				t.Errorf("partitioned %+v", x)
			}
			if p, ok := snap.Plan(seen(t, snap, "from absurd")); !ok || p.Error != "" {
				t.Errorf("plan with absurd statistics %+v", p)
			}
			if x, _ := snap.Table(schema.Ref{Schema: "d", Table: "absurd"}); x.Rows.Or(0) < 1e12 {
				t.Errorf("the statistics were to be absurd: %v rows", x.Rows)
			} else if c, _ := x.Column("a"); c.Sample == nil || c.Sample.Rows == 0 {
				t.Errorf("no sample of a table with absurd statistics: %+v", snap.Source("row_samples"))
			}
			if p, ok := snap.Plan(seen(t, snap, "from leaving")); ok && p.Error == "" {
				t.Errorf("a plan of a table that is gone: %+v", p)
			}
			if _, ok := snap.Table(schema.Ref{Schema: "d", Table: "leaving"}); ok {
				t.Error("a table that is gone is among the tables")
			}
			if p, ok := snap.Plan(seen(t, snap, "from wide")); !ok || p.Error == "" && p.Steps[0].Table != "wide" {
				// MariaDB makes a table of it
				t.Errorf("plan of a long list %+v", p)
			}
		})
	}
}

// TestLockedTables looks at a server where everybody waits for a table, this program too: it ends in time and shows who
// waits for whom.
func TestLockedTables(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, a INT)",
				"CREATE TABLE d.u (id INT PRIMARY KEY, a INT)", "INSERT INTO d.t VALUES (1, 1)")
			holder, err := s.DB(t, "d").Conn(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer holder.Close()
			traffic(t, s, "d", "SELECT a FROM t WHERE a = 1", "SELECT a FROM u WHERE a = 2")
			if _, err := holder.ExecContext(context.Background(), "LOCK TABLES t WRITE"); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			snap := take(t, s, "root")
			if d := time.Since(began); d > 45*time.Second {
				t.Errorf("it took %v", d)
			}
			last := snap.Moments[len(snap.Moments)-1]
			if len(last.Waits) == 0 {
				t.Errorf("nobody waits: %+v, sources %+v", last.Sessions, last.Sources)
			}
			if _, ok := snap.Table(schema.Ref{Schema: "d", Table: "u"}); !ok {
				t.Errorf("a table that nobody holds is missing: %+v", snap.Source("tables"))
			}
			for _, p := range snap.Plans {
				if strings.Contains(p.Error, "context") {
					t.Errorf("a plan says %q", p.Error)
				}
			}
			x, err := NewExplainer(context.Background(), open(t, s, "root"))
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			began = time.Now()
			if p, err := x.Explain(context.Background(), "1", "d", "SELECT a FROM t WHERE a = 1"); err != nil ||
				p.Error == "" || time.Since(began) > 20*time.Second {
				t.Errorf("after %v: %+v, %v", time.Since(began), p, err)
			}
			x.lost = true // as after an answer that did not come in time
			if p, err := x.Explain(context.Background(), "2", "d", "SELECT a FROM u WHERE a = 1"); err != nil ||
				p.Error != "" || x.lost {
				t.Errorf("the next question: %+v, %v", p, err)
			}
			if _, err := holder.ExecContext(context.Background(), "UNLOCK TABLES"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestCountersStartAgain looks while the counters are set back, as they are when they wrap.
func TestCountersStartAgain(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := busy(t, flavor, "performance_schema=ON")
			back := time.AfterFunc(1500*time.Millisecond, func() {
				db := s.DB(t, "")
				db.Exec("FLUSH STATUS")
				db.Exec("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
				db.Exec("TRUNCATE TABLE performance_schema.table_io_waits_summary_by_index_usage")
			})
			defer back.Stop()
			snap := take(t, s, "root")
			for _, c := range snap.Classes {
				if c.TimeSec > 60 || c.Count > 1e7 {
					t.Errorf("class %q: %d executions, %v s in %v s", c.Fingerprint, c.Count, c.TimeSec, snap.Seconds())
				}
			}
		})
	}
}
