package digestsource

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

func open(t *testing.T, s *servers.Server, user string, o Options) *Reader {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL(user))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tg.Close() })
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second
	}
	r, err := Open(t.Context(), tg, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// window runs do between Begin and End, with the sampler beside it.
func window(t *testing.T, r *Reader, do func()) ([]class.Class, []source.Source) {
	t.Helper()
	if err := r.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	do()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	cs, sources, err := r.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return cs, sources
}

func of(cs []class.Class, sql string) (class.Class, bool) {
	want := class.Key(mytext.Fingerprint(sql))
	for _, c := range cs {
		if class.Key(c.Fingerprint) == want && c.ID == class.ID(c.Fingerprint) {
			return c, true
		}
	}
	return class.Class{}, false
}

func given(t *testing.T, list []source.Source, name source.Name) source.Source {
	t.Helper()
	for _, x := range list {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no source %s in %+v", name, list)
	return source.Source{}
}

func table(t *testing.T, s *servers.Server) *sql.DB {
	t.Helper()
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT) ENGINE=InnoDB")
	var b strings.Builder
	b.WriteString("INSERT INTO d.t VALUES ")
	for i := range 1000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "(%d,%d)", i, i%10)
	}
	s.Exec(t, b.String())
	db := s.DB(t, "d")
	db.SetMaxOpenConns(1)
	return db
}

func run(t *testing.T, db *sql.DB, q string, args ...any) {
	t.Helper()
	rows, err := db.QueryContext(context.Background(), q, args...)
	if err != nil {
		t.Errorf("%s: %v", q, err)
		return
	}
	for rows.Next() {
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
	rows.Close()
}

// settle runs one more statement on the connection: the server counts a statement just after the client has its answer,
// but surely before it begins the next.
func settle(t *testing.T, db *sql.DB) {
	t.Helper()
	run(t, db, "DO 0")
}

func TestDigestsCountExactly(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			db := table(t, s)
			run(t, db, "SELECT id FROM t WHERE v=1") // before the window
			r := open(t, s, "root", Options{})
			var wall time.Duration
			cs, sources := window(t, r, func() {
				began := time.Now()
				for i := range 30 {
					run(t, db, fmt.Sprintf("SELECT id FROM t WHERE v=%d", i%10))
				}
				for i := range 20 {
					run(t, db, fmt.Sprintf("SELECT v FROM t WHERE id=%d", i))
				}
				for i := range 7 {
					run(t, db, fmt.Sprintf("UPDATE t SET v=v+1 WHERE id IN (%d,%d)", i, i+100))
				}
				wall = time.Since(began)
				settle(t, db)
			})
			if x := given(t, sources, source.Digests); x.State != source.OK || x.Reads != 2 ||
				x.Reason != "" || x.Took <= 0 {
				t.Errorf("%+v", x)
			}
			check := func(sql string, count, sent, examined, affected, scans uint64) {
				t.Helper()
				c, ok := of(cs, sql)
				if !ok {
					t.Errorf("no class of %s in %+v", sql, cs)
					return
				}
				if c.Origin != class.PerformanceSchema || c.Sampled || c.Schema != "d" {
					t.Errorf("%+v", c)
				}
				if c.Count != count || c.RowsSent != known.Of(sent) || c.Examined != known.Of(examined) ||
					c.Affected != known.Of(affected) || c.FullScans != known.Of(scans) {
					t.Errorf("%s: count %d sent %v examined %v affected %v scans %v", sql, c.Count, c.RowsSent,
						c.Examined, c.Affected, c.FullScans)
				}
				if c.TimeSec <= 0 || c.TimeSec > wall.Seconds() {
					t.Errorf("%s took %v s of %v", sql, c.TimeSec, wall)
				}
			}
			check("SELECT id FROM t WHERE v=1", 30, 30*100, 30*1000, 0, 30)
			check("SELECT v FROM t WHERE id=1", 20, 20, 20, 0, 0)
			c, _ := of(cs, "UPDATE t SET v=v+1 WHERE id IN (1,2)")
			if c.Count != 7 || c.Affected != known.Of(uint64(14)) {
				t.Errorf("update: %+v", c)
			}
			cs = slices.DeleteFunc(cs, func(c class.Class) bool { return c.Fingerprint == "do ?" })
			for _, c := range cs {
				if strings.Contains(c.Fingerprint, "_schema") || strings.Contains(c.Fingerprint, "long_query_time") {
					t.Errorf("Dyno's own: %s", c.Fingerprint)
				}
			}
			if len(cs) != 3 {
				for _, c := range cs {
					t.Logf("%d × %s", c.Count, c.Fingerprint)
				}
				t.Errorf("%d classes, want 3", len(cs))
			}
			// The next window begins at nothing.
			cs, _ = window(t, r, func() { run(t, db, "SELECT v FROM t WHERE id=5"); settle(t, db) })
			if c, ok := of(cs, "SELECT v FROM t WHERE id=1"); !ok || c.Count != 1 || len(cs) > 2 {
				t.Errorf("second window: %+v", cs)
			}
		})
	}
}

