package mytext

import (
	"strings"
	"testing"
)

func TestLiveSQL(t *testing.T) {
	live := func(in, want string) {
		t.Helper()
		got, why := liveSQL(in)
		if got != want || why != "" {
			t.Errorf("liveSQL(%q) = %q, %q, want %q", in, got, why, want)
		}
	}
	not := func(in, say string) {
		t.Helper()
		if got, why := liveSQL(in); got != "" || !strings.Contains(why, say) {
			t.Errorf("liveSQL(%q) = %q, %q, want none: %s", in, got, why, say)
		}
	}
	live("SELECT 1", `SELECT 1\G`)
	live("select 1;\n ; ", `select 1\G`)
	live("(SELECT 1) UNION (SELECT 2)", `(SELECT 1) UNION (SELECT 2)\G`)
	live("SELECT 'a;b', \"#\", `-- `", "SELECT 'a;b', \"#\", `-- `\\G")
	live(`SELECT 'it\'s', 'it''s'`, `SELECT 'it\'s', 'it''s'\G`)
	live("UPDATE t SET a = 1; SELECT 2", `UPDATE t SET a = 1; SELECT 2\G`)
	live("SELECT 1 -- one", "SELECT 1 -- one\n\\G")
	live("SELECT 1 # one", "SELECT 1 # one\n\\G")
	live("SELECT 1 /* one */", `SELECT 1 /* one */\G`)
	live("-- app:web\nSELECT 1", "-- app:web\nSELECT 1\\G")
	live("/* app:web */ SELECT 1", `/* app:web */ SELECT 1\G`)
	live("SELECT /*!40001 SQL_NO_CACHE */ * FROM t", `SELECT /*!40001 SQL_NO_CACHE */ * FROM t\G`)
	live("/*!40101 SET NAMES utf8 */", `/*!40101 SET NAMES utf8 */\G`)
	live("SELECT 2*/* two */3", `SELECT 2*/* two */3\G`)
	live("SELECT a--1 FROM t", `SELECT a--1 FROM t\G`)
	live("SELECT 'ü', '日本'", `SELECT 'ü', '日本'\G`)
	live("SELECT 1,\r\n\t2", "SELECT 1,\r\n\t2\\G")
	live("use `db-1`", "use `db-1`;")
	live("LOAD DATA INFILE 'x' INTO TABLE t", `LOAD DATA INFILE 'x' INTO TABLE t\G`)

	not("", "no text")
	not(" ; ", "no text")
	not("/* nothing */", "no statement")
	not("-- nothing", "no statement")
	not("SELECT 1; ; SELECT 2", "no statement")
	not("SELECT 'a", "no end")
	not("SELECT `a", "no end")
	not("SELECT 1 /* a", "no end")
	not("SELECT 1 /*! a", "no end")
	not(`SELECT 'a\'`, "no end")
	not(`SELECT 1 \! id`, "command")
	not(`SELECT 1 /*!50000 \! id */`, "command")
	not("SELECT `a\\`", "command")
	not("SELECT /*+ SET_VAR(a='b') */ 1", "command")
	not("delimiter //", "command")
	not("SELECT 1 AS delimiter ", "command")
	not("SELECT 1;\nsystem id", "not a complete statement")
	not("system id", "not a complete statement")
	not("source /etc/passwd", "not a complete statement")
	not("/* x */\nsystem id", "not a complete statement")
	not("-- x\n\\! id", "command")
	not("BEGIN NOT ATOMIC SELECT 1; END", "not a complete statement")
	not("use a b", "command")
	not("SELECT 1; use a", "command")
	not("SELECT * FROM t WHERE id = ?", "placeholders")
	not("SELECT '\x00'", "cannot be displayed")
	not("SELECT '\x1b[2J'", "cannot be displayed")
	not("SELECT '\xff'", "cannot be displayed")
	not("SELECT '\u202e'", "cannot be displayed")
	not("SELECT 1,\r2", "cannot be displayed")
	not("LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t", "file of this machine")
}

func TestAsSelect(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := asSelect(in); got != want {
			t.Errorf("asSelect(%q) = %q, want %q", in, got, want)
		}
		if want != "" {
			if _, why := liveSQL(want); why != "" {
				t.Errorf("asSelect(%q) is not SQL: %s", in, why)
			}
		}
	}
	f("UPDATE t SET a = 1, b = 2 WHERE id = 3", "select a = 1, b = 2 from t WHERE id = 3")
	f("update low_priority ignore t set a=1 order by b limit 5", "select a=1 from t order by b limit 5")
	f("UPDATE a JOIN b USING (id) SET a.x = b.y", "select a.x = b.y from a JOIN b USING (id)")
	f("UPDATE t SET a = 'where' WHERE b IN (SELECT c FROM d WHERE e = 1)", "select a = 'where' from t WHERE b IN "+
		"(SELECT c FROM d WHERE e = 1)")
	f("DELETE FROM t WHERE id = 3 LIMIT 1;", "select * from t WHERE id = 3 LIMIT 1")
	f("delete quick a from a join b using (id) where b.x = 1", "select 1 from a join b using (id) where b.x = 1")
	f("DELETE /* app */ FROM t", "select * from t")

	f("", "")
	f("SELECT 1", "")
	f("INSERT INTO t VALUES (1)", "")
	f("UPDATE t SET", "")
	f("UPDATE SET a = 1", "")
	f("UPDATE t SET a = DEFAULT", "")
	f("UPDATE t SET a = (SELECT max(b) FROM u)", "")
	f("UPDATE t SET a = (@x := @x + 1)", "")
	f("UPDATE t SET a = 1; DELETE FROM t", "")
	f("UPDATE t SET a = 1 -- all\nWHERE id = 1", "")
	f("UPDATE t /*!50000 FORCE INDEX (a) */ SET a = 1", "")
	f("UPDATE t FOR PORTION OF p FROM '2026-01-01' TO '2026-02-01' SET a = 1", "")
	f("DELETE FROM a USING a JOIN b", "")
	f("DELETE FROM t RETURNING id", "")
	f("DELETE HISTORY FROM t", "")
	f("DELETE FROM", "")
	f("DELETE FROM t WHERE a = 'x", "")
	f("WITH c AS (SELECT 1) DELETE FROM t", "")
}

