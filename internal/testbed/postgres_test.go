package testbed

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// counter asks the PostgreSQL that runs now, in the database of the trials.
func (s *Testbed) counter(t *testing.T, query string) float64 {
	t.Helper()
	x, err := conn.Open(t.Context(), s.current.box.Spec())
	if err != nil {
		t.Fatal(err)
	}
	c, err := x.ConnTo(t.Context(), conn.ForLoad, "lab")
	if err != nil {
		t.Fatal(err)
	}
	defer x.End(c)
	var n float64
	if err := c.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLoadOnPostgreSQL runs trials and holds their figures against the server's own; the second one finds the rows that
// the first one found.
func TestLoadOnPostgreSQL(t *testing.T) {
	s := newStand(t)
	p, vs := parse(t, `
server: postgres
settings: {shared_buffers: 64MB}
set: {commit_siblings: 7}
workload: oltp_read_write
threads: 2
options: {table-size: 10000}
placement: shared
read: {rows: SELECT count(*) FROM sbtest1, siblings: SHOW commit_siblings, own: "SELECT pg_stat_force_next_flush() IS NOT NULL"}
trials: {time: 2s, warmup: 1s..1s, rounds: 3..3, fresh: data}
`)
	for range 2 {
		tr := s.must(t, vs[0], p)
		v := tr.Values
		ops := 0.0
		for _, x := range tr.Seconds {
			ops += float64(x.Ops)
		}
		if len(tr.Seconds) != 2 || ops == 0 || float64(tr.Latency.Count()) != ops {
			t.Fatalf("%d seconds with %v operations, %d latencies", len(tr.Seconds), ops, tr.Latency.Count())
		}
		// The server saw those of the warm-up and of the last operations, too.
		commits := s.counter(t, "SELECT xact_commit FROM pg_stat_database WHERE datname = 'lab'")
		if least, most := ops, ops*5; commits < least || commits > most {
			t.Errorf("%v operations in the window, the server counts %v commits in all", ops, commits)
		}
		// A transaction inserts one row and deletes one.
		inserts := s.counter(t, "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'sbtest1'") - 10000
		if inserts < 0 { // what loading did was counted by a server that has ended
			inserts += 10000
		}
		if inserts < ops || inserts > ops*5 {
			t.Errorf("%v operations in the window, the server counts %v rows inserted in all", ops, inserts)
		}
		if v["rows"] != 10000 || v["siblings"] != 7 {
			t.Errorf("read: %v", v)
		}
		for _, name := range []string{
			"p50_ms", "p95_ms", "max_ms", "server_cpu_us_per_op", "client_cpu_us_per_op", "cs_per_op", "data_bytes",
			"written_bytes_redo",
		} {
			if !(v[name] > 0) {
				t.Errorf("%s is %v", name, v[name])
			}
		}
		if tr.Env == nil || tr.Env.Facts["variable"]["shared_buffers"] != "64MB" {
			t.Errorf("environment: %+v", tr.Env)
		}
		if cpus := s.current.box.CPUs; cpus != s.cpus.server {
			t.Errorf("the server runs on CPU %q, wanted %q", cpus, s.cpus.server)
		}
	}
}

// TestCheckFamilies: a workload, an option or a setting that a variant's family does not have is told before the first
// trial, by the names of both.
func TestCheckFamilies(t *testing.T) {
	s := newStand(t)
	f := func(text string, want ...string) {
		t.Helper()
		p, vs := parse(t, "servers: [mariadb, postgres]\n"+text)
		n := s.check(t, p, vs...)
		for _, w := range want {
			if !slices.ContainsFunc(n.Problems, func(p string) bool { return strings.Contains(p, w) }) {
				t.Errorf("%s: %q lacks %q", text, n.Problems, w)
			}
		}
		if len(n.Problems) != len(want) {
			t.Errorf("%s: %d problems: %q", text, len(want), n.Problems)
		}
	}
	const load = "workload: oltp_read_only\n"
	f(load)
	f("workload: page_counts_select\n", "the workload page_counts_select is not there for PostgreSQL yet")
	f(load+"options: {mysql-storage-engine: InnoDB}\n",
		"the workload oltp_read_only has no option mysql-storage-engine for PostgreSQL: leave it out")
	f(load+"settings: {innodb_buffer_pool_size: 64M}\n",
		`server=postgres (PostgreSQL): check settings of `+s.spec(t, "postgres")+`: settings cannot be used: `+
			s.spec(t, "postgres")+` knows no setting "innodb_buffer_pool_size"`)
	f(load+"settings: {work_mum: 64MB}\n", `server=mariadb (MySQL): check settings`, "did you mean work_mem?")
	f(load+"set: {synchronous_commit: off}\n", `server=mariadb (MySQL): set: check settings`)
	f(load+"set: {innodb_io_capacity: 300}\n", `server=postgres (PostgreSQL): set: check settings`)
	f(load+"threads: "+strconv.Itoa(98)+"\n", "server=postgres: 98 threads, but max_connections is 97")
}

// spec is what a server's name stands for here.
func (s *Testbed) spec(t *testing.T, name string) string {
	t.Helper()
	x, err := s.Yard.Resolve(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return x.Spec()
}
