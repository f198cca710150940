package target

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// TestOwnSessionsAreLimited asks the sessions, and MySQL from outside, what the server holds them to.
func TestOwnSessionsAreLimited(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			x := open(t, s, "root")
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)")
			db := s.DB(t, "")
			f := func(what string, id uint64, ask func(name string) string, want map[string]string) {
				t.Helper()
				for name, w := range want {
					if got := ask("@@SESSION." + name); got != w {
						t.Errorf("%s: %s is %s, want %s", what, name, got, w)
					}
					if flavor != "mysql" {
						continue
					}
					var v string
					q := "SELECT VARIABLE_VALUE FROM performance_schema.variables_by_thread JOIN " +
						"performance_schema.threads USING (THREAD_ID) WHERE PROCESSLIST_ID=? AND VARIABLE_NAME=?"
					if err := db.QueryRow(q, id, name).Scan(&v); err != nil || v != w &&
						v != map[string]string{"0": "OFF", "1": "ON"}[w] {
						t.Errorf("%s: the server shows %s as %q (%v), want %s", what, name, v, err, w)
					}
				}
			}
			both := func(more map[string]string) map[string]string {
				m := map[string]string{
					"wait_timeout": "60", "lock_wait_timeout": "5", "autocommit": "1",
					"character_set_client": "utf8mb4", "character_set_results": "utf8mb4",
					"character_set_connection": "utf8mb4",
				}
				if flavor == "mariadb" {
					m["idle_transaction_timeout"] = "60"
				}
				for k, v := range more {
					m[k] = v
				}
				return m
			}
			reading := func(sec int) map[string]string {
				if flavor == "mariadb" {
					return both(map[string]string{"tx_read_only": "1", "max_statement_time": fmt.Sprint(sec)})
				}
				return both(map[string]string{
					"transaction_read_only": "1",
					"max_execution_time":    fmt.Sprint(1000 * sec),
				})
			}
			changing := both(map[string]string{"tx_read_only": "0", "max_statement_time": "0"})
			if flavor == "mysql" {
				changing = both(map[string]string{"transaction_read_only": "0", "max_execution_time": "0"})
			}
			pool := func(what string, p *sql.DB, want map[string]string) *sql.Conn {
				t.Helper()
				c, err := p.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				ask := func(e string) (v string) {
					if err := c.QueryRowContext(t.Context(), "SELECT "+e).Scan(&v); err != nil {
						t.Error(err)
					}
					return v
				}
				var id uint64
				fmt.Sscan(ask("CONNECTION_ID()"), &id)
				f(what, id, ask, want)
				return c
			}
			c := pool("reading pool", x.Reading(), reading(10))
			pool("pool", x.DB(), changing)
			if _, err := c.ExecContext(t.Context(), "INSERT INTO d.t VALUES (1)"); err == nil ||
				!strings.Contains(err.Error(), "READ ONLY") {
				t.Errorf("a session for reading writes: %v", err)
			}
			if _, err := x.DB().Exec("INSERT INTO d.t VALUES (1)"); err != nil {
				t.Error(err)
			}
			session := func(o SessionOptions, want map[string]string) {
				t.Helper()
				ses, err := x.Session(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				defer ses.Close()
				f(o.Purpose.String(), ses.ID(), func(e string) string { return one(t, ses, "SELECT "+e, 0) }, want)
			}
			session(SessionOptions{Purpose: ForReading, Limit: 7 * time.Second}, reading(7))
			session(SessionOptions{Purpose: ForChanges}, changing)
			load := map[string]string{
				"wait_timeout": "28800", "character_set_client": "utf8mb4",
				"character_set_connection": "utf8mb4",
			}
			session(SessionOptions{}, load)
			raw, err := x.Raw(t.Context(), SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			if flavor == "mysql" {
				f("raw", raw.ID(), func(e string) string { return load[strings.TrimPrefix(e, "@@SESSION.")] }, load)
			}
			if idleUse >= idleLimit {
				t.Error("the server may end a connection that the pool still hands out")
			}
		})
	}
}