func TestDigestsEmptiedInTheWindow(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			db := table(t, s)
			for range 5 {
				run(t, db, "SELECT v FROM t WHERE id=1")
			}
			r := open(t, s, "root", Options{})
			var emptied time.Time
			began := time.Now()
			cs, sources := window(t, r, func() {
				run(t, db, "SELECT v FROM t WHERE id=2")
				// A row that begins anew within the same second and grows past its old count cannot be told, so a
				// second passes.
				s.Exec(t, "DO SLEEP(1.1)", "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
				emptied = time.Now()
				for range 9 {
					run(t, db, "SELECT v FROM t WHERE id=3")
				}
				settle(t, db)
			})
			if c, ok := of(cs, "SELECT v FROM t WHERE id=1"); !ok || c.Count != 9 {
				t.Errorf("%+v", c)
			}
			if x := given(t, sources, source.Digests); !strings.Contains(x.Reason, "emptied") {
				t.Errorf("%+v", x)
			}
			// The server writes when a row was first seen in whole seconds on some versions.
			if n := r.Lost(); n <= 0 || n > emptied.Sub(began)+2*time.Second {
				t.Errorf("%v are lost, the table was emptied after %v", n, emptied.Sub(began))
			}
		})
	}
}

func TestDigestsOverflowAndCutTexts(t *testing.T) {
	s := servers.Start(t, "mariadb", "performance_schema=ON", "performance_schema_digests_size=200",
		"max_digest_length=100", "performance_schema_max_digest_length=100")
	db := table(t, s)
	var wide strings.Builder
	for i := range 60 {
		fmt.Fprintf(&wide, " OR v=%d AND id<>%d", i, i)
	}
	cs, sources := window(t, open(t, s, "root", Options{}), func() {
		run(t, db, "SELECT id FROM t WHERE id=1"+wide.String())
		for i := range 300 {
			run(t, db, fmt.Sprintf("SELECT id AS a%d FROM t WHERE id=1", i))
		}
	})
	x := given(t, sources, source.Digests)
	if !strings.Contains(x.Reason, "did not fit") || !strings.Contains(x.Reason, "may be cut off") ||
		!strings.Contains(x.Fix, "performance_schema_digests_size") {
		t.Errorf("%+v", x)
	}
	if len(cs) == 0 || len(cs) > 200 {
		t.Errorf("%d classes", len(cs))
	}
}

