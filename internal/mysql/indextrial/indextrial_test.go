package indextrial

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	mysqlsandbox "github.com/dyno-perf/dyno/internal/mysql/sandbox"
	"github.com/dyno-perf/dyno/internal/stat"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/servers"
)

// undecided reports whether a machine was too busy for a verdict, which is then no other one.
func undecided(result string) bool { return result == "unstable" || result == "invalid" }

// TestTry has two indexes tried: one that spares a scan and one that nothing uses. The target is only read, and nothing
// is left behind.
func TestTry(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "USE d",
				"CREATE TABLE parent (id INT PRIMARY KEY)", "INSERT INTO parent VALUES (1)",
				"CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT NOT NULL, b VARCHAR(20), n INT GENERATED "+
					"ALWAYS AS (a + 1) VIRTUAL, p INT NOT NULL DEFAULT 1, "+
					"KEY p (p), CONSTRAINT fk FOREIGN KEY (p) REFERENCES parent (id))",
				"INSERT INTO t (a, b) VALUES (1, 'it''s'), (2, NULL), (3, 'x')")
			for range 12 {
				s.Exec(t, "USE d", "INSERT INTO t (a, b) SELECT a * 3 + id, b FROM t")
			}
			dir := t.TempDir()
			for _, d := range []string{dir, filepath.Dir(dir)} { // the server runs as somebody else
				if err := os.Chmod(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			yard, err := sandbox.Open(dir, mysqlsandbox.Maker{})
			if err != nil {
				t.Fatal(err)
			}
			if d := os.Getenv("DYNO_TEST_MYSQL"); d != "" {
				yard.ServerDirs = append(yard.ServerDirs, d)
			}
			spec, err := endpoint.ParseURL(s.URL("root"))
			if err != nil {
				t.Fatal(err)
			}
			spec.Name = "shop"
			tg, err := target.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer tg.Close()
			ref := schema.Ref{Schema: "d", Table: "t"}
			snap := &snapshot.Snapshot{}
			find := func(sql, col string) *finding.Finding {
				fp := mytext.Fingerprint(sql)
				c := class.Class{ID: class.ID(fp), Fingerprint: fp, Schema: "d", Count: 10, TimeSec: 1, Example: sql}
				snap.Classes = append(snap.Classes, c)
				return &finding.Finding{
					ID: "f-" + col, Severity: finding.Warning, Subject: finding.Subject{Classes: []string{c.ID}},
					Action: &finding.Action{Kind: finding.AddIndex, Table: ref, Index: schema.Index{
						Name: "by_" + col,
						Type: "BTREE", Parts: []schema.IndexPart{{Column: col}},
					}},
				}
			}
			findings := []*finding.Finding{
				find("SELECT id, b FROM t WHERE a = 7", "a"), find("SELECT id FROM t WHERE id = 9 AND b = 'x'", "b"),
				find("DELETE FROM t WHERE a = 1", "p"),
			}
			count := func() (n uint64) {
				for _, c := range []string{
					"Com_insert", "Com_update", "Com_delete", "Com_alter_table",
					"Com_create_table", "Com_analyze", "Com_create_db",
				} {
					n += s.Status(t, c)
				}
				return n
			}
			before := count()
			got := map[string]*finding.Finding{}
			for range 5 { // three pairs on a busy machine may say nothing, and then say so: that one is tried again
				o := family.Try{Rows: 6000, Pairs: 3}
				if err := Try(t.Context(), tg, yard, "try-1", snap, findings, o); err != nil {
					t.Fatal(err)
				}
				for _, f := range findings {
					got[f.ID] = f
					t.Logf("%s %s: %+v", f.ID, f.Severity, *f.Tested)
				}
				if !undecided(got["f-a"].Tested.Result) {
					break
				}
				findings = []*finding.Finding{got["f-a"]}
			}
			if after := count(); after != before {
				t.Errorf("trying changed the target: %d statements", after-before)
			}
			if x := got["f-a"].Tested; undecided(x.Result) && x.Center <= 1 || !undecided(x.Result) &&
				(x.Result != "better" || x.Lo < 1.2) || x.N != 3 || !strings.Contains(x.Text, "rows of d.t") ||
				got["f-a"].Severity != finding.Warning {
				t.Errorf("an index that spares a scan: %+v", x)
			}
			if x := got["f-b"].Tested; x.Result == "better" && x.Lo > 1.3 {
				t.Errorf("an index that nothing uses: %+v", x)
			}
			if x := got["f-p"].Tested; x.Result != "" || !strings.HasPrefix(x.Text, "Not tested: ") {
				t.Errorf("a DELETE was run again and again: %+v", x)
			}
			left, err := filepath.Glob(filepath.Join(dir, "sandboxes", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		})
	}
}

