package digest_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/test/servers"
)

// logger is a server that writes the log of a test.
type logger struct {
	flavor, version string
	socket          string
	url             string // as TARGET
	log             string // its slow log
	own             *sql.Conn
	before          uint64 // the last session that was there when watched began
}

// everywhere runs a test on a server of each flavor, at the same time.
func everywhere(t *testing.T, f func(t *testing.T, s *logger), settings ...string) {
	t.Helper()
	needProgram(t)
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			f(t, newLogger(t, servers.Start(t, flavor, settings...)))
		})
	}
}

// newLogger makes a server of test/servers ready for watched.
func newLogger(t *testing.T, s *servers.Server) *logger {
	t.Helper()
	l := &logger{flavor: s.Flavor, socket: s.Socket, url: s.URL("root")}
	l.hello(t)
	return l
}

func (l *logger) hello(t *testing.T) {
	t.Helper()
	l.own = l.session(t, "root", "")
	if err := l.own.QueryRowContext(t.Context(), "SELECT VERSION()").Scan(&l.version); err != nil {
		t.Fatal(err)
	}
	if l.flavor == "" {
		l.flavor = "mysql"
		if strings.Contains(l.version, "MariaDB") {
			l.flavor = "mariadb"
		}
	}
}

// session returns one connection that is closed with the test.
func (l *logger) session(t *testing.T, user, schema string) *sql.Conn {
	t.Helper()
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName, c.MultiStatements, c.AllowAllFiles = user, "unix", l.socket, schema, true, true
	c.Logger = &mysql.NopLogger{}
	k, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(k)
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(-1) // closing the session ends it
	t.Cleanup(func() { db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// do runs statements in the test's own session.
func (l *logger) do(t *testing.T, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := l.own.ExecContext(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// try runs a statement that some servers do not know.
func (l *logger) try(t *testing.T, statement string) bool {
	t.Helper()
	_, err := l.own.ExecContext(t.Context(), statement)
	return err == nil
}

func (l *logger) variable(t *testing.T, name string) string {
	t.Helper()
	var v string
	if err := l.own.QueryRowContext(t.Context(), "SELECT @@"+name).Scan(&v); err != nil {
		t.Fatalf("variable %s: %v", name, err)
	}
	return v
}

func (l *logger) status(t *testing.T, name string) uint64 {
	t.Helper()
	var k, v string
	if err := l.own.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&k, &v); err != nil {
		t.Fatalf("status %s: %v", name, err)
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// watched has every statement of new sessions logged with all that the server can say of it. The test's own session
// stays out of the log.
func (l *logger) watched(t *testing.T) {
	t.Helper()
	l.do(t, "SET GLOBAL slow_query_log=OFF", "SET GLOBAL log_output='FILE'", "SET GLOBAL long_query_time=0")
	for _, s := range []string{
		"SET GLOBAL log_slow_extra=ON",               // MySQL from 8.0.14 on
		"SET GLOBAL log_slow_admin_statements=ON",    // MySQL from 5.6.11 on, MariaDB
		"SET GLOBAL log_slow_disabled_statements=''", // MariaDB from 10.3 on: those within routines too
		"SET GLOBAL log_slow_rate_limit=1",
	} {
		l.try(t, s)
	}
	for _, v := range []string{
		"innodb,query_plan,explain,engine,warnings,full", "innodb,query_plan,explain,engine",
		"innodb,query_plan,explain", "query_plan",
	} {
		if l.try(t, "SET GLOBAL log_slow_verbosity='"+v+"'") { // MariaDB
			break
		}
	}
	l.do(t, "SET SESSION long_query_time=1000", "SET GLOBAL slow_query_log_file='digest-slow.log'",
		"SET GLOBAL slow_query_log=ON")
	if err := l.own.QueryRowContext(t.Context(), "SELECT MAX(id) FROM information_schema.processlist").
		Scan(&l.before); err != nil {
		t.Fatal(err)
	}
	l.log = filepath.Join(l.variable(t, "datadir"), "digest-slow.log")
}

// alone waits until no session is left that has begun since watched, so that all of their entries are written, and
// closes the log.
func (l *logger) alone(t *testing.T) {
	t.Helper()
	var n int
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := l.own.QueryRowContext(t.Context(),
			"SELECT COUNT(*) FROM information_schema.processlist WHERE id > ? AND user NOT IN ('system "+
				"user','event_scheduler')", l.before).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d sessions do not end", n)
		}
	}
	l.do(t, "SET GLOBAL slow_query_log=OFF")
}

// must runs a statement in a session.
func must(t *testing.T, c *sql.Conn, q string, args ...any) {
	t.Helper()
	rows, err := c.QueryContext(context.Background(), q, args...)
	if err != nil {
		t.Fatalf("%s: %v", cut(q), err)
	}
	defer rows.Close()
	drain(rows)
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", cut(q), err)
	}
}

// drain reads all results.
func drain(rows *sql.Rows) {
	for {
		for rows.Next() {
		}
		if !rows.NextResultSet() {
			return
		}
	}
}
