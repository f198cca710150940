package sources

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

func open(t *testing.T, s *servers.Server, user string) *target.Target {
	t.Helper()
	spec, err := endpoint.ParseURL(s.URL(user))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tg.Close() })
	return tg
}

// watched is a scraper with its connections.
type watched struct {
	*scrape.Scraper
	entries     []scrape.Entry
	link, heavy *link
}

func scraper(t *testing.T, tg *target.Target, o scrape.Options) *watched {
	t.Helper()
	if o.Timeout == 0 {
		o.Timeout = 20 * time.Second // tests run on slow machines
	}
	p := partsOf(tg)
	s, err := scrape.New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &watched{s, p.Entries, p.Light.(*link), p.Heavy.(*link)}
}

func parts(r reading.Reading) ([]metric.Sample, []source.Source) { return r.Samples, r.Sources }

func find(samples []metric.Sample, name string, labels ...string) (metric.Sample, bool) {
next:
	for _, x := range samples {
		if x.Name != name {
			continue
		}
		for i := 0; i < len(labels); i += 2 {
			if x.Labels.Get(labels[i]) != labels[i+1] {
				continue next
			}
		}
		return x, true
	}
	return metric.Sample{}, false
}

func sourceOf(t *testing.T, sources []source.Source, name source.Name) source.Source {
	t.Helper()
	for _, x := range sources {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no source %s in %+v", name, sources)
	return source.Source{}
}

func TestOnceReadsEverySource(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			sc := scraper(t, open(t, s, "root"), scrape.Options{})
			samples, sources := parts(sc.Once(t.Context()))
			var want []string
			for _, x := range List() {
				if !x.Asked {
					want = append(want, string(x.Name))
				}
			}
			if len(sources) != len(want) {
				t.Fatalf("sources %+v, want %v", sources, want)
			}
			for i, x := range sources {
				if x.State == source.Missing && x.Reads == 0 && x.Reason != "" {
					// this server has no such thing, or it is switched off
					continue
				}
				if string(x.Name) != want[i] || x.State != source.OK || x.Reads != 1 || x.Took <= 0 ||
					x.Reason != "" {
					t.Errorf("source %d: %+v", i, x)
				}
			}
			for _, name := range []source.Name{"host", "process", "global_status", "innodb_metrics"} {
				if x := sourceOf(t, sources, name); x.State != source.OK {
					t.Errorf("%+v", x)
				}
			}
			seen := map[string]bool{}
			for _, x := range samples {
				k := x.Name
				for _, l := range x.Labels {
					k += "," + l.Name + "=" + l.Value
				}
				if seen[k] {
					t.Errorf("twice: %s", k)
				}
				seen[k] = true
				if x.At != samples[0].At {
					t.Errorf("%s has a time of its own", k)
				}
			}
			if v, ok := find(samples, "mysql_global_status_uptime"); !ok || v.Kind != metric.Gauge || v.Value < 0 {
				t.Errorf("uptime: %+v %v", v, ok)
			}
			for _, n := range []string{
				"mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len",
				"mysql_info_schema_innodb_metrics_server_buffer_pool_size",
				"mysql_info_schema_processlist_longest_seconds", "dyno_server_resident_bytes",
				"dyno_scrape_client_cpu_seconds_total", "node_load1",
			} {
				if _, ok := find(samples, n); !ok {
					t.Errorf("no %s", n)
				}
			}
		})
	}
}

// TestNamesAreTheServersOwn compares with what the server shows: each numeric variable is there and none else.
func TestNamesAreTheServersOwn(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			samples := scraper(t, open(t, s, "root"), scrape.Options{Sources: []string{"global_status"}}).
				Once(t.Context()).Samples
			got := map[string]bool{}
			for _, x := range samples {
				if strings.HasPrefix(x.Name, "mysql_global_status_") {
					got[labeled(x.Name, x.Labels)] = true
				}
			}
			rows, err := s.DB(t, "").Query("SHOW GLOBAL STATUS")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			n := 0
			for rows.Next() {
				var k string
				var v *string
				if err := rows.Scan(&k, &v); err != nil {
					t.Fatal(err)
				}
				if v == nil || !(numeric(*v) || *v == "ON" || *v == "OFF") {
					continue
				}
				n++
				x := StatusSeries(strings.NewReplacer(":", "_", " ", "_").Replace(strings.ToLower(k)))
				name := labeled(x.Name, x.Labels)
				if !got[name] {
					t.Errorf("%s=%s is missing", k, *v)
				}
				delete(got, name)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			if n < 300 {
				t.Errorf("only %d variables", n)
			}
			for k := range got {
				t.Errorf("%s is no variable of the server", k)
			}
		})
	}
}

func numeric(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.-") == ""
}