func TestWithoutForeign(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := withoutForeign(in); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	f("CREATE TABLE `t` (\n  `a` int,\n  KEY `k` (`a`),\n  CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `p` (`id`)\n) "+
		"ENGINE=InnoDB",
		"CREATE TABLE `t` (\n  `a` int,\n  KEY `k` (`a`)\n) ENGINE=InnoDB")
	f("CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB", "CREATE TABLE `t` (\n  `a` int\n) ENGINE=InnoDB")
	f("CREATE TABLE `t` (\n  `CONSTRAINT x FOREIGN KEY ` int,\n  CONSTRAINT `c` CHECK (1)\n)",
		"CREATE TABLE `t` (\n  `CONSTRAINT x FOREIGN KEY ` int,\n  CONSTRAINT `c` CHECK (1)\n)")
}

// TestLostIsNotOffered: of an index with which statements ran slower nothing is left to apply.
func TestLostIsNotOffered(t *testing.T) {
	for result, offered := range map[stat.Result]bool{
		stat.Better: true, stat.Same: true, stat.Unstable: true, stat.Worse: false,
	} {
		f := &finding.Finding{
			Severity: finding.Warning, Suggestion: "Add it.", Gain: &finding.Gain{Lo: 70, Hi: 690},
			Tested: &finding.Tested{},
			Action: &finding.Action{Kind: finding.AddIndex, Table: schema.Ref{Schema: "d", Table: "t"}},
		}
		v := stat.Verdict{Result: result}
		v.Ratio.Center, v.Ratio.N = 0.16, 3
		(&trying{}).tell(f, v, &copied{whole: true}, captured{})
		if (f.Action != nil) != offered || (f.Gain != nil) != offered || (f.Suggestion == "Add it.") != offered ||
			strings.Contains(strings.Join(f.Against, " "), "slower") == offered {
			t.Errorf("%s: %+v", result, f)
		}
	}
}

// TestPickIsBounded has as much of a table chosen as rows and bytes allow.
func TestPickIsBounded(t *testing.T) {
	f := func(rows, size uint64, limit int, all bool) {
		t.Helper()
		w := &trying{o: family.Try{Rows: tryRows}}
		// without a key: from its begin
		got := w.pick(t.Context(), nil, schema.Table{Rows: known.Of(rows), DataBytes: known.Of(size)})
		if len(got) != 1 || got[0].limit != limit || got[0].all != all {
			t.Errorf("%d rows, %d bytes: %+v", rows, size, got)
		}
	}
	f(1000, 1<<20, tryRows, true)
	f(1_000_000, 1<<30, tryRows, false)
	f(1_000_000, 1_000_000*10_000, tryBytes/10_000, false)
	f(1000, 1000*(16<<20), tryChunks, false)
	f(0, 0, tryRows, true)
}

// TestUncopiable: what a target calls a table's definition is executed on the private server by root.
// TestCopiesHaveABound: a statement names as many tables as its author likes.
func TestCopiesHaveABound(t *testing.T) {
	w := &trying{bytes: tryAll + 1, copied: map[schema.Ref]*copied{}}
	c, err := w.copy(t.Context(), schema.Ref{Schema: "d", Table: "t"})
	if err != nil || !strings.Contains(c.why, "were copied already") || c.rows != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	c = &copied{columns: map[string][]string{}}
	for range tryValues {
		for i := range 350 {
			c.keep(fmt.Sprint("c", i), strings.Repeat("'", tryLiteral-1))
		}
	}
	size := 0
	for _, vs := range c.columns {
		for _, x := range vs {
			size += len(x)
		}
	}
	if size < tryKept/2 || size > 2*tryKept || len(c.columns) != 350 {
		t.Errorf("%d bytes are kept of %d columns", size, len(c.columns))
	}
}

