// Package firstday_test replays a user's first day on a server of their own, with the program as users get it: an
// account with few rights, an index that is missing and two that serve for each other, sessions that wait for a lock, a
// disk that is full. What Dyno says must hold together and be true of the server, and what it cannot see it must say.
package firstday_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/program"
	"github.com/dyno-perf/dyno/test/servers"
)

var dyno string

func TestMain(m *testing.M) { os.Exit(program.Main(m, &dyno)) }

// patience is how long a fact is waited for: machines that run tests may be slow and busy.
const patience = 2 * time.Minute

// shop is a server of the user's own, with a load.
type shop struct {
	*servers.Server
	t    *testing.T
	home string
}

// password is that of the accounts of the trial.
const password = "trial-Pa55-of-dyno"

// open starts a server with customers and orders, and sends it statements until the test ends.
func open(t *testing.T, settings ...string) *shop {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real server")
	}
	s := &shop{Server: servers.Start(t, "mariadb", settings...), t: t, home: t.TempDir()}
	s.Exec(
		t, "CREATE DATABASE shop", "USE shop",
		"CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40), email VARCHAR(60)) ENGINE=InnoDB",
		"INSERT INTO customers SELECT seq, CONCAT('name ', seq), CONCAT('c', seq, '@example.org') FROM seq_1_to_60000",
		"CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer_id INT, status TINYINT, note VARCHAR(40),"+
			" KEY customer_id (customer_id), KEY customer_status (customer_id, status)) ENGINE=InnoDB",
		"INSERT INTO orders (customer_id, status, note) SELECT 1 + seq % 6000, seq % 5, CONCAT('note ', seq) FROM "+
			"seq_1_to_60000",
		"ANALYZE TABLE customers, orders",
	)
	return s
}

// load sends statements of the shop from some connections until the test ends.
func (s *shop) load() {
	ctx, stop := context.WithCancel(s.t.Context())
	db := s.DB(s.t, "shop")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := rand.IntN(6000) + 1
				for _, q := range []string{
					fmt.Sprintf("SELECT id, name FROM customers WHERE email = 'c%d@example.org'", n),
					fmt.Sprintf("SELECT id, note FROM orders WHERE customer_id = %d", n),
					fmt.Sprintf("SELECT name FROM customers WHERE id = %d", n),
				} {
					_ = answered(ctx, db, q) // a server that goes away meanwhile is a part of the trial
				}
			}
		})
	}
	s.t.Cleanup(func() { stop(); wg.Wait() })
}

// answered reads the whole answer to a statement.
func answered(ctx context.Context, db *sql.DB, q string) error {
	rows, err := db.QueryContext(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() { //nolint:revive // rows are of no interest
	}
	return rows.Err()
}

// run runs the program; out is its standard output, errs the rest.
func (s *shop) run(env []string, args ...string) (out, errs string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, dyno, args...)
	var o, e bytes.Buffer
	c.Env, c.Stdout, c.Stderr = append(append(os.Environ(), "DYNO_HOME="+s.home, "HOME="+s.home), env...), &o, &e
	err := c.Run()
	if err != nil && c.ProcessState == nil {
		s.t.Fatalf("dyno %v: %v", args, err)
	}
	return o.String(), e.String(), c.ProcessState.ExitCode()
}

// dyno runs the program, which must succeed, and returns all that it says.
func (s *shop) dyno(env []string, args ...string) string {
	s.t.Helper()
	out, errs, code := s.run(env, args...)
	if code != 0 {
		s.t.Fatalf("dyno %v ended with %d:\n%s%s", args, code, out, errs)
	}
	return errs + out
}

// account makes an account as the README says, by the statements that `dyno target grants` prints, and returns what a
// shell would be told to log in with it.
func (s *shop) account(name string, more ...string) (url string, env []string) {
	s.t.Helper()
	text := s.dyno(nil, append([]string{"target", "grants", "--flavor", "mariadb", "--user", name + "@localhost"},
		more...)...)
	var list []string
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if rest, ok := strings.CutPrefix(l, "-- "); ok {
			_, l, _ = strings.Cut(rest, ": ")
			l = strings.Replace(l, "'…'", "'"+password+"'", 1)
		}
		list = append(list, strings.TrimSuffix(l, ";"))
	}
	s.Exec(s.t, list...)
	return s.URL(name), []string{"DYNO_PASSWORD=" + password}
}

type finding struct {
	ID, Rule, Severity, Title string
	Action                    *struct{ SQL string }
}

// findings reads lines of JSON.
func findings(t *testing.T, out string) (all []finding) {
	t.Helper()
	for l := range strings.Lines(out) {
		var f finding
		if err := json.Unmarshal([]byte(l), &f); err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		all = append(all, f)
	}
	return all
}

func has(all []finding, rule, title string) bool {
	return slices.ContainsFunc(all, func(f finding) bool { return f.Rule == rule && strings.Contains(f.Title, title) })
}

