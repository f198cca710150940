package load_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

// TestScript runs a file of one's own, and files with mistakes, which end with the place of the mistake before anything
// is sent.
func TestScript(t *testing.T) {
	s := servers.Start(t, "mariadb")
	dyno(t, words("oltp_read_only prepare --table-size=100"), as(s))
	dir := t.TempDir()
	file := func(text string) string {
		t.Helper()
		path := filepath.Join(dir, "own.sql")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("\\set id random(1, 100)\nBEGIN;\nSELECT c FROM sbtest1 WHERE id = :id;\nUPDATE sbtest1 SET k = k + " +
		"1 WHERE id = :id;\nCOMMIT;\n")
	before := counters(t, s)
	e := dyno(t, words("script run --time=0 --events=50 --mysql-db=sbtest --script="+good), as(s))
	r := report(t, e.out)
	if r.Transactions != 50 || r.Reads != 50 || r.Writes != 50 || r.Others != 100 {
		t.Errorf("%+v", r)
	}
	if after := counters(t, s); after.writes-before.writes != 50 || after.others-before.others != 100 {
		t.Errorf("the server has seen %d writes and %d others", after.writes-before.writes, after.others-before.others)
	}

	f := func(text, place string, about ...string) {
		t.Helper()
		before := s.Status(t, "Com_select")
		e := finish(t, command(t, join([][]string{
			words("script run --time=1 --mysql-db=sbtest --script=" + file(text)),
			as(s),
		})...))
		if e.code != 2 || !strings.Contains(e.err, place) {
			t.Errorf("%q: code %d and %q, want code 2 and the place %s", text, e.code, e.err, place)
		}
		for _, w := range about {
			if !strings.Contains(e.err, w) {
				t.Errorf("%q: nothing about %q in %q", text, w, e.err)
			}
		}
		if n := s.Status(t, "Com_select") - before; n > 0 {
			t.Errorf("%q: %d statements were sent", text, n)
		}
	}
	f("SELECT 1;\n\\set id rnadom(1, 10)\nSELECT :id;\n", "own.sql:2:9", "random")
	f("SELECT 1;\n  \\sett id 1\n", "own.sql:2:3", "set")
	f("SELECT c FROM sbtest1 WHERE id = :id;\n", "own.sql:1:34", "id")
	f("SELECT 'open\n", "own.sql:1:8")
	f("", "own.sql")
}