// TestCountersCount runs a known number of statements and compares with the counters.
func TestCountersCount(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY) ENGINE=InnoDB")
			sc := scraper(t, open(t, s, "root"), scrape.Options{Sources: []string{"global_status", "innodb_metrics"}})
			sc.Once(t.Context()) // learns about the server
			a := sc.Once(t.Context()).Samples
			var qs []string
			for range 25 {
				qs = append(qs, "SELECT COUNT(*) FROM d.t")
			}
			qs = append(qs, "INSERT INTO d.t VALUES (1),(2),(3)", "DELETE FROM d.t WHERE id=2")
			s.Exec(t, qs...)
			b := sc.Once(t.Context()).Samples
			delta := func(name string, want float64, labels ...string) {
				t.Helper()
				x, ok1 := find(a, name, labels...)
				y, ok2 := find(b, name, labels...)
				if !ok1 || !ok2 || y.Value-x.Value != want || y.Kind != metric.Counter {
					t.Errorf("%s: %v then %v (%v), want +%v", name, x.Value, y.Value, y.Kind, want)
				}
			}
			delta(figures.Commands.Name, 1, "command", "insert")
			delta(figures.Commands.Name, 1, "command", "delete")
			// The scraper's own: innodb_metrics, read once between the two readings of the status.
			delta(figures.Commands.Name, 25+1+1, "command", "select") // one asks the session what it has counted
			delta(figures.Commands.Name, 1, "command", "show_status")
			if flavor == "mysql" {
				delta(figures.RowOps.Name, 3, "operation", "inserted")
			}
			delta("mysql_info_schema_innodb_metrics_lock_lock_deadlocks_total", 0)
		})
	}
}

// TestNoCounterFalls looks for gauges that are taken for counters, by making everything that can fall do so.
func TestNoCounterFalls(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			sc := scraper(t, open(t, s, "root"), scrape.Options{})
			sc.Once(t.Context()) // its own questions open tables too
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(2000)) "+
				"ENGINE=InnoDB", "CREATE TABLE d.m (id INT) ENGINE=MyISAM")
			db := s.DB(t, "d")
			c, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			run := func(q string) {
				t.Helper()
				if _, err := c.ExecContext(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			run("INSERT INTO t (v) VALUES (REPEAT('x',2000))")
			for range 10 {
				run("INSERT INTO t (v) SELECT v FROM t")
			}
			run("INSERT INTO m SELECT id FROM t")
			run("SET @x=1")
			run("PREPARE p FROM 'SELECT 1'")
			run("BEGIN")
			run("DELETE FROM t WHERE id%2=0")
			a := sc.Once(t.Context()).Samples
			run("ROLLBACK")
			run("DEALLOCATE PREPARE p")
			run("DROP TABLE t")
			run("DROP TABLE m")
			run("FLUSH TABLES")
			c.Close()
			db.Close()
			for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); time.Sleep(
				300 * time.Millisecond) {
				b := sc.Once(t.Context()).Samples
				for _, y := range b {
					if y.Kind != metric.Counter || !strings.HasPrefix(y.Name, "mysql_") {
						continue
					}
					for _, x := range a {
						if x.Name == y.Name && x.Labels.Compare(y.Labels) == 0 && y.Value < x.Value {
							t.Errorf("counter %s %v fell from %v to %v", y.Name, y.Labels, x.Value, y.Value)
						}
					}
				}
				a = b
			}
		})
	}
}

func TestAccountWithoutPrivileges(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE USER nobody@localhost")
			sc := scraper(t, open(t, s, "nobody"), scrape.Options{})
			samples, sources := parts(sc.Once(t.Context()))
			if x := sourceOf(t, sources, "global_status"); x.State != source.OK {
				t.Errorf("%+v", x)
			}
			for _, name := range []source.Name{"innodb_metrics", "processlist"} {
				x := sourceOf(t, sources, name)
				if x.State != source.Denied || x.Reason == "" ||
					x.Fix != "GRANT PROCESS ON *.* TO 'nobody'@'localhost'" || x.Reads != 0 {
					t.Errorf("%+v", x)
				}
				if v, ok := find(samples, "dyno_scrape_success", "source", string(name)); !ok || v.Value != 0 {
					t.Errorf("success of %s: %+v %v", name, v, ok)
				}
			}
			for _, x := range samples {
				if strings.HasPrefix(x.Name, "mysql_info_schema_") {
					t.Errorf("a denied source gave %+v", x)
				}
			}
			// What the fix says mends it, for whoever connects then.
			s.Exec(t, sourceOf(t, sources, "processlist").Fix)
			sources = scraper(t, open(t, s, "nobody"), scrape.Options{}).Once(t.Context()).Sources
			for _, name := range []source.Name{"innodb_metrics", "processlist"} {
				if x := sourceOf(t, sources, name); x.State != source.OK {
					t.Errorf("after the grant: %+v", x)
				}
			}
		})
	}
}