// TestWithFewRights: an account that may not see the tables is told so first, with the one grant that helps; with it
// the missing index is found.
func TestWithFewRights(t *testing.T) {
	s := open(t)
	s.load()
	url, env := s.account("dyno", "--task", "watch")

	out, errs, _ := s.run(env, "diagnose", url, "--window", "5s")
	if head := firstLines(out, 4) + errs; !strings.Contains(head, "GRANT SELECT ON `shop`.*") &&
		!strings.Contains(head, "GRANT SELECT ON") {
		t.Errorf("a diagnosis that sees no table begins with\n%s\n%s", firstLines(out, 12), errs)
	}
	for _, verb := range [][]string{{"target", "check", url}, {"target", "add", "blind", url}} {
		if text := s.dyno(env, verb...); !strings.Contains(text, "GRANT SELECT ON") {
			t.Errorf("%v does not say that no table is seen:\n%s", verb, text)
		}
	}

	url, env = s.account("seeing", "--task", "explain", "--schema", "shop")
	s.dyno(env, "target", "add", "shop", url)
	if all := findings(t, s.dyno(env, "--quiet", "diagnose", "shop", "--window", "8s", "--output", "json")); !has(all,
		"missing-index", "customers") {
		t.Errorf("the missing index is not found: %+v", all)
	}

	// Without any grant the sessions of others are not seen, let alone that they wait.
	s.Exec(t, "CREATE USER bare@localhost IDENTIFIED BY '"+password+"'")
	s.pileUp(6, func() {
		url := s.URL("bare")
		for _, args := range [][]string{{"watch", url, "--count=2"}, {"target", "check", url}} {
			out, errs, code := s.run(env, args...)
			if text := errs + out; !strings.Contains(text, "PROCESS") ||
				regexp.MustCompile(`no waiters|(?m)^locks +ok`).MatchString(text) || code != 0 {
				t.Errorf("%v without PROCESS, code %d:\n%s", args, code, text)
			}
		}
		out, errs, code := s.run(env, "digest", "--target", url, "--since", "5s")
		if code == 0 && !strings.Contains(errs+out, "PROCESS") {
			t.Errorf("a digest without PROCESS:\n%s%s", errs, out)
		}
	})
}

func firstLines(text string, n int) string {
	l := strings.SplitAfter(text, "\n")
	return strings.Join(l[:min(n, len(l))], "")
}

// pileUp has sessions wait for a lock that another holds, while f runs.
func (s *shop) pileUp(waiters int, f func()) {
	s.t.Helper()
	db := s.DB(s.t, "shop")
	holder, err := db.Conn(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	defer holder.Close()
	exec := func(c *sql.Conn, q string) {
		if _, err := c.ExecContext(s.t.Context(), q); err != nil {
			s.t.Error(err)
		}
	}
	exec(holder, "BEGIN")
	exec(holder, "UPDATE customers SET name = 'held' WHERE id = 1")
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() {
			c, err := db.Conn(s.t.Context())
			if err != nil {
				s.t.Error(err)
				return
			}
			defer c.Close()
			exec(c, "SET innodb_lock_wait_timeout = 600")
			exec(c, "UPDATE customers SET name = 'waits' WHERE id = 1")
		})
	}
	s.until("all wait", func() error {
		var n int
		err := db.QueryRow("SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'").Scan(&n)
		if err == nil && n < waiters {
			err = fmt.Errorf("%d of %d wait", n, waiters)
		}
		return err
	})
	f()
	exec(holder, "ROLLBACK")
	wg.Wait()
}

// until waits for a fact.
func (s *shop) until(what string, ok func() error) {
	s.t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = ok(); err == nil {
			return
		}
	}
	s.t.Fatalf("%s: %v", what, err)
}

// TestTheLastIndexStays: two pieces of advice that would together take the last index away are told to exclude each
// other, and the second is refused.
func TestTheLastIndexStays(t *testing.T) {
	s := open(t)
	s.load()
	s.dyno(nil, "target", "add", "shop", s.URL("root"))
	all := findings(t, s.dyno(nil, "--quiet", "advise", "index", "shop", "--output", "json"))
	applied := 0
	for _, f := range all {
		if f.Action == nil || !strings.Contains(f.Action.SQL, "orders") {
			continue
		}
		out, errs, code := s.run(nil, "apply", "shop", f.ID, "--execute")
		t.Logf("%s (%s): exit %d\n%s", f.ID, f.Title, code, errs+out)
		if code == 0 {
			applied++
		}
	}
	if applied == 0 {
		t.Errorf("no advice on orders could be applied: %+v", all)
	}
	var plan struct{ id, kind, table, access, keys, key, length, ref, rows, extra sql.NullString }
	if err := s.DB(t, "shop").QueryRow("EXPLAIN SELECT id, note FROM orders WHERE customer_id = 5").Scan(
		&plan.id, &plan.kind, &plan.table, &plan.access, &plan.keys, &plan.key, &plan.length, &plan.ref, &plan.rows,
		&plan.extra); err != nil {
		t.Fatal(err)
	}
	if plan.access.String != "ref" {
		t.Errorf("after all advice was followed, orders of a customer are found by %q, key %q",
			plan.access.String, plan.key.String)
	}
}
