package load_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// sums returns a checksum of each table of sbtest: the same rows have the same one.
func sums(t *testing.T, s *servers.Server) string {
	t.Helper()
	var all []string
	for _, name := range dump(t, s.DB(t, ""), "SELECT TABLE_NAME FROM information_schema.TABLES WHERE "+
		"TABLE_SCHEMA='sbtest' AND TABLE_NAME LIKE 'sbtest%' ORDER BY 1") {
		all = append(all, dump(t, s.DB(t, ""), "CHECKSUM TABLE sbtest."+name)...)
		all = append(all, dump(t, s.DB(t, ""), "SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest."+name)...)
	}
	return strings.Join(all, ", ")
}

// TestPrepareGoesOn takes the server away, then kills Dyno itself, in the middle of prepare. It goes on, by itself or
// when it is told to again, with what is there, and the rows are those of a prepare that nothing befell.
func TestPrepareGoesOn(t *testing.T) {
	s := servers.Start(t, "mariadb", "local_infile=ON", "innodb_flush_log_at_trx_commit=1")
	prepare := join([][]string{words("oltp_read_write prepare --tables=4 --table-size=15000 --rand-seed=5"), as(s)})
	if e := finish(t, command(t, prepare...)); e.code != 0 {
		t.Fatal(e.err)
	}
	want := sums(t, s)
	dyno(t, words("oltp_read_write cleanup --tables=4"), as(s))

	rows := func() (n int) {
		t.Helper()
		db := s.DB(t, "")
		defer db.Close()
		for _, name := range []string{"sbtest1", "sbtest2", "sbtest3", "sbtest4"} {
			var k int
			if db.QueryRow("SELECT COUNT(*) FROM sbtest."+name).Scan(&k) == nil { // it may not be there yet
				n += k
			}
		}
		return n
	}
	some := func(least int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); rows() < least; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d rows are never there", least)
			}
		}
	}

	cut := func(what string, f func(r *running) ended) {
		t.Helper()
		r := start(t, command(t, prepare...))
		some(1)
		e := f(r)
		kept := rows()
		if e.code == 0 {
			t.Logf("%s: prepare went on by itself", what)
		} else {
			t.Logf("%s: %d rows were kept", what, kept)
			if e = finish(t, command(t, prepare...)); e.code != 0 {
				t.Fatalf("%s: prepare again ends with code %d: %s", what, e.code, e.err)
			}
		}
		if got := sums(t, s); got != want {
			t.Errorf("%s: prepare in pieces made %s, in one go %s", what, got, want)
		}
		dyno(t, words("oltp_read_write cleanup --tables=4"), as(s))
	}
	cut("the server was killed", func(r *running) ended {
		s.Kill(t)
		s.Launch(t)
		return r.wait(t, 2*time.Minute)
	})
	cut("Dyno was killed", func(r *running) ended {
		r.Process.Kill()
		return r.wait(t, time.Minute)
	})
}