func TestProcessIsTheServers(t *testing.T) {
	s := servers.Start(t, "mariadb")
	sc := scraper(t, open(t, s, "root"), scrape.Options{Sources: []string{"process", "process_threads"}})
	s.Exec(t, "SELECT BENCHMARK(20000000, 1+1)")
	before, err := host.Process(s.PID)
	if err != nil {
		t.Fatal(err)
	}
	samples := sc.Once(t.Context()).Samples
	after, err := host.Process(s.PID)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := find(samples, "dyno_server_cpu_seconds_total", "mode", "user")
	k, _ := find(samples, "dyno_server_cpu_seconds_total", "mode", "system")
	if got := u.Value + k.Value; got < before.UserSec+before.SysSec || got > after.UserSec+after.SysSec || got < 0.05 {
		t.Errorf("cpu %.2f s, /proc said %.2f before and %.2f after", got, before.UserSec+before.SysSec,
			after.UserSec+after.SysSec)
	}
	if w, ok := find(samples, "dyno_server_io_written_bytes_total"); !ok || w.Kind != metric.Counter {
		t.Errorf("io: %+v %v", w, ok)
	}
	// What threads did before they were first read is not counted; each of these statements sleeps once at least.
	if n, ok := find(samples, "dyno_server_context_switches_total"); !ok || n.Value != 0 {
		t.Errorf("context switches at first: %+v", n)
	}
	for range 30 {
		s.Exec(t, "DO SLEEP(0.001)")
	}
	if n, ok := find(sc.Once(t.Context()).Samples, "dyno_server_context_switches_total"); !ok || n.Value < 30 {
		t.Errorf("context switches: %+v", n)
	}
	if n, ok := find(samples, "dyno_server_threads"); !ok || n.Value < 3 {
		t.Errorf("threads: %+v", n)
	}
}

func TestProcesslistCounts(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			sc := scraper(t, open(t, s, "root"), scrape.Options{Sources: []string{"processlist"}})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			db := s.DB(t, "")
			done := make(chan error, 3)
			for range 3 {
				go func() { _, err := db.ExecContext(ctx, "SELECT SLEEP(60)"); done <- err }()
			}
			deadline := time.Now().Add(20 * time.Second)
			for {
				samples, sources := parts(sc.Once(t.Context()))
				n, _ := find(samples, "mysql_info_schema_processlist_threads", "command",
					"query", "state", "user_sleep")
				longest, ok := find(samples, "mysql_info_schema_processlist_longest_seconds")
				if !ok {
					t.Fatalf("sources %+v", sources)
				}
				if n.Value == 3 && longest.Value >= 1 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("got %v threads, longest %v s", n.Value, longest.Value)
				}
				time.Sleep(50 * time.Millisecond)
			}
			cancel()
			for range 3 {
				<-done
			}
			s.Exec(t, "SELECT 1")
			db.Close()
			for { // the server notices, and the combination then stands at 0 instead of ending
				samples := sc.Once(t.Context()).Samples
				n, ok := find(samples, "mysql_info_schema_processlist_threads", "command",
					"query", "state", "user_sleep")
				if ok && n.Value == 0 {
					break
				}
				if time.Now().After(deadline.Add(20 * time.Second)) {
					t.Fatalf("got %+v %v", n, ok)
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
}

// TestRunSurvivesARestart kills the server under a running scraper: there is a gap, its reason, and then figures again.
func TestRunSurvivesARestart(t *testing.T) {
	s := servers.Start(t, "mariadb")
	s.Exec(t, slices.Repeat([]string{"DO 1"}, 2000)...) // more than is asked of the new one until its first reading
	sc := scraper(t, open(t, s, "root"), scrape.Options{Timeout: time.Second})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const every = 200 * time.Millisecond
	phase, gaps := 0, 0
	var last time.Time
	var before, after float64
	err := sc.Run(ctx, every, func(r reading.Reading) {
		at, samples, sources := r.At, r.Samples, r.Sources
		if at.UnixMilli()%200 != 0 || !at.After(last) {
			t.Errorf("round at %v after %v", at, last)
		}
		last = at
		for _, x := range samples {
			if x.At != at.UnixMilli() {
				t.Fatalf("%s at %d in the round of %d", x.Name, x.At, at.UnixMilli())
			}
		}
		q, up := find(samples, "mysql_global_status_queries")
		cpu, process := find(samples, "dyno_server_cpu_seconds_total")
		switch phase {
		case 0:
			if up && process {
				before = q.Value
				s.Kill(t)
				phase = 1
			}
		case 1: // down
			if up || process {
				t.Errorf("figures of a dead server: %v %v", q, cpu)
			}
			if x := sourceOf(t, sources, "global_status"); x.State != source.Failed || x.Reason == "" {
				t.Errorf("%+v", x)
			}
			if _, ok := find(samples, "node_load1"); !ok {
				t.Error("the machine is still there")
			}
			if gaps++; gaps == 3 {
				s.Launch(t)
				phase = 2
			}
		case 2:
			if up && process {
				after = q.Value
				if x := sourceOf(t, sources, "global_status"); x.State != source.OK || x.Reads < 2 {
					t.Errorf("%+v", x)
				}
				phase = 3
				cancel()
			}
		}
	})
	if err != nil || phase != 3 {
		t.Fatalf("ended in phase %d: %v", phase, err)
	}
	if after >= before {
		t.Errorf("the counter did not begin anew: %v then %v", before, after)
	}
}

func TestNewRefusesUnknownSources(t *testing.T) {
	for name, known := range map[string]bool{"tea_leaves": false, "global_status": true, "replication": true} {
		_, err := New(&target.Target{}, scrape.Options{Sources: []string{name}})
		if known != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
