package script

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/workload"
)

// statements returns what a script sends, with markers for values.
func statements(s *Script) (list []string) {
	for _, t := range s.transactions {
		for _, c := range t.calls {
			list = append(list, c.SQL)
		}
	}
	return list
}

func TestParseStatements(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		if got := statements(parse(t, "\\option n 1\n"+text)); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
	f("SELECT 1;", "SELECT 1")
	f("SELECT 1", "SELECT 1")
	f("SELECT 1;SELECT 2 ;\n;;\n SELECT\n3;", "SELECT 1", "SELECT 2", "SELECT\n3")
	f("SELECT :n, :n;", "SELECT ?, ?")
	f("SELECT a::n, :n::int, @v:=1, b:=:n;", "SELECT a::n, ?::int, @v:=1, b:=?")
	f("SELECT ':n', \"a;b\", `c:n`, ':n';", "SELECT ':n', \"a;b\", `c:n`, ':n'")
	f(`SELECT 'it\'s ;', 'a\\', "say \"x\"", 'it''s';`, `SELECT 'it''s ;', 'a\\', "say ""x""", 'it''s'`)
	f("-- nothing; here\nSELECT 1 -- it's; a comment?\n, 2 # and 'another\n, /* or ; ? */ 3;",
		"SELECT 1  \n, 2  \n,   3")
	f("SELECT /*+ NO_ICP(t) */ a /*! FOR UPDATE */;", "SELECT /*+ NO_ICP(t) */ a /*! FOR UPDATE */")
	f("SELECT 5--3;", "SELECT 5--3")
	f("SELECT c FROM t{n} WHERE id = :n;", "SELECT c FROM t{n} WHERE id = ?")
	f("SELECT {d '2020-01-01'};", "SELECT {d '2020-01-01'}")
	f("SELECT 1;\r\nSELECT 2;\r\n", "SELECT 1", "SELECT 2")
	if got := statements(parse(t, "\ufeffSELECT 'ü';")); len(got) != 1 || got[0] != "SELECT 'ü'" {
		t.Errorf("after a byte order mark: %q", got)
	}
}

func TestParseKinds(t *testing.T) {
	f := func(sql string, kind workload.Kind, rows, text bool) {
		t.Helper()
		st := parse(t, "\\option n 1\n"+sql+";").transactions[0].calls[0]
		if st.Kind != kind || st.Rows != rows || st.Text != text {
			t.Errorf("%s: kind %d, rows %v, text %v", sql, st.Kind, st.Rows, st.Text)
		}
	}
	f("select 1", workload.Read, true, false)
	f("(SELECT 1) UNION (SELECT 2)", workload.Read, true, false)
	f("WITH x AS (SELECT 1) SELECT * FROM x", workload.Read, true, false)
	f("WITH x AS (SELECT 1) DELETE FROM t", workload.Write, false, false)
	f("insert into t select 1", workload.Write, false, false)
	f("INSERT INTO t VALUES (1) RETURNING id", workload.Write, true, false)
	f("REPLACE INTO t VALUES (1)", workload.Write, false, false)
	f("BEGIN", workload.Other, false, true)
	f("START TRANSACTION READ ONLY", workload.Other, false, true)
	f("CALL p(:n)", workload.Other, true, true)
	f("SET @a = :n", workload.Other, false, true)
	f("SHOW STATUS", workload.Read, true, false)
	f("EXPLAIN UPDATE t SET a = 1", workload.Read, true, false)
	f("SELECT c FROM t{n}", workload.Read, true, true)
	f("XA START 'a'", workload.Other, false, true)
	f("XA RECOVER", workload.Other, true, true)
}