func TestPreparedStatements(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			db := table(t, s)
			st, err := db.Prepare("SELECT COUNT(*) FROM t a JOIN t b ON a.v=b.v WHERE a.id>?")
			if err != nil {
				t.Fatal(err)
			}
			var n uint64
			cs, sources := window(t, open(t, s, "root", Options{Interval: 20 * time.Millisecond}), func() {
				for end := time.Now().Add(2 * time.Second); time.Now().Before(end); n++ {
					var k int
					if err := st.QueryRow(n % 10).Scan(&k); err != nil {
						t.Error(err)
					}
				}
				settle(t, db)
			})
			c, ok := of(cs, "SELECT COUNT(*) FROM t a JOIN t b ON a.v=b.v WHERE a.id>?")
			if !ok {
				t.Fatalf("no class: %+v %+v", cs, sources)
			}
			switch flavor {
			case "mysql": // counted
				if c.Count != n || c.Sampled {
					t.Errorf("%d executions: %+v", n, c)
				}
				for _, c := range cs {
					if strings.HasPrefix(c.Fingerprint, "prepare ") ||
						strings.HasPrefix(c.Fingerprint, "deallocate ") ||
						strings.HasPrefix(c.Fingerprint, "execute ") {
						t.Errorf("a class of its own: %s", c.Fingerprint)
					}
				}
			case "mariadb": // its digests have none of them: sampled, and the hole is told with its size
				if !c.Sampled || c.Origin != class.Processlist || c.TimeSec < 0.5 || c.TimeSec > 4 {
					t.Errorf("%+v", c)
				}
				if x := given(t, sources, source.Digests); !strings.Contains(x.Reason, fmt.Sprintf("%d executions",
					n)) {
					t.Errorf("%d executions: %+v", n, x)
				}
				if c.Example != "" {
					t.Errorf("an example with parameters: %s", c.Example)
				}
			}
		})
	}
}

// TestSamplesFindTheSlowClass turns performance_schema off: one connection sleeps 3/4 of the time, a second one is
// idle.
func TestSamplesFindTheSlowClass(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=OFF")
			db := table(t, s)
			var busy time.Duration
			n := uint64(0)
			cs, sources := window(t, open(t, s, "root", Options{Interval: 50 * time.Millisecond}), func() {
				for end := time.Now().Add(4 * time.Second); time.Now().Before(end); n++ {
					began := time.Now()
					run(t, db, fmt.Sprintf("SELECT SLEEP(0.3), 'abc' FROM t WHERE id=%d", n))
					busy += time.Since(began)
					time.Sleep(100 * time.Millisecond)
				}
				s.Exec(t, "/* dyno:test */ SELECT SLEEP(0.4)")
			})
			c, ok := of(cs, "SELECT SLEEP(0.3), 'abc' FROM t WHERE id=1")
			if !ok || len(cs) != 1 {
				t.Fatalf("%+v %+v", cs, sources)
			}
			if !c.Sampled || c.Origin != class.Processlist || c.Schema != "d" || c.Example == "" ||
				!strings.Contains(c.Example, "'abc'") {
				t.Errorf("%+v", c)
			}
			if math.Abs(c.TimeSec-busy.Seconds()) > 0.35*busy.Seconds() {
				t.Errorf("estimated %.2f s, it was %.2f s", c.TimeSec, busy.Seconds())
			}
			if c.Count > n || c.Count < n/2 {
				t.Errorf("saw %d of %d executions", c.Count, n)
			}
			if len(c.Users) != 1 || c.Users[0] != "root" || len(c.Hosts) != 1 || c.Hosts[0] != "localhost" {
				t.Errorf("users %v hosts %v", c.Users, c.Hosts)
			}
			if c.MeanSec().OK() {
				t.Error("a sampled class has a mean")
			}
			if x := given(t, sources, source.Digests); x.State != source.Missing ||
				!strings.Contains(x.Reason, "performance_schema is off") || x.Fix == "" {
				t.Errorf("%+v", x)
			}
			if x := given(t, sources, source.Samples); x.State != source.OK || x.Reads < 20 {
				t.Errorf("%+v", x)
			}
		})
	}
}

// TestShortWindow has a window that ends before the first interval has: it is looked at once.
func TestShortWindow(t *testing.T) {
	s := servers.Start(t, "mariadb")
	_, sources := window(t, open(t, s, "root", Options{Interval: time.Hour}), func() {})
	if x := given(t, sources, source.Samples); x.State != source.OK || x.Reads != 1 {
		t.Errorf("%+v", x)
	}
}

