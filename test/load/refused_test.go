package load_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// restricted starts a server with the data of the OLTP family and users who may do less than a load needs. Their
// password is "secret".
func restricted(t *testing.T, s *servers.Server) {
	t.Helper()
	dyno(t, words("oltp_read_write prepare --table-size=1000"), as(s))
	s.Exec(t,
		"CREATE USER writer@localhost IDENTIFIED BY 'secret'", "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, "+
			"INDEX ON *.* TO writer@localhost",
		"CREATE USER reader@localhost IDENTIFIED BY 'secret'", "GRANT SELECT ON sbtest.* TO reader@localhost",
		"CREATE USER nobody@localhost IDENTIFIED BY 'secret'",
		"CREATE DATABASE other", "CREATE TABLE other.sbtest1 (a INT PRIMARY KEY)", "INSERT INTO other.sbtest1 VALUES "+
			"(7)")
}

// TestServerThatRefuses asks for what the server or the user does not allow: the error says what it was, at once, and
// nothing is changed.
func TestServerThatRefuses(t *testing.T) {
	everywhere(t, func(t *testing.T, s *servers.Server) {
		restricted(t, s)
		tables := func() []string {
			t.Helper()
			return dump(t, s.DB(t, ""), "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE "+
				"TABLE_SCHEMA IN ('sbtest', 'other') ORDER BY 1, 2")
		}
		before := strings.Join(tables(), ", ")

		// Privileges.
		refused(t, []string{"1142", "UPDATE"}, words("oltp_read_write run --time=5"), as(s, "reader"))
		refused(t, []string{"reader", "fresh"}, words("oltp_read_write prepare --mysql-db=fresh"), as(s, "reader"))
		refused(t, []string{"DROP"}, words("oltp_read_write cleanup"), as(s, "reader"))
		refused(t, []string{"nobody"}, words("oltp_read_write run --time=5"), as(s, "nobody"))
		// Tables of somebody else, and ones that are not there.
		refused(t, []string{"other", "sbtest1"}, words("oltp_read_write prepare --mysql-db=other"), as(s))
		refused(t, []string{"sbtest1"}, words("oltp_read_write prepare"), as(s))
		refused(t, []string{"prepare"}, words("oltp_read_write run --time=5 --tables=3"), as(s))
		refused(t, []string{"prepare"}, words("oltp_read_write run --time=5 --mysql-db=missing"), as(s))

		// Limits that the run would run into.
		s.Exec(t, "SET GLOBAL max_connections=20")
		refused(t, []string{"max_connections", "20"}, words("oltp_read_write run --time=5 --threads=50"), as(s))
		s.Exec(t, "SET GLOBAL max_connections=100", "SET GLOBAL max_prepared_stmt_count=10")
		refused(t, []string{"max_prepared_stmt_count", "10"}, words("oltp_read_write run --time=5 --threads=4"), as(s))
		s.Exec(t, "SET GLOBAL max_prepared_stmt_count=16382")

		// A server that only reads: for everybody but root, who may write to it all the same on some.
		s.Exec(t, "SET GLOBAL read_only=1")
		refused(t, []string{"read"}, words("oltp_read_write run --time=5"), as(s, "writer"))
		refused(t, []string{"read"}, words("oltp_read_write prepare --mysql-db=fresh"), as(s, "writer"))
		e := dyno(t, words("oltp_read_only run --time=1 --table-size=1000"), as(s, "reader"))
		if r := report(t, e.out); r.Transactions == 0 || r.Ignored != 0 {
			t.Errorf("a load that reads, on a server that only reads: %+v", r)
		}
		s.Exec(t, "SET GLOBAL read_only=0")

		if after := strings.Join(tables(), ", "); after != before {
			t.Errorf("tables before: %s, after: %s", before, after)
		}
		if n := dump(t, s.DB(t, ""), "SELECT a FROM other.sbtest1"); len(n) != 1 || n[0] != "7" {
			t.Errorf("the foreign table has %q", n)
		}
		// whoever says so gets it
		dyno(t, words("oltp_read_write prepare --table-size=10 --mysql-db=other --force"), as(s))
		if n := dump(t, s.DB(t, ""), "SELECT COUNT(*) FROM other.sbtest1"); len(n) != 1 || n[0] != "10" {
			t.Errorf("prepared by force, the table has %q rows", n)
		}
	})
}

// TestServerThatGoes takes the server away in the middle of a run, for a while: the run goes on, and tells of it.
func TestServerThatGoes(t *testing.T) {
	s := servers.Start(t, "mariadb")
	data := words("--table-size=1000 --threads=3")
	dyno(t, words("oltp_read_only prepare"), as(s), data)
	args := append(append(words("load oltp_read_only run --time=60 --report-interval=1"), as(s)...), data...)

	r := start(t, command(t, args...))
	r.second(t)
	s.Kill(t)
	r.find(t, "tell that no session is left", 20*time.Second, func(line string) bool {
		return strings.Contains(line, " thds: 0 ")
	})
	s.Launch(t)
	r.find(t, "work with the new server", 20*time.Second, func(line string) bool {
		return strings.Contains(line, " thds: 3 ") && !strings.Contains(line, " tps: 0.00")
	})
	r.Process.Signal(os.Interrupt)
	e := r.wait(t, time.Minute)
	if rep := report(t, e.out); rep.Reconnects < 3 {
		t.Errorf("three sessions were lost, and the report has %d reconnects", rep.Reconnects)
	}
}
