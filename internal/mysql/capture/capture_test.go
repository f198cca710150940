package capture

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/figures"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

const secret = "tulip-4711"

// busy starts a server with a table, and statements on it until the test ends.
func busy(t *testing.T, flavor string, settings ...string) *servers.Server {
	t.Helper()
	s := servers.Start(t, flavor, settings...)
	s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.orders2 (id INT PRIMARY KEY AUTO_INCREMENT, note "+
		"VARCHAR(40), n INT, KEY n (n))",
		"INSERT INTO shop.orders2 (note, n) VALUES ('a', 1), ('b', 2), ('c', 3), ('d', 4)")
	for range 12 {
		s.Exec(t, "INSERT INTO shop.orders2 (note, n) SELECT note, n FROM shop.orders2")
	}
	s.Exec(t, "ANALYZE TABLE shop.orders2")
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	db := s.DB(t, "shop")
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if rows, err := db.QueryContext(ctx, "SELECT id FROM orders2 WHERE note = '"+secret+"'"); err == nil {
					for rows.Next() {
					}
					if err := rows.Err(); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
					rows.Close()
				}
			}
		})
	}
	t.Cleanup(func() { stop(); wg.Wait() })
	return s
}

func open(t *testing.T, s *servers.Server, user string) *target.Target {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL(user))
	if err != nil {
		t.Fatal(err)
	}
	spec.Name = "box"
	if user == "root" { // it may execute routines: these tests are of what there is to see all the same
		spec.ExplainSchemas = endpoint.AllSchemas
	}
	x, err := target.Open(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func TestSnapshotOfABusyServer(t *testing.T) {
	for _, c := range []struct {
		flavor, setting string
		sampled         bool
	}{
		{"mariadb", "performance_schema=ON", false},
		{"mariadb", "performance_schema=OFF", true},
		{"mysql", "performance_schema=ON", false},
	} {
		t.Run(c.flavor+" "+c.setting, func(t *testing.T) {
			s := busy(t, c.flavor, c.setting)
			x := open(t, s, "root")
			changes := func() (n uint64) {
				for _, c := range []string{
					"insert", "update", "delete", "create_table", "alter_table", "drop_table",
					"truncate", "grant", "flush",
				} {
					n += s.Status(t, "Com_"+c)
				}
				return n
			}
			before := changes()
			snap, err := Take(context.Background(), x, Options{Window: 4 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if after := changes(); after != before {
				t.Errorf("looking changed the server: %d statements that change something", after-before)
			}
			if len(snap.Classes) == 0 {
				t.Fatalf("no classes: %+v", snap.Sources)
			}
			top := snap.Classes[0]
			if !strings.Contains(top.Fingerprint, "note = ?") || top.Sampled != c.sampled || top.TimeSec <= 0 {
				t.Fatalf("top class %+v", top)
			}
			if !c.sampled {
				n, _ := top.Examined.Get()
				if per := top.PerCall(top.Examined).Or(0); per < 16000 || per > 17000 {
					t.Errorf("%d rows examined in %d calls: the table has 16384", n, top.Count)
				}
			}
			p, ok := snap.Plan(top)
			if !ok || p.Error != "" || len(p.Steps) != 1 || p.Steps[0].Access != "ALL" || p.Guess {
				t.Errorf("plan %+v of %+v", p, top)
			}
			tab, ok := snap.Table(schema.Ref{Schema: "shop", Table: "orders2"})
			if !ok || len(tab.Columns) != 3 || len(tab.Indexes) != 2 {
				t.Errorf("table %+v among %+v", tab, snap.Tables)
			}
			if r, ok := snap.Rate(figures.Handlers.Of("read_rnd_next")).Get(); !ok || r < 1000 {
				t.Errorf("rows read by scans: %v %v", r, ok)
			}
			if !snap.Host.CPUs.OK() || snap.Host.ServerPID != s.PID || !snap.Target.Local {
				t.Errorf("host %+v, the server has pid %d", snap.Host, s.PID)
			}
			if _, ok := snap.Find("dyno_server_cpu_seconds_total"); !ok {
				t.Error("no CPU of the server's process")
			}
			for _, k := range snap.Classes {
				if strings.Contains(k.Fingerprint, "information_schema") ||
					strings.Contains(k.Fingerprint, "performance_schema") {
					t.Errorf("a statement of Dyno's own is among the classes: %s", k.Fingerprint)
				}
			}
			b, err := snap.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := snapshot.Decode(b); err != nil {
				t.Errorf("what was captured cannot be read: %v", err)
			}
			if !bytes.Contains(b, []byte(secret)) {
				t.Error("no example with its literals was seen")
			}
		})
	}
}

// TestPlansOfSeveralDatabases has the same statement run in two databases, with an index in one of them only.
func TestPlansOfSeveralDatabases(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := busy(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE north", "CREATE TABLE north.orders2 (id INT PRIMARY KEY AUTO_INCREMENT, note "+
				"VARCHAR(40), n INT, KEY by_note (note))",
				"INSERT INTO north.orders2 SELECT id, CONCAT(note, id), n FROM shop.orders2",
				"ANALYZE TABLE north.orders2")
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			done := make(chan error, 1)
			db := s.DB(t, "north")
			go func() { // a read by the index is short: as many of them as hold their part of the time
				for ctx.Err() == nil {
					if _, err := db.ExecContext(ctx, "SELECT id FROM orders2 WHERE note = 'a1'"); err != nil &&
						ctx.Err() == nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
			snap, err := Take(t.Context(), open(t, s, "root"), Options{Window: 4 * time.Second})
			stop()
			if lerr := <-done; err != nil || lerr != nil {
				t.Fatal(err, lerr)
			}
			access := map[string]string{}
			for _, c := range snap.Classes {
				if strings.Contains(c.Fingerprint, "note = ?") {
					p, ok := snap.Plan(c)
					if !ok || p.Schema != c.Schema || len(p.Steps) != 1 {
						t.Errorf("plan %+v in %s", p, c.Schema)
						continue
					}
					access[c.Schema] = p.Steps[0].Access
				}
			}
			if len(access) != 2 || access["shop"] != "ALL" || access["north"] != "ref" {
				t.Errorf("plans %v of %d classes", access, len(snap.Classes))
			}
		})
	}
}

func TestRedactedSnapshotHoldsNoLiteral(t *testing.T) {
	s := busy(t, "mariadb", "performance_schema=ON")
	snap, err := Take(context.Background(), open(t, s, "root"), Options{Window: MinWindow, Redact: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := snap.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(secret)) {
		t.Error("a literal is in it")
	}
	if len(snap.Plans) == 0 || len(snap.Plans[0].Steps) == 0 {
		t.Errorf("redaction cost the plan: %+v", snap.Plans)
	}
}

func TestAnAccountWithoutGrants(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.people (id INT PRIMARY KEY)",
				"CREATE USER poor@localhost")
			snap, err := Take(context.Background(), open(t, s, "poor"), Options{Window: MinWindow})
			if err != nil {
				t.Fatal(err)
			}
			fixes := 0
			for _, x := range snap.Sources {
				if x.State != source.OK && strings.Contains(x.Fix, "GRANT") {
					fixes++
				}
				if x.State != source.OK && x.Reason == "" {
					t.Errorf("%s is %s without a reason", x.Name, x.State)
				}
			}
			if x := snap.Source("tables"); x.State != source.Denied || !strings.Contains(x.Fix, "GRANT PROCESS") {
				t.Errorf("it sees no table: %+v", x)
			}
			if fixes == 0 {
				t.Errorf("no missing grant is named: %+v", snap.Sources)
			}
		})
	}
}