func TestSamplesSeeRowsExamined(t *testing.T) {
	s := servers.Start(t, "mariadb")
	db := table(t, s)
	// a sort after a join
	const q = "SELECT a.id, COUNT(*) FROM t a JOIN t b ON a.v<>b.v GROUP BY a.id ORDER BY COUNT(*), SLEEP(0.002)"
	cs, _ := window(t, open(t, s, "root", Options{Interval: 20 * time.Millisecond}), func() { run(t, db, q) })
	c, ok := of(cs, q)
	if !ok || c.Count != 1 {
		t.Fatalf("%+v", cs)
	}
	if e, known := c.Examined.Get(); known && (e == 0 || e > 2_100_000) {
		t.Errorf("%d rows examined", e)
	}
}

// TestRunningAtTheEnd has a statement that outlasts the window: digests know nothing of it, the samples do.
func TestRunningAtTheEnd(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			db := table(t, s)
			r := open(t, s, "root", Options{Interval: 50 * time.Millisecond})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan struct{})
			cs, sources := window(t, r, func() {
				go func() { defer close(done); db.ExecContext(ctx, "SELECT SLEEP(120)") }()
				time.Sleep(2500 * time.Millisecond) // the age of a statement is told in whole seconds
			})
			c, ok := of(cs, "SELECT SLEEP(120)")
			if !ok || !c.Sampled || c.Origin != class.Processlist || c.TimeSec < 1 {
				t.Errorf("%+v", cs)
			}
			if x := given(t, sources, source.Digests); !strings.Contains(x.Reason,
				"1 statements had run for a second or more") {
				t.Errorf("%+v", x)
			}
			cancel()
			<-done
		})
	}
}

// TestRunBeforeBegin has the sampler run before there is a window, as it does while a slow server takes its time to
// begin one.
func TestRunBeforeBegin(t *testing.T) {
	s := servers.Start(t, "mariadb")
	db := table(t, s)
	r := open(t, s, "root", Options{Interval: 10 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done, ran := make(chan struct{}), make(chan error, 1)
	go func() { defer close(done); db.ExecContext(ctx, "SELECT SLEEP(120)") }()
	go func() { ran <- r.Run(ctx) }()
	watcher := s.DB(t, "")
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		// it runs, for longer than the window will have
		var sec float64
		err := watcher.QueryRowContext(t.Context(), "SELECT TIME_MS / 1000 FROM information_schema.PROCESSLIST WHERE "+
			"INFO = 'SELECT SLEEP(120)'").Scan(&sec)
		if sec >= 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the statement does not run: %v", err)
		}
	}
	began := time.Now()
	cs, _ := window(t, r, func() {
		for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			r.lock()
			looks := r.samples.looks
			r.unlock()
			if looks >= 20 {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%d looks in a minute", looks)
			}
		}
	})
	// Of what it had run before nothing is counted.
	if c, ok := of(cs, "SELECT SLEEP(120)"); !ok || c.TimeSec <= 0 || c.TimeSec > time.Since(began).Seconds() {
		t.Errorf("after %v: %+v", time.Since(began), cs)
	}
	cancel()
	<-done
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

func TestAccountWithoutPrivileges(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON", "slow_query_log=ON")
			db := table(t, s)
			s.Exec(t, "CREATE USER nobody@localhost")
			cs, sources := window(t, open(t, s, "nobody", Options{}), func() {
				run(t, db, "SELECT v FROM t WHERE id=1")
				time.Sleep(300 * time.Millisecond)
			})
			if len(cs) != 0 {
				t.Errorf("%+v", cs)
			}
			d, p := given(t, sources, source.Digests), given(t, sources, source.Samples)
			if d.State != source.Denied || d.Fix != "GRANT SELECT ON `performance_schema`.* TO 'nobody'@'localhost'" {
				t.Errorf("%+v", d)
			}
			if p.State != source.Denied || p.Fix != "GRANT PROCESS ON *.* TO 'nobody'@'localhost'" {
				t.Errorf("%+v", p)
			}
			s.Exec(t, d.Fix, p.Fix)
			cs, sources = window(t, open(t, s, "nobody", Options{}), func() {
				run(t, db, "SELECT v FROM t WHERE id=1")
				time.Sleep(300 * time.Millisecond)
			})
			if c, ok := of(cs, "SELECT v FROM t WHERE id=1"); !ok || c.Count != 1 {
				t.Errorf("after the grants: %+v %+v", cs, sources)
			}
		})
	}
}

