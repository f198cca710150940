package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	mysqlsandbox "github.com/dyno-perf/dyno/internal/mysql/sandbox"
	pgsandbox "github.com/dyno-perf/dyno/internal/postgres/sandbox"

	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	trialmysql "github.com/dyno-perf/dyno/internal/mysql/trial"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/workload"
)

// newStand returns a stand with a yard of its own, and parses plans.
func newStand(t *testing.T) *Testbed {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server")
	}
	top, err := os.MkdirTemp("", "dyno-stand-") // the server's account may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	y, err := sandbox.Open(filepath.Join(top, "home"), mysqlsandbox.Maker{}, pgsandbox.Maker{})
	if err != nil {
		t.Fatal(err)
	}
	if tree := os.Getenv("DYNO_TEST_MYSQL"); tree != "" {
		y.ServerDirs = []string{tree}
	}
	if root := os.Getenv("DYNO_TEST_POSTGRES"); root != "" { // see build/postgres
		trees, err := filepath.Glob(root + "/*")
		if err != nil {
			t.Fatal(err)
		}
		y.ServerDirs = append(y.ServerDirs, trees...)
	}
	s := &Testbed{
		Yard: y, Name: "t", Workloads: workload.All(), Family: families, Note: func(s string) { t.Log(s) },
	}
	before, err := host.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	procs := runtime.GOMAXPROCS(0)
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left, err := y.List(context.Background()); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
		if err := y.RemoveAll(context.Background()); err != nil {
			t.Error(err)
		}
		os.RemoveAll(top)
		if after, err := host.Allowed(); err != nil || fmt.Sprint(after) != fmt.Sprint(before) ||
			runtime.GOMAXPROCS(0) != procs {
			t.Errorf("this process may use CPUs %v with %d threads of Go, before: %v with %d, %v", after,
				runtime.GOMAXPROCS(0), before, procs, err)
		}
	})
	return s
}