// TestAnAccountThatMayOnlyWatch: a server shows its dictionary without the schemas that an account has no privilege on.
// That is no server without tables.
func TestAnAccountThatMayOnlyWatch(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.people (id INT PRIMARY KEY, mail VARCHAR(60))",
				"INSERT INTO shop.people VALUES (1,'a'),(2,'b'),(3,'c')",
				"CREATE USER watcher@localhost")
			grants, err := target.Grants(dbms.Flavor(flavor), "watch", "watcher@localhost", nil)
			if err != nil {
				t.Fatal(err)
			}
			s.Exec(t, grants...)
			look := func() *snapshot.Snapshot {
				t.Helper()
				ctx, stop := context.WithCancel(t.Context())
				db, done := s.DB(t, "shop"), make(chan struct{})
				go func() {
					defer close(done)
					for ctx.Err() == nil {
						_, _ = db.ExecContext(ctx, "SELECT id FROM people WHERE mail='b'")
					}
				}()
				snap, err := Take(t.Context(), open(t, s, "watcher"), Options{Window: MinWindow})
				stop()
				<-done
				if err != nil {
					t.Fatal(err)
				}
				return snap
			}
			want := "GRANT SELECT ON `shop`.* TO 'watcher'@'localhost'"
			snap := look()
			for _, name := range []source.Name{"tables", "plans"} {
				if x := snap.Source(name); x.State != source.Denied || x.Fix != want ||
					!strings.Contains(x.Reason, "shop") {
					t.Errorf("%+v", x)
				}
			}
			s.Exec(t, want)
			snap = look()
			for _, name := range []source.Name{"tables", "plans"} {
				if x := snap.Source(name); x.State == source.Denied {
					t.Errorf("with the grant: %+v", x)
				}
			}
			if len(snap.Plans) == 0 || len(snap.Plans[0].Steps) == 0 {
				t.Errorf("no plan with the grant: %+v", snap.Plans)
			}
		})
	}
}

func TestTheServerDiesInTheMiddle(t *testing.T) {
	s := servers.Start(t, "mariadb")
	x := open(t, s, "root")
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		time.Sleep(1500 * time.Millisecond) // somewhere within the window
		s.Kill(t)
	}()
	_, err := Take(context.Background(), x, Options{Window: 4 * time.Second})
	<-killed
	if err == nil || target.HintOf(err) == "" {
		t.Fatalf("got %v with hint %q", err, target.HintOf(err))
	}
}

func TestStoppedAndTooShort(t *testing.T) {
	s := servers.Start(t, "mariadb")
	x := open(t, s, "root")
	if _, err := Take(context.Background(), x, Options{Window: time.Second}); err == nil {
		t.Fatal("a window of one second was accepted")
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	began := time.Now()
	_, err := Take(ctx, x, Options{Window: time.Minute})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "too early for a diagnosis") ||
		time.Since(began) > 10*time.Second {
		t.Fatalf("after %v: %v", time.Since(began), err)
	}
}