func TestSlowLogOfEverything(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=OFF", "slow_query_log=ON",
				"long_query_time=0", "log_output=FILE")
			db := table(t, s)
			run(t, db, "SELECT v FROM t WHERE id=77") // before the window
			cs, sources := window(t, open(t, s, "root", Options{}), func() {
				for i := range 12 {
					run(t, db, fmt.Sprintf("SELECT v\nFROM t\nWHERE id=%d", i))
				}
				run(t, db, "SELECT id FROM t WHERE v=3")
				s.Exec(t, "/* dyno:test */ SELECT 'own'")
				settle(t, db)
			})
			if x := given(t, sources, source.SlowLog); x.State != source.OK || x.Reads != 1 {
				t.Fatalf("%+v", x)
			}
			c, ok := of(cs, "SELECT v FROM t WHERE id=1")
			if !ok || c.Origin != class.SlowLog || c.Sampled || c.Count != 12 || c.RowsSent != known.Of(uint64(12)) ||
				c.Examined != known.Of(uint64(12)) || c.Schema != "d" {
				t.Errorf("%+v", c)
			}
			if !strings.HasPrefix(c.Example, "SELECT v\nFROM t\nWHERE id=") || strings.Contains(c.Example, "77") {
				t.Errorf("example %q", c.Example)
			}
			if c, ok := of(cs, "SELECT id FROM t WHERE v=3"); !ok || c.Count != 1 ||
				c.RowsSent != known.Of(uint64(100)) || c.Examined != known.Of(uint64(1000)) ||
				c.P95Sec.Or(0) <= 0 || c.LastSeen.IsZero() {
				t.Errorf("%+v", c)
			}
			for _, c := range cs {
				if c.Origin == class.SlowLog && (strings.Contains(c.Fingerprint, "own") ||
					strings.Contains(c.Fingerprint, "_schema")) {
					t.Errorf("Dyno's own: %+v", c)
				}
			}
		})
	}
}

// TestRestartInTheWindow kills the server and starts it again: what it counted since is there, and that it is not all.
func TestRestartInTheWindow(t *testing.T) {
	s := servers.Start(t, "mariadb", "performance_schema=ON")
	db := table(t, s)
	for range 5 {
		run(t, db, "SELECT v FROM t WHERE id=1")
	}
	cs, sources := window(t, open(t, s, "root", Options{Interval: 20 * time.Millisecond}), func() {
		run(t, db, "SELECT v FROM t WHERE id=1")
		s.Kill(t)
		time.Sleep(100 * time.Millisecond)
		s.Launch(t)
		db := s.DB(t, "d")
		db.SetMaxOpenConns(1)
		for range 3 {
			run(t, db, "SELECT v FROM t WHERE id=1")
		}
		settle(t, db)
		time.Sleep(200 * time.Millisecond)
	})
	if c, ok := of(cs, "SELECT v FROM t WHERE id=1"); !ok || c.Count != 3 {
		t.Errorf("%+v", cs)
	}
	if x := given(t, sources, source.Digests); x.State != source.OK || !strings.Contains(x.Reason, "restarted") {
		t.Errorf("%+v", x)
	}
}

// TestDeadServer ends a window on a server that is gone.
func TestDeadServer(t *testing.T) {
	s := servers.Start(t, "mariadb", "performance_schema=ON")
	r := open(t, s, "root", Options{Interval: 20 * time.Millisecond, Timeout: 2 * time.Second})
	cs, sources := window(t, r, func() { s.Kill(t); time.Sleep(200 * time.Millisecond) })
	if len(cs) != 0 {
		t.Errorf("%+v", cs)
	}
	if x := given(t, sources, source.Digests); x.State != source.Failed || x.Reason == "" {
		t.Errorf("%+v", x)
	}
	if _, _, err := r.End(t.Context()); err == nil {
		t.Error("a window that was not begun can be ended")
	}
}