// TestNamesDoNotEndLiterals has the server take what it is sent for Shift-JIS, in which the second byte of ß and the
// backslash behind it are one character, unless the session says otherwise.
func TestNamesDoNotEndLiterals(t *testing.T) {
	const name = "ß' OR '1'='1"
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			settings := []string{"character-set-server=sjis", "init_connect=SET NAMES sjis"}
			if flavor == "mariadb" { // MySQL 9 has it no more
				settings = append(settings, "skip-character-set-client-handshake")
			}
			s := servers.Start(t, flavor, settings...)
			x := open(t, s, "root")
			for _, q := range []string{
				"CREATE DATABASE d", "CREATE TABLE d.`" + name + "` (`" + name + "` INT)", "CREATE TABLE d.t (id INT)",
				"CREATE USER u@localhost", "GRANT ALL ON d.* TO u@localhost", // init_connect is not for root
			} {
				if _, err := x.DB().Exec(q); err != nil {
					t.Fatal(q, err)
				}
			}
			u := open(t, s, "u")
			const q = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA='d' AND TABLE_NAME="
			for what, db := range map[string]*sql.DB{"reading": u.Reading(), "changing": u.DB()} {
				rows, err := db.Query(q+"?", name)
				if err != nil {
					t.Errorf("%s: %v", what, err)
					continue
				}
				defer rows.Close()
				var names []string
				for rows.Next() {
					var n string
					if err := rows.Scan(&n); err != nil {
						t.Fatal(err)
					}
					names = append(names, n)
				}
				if err := rows.Err(); err != nil || len(names) != 1 || names[0] != name {
					t.Errorf("%s: the table is called %q (%v)", what, names, err)
				}
			}
			for _, p := range []Purpose{ForLoad, ForReading, ForChanges} {
				ses, err := u.Session(t.Context(), SessionOptions{Purpose: p})
				if err != nil {
					t.Fatal(err)
				}
				defer ses.Close()
				if got := one(t, ses, q+"'ß\\' OR \\'1\\'=\\'1'", 0); got != name {
					t.Errorf("session to %v: %q", p, got)
				}
			}
			raw, err := u.Raw(t.Context(), SessionOptions{Database: "d"})
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			if err := raw.Exec(t.Context(), "INSERT INTO t SELECT COUNT(*) FROM information_schema.TABLES WHERE "+
				"TABLE_SCHEMA='d' AND TABLE_NAME='ß\\' OR \\'1\\'=\\'1'"); err != nil {
				t.Fatal(err)
			}
			var n int
			if err := u.Reading().QueryRow("SELECT MAX(id) FROM d.t").Scan(&n); err != nil || n != 1 {
				t.Errorf("raw: %d tables have the name (%v)", n, err)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	f := func(x *Target, p Purpose, limit time.Duration, more map[string]string, want string) {
		t.Helper()
		if got := settingsOf(x, p, limit, more); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	const load = "character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = " +
		"utf8mb4_general_ci"
	f(nil, ForLoad, 0, nil, load)
	f(nil, ForLoad, 0, map[string]string{"sql_mode": "''", "character_set_client": "latin1"},
		strings.Replace(load, "utf8mb4", "latin1", 1)+", sql_mode = ''")
	old := &Target{facts: Facts{Flavor: "mysql"}, vars: map[string]string{"tx_read_only": "OFF"}}
	if got := settingsOf(old, ForReading, 0, nil); !strings.Contains(got, ", tx_read_only = 1, ") {
		t.Errorf("MySQL 5.6: %s", got)
	}
	if got := settingsOf(old, ForChanges, 0, nil); strings.Contains(got, "read_only") {
		t.Errorf("MySQL 5.6: %s", got)
	}
}

func TestHeldConnectionsMayBeIdle(t *testing.T) {
	x := open(t, servers.Start(t, "mariadb"), "root")
	c, err := Held(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	var sec int
	if err := c.QueryRowContext(t.Context(), "SELECT @@SESSION.wait_timeout").Scan(&sec); err != nil || sec != 86400 {
		t.Errorf("%d s, %v", sec, err)
	}
	if err := Discard(c); err != nil {
		t.Error(err)
	}
	if err := x.DB().QueryRow("SELECT @@SESSION.wait_timeout").Scan(&sec); err != nil || sec != 60 {
		t.Errorf("the next one: %d s, %v", sec, err)
	}
}
