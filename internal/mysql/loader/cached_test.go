package loader

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/internal/workload/tpcc"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestPrune(t *testing.T) {
	c := newCache(load.Cache{Dir: t.TempDir(), Max: 250})
	put := func(key string, size int64, age time.Duration) {
		t.Helper()
		dir, err := c.begin()
		if err != nil {
			t.Fatal(err)
		}
		e := &entry{Key: key, Files: map[string]copied{".ibd": {Size: size}, ".cfg": {}}}
		if err := c.commit(dir, e); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(c.Dir, key, entryFile), at, at); err != nil && key != "d" {
			t.Fatal(err)
		}
	}
	f := func(want string) {
		t.Helper()
		var got []string
		list, err := os.ReadDir(c.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			got = append(got, d.Name())
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("there are %q, want %q", s, want)
		}
	}
	if err := os.Mkdir(filepath.Join(c.Dir, "other"), 0o700); err != nil { // somebody else's
		t.Fatal(err)
	}
	put("a", 100, 3*time.Hour)
	put("b", 100, 2*time.Hour)
	f("a b other")
	if c.find("a") == nil || c.find("x") != nil {
		t.Error("found the wrong ones")
	}
	put("c", 100, time.Hour) // b is the least recently used
	f("a c other")
	put("d", 240, 0) // the newest stays
	f("d other")
	if err := os.WriteFile(filepath.Join(c.Dir, "d", entryFile), []byte(`{"key":"d"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if c.find("d") != nil {
		t.Error("found an entry whose description is cut off")
	}
	f("other")
}

// TestTableFromCache prepares the same tables again and again, with and without what the cache has.
func TestTableFromCache(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		var remarks []string
		c := &load.Cache{Dir: t.TempDir(), Remark: func(text string) { remarks = append(remarks, text) }}
		o := map[string]string{"table-size": "30000", "tables": "2"}
		f := func(what string, d load.Data, cached bool) {
			t.Helper()
			remarks = nil
			d.Cache, d.Threads, d.Workload = c, 2, workload.ReadWrite{}
			before := s.Status(t, "Handler_write")
			if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
				t.Fatalf("%s: %v; remarks %q", what, err, remarks)
			}
			if n := s.Status(t, "Handler_write") - before; (n < 60000) != cached {
				t.Errorf("%s: %d rows were inserted; remarks %q", what, n, remarks)
			}
		}
		in := func(db string) load.Data {
			o := maps.Clone(o)
			o["mysql-db"] = db
			return load.Data{Options: o}
		}
		f("first", in("a"), false)
		if len(remarks) > 0 {
			t.Errorf("first: %q", remarks)
		}
		f("again", in("b"), true)
		want := sum(t, s, "a.sbtest2")
		same := func(what, db string) {
			t.Helper()
			if got := sum(t, s, db+".sbtest2"); got != want {
				t.Errorf("%s: rows %s, want %s", what, got, want)
			}
			for _, table := range []string{"sbtest1", "sbtest2"} {
				if x, y := createTable(t, s, db+"."+table), createTable(t, s, "a."+table); x != y {
					t.Errorf("%s: %s, want %s", what, x, y)
				}
			}
			var id, n int
			s.Exec(t, "INSERT INTO "+db+".sbtest1 (k, c, pad) VALUES (1, 'x', 'y')")
			if err := s.DB(t, db).QueryRow("SELECT MAX(id), COUNT(*) FROM sbtest1").Scan(&id, &n); err != nil ||
				id != 30001 || n != 30001 {
				t.Errorf("%s: the next id is %d of %d rows, %v", what, id, n, err)
			}
			if n := tablesIn(t, s, db); n != 2 {
				t.Errorf("%s: %d tables", what, n)
			}
			var text, name, kind string
			if err := s.DB(t, db).QueryRow("CHECK TABLE sbtest1").Scan(&name, new(string), &kind, &text); err != nil ||
				text != "OK" {
				t.Errorf("%s: check table: %s %s, %v", what, kind, text, err)
			}
			left, _ := filepath.Glob(filepath.Join(s.Dir, "data", db, "*.cfg"))
			if len(left) > 0 {
				t.Errorf("%s: left are %v", what, left)
			}
		}
		same("again", "b")
		out := sysbench(t, s, "b", "--tables=2", "--table-size=30000", "--events=20", "--time=0",
			"oltp_read_write", "run")
		if !strings.Contains(out, "transactions:") {
			t.Error(out)
		}

		x := in("c")
		x.Seed = 5
		f("another seed", x, false)
		x.Options["mysql-db"], x.Options["rand-type"] = "d", "uniform"
		f("other values", x, false)
		y := in("e")
		y.Options["create-secondary"] = "off"
		f("other indexes", y, false)

		// A server that was killed while a file was copied.
		cut := in("g")
		cut.Workload = workload.ReadWrite{}
		unfinished(t, tg, cut, func(p progress.Progress) bool { return p.Step == "loading rows" && p.Done > 0 })
		s.Exec(t, "UPDATE g.dyno_prepare SET steps = -1 WHERE first = 1 AND name = 'sbtest1'",
			"ALTER TABLE g.sbtest1 DISCARD TABLESPACE")
		if err := os.WriteFile(filepath.Join(s.Dir, "data", "g", "sbtest1.ibd"),
			make([]byte, 100_000), 0o600); err != nil {
			t.Fatal(err)
		}
		remarks = nil
		cut.Cache = c
		if err := on(tg).Prepare(t.Context(), cut, nil); err != nil {
			t.Fatalf("a half copied file: %v", err)
		}
		same("a half copied file", "g")

		// Files that rot.
		list, err := filepath.Glob(filepath.Join(c.Dir, "*", "table.ibd"))
		if err != nil || len(list) != 8 {
			t.Fatalf("the cache has %v, %v", list, err)
		}
		for _, file := range list {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			b[len(b)/2] ^= 1
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f("rotten files", in("f"), false)
		if len(remarks) != 2 || !strings.Contains(remarks[0], "not taken from the cache but loaded") {
			t.Errorf("rotten files: %q", remarks)
		}
		same("rotten files", "f")
		f("after the rot", in("h"), true)
	})
}

// TestTPCCFromCache does the same with tables that refer to each other.
func TestTPCCFromCache(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server, tg *target.Target) {
		var remarks []string
		d := load.Data{
			Workload: tpcc.Workload{}, Threads: 2, Options: map[string]string{"mysql-db": "a", "scale": "1"},
			Cache: &load.Cache{Dir: t.TempDir(), Remark: func(text string) { remarks = append(remarks, text) }},
		}
		plan, err := d.Workload.Build(d.Options)
		if err != nil {
			t.Fatal(err)
		}
		tables := func(db string) (text string) {
			for _, tb := range plan.Tables {
				var n string
				if err := s.DB(t, db).QueryRow("SELECT COUNT(*) FROM " + tb.Name).Scan(&n); err != nil {
					t.Fatal(err)
				}
				text += createTable(t, s, db+"."+tb.Name) + n + "\n"
			}
			return text
		}
		if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
			t.Fatal(err)
		}
		want := tables("a")
		d.Options = map[string]string{"mysql-db": "b", "scale": "1"}
		before := s.Status(t, "Handler_write")
		if err := on(tg).Prepare(t.Context(), d, nil); err != nil {
			t.Fatal(err)
		}
		if n := s.Status(t, "Handler_write") - before; n > 100_000 {
			t.Errorf("%d rows were inserted; remarks %q", n, remarks)
		}
		if got := tables("b"); got != want {
			t.Errorf("from the cache:\n%s\nloaded:\n%s", got, want)
		}
		if _, err := on(tg).Cleanup(t.Context(), d); err != nil {
			t.Errorf("clean up tables that refer to each other: %v", err)
		}
		if n := tablesIn(t, s, "b"); n != 0 {
			t.Errorf("%d tables after cleanup", n)
		}
	})
}