func parse(t *testing.T, text string) (plan.Plan, []plan.Variant) {
	t.Helper()
	p, err := plan.Parse([]byte("dyno_plan: 1\nname: test\n"+text), plan.Options{File: "test.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	vs, err := p.Variants()
	if err != nil {
		t.Fatal(err)
	}
	return p, vs
}

func (s *Testbed) must(t *testing.T, v plan.Variant, p plan.Plan) trial.Trial {
	t.Helper()
	tr, err := s.Trial(t.Context(), v, p, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tr.Invalid != "" {
		t.Fatalf("%s: invalid: %s", v.Key, tr.Invalid)
	}
	return tr
}

// status asks the server that runs now.
func (s *Testbed) status(t *testing.T, name string) (n float64) {
	t.Helper()
	x, err := target.Open(t.Context(), s.current.box.Spec())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var got string
	if err := x.DB().QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&got, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLoad runs a trial on each flavor and holds its figures against the server's own.
func TestLoad(t *testing.T) {
	for _, flavor := range []string{"mariadb", "mysql"} {
		t.Run(flavor, func(t *testing.T) {
			s := newStand(t)
			p, vs := parse(t, `
server: `+flavor+`
settings: {innodb_buffer_pool_size: 64M}
workload: oltp_read_write
threads: 2
options: {table-size: 2000}
placement: shared
trials: {time: 3s, warmup: 1s..1s, rounds: 3..3, fresh: data}
`)
			tr := s.must(t, vs[0], p)
			v := tr.Values
			ops := 0.0
			for _, x := range tr.Seconds {
				ops += float64(x.Ops)
			}
			if len(tr.Seconds) != 3 || ops == 0 || float64(tr.Latency.Count()) != ops {
				t.Fatalf("%d seconds with %v operations, %d latencies", len(tr.Seconds), ops, tr.Latency.Count())
			}
			// A transaction has 20 statements. The server saw those of the warm-up and of the last operations, too.
			commits := s.status(t, "Com_commit")
			if least, most := ops, ops*4; commits < least || commits > most {
				t.Errorf("%v operations in the window, the server counts %v commits in all", ops, commits)
			}
			// The window cuts at most one transaction of each thread at either end; what a deadlock undid was asked all
			// the same.
			asked := v["qps"] / v["tps"] * ops
			undone := 20 * s.status(t, "Com_rollback")
			if least, most := 20*ops-2*20, 20*ops+2*20+undone; asked < least-0.5 || asked > most+0.5 {
				t.Errorf("%v statements in %v transactions with %v undone", asked, ops, undone)
			}
			for _, name := range []string{
				"p50_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms", "mean_ms",
				"server_cpu_us_per_op", "client_cpu_us_per_op", "cs_per_op", "written_bytes_redo", "data_bytes",
			} {
				if !(v[name] > 0) {
					t.Errorf("%s is %v", name, v[name])
				}
			}
			if v["p50_ms"] > v["p95_ms"] || v["p99_ms"] > v["max_ms"] {
				t.Errorf("percentiles: %v", v)
			}
			if tr.Env == nil || tr.Env.Facts["variable"]["innodb_buffer_pool_size"] != "67108864" {
				t.Errorf("environment: %+v", tr.Env)
			}
			// The server is where it was put.
			if cpus := s.current.box.CPUs; cpus != s.cpus.server {
				t.Errorf("the server runs on CPU %q, wanted %q", cpus, s.cpus.server)
			}
		})
	}
}

// TestFresh tells from a table whether a trial began with restored data, and from the server's uptime whether it was
// restarted.
func TestFresh(t *testing.T) {
	s := newStand(t)
	f := func(seed uint64, fresh string, want ...float64) {
		t.Helper()
		p, vs := parse(t, `
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
data: {sql: ["CREATE TABLE mark (at INT NOT NULL) ENGINE=InnoDB"]}
before: [{sql: "INSERT INTO mark VALUES (1)"}]
read: {marks: "SELECT COUNT(*) FROM mark"}
trials: {rounds: 1..1, control: false, fresh: `+fresh+`}
`)
		p.Trials.Seed = seed // data of its own for each kind
		var pids []int
		for i, w := range want {
			tr := s.must(t, vs[0], p)
			if tr.Values["marks"] != w {
				t.Errorf("%s, trial %d: %v marks, want %v", fresh, i+1, tr.Values["marks"], w)
			}
			pids = append(pids, s.current.box.PID)
		}
		if same := pids[0] == pids[1]; same != (fresh == "none") {
			t.Errorf("%s: servers %v", fresh, pids)
		}
	}
	f(1, "data", 1, 1, 1)
	f(2, "server", 1, 2)
	f(3, "none", 1, 2, 3)
}

// TestProbe holds the rows that a probe reads against what the statement must read.
func TestProbe(t *testing.T) {
	for _, flavor := range []string{"mariadb", "mysql"} {
		t.Run(flavor, func(t *testing.T) {
			s := newStand(t)
			p, vs := parse(t, `
server: `+flavor+`
settings: {innodb_buffer_pool_size: 32M}
data:
  sql:
    - CREATE TABLE d (n INT NOT NULL PRIMARY KEY)
    - INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)
    - CREATE TABLE t (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, x CHAR(10) NOT NULL, KEY k (k)) ENGINE=InnoDB
    - INSERT INTO t SELECT a.n + 10*b.n + 100*c.n, a.n + 10*b.n, 'x' FROM d a, d b, d c
    - ANALYZE TABLE t
probe:
  - {name: scan, sql: "SELECT MAX(x) FROM t"}
  - {name: look, sql: "SELECT MAX(x) FROM t WHERE k = 7"}
  - {name: sort, sql: "SELECT x FROM t WHERE k < 3 ORDER BY x, id"}
trials: {rounds: 1..1, control: false}
`)
			tr := s.must(t, vs[0], p)
			f := func(name string, least, most float64) {
				t.Helper()
				if v, ok := tr.Values[name]; !ok || v < least || v > most {
					t.Errorf("%s is %v, want %v to %v", name, v, least, most)
				}
			}
			f("scan.rows_read", 1000, 1005) // the ends of the table are reads, too
			f("look.rows_read", 10, 12)
			f("look.rows_sent", 1, 1)
			f("sort.rows_sent", 30, 30)
			f("scan.ms", 0.001, 60000)
			if tr.Texts["sort.filesort"] != "yes" || tr.Texts["look.filesort"] != "no" {
				t.Errorf("sorting: %v", tr.Texts)
			}
			if !strings.Contains(tr.Texts["look.plan"], "key k") || strings.Contains(tr.Texts["scan.plan"], "key k") {
				t.Errorf("plans: %v", tr.Texts)
			}
		})
	}
}

// TestUnusable gives variants up that can never run, with the server's own words.
func TestUnusable(t *testing.T) {
	s := newStand(t)
	f := func(text string, want ...string) {
		t.Helper()
		p, vs := parse(t, text)
		_, err := s.Trial(t.Context(), vs[0], p, false, nil)
		var u *experiment.Unusable
		if !errors.As(err, &u) {
			t.Errorf("%s: %v", text, err)
			return
		}
		for _, w := range want {
			if !strings.Contains(u.Reason, w) {
				t.Errorf("%q lacks %q", u.Reason, w)
			}
		}
	}
	const load = "workload: oltp_read_only\noptions: {table-size: 100}\n"
	f("server: mariadb\nsettings: {innodb_no_such_setting: 1}\n"+load, "no-such-setting")
	f("server: mariadb\nset: {innodb_no_such_variable: 1}\n"+load, "innodb_no_such_variable")
	f("server: mariadb\nbefore: [{sql: \"CREATE INDEX i ON nowhere (x)\"}]\n"+load, "CREATE INDEX i", "nowhere")
	f("server: mariadb\nbefore: [{shell: \"echo too bad; exit 3\"}]\n"+load, "too bad", "3")
	f("server: mariadb\ndata: {sql: [\"SELEC 1\"]}\n"+load, "SELEC 1")
	f("server: mariadb@1.2\n"+load, "mariadb@1.2")
}

// TestServerDies kills the server in the middle of a trial: that trial is invalid, the next one is not.
func TestServerDies(t *testing.T) {
	s := newStand(t)
	p, vs := parse(t, `
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
workload: oltp_read_only
options: {table-size: 500}
placement: shared
trials: {time: 4s, warmup: 1s..1s, rounds: 3..3}
`)
	s.must(t, vs[0], p)
	before := s.current.box.PID
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			box, err := s.Yard.Find(t.Context(), "t-1")
			if err != nil || box.PID == before || box.State != sandbox.Orphan && box.State != sandbox.Running {
				continue
			}
			x, err := target.Open(t.Context(), box.Spec())
			if err != nil {
				continue
			}
			var name string
			var n int
			err = x.DB().QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Com_select'").Scan(&name, &n)
			x.Close()
			if err == nil && n > 50 { // the load is on
				syscall.Kill(box.PID, syscall.SIGKILL)
				return
			}
		}
	}()
	tr, err := s.Trial(t.Context(), vs[0], p, false, nil)
	<-killed
	if err != nil || tr.Invalid == "" {
		t.Fatalf("the server was killed: %v, invalid %q", err, tr.Invalid)
	}
	s.must(t, vs[0], p)
}

// TestTakesBack: a variable that one variant set is as it was in a trial of one that does not, though the server goes
// on.
func TestTakesBack(t *testing.T) {
	for _, flavor := range []string{"mariadb", "mysql"} {
		t.Run(flavor, func(t *testing.T) {
			s := newStand(t)
			p, vs := parse(t, `
server: `+flavor+`
settings: {innodb_buffer_pool_size: 32M}
axes:
  - name: how
    levels:
      - {name: as shipped}
      - {name: set, set: {Max_Connections: 77, optimizer_switch: "index_merge=off", init_connect: "SET @a = 'b'"}}
      - {name: other, set: {max_connections: 78}}
probe: [{name: q, sql: SELECT 1}]
read:
  connections: SELECT @@GLOBAL.max_connections
  merge: SELECT @@GLOBAL.optimizer_switch LIKE '%index_merge=off%'
  said: SELECT LENGTH(@@GLOBAL.init_connect)
trials: {rounds: 3..3}
`)
			if p.Trials.Fresh != plan.FreshNone {
				t.Fatalf("fresh is %q", p.Trials.Fresh)
			}
			f := func(i int, connections, merge, said float64) {
				t.Helper()
				v := s.must(t, vs[i], p).Values
				if v["connections"] != connections || v["merge"] != merge || v["said"] != said {
					t.Errorf("%s: %v", vs[i].Key, v)
				}
			}
			f(0, 151, 0, 0)
			pid := s.current.box.PID
			f(1, 77, 1, 12)
			f(0, 151, 0, 0)
			f(2, 78, 0, 0)
			f(1, 77, 1, 12)
			f(2, 78, 0, 0)
			f(0, 151, 0, 0)
			if s.current.box.PID != pid {
				t.Error("the server was started anew")
			}
		})
	}
}

// TestNoWarmup: what the server used is measured from the first moment on.
func TestNoWarmup(t *testing.T) {
	s := newStand(t)
	p, vs := parse(t, `
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
workload: oltp_point_select
threads: 2
options: {table-size: 1000}
trials: {time: 2s, warmup: 0s..0s, rounds: 3..3}
`)
	for range 2 { // the second time this process has used CPU before
		tr, err := s.Trial(t.Context(), vs[0], p, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := tr.Values // also where so quick a load is as much as the client can do
		for _, name := range []string{"server_cpu_us_per_op", "client_cpu_us_per_op", "client_cpu_share", "cs_per_op"} {
			if !(v[name] > 0) {
				t.Errorf("%s is %v", name, v[name])
			}
		}
		if _, ok := v["steal_share"]; !ok {
			t.Errorf("what the hypervisor took is not known: %v", v)
		}
	}
}

// TestDataKeys: rows that hold something else are other data, also where the tables look alike.
func TestDataKeys(t *testing.T) {
	s := newStand(t)
	f := func(workload, options string, same bool) {
		t.Helper()
		p, vs := parse(t, `
server: mariadb
workload: `+workload+`
axes:
  - name: x
    levels:
      - {name: a, options: `+strings.Split(options, " | ")[0]+`}
      - {name: b, options: `+strings.Split(options, " | ")[1]+`}
`)
		a, err1 := s.job(vs[0], p)
		b, err2 := s.job(vs[1], p)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if a.data == "" || (a.data == b.data) != same || (a.place == b.place) != same {
			t.Errorf("%s, %s: %s and %s", workload, options, a.place, b.place)
		}
	}
	f("page_counts_select", "{table-size: 1000, pages: 10} | {table-size: 1000, pages: 1000}", false)
	f("wide_metrics_select", "{table-size: 1000, hosts: 10} | {table-size: 1000, hosts: 1000}", false)
	f("oltp_read_only", "{table-size: 1000} | {table-size: 1001}", false)
	f("oltp_read_only", "{table-size: 1000, rand-type: uniform} | {table-size: 1000, rand-type: pareto}", false)
	f("oltp_read_only", "{table-size: 1000, point-selects: 1} | {table-size: 1000, point-selects: 9}", true)
}

// TestSerious tells errors that spoil a trial from those that the plan lets pass, and from those that writes have.
func TestSerious(t *testing.T) {
	errs := map[string]uint64{"1062": 3, "1213": 5, "1290": 1}
	f := func(ignore []string, bad, ignored string) {
		t.Helper()
		if b, i := serious(errs, trialmysql.Bench{}.Retried(), ignore); b != bad || i != ignored {
			t.Errorf("%v: %q, %q", ignore, b, i)
		}
	}
	f(nil, "3× error 1062, 1× error 1290", "")
	f([]string{"1062"}, "1× error 1290", "3× error 1062")
	f([]string{"All"}, "", "3× error 1062, 1× error 1290")
}

// TestLoops: a client that has CPUs of its own uses them all.
func TestLoops(t *testing.T) {
	f := func(apart bool, own, threads, want int) {
		t.Helper()
		s := &Testbed{cpus: &cpus{apart: apart, n: own}}
		j := &job{}
		j.config.Run.Threads = threads
		if got := configOf(s.cpus, j, 1).Loops; got != want {
			t.Errorf("%v, %d CPUs, %d threads: %d loops", apart, own, threads, got)
		}
	}
	f(true, 1, 64, 0) // as any client chooses
	f(true, 4, 64, 4)
	f(true, 4, 3, 3)
	f(false, 4, 64, 0)
}
