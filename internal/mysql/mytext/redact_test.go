package mytext

import (
	"bytes"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := string(Redact(nil, []byte(in))); got != want {
			t.Errorf("%q\n got  %q\n want %q", in, got, want)
		}
	}
	f("SELECT a,\n  b FROM t1 WHERE `c 2`.d = 5 AND e = 'x' AND f IN (1, -2, 3.5e-7)",
		"SELECT a,\n  b FROM t1 WHERE `c 2`.d = ? AND e = ? AND f IN (?, -?, ?)")
	f("INSERT INTO t VALUES (1,'it''s',NULL,TRUE),(2,\"x\",DEFAULT,false)",
		"INSERT INTO t VALUES (?,?,?,?),(?,?,DEFAULT,?)")
	f("SELECT a FROM t WHERE b IS NULL AND c IS NOT NULL AND d = NULL", "SELECT a FROM t WHERE b IS NULL AND c IS "+
		"NOT NULL AND d = ?")
	f("CREATE TABLE t3 (a INT NOT NULL DEFAULT 5, b VARCHAR(20))", "CREATE TABLE t3 (a INT NOT NULL DEFAULT ?, b "+
		"VARCHAR(?))")
	f("SELECT 1 /* user=bob */ FROM t -- secret\nWHERE a = 1 # secret", "SELECT ?  FROM t \nWHERE a = ? ")
	f("SELECT/*x*/1", "SELECT ?")
	f("a/*x*//*y*/b", "a  b")
	f("SELECT /*+ SET_VAR(sort_buffer_size = 16000000) QB_NAME(qb1) */ a FROM t",
		"SELECT /*+ SET_VAR(sort_buffer_size = ?) QB_NAME(qb1) */ a FROM t")
	f("DELETE /*+ secret */ FROM t", "DELETE  FROM t")
	f("SELECT /*!40001 SQL_NO_CACHE */ * FROM t WHERE a=1", "SELECT /*!40001 SQL_NO_CACHE */ * FROM t WHERE a=?")
	f("SELECT x'4f', X'4F', b'01', 0xABCDEF, 0b01, _utf8mb4'x', N'x', DATE '2020-01-01', .5, 1., 12abc",
		"SELECT x?, X?, b?, ?, ?, _utf8mb4?, N?, DATE ?, ?, ?, ?")
	f("SELECT @a := 5, @'secret', @@global.x1, t2.c3, d4.t5.c6", "SELECT @a := ?, @?, @@global.x1, t2.c3, d4.t5.c6")
	f("LOAD DATA INFILE '/secret' INTO TABLE t", "LOAD DATA INFILE ? INTO TABLE t")
	f("CREATE USER u IDENTIFIED BY 'secret'", "CREATE USER u IDENTIFIED BY ?")
	f("CALL p1(5, 'secret')", "CALL p1(?, ?)")
	f("SELECT 'cut off, secret", "SELECT ?")
	f("SELECT 'a\\'secret' , 'c:\\\\', 'd'", "SELECT ? , ?, ?")
	f("SELECT a /* cut off, secret", "SELECT a ")
	f("SELECT a--5", "SELECT a--?")
	f("SELECT ? FROM t WHERE a = ?", "SELECT ? FROM t WHERE a = ?")
	f("SELECT `cut", "SELECT `cut")
	f("SELECT t.null FROM t", "SELECT t.null FROM t")
	f("", "")
}

func TestRedacted(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got := Redacted(in)
		if got != want {
			t.Errorf("%q\n got  %q\n want %q", in, got, want)
		}
		if again := Redacted(got); again != got {
			t.Errorf("%q: redacted twice: %q", got, again)
		}
	}
	f("", "")
	f("/* a */ SELECT 'x', 5 FROM t", " SELECT ?, ? FROM t")
	f("(SELECT 1) UNION (SELECT 2)", "(SELECT ?) UNION (SELECT ?)")
	// With NO_BACKSLASH_ESCAPES the first string ends before AND, and secret is in the second.
	f(`SELECT a FROM t WHERE b = 'c:\' AND d = 'secret # x'`, "SELECT a FROM t WHERE b = ?…")
	f(`SELECT a FROM t WHERE b = "c:\" AND d = 'secret # x'`, "SELECT a FROM t WHERE b = ?…")
	f("my secret was pasted here", "?")
	f("SELEC 'secret'", "?")
	f("5 secret", "?")
}

func FuzzRedact(f *testing.F) {
	for _, p := range corpus(f) {
		f.Add(p.SQL)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		a := Redact(nil, []byte(sql))
		if b := Redact(nil, a); !bytes.Equal(a, b) {
			t.Fatalf("%q\n first  %q\n second %q", sql, a, b)
		}
		inner := strings.NewReplacer("'", "", "\\", "").Replace(sql)
		for _, s := range []string{
			"select 'zqj" + inner + "zqj', 5", "select a /*zqj" + strings.ReplaceAll(inner, "*", "") + "zqj*/ from t",
			"select 'zqj" + inner, "insert into t values (\"zqj" + strings.ReplaceAll(inner, "\"", "") +
				"zqj\", 987654321)", "select a -- zqj" + strings.NewReplacer("\n", "", "\r", "").Replace(inner) +
				"\n from t",
		} {
			if r := string(Redact(nil, []byte(s))); strings.Contains(r, "zqj") || strings.Contains(r, "987654321") {
				t.Fatalf("a literal of %q shows in %q", s, r)
			}
		}
	})
}