func TestUncopiable(t *testing.T) {
	f := func(create, want string) {
		t.Helper()
		private := target.Facts{Flavor: "mysql", Version: target.Version{Major: 8, Minor: 0, Patch: 46}}
		if got := uncopiable(create, "t", private); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\n%q, want %q", create, got, want)
		}
	}
	const begin = "CREATE TABLE `t` (\n  `a` int"
	f(begin+"\n) ENGINE=InnoDB", "")
	f(begin+" COMMENT 'SELECT; -- #/*'\n) ENGINE=InnoDB COMMENT='it''s \\' DIRECTORY'\n/*!50100 PARTITION BY HASH "+
		"(`a`)\nPARTITIONS 4 */", "")
	f("SET GLOBAL general_log_file='/home/u/.bashrc', GLOBAL general_log=ON /*\ncommand\n) ENGINE=InnoDB */",
		"replaced")
	f("CREATE TABLE `u` (\n  `a` int\n) ENGINE=InnoDB", "replaced")
	f(begin+"\n) ENGINE=CSV COMMENT=') ENGINE=InnoDB'", "replaced")
	f(begin+"\n) ENGINE=InnoDB DATA DIRECTORY='/etc'", "DIRECTORY")
	f(begin+"\n) ENGINE=InnoDB DATA directory'/etc'", "DIRECTORY")
	f(begin+"\n) ENGINE=InnoDB SELECT 1", "SELECT")
	f(begin+"\n) ENGINE=InnoDB\n/*!50100 PARTITION BY HASH (`a`) (PARTITION p0 ENGINE = CONNECT) */", "engine CONNECT")
	f(begin+"\n) ENGINE=InnoDB AVG_ROW_LENGTH=1e1SELECT 1", "SELECT")
	f(begin+"\n) ENGINE=InnoDB AVG_ROW_LENGTH=1e1ENGINE=CSV", "engine CSV")
	f(withoutForeign(begin+",\nCONSTRAINT `x` FOREIGN KEY (\n) ENGINE=MyISAM\nCONSTRAINT `y` FOREIGN KEY ) "+
		"ENGINE=InnoDB"), "replaced")
	f(begin+"\n) ENGINE=InnoDB /* x */", "comments")
	f(begin+"\n) ENGINE=InnoDB # x", "cannot be read")
	f(begin+"\n) ENGINE=InnoDB -- x", "cannot be read")
	f(begin+"\n) ENGINE=InnoDB; DROP TABLE x", "cannot be read")
	f(begin+" COMMENT 'x\n) ENGINE=InnoDB", "cannot be read")
	f(begin+"\n) ENGINE=InnoDB /*!99999 ' */ DATA DIRECTORY='/x' /*!50000 ' */", "would skip")
	f(begin+"\n) ENGINE=InnoDB /*M!100000 ' */ DATA DIRECTORY='/x' /*!50000 ' */", "would skip")
	f(begin+"\n) ENGINE=InnoDB\n/*!50100 PARTITION BY HASH (`a`)\n(PARTITION p0 COMMENT = '*/' ENGINE = InnoDB) */", "")
	f(begin+"\n) ENGINE=InnoDB\n/*!50100 PARTITION BY HASH (`a`) (PARTITION p0 ENGINE='CSV') */", "engine 'CSV'")
	f(begin+"\n) ENGINE=InnoDB ENGINE=`CSV`", "engine `CSV`")
	f(begin+"\n) ENGINE=InnoDB ENGINE /*!50100 = */ CSV", "engine CSV")
	f(begin+"\n) ENGINE=InnoDB éSELECT 1", "SELECT")
	f(begin+"\n) ENGINE=InnoDB\x01", "cannot be read")
	f(begin+"\n) ENGINE=InnoDB --x", "cannot be read")
	f(begin+"\n) ENGINE=InnoDB */", "cannot be read")
	f(begin+"\n) ENGINE=InnoDB )", "cannot be read")
	f(begin+"\n) ENGINE=InnoDB /*!50100 /*!50100 x */ */", "comments")
	f(begin+"\n) ENGINE=InnoDB /*!501000x */", "comments")
	f(begin+"\n) ENGINE=InnoDB /*!50100 x", "cannot be read")
}

func TestServersTablesAreCopiable(t *testing.T) {
	for _, flavor := range servers.Flavors {
		s := servers.Start(t, flavor)
		x, err := endpoint.ParseURL(s.URL("root"))
		if err != nil {
			t.Fatal(err)
		}
		o, err := target.Open(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		s.Exec(t, "CREATE DATABASE d", "USE d", "CREATE TABLE `t ``1` (a INT NOT NULL DEFAULT 3 COMMENT 'it''s; -- "+
			"#', b VARCHAR(20) CHARACTER SET latin1, g INT AS (a + 1) STORED,"+
			" j JSON, ts TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3), CHECK (a "+
			"> 0), PRIMARY KEY (a), KEY i (b(3) DESC), FULLTEXT KEY f (b))"+
			" COMMENT 'SELECT\n) ENGINE=CSV' ROW_FORMAT=COMPRESSED", "CREATE TABLE p (a INT, KEY (a)) PARTITION BY "+
			"RANGE (a) (PARTITION p0 VALUES LESS THAN (10) COMMENT = 'c', PARTITION p1 VALUES LESS THAN MAXVALUE)")
		for _, table := range []string{"t `1", "p"} {
			create, err := catalog.Definition(t.Context(), o.DB(), schema.Ref{Schema: "d", Table: table})
			if err != nil {
				t.Fatal(err)
			}
			if why := uncopiable(create, table, o.Facts()); why != "" {
				t.Errorf("%s: %s\n%s", flavor, why, create)
			}
		}
	}
}
