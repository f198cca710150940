// Package watch_test runs `dyno watch` as a user does: on a terminal, on real servers.
package watch_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/program"
	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/terminal"
)

var dyno string

func TestMain(m *testing.M) { os.Exit(program.Main(m, &dyno)) }

// session is a connection that stays, as the one of an application.
func session(t *testing.T, s *servers.Server) (c *sql.Conn, id uint64) {
	t.Helper()
	c, err := s.DB(t, "shop").Conn(t.Context())
	if err == nil {
		err = c.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, id
}

// watch shows a server on a terminal.
func watch(t *testing.T, home string, args ...string) *terminal.Terminal {
	t.Helper()
	cmd := exec.Command(dyno, append([]string{"watch"}, args...)...)
	cmd.Env = append(os.Environ(), "DYNO_HOME="+home, "TERM=xterm-256color", "TZ=UTC", "LANG=C.UTF-8")
	return terminal.Start(t, 100, 30, cmd)
}

// TestPileUp makes a queue for a row's lock on a real server: the screen shows who is at its root, and shows it again
// when it is over, by going back on the same screen and, for it was recorded, on another one later.
func TestPileUp(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "innodb_lock_wait_timeout=600")
			s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, state VARCHAR(20)) "+
				"ENGINE=InnoDB", "INSERT INTO shop.orders VALUES (1,'new'),(2,'new')")
			must := func(c *sql.Conn, statements ...string) {
				t.Helper()
				for _, q := range statements {
					if _, err := c.ExecContext(t.Context(), q); err != nil {
						t.Fatal(err)
					}
				}
			}
			a, idA := session(t, s)
			b, idB := session(t, s)
			c, idC := session(t, s)

			home := t.TempDir()
			v := watch(t, home, "--record", s.URL("root"))
			v.Sees("no waiters")
			must(a, "BEGIN", "UPDATE orders SET state='forgotten' WHERE id=1")
			must(b, "BEGIN", "UPDATE orders SET state='paid' WHERE id=2")
			done := make(chan error, 2)
			wait := func(c *sql.Conn, q string) {
				_, err := c.ExecContext(context.WithoutCancel(t.Context()), q)
				done <- err
			}
			go wait(b, "UPDATE orders SET state='paid' WHERE id=1")
			go wait(c, "UPDATE orders SET state='sent \x1b[2J' WHERE id=2")
			began := time.Now()
			tree := func(s string) bool {
				return strings.Contains(s, fmt.Sprintf("● %d ", idA)) &&
					strings.Contains(s, fmt.Sprintf("└ %d ", idB)) && strings.Contains(s, fmt.Sprintf("└ %d ", idC)) &&
					strings.Contains(s, "2 wait")
			}
			seen := v.Until("the session at the root", tree)
			t.Logf("the root of the pile-up was seen after %v", time.Since(began).Round(time.Millisecond))
			if !strings.Contains(seen, "shop.orders") {
				t.Errorf("what is waited for is not told:\n%s", seen)
			}
			m := regexp.MustCompile(`LIVE ([0-9: -]{8,19}) `).FindStringSubmatch(seen)
			if m == nil {
				t.Fatalf("no time in\n%s", seen)
			}
			must(a, "ROLLBACK")
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			must(b, "ROLLBACK")
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			v.Sees("no waiters")
			at := strings.TrimSpace(m[1])
			v.Type("g" + at + "\r")
			v.Until("the past", func(s string) bool { return tree(s) && strings.Contains(s, "PAST ") })
			v.Type("l")
			v.Until("the live view", func(s string) bool {
				return strings.Contains(s, "LIVE ") &&
					strings.Contains(s, "no waiters")
			})
			v.Type("q")
			if err := v.Ended(); err != nil {
				t.Fatalf("%v:\n%s", err, v.Text())
			}
			if got := v.Modes(); got.Alternate || got.Hidden || got.Raw {
				t.Errorf("the terminal is not as it was: %+v", got)
			}

			if len(at) == len("15:04:05") {
				day := began.UTC()
				if clock, err := time.Parse("15:04:05", at); err == nil && clock.Hour() == 0 && day.Hour() == 23 {
					day = day.AddDate(0, 0, 1)
				}
				at = day.Format("2006-01-02 ") + at
			}
			v = watch(t, home, "--at", at, s.URL("root"))
			v.Until("the recorded past", func(s string) bool { return tree(s) && strings.Contains(s, "PAST ") })
			v.Type("\x03")
			if err := v.Ended(); err != nil {
				t.Errorf("%v:\n%s", err, v.Text())
			}
		})
	}
}