func TestShortSQL(t *testing.T) {
	rows := func(n int) string { return strings.Repeat(", (2, 'x),(')", n) }
	list := func(n int) string { return strings.Repeat("12345, ", n) + "6" }
	f := func(in, want string) {
		t.Helper()
		got := shortSQL(in)
		if got != want {
			t.Errorf("shortSQL of %d bytes = %q, want %q", len(in), got, want)
		}
		if _, why := liveSQL(in); why == "" {
			if _, why := liveSQL(got); why != "" {
				t.Errorf("shortSQL of %d bytes is no longer a statement: %s", len(in), why)
			}
		}
	}
	f("INSERT INTO t VALUES (1, 'x')"+rows(2), "INSERT INTO t VALUES (1, 'x')"+rows(2)) // short as it is
	f("INSERT INTO t VALUES (1, 'x')"+rows(1), "INSERT INTO t VALUES (1, 'x')"+rows(1))
	f("INSERT INTO t VALUES (1, 'x')"+rows(100), "INSERT INTO t VALUES (1, 'x') /* 100 rows more */")
	f("INSERT INTO t (a, b) VALUES (1, (SELECT 2))"+rows(100)+" ON DUPLICATE KEY UPDATE a = VALUES(a), b = VALUES(b)",
		"INSERT INTO t (a, b) VALUES (1, (SELECT 2)) /* 100 rows more */ ON DUPLICATE KEY UPDATE a = VALUES(a), b = "+
			"VALUES(b)")
	f("SELECT * FROM t WHERE a IN ("+list(200)+") AND b IN (1, 2)", "SELECT * FROM t WHERE a IN ("+
		strings.Repeat("12345, ", 19)+"12345 /* 181 members more */) AND b IN (1, 2)")
	long := "SELECT '" + strings.Repeat("x", 2000) + "' WHERE a IN (1, 2)"
	f(long, long)
	open := "INSERT INTO t VALUES (1, 'x')" + rows(100) + ", (3, 'x"
	f(open, "INSERT INTO t VALUES (1, 'x') /* 100 rows more */, (3, 'x")
}

// FuzzLiveSQL looks for a text that is said to be harmless and is not, judged by a much simpler reading.
func FuzzLiveSQL(f *testing.F) {
	for _, s := range []string{
		"SELECT 1", "SELECT 'a\\'", "SELECT 1 -- x", "UPDATE t SET a = 'b' WHERE c IN (1,2)",
		"SELECT `a` /*!50000 b */", "use x", "(SELECT 1);SELECT 2 # x\n", "SELECT 1 /*! \\! id */", "-- a\nSELECT 1",
		"SELECT 'it''s', \"a\\\"\"", "DELETE a FROM a JOIN b USING (id)", "INSERT INTO t VALUES (1),(2)",
		"SELECT 1 delimiter //", "\\! id", "system id",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		live, why := liveSQL(s)
		if (live == "") == (why == "") {
			t.Fatalf("liveSQL(%q) = %q, %q", s, live, why)
		}
		conv := asSelect(s)
		if conv != "" && why != "" {
			t.Fatalf("asSelect(%q) = %q, but it is not to be run: %s", s, conv, why)
		}
		shortSQL(s + strings.Repeat(" ", wholeSQL))
		if live == "" {
			return
		}
		// Blank everything quoted and commented, from the left, with the longest reading first.
		body := strings.TrimSuffix(live, `\G`)
		var bare strings.Builder
		for i := 0; i < len(body); {
			end := -1
			switch {
			case strings.ContainsRune("'\"`", rune(body[i])):
				end, _ = Quoted(body, i)
			case body[i] == '#', strings.HasPrefix(body[i:], "-- "), strings.HasPrefix(body[i:], "--\t"),
				strings.HasPrefix(body[i:], "--\n"), strings.HasPrefix(body[i:], "--\r"):
				if n := strings.IndexByte(body[i:], '\n'); n >= 0 {
					end = i + n
				} else {
					end = len(body)
				}
			case strings.HasPrefix(body[i:], "/*") && !strings.HasPrefix(body[i:], "/*!") &&
				!strings.HasPrefix(body[i:], "/*M!"):
				end = i + 2 + strings.Index(body[i+2:], "*/") + 2
			}
			if end > i {
				i = end
				bare.WriteByte(' ')
				continue
			}
			bare.WriteByte(body[i])
			i++
		}
		if strings.ContainsAny(bare.String(), "\\'\"\x00?") ||
			strings.Contains(strings.ToLower(bare.String()), "delimiter ") {
			t.Fatalf("liveSQL(%q) = %q: left is %q", s, live, bare.String())
		}
	})
}
