package trial

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// open returns a server of a version as a trial has it.
func open(t *testing.T, version string, settings ...string) (*pgserver.Server, family.TrialServer) {
	t.Helper()
	s := pgserver.Start(t, version, settings...)
	x, err := Bench{}.Open(t.Context(), endpoint.Spec{
		Scheme: "postgres", Network: "unix", Address: s.Socket, User: pgserver.Superuser, Database: "postgres",
		ExplainSchemas: endpoint.AllSchemas,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return s, x
}

// TestReadings holds what a trial reads of a server of each version against the server's own views.
func TestReadings(t *testing.T) {
	for _, version := range pgserver.Versions {
		t.Run(version, func(t *testing.T) {
			s, x := open(t, version, "work_mem=5MB", "archive_command=false")
			facts, unknown, err := x.Environment(t.Context())
			if err != nil || len(unknown) > 0 {
				t.Fatal(unknown, err)
			}
			v := facts["variable"]
			if v["work_mem"] != "5MB" || v["shared_buffers"] == "" || v["archive_command"] != "(set)" ||
				facts["server"]["version"] != s.Version || !strings.Contains(facts["server"]["extensions"], "plpgsql") {
				t.Errorf("%v", facts)
			}
			for name, value := range v {
				if strings.Contains(value, s.Dir) || name == "port" || name == "ssl_key_file" ||
					name == "statement_timeout" && value != "0" {
					t.Errorf("%s is %s", name, value)
				}
			}

			// What is written between two readings is what the server says it wrote.
			before, err := x.Written(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			from := s.Value(t, "postgres", "SELECT pg_current_wal_insert_lsn()")
			s.Exec(t, "postgres", "CREATE TABLE t AS SELECT n, repeat('x', 500) AS x FROM generate_series(1, 4000) n")
			undo, err := x.WriteOut(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := undo(); err != nil {
				t.Error(err)
			}
			s.Exec(t, "postgres", "SELECT pg_stat_force_next_flush()", "SELECT 1")
			after, err := x.Written(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wal := s.Value(t, "postgres", "SELECT pg_current_wal_insert_lsn() - '"+from+"'::pg_lsn > 2000000")
			redo := after["redo"] - before["redo"]
			if wal != "true" && wal != "t" || redo < 2_000_000 || redo > 40<<20 {
				t.Errorf("%d bytes of WAL, more than 2 MB: %s", redo, wal)
			}
			if data := after["data"] - before["data"]; data < 2_000_000 || data > 40<<20 {
				t.Errorf("%d bytes of pages for 2 MB of rows", data)
			}
		})
	}
}

// TestApply: a setting is in effect when Apply returns, and taken back by the next one, also after another start of the
// server; what can only be set at the start says so.
func TestApply(t *testing.T) {
	s, x := open(t, "17", "work_mem=5MB")
	apply := func(set map[string]string, want string) {
		t.Helper()
		_, err := x.Apply(t.Context(), set, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", set, err, want)
		}
	}
	shows := func(name, want string) {
		t.Helper()
		if got := s.Value(t, "postgres", "SHOW "+name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	apply(nil, "")
	apply(map[string]string{"synchronous_commit": "off", "Temp_Buffers": "16MB"}, "")
	shows("synchronous_commit", "off")
	shows("temp_buffers", "16MB")
	apply(map[string]string{"log_line_prefix": "it's %m "}, "")
	shows("log_line_prefix", "it's %m ")
	shows("synchronous_commit", "on")
	apply(nil, "")
	shows("log_line_prefix", "%m [%p] ")

	apply(map[string]string{"synchronous_commit": "off"}, "")
	s.Stop(t)
	s.Launch(t)
	shows("synchronous_commit", "off")
	apply(nil, "")
	shows("synchronous_commit", "on")

	apply(map[string]string{"shared_buffers": "64MB"}, "set shared_buffers: it takes a restart of the server")
	apply(map[string]string{"work_mem": "6MB"}, "set work_mem: the server was started with a value of it")
	apply(map[string]string{"no_such_setting": "1"}, `unrecognized configuration parameter "no_such_setting"`)
	apply(map[string]string{"x y": "1"}, "not a setting's name")

	// What was set before an error is not left for a later server.
	none := func() {
		t.Helper()
		shows("synchronous_commit", "on")
		n := s.Value(t, "postgres", "SELECT count(*) FROM pg_file_settings WHERE sourcefile LIKE '%auto.conf'")
		if n != "0" {
			t.Errorf("%s settings are left", n)
		}
	}
	apply(map[string]string{"synchronous_commit": "off", "temp_buffers": "much"}, "set temp_buffers: ")
	none()
	apply(map[string]string{"synchronous_commit": "off", "shared_buffers": "64MB"}, "set shared_buffers: ")
	none()
}

// TestSwitch puts two groups in effect in turn.
func TestSwitch(t *testing.T) {
	s, x := open(t, "17")
	w, err := x.Switch(t.Context(), []map[string]string{{"temp_buffers": "16MB"}, {"temp_buffers": "2048"}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if got := w.Text(0); got != "ALTER SYSTEM SET temp_buffers = '16MB'" {
		t.Error(got)
	}
	for range 3 {
		for i, want := range []string{"16MB", "16MB"} {
			if got, err := w.To(t.Context(), i); err != nil || !slices.Equal(got, []string{want}) {
				t.Errorf("%d: %v, %v", i, got, err)
			}
			if got := s.Value(t, "postgres", "SHOW temp_buffers"); got != want {
				t.Errorf("%d: another session sees %s", i, got)
			}
		}
	}
}

// TestSession holds a session's answers, and the rows that a probe reads against what its statement must read.
func TestSession(t *testing.T) {
	_, x := open(t, "17")
	for range 2 { // the database is made, then found
		c, err := x.Session(t.Context(), "lab", false)
		if err != nil {
			t.Fatal(err)
		}
		value := func(query, want string, valid bool) {
			t.Helper()
			if v, err := c.Value(t.Context(), query); err != nil || v.String != want || v.Valid != valid {
				t.Errorf("%s: %+v, %v", query, v, err)
			}
		}
		value("SELECT current_database()", "lab", true)
		value("SELECT count(*) > 0 FROM pg_class", "1", true)
		value("SELECT false", "0", true)
		value("SELECT NULL", "", false)
		value("SELECT n, 7 FROM generate_series(3, 5) n", "3", true)
		if _, err := c.Value(t.Context(), "SELECT 1 WHERE false"); !errors.Is(err, sql.ErrNoRows) {
			t.Error(err)
		}
		if _, err := c.Value(t.Context(), "SELEC"); err == nil || !strings.Contains(err.Error(), "syntax error") {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	c, err := x.Session(t.Context(), "lab", true)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec(t.Context(), "CREATE TABLE t (id int PRIMARY KEY, k int, x text); CREATE INDEX k ON t (k); "+
		"INSERT INTO t SELECT n, n / 100, 'x' FROM generate_series(0, 9999) n"); err != nil {
		t.Fatal(err)
	}
	if err := c.Analyze(t.Context(), []string{"t"}); err != nil {
		t.Fatal(err)
	}
	probe := func(statement, plan string, read, sent float64, sorts bool) {
		t.Helper()
		p, err := c.Probe(t.Context(), statement, 3)
		if err != nil || !strings.Contains(p.Plan, plan) || p.RowsRead != read || float64(p.RowsSent) != sent ||
			p.Sorts != sorts || len(p.MS) != 3 || !(slices.Min(p.MS) > 0) {
			t.Errorf("%s: %+v, %v", statement, p, err)
		}
	}
	probe("SELECT max(x) FROM t", "Seq Scan on t", 10000, 1, false)
	probe("SELECT max(x) FROM t WHERE k = 7", "Index Scan using k on t", 100, 1, false)
	probe("SELECT * FROM t WHERE k = 7 ORDER BY x, id DESC", "Sort", 100, 100, true)
}

func TestBench(t *testing.T) {
	b := Bench{}
	for name, want := range map[string]bool{
		"shared_buffers": false, "synchronous_commit": false, "work-mem": false, "default_toast_compression": true,
		"default_statistics_target": true, "wal_level": false,
	} {
		if got := b.Shapes(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	n := b.Needs(map[string]string{"shared_buffers": "1GB", "max_wal_size": "64", "max_connections": "20"})
	if n.Memory != 1<<30 || n.Disk != 64<<20 || n.Sessions != 17 || n.SessionsKey != "max_connections" {
		t.Errorf("%+v", n)
	}
	if n := b.Needs(nil); n.Memory != 0 || n.Disk != 1<<30 || n.Sessions != 97 {
		t.Errorf("as shipped: %+v", n)
	}
	if n := b.Needs(map[string]string{"shared_buffers": "16384"}); n.Memory != 128<<20 {
		t.Errorf("in pages: %+v", n)
	}
}
