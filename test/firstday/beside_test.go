package firstday_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/servers"
)

// diagnosed is what a diagnosis keeps.
type diagnosed struct {
	From, To time.Time
	Series   []struct {
		Name   string
		Points []struct {
			T int64
			V float64
		}
	}
	Classes []struct {
		Fingerprint string
		Count       int
	}
	Moments []state.State
}

// statements returns how many of clients the diagnosis counted, and in what time.
func (d *diagnosed) statements() (n, sec float64) {
	for _, x := range d.Series {
		if p := x.Points; x.Name == "mysql_global_status_questions" && len(p) > 1 {
			n, sec = p[len(p)-1].V-p[0].V, float64(p[len(p)-1].T-p[0].T)/1000
		}
	}
	return n, sec
}

func (d *diagnosed) count(fingerprint string) (n int) {
	for _, x := range d.Classes {
		if x.Fingerprint == fingerprint {
			n += x.Count
		}
	}
	return n
}

// diagnosis begins one; result waits for it.
func (s *shop) diagnosis(target, window string) (result func() diagnosed) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "snapshot.json")
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	c := exec.CommandContext(ctx, dyno, "--quiet", "diagnose", target, "--window", window, "--save", file)
	c.Env = append(os.Environ(), "DYNO_HOME="+s.home, "HOME="+s.home)
	go func() { done <- c.Run() }()
	return func() (d diagnosed) {
		defer cancel()
		if err := <-done; err != nil {
			s.t.Fatalf("a diagnosis: %v", err)
		}
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &d)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		return d
	}
}

// total returns a counter of clients as serve has it now, and when it was read.
func (v *served) total(target, variable string) (n float64, at time.Time, err error) {
	q := `{__name__="dyno_client_status_total",target="` + target + `",variable="` + variable + `"}[1m]`
	r, err := get[struct {
		Data struct{ Result []struct{ Values [][2]any } }
	}](v, "../../v1/query", "query", q)
	if err != nil {
		return 0, at, err
	}
	if len(r.Data.Result) != 1 || len(r.Data.Result[0].Values) == 0 {
		return 0, at, fmt.Errorf("%s has no readings of %s: %+v", target, url.QueryEscape(q), r)
	}
	all := r.Data.Result[0].Values
	last := all[len(all)-1]
	sec, _ := last[0].(float64)
	text, _ := last[1].(string)
	n, err = strconv.ParseFloat(text, 64)
	return n, time.UnixMilli(int64(sec * 1000)), err
}

// states returns what a watch has written so far.
func states(t *testing.T, out *said) (all []state.State) {
	t.Helper()
	text := out.String()
	for l := range strings.Lines(text[:strings.LastIndexByte(text, '\n')+1]) {
		var x state.State
		if err := json.Unmarshal([]byte(l), &x); err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		all = append(all, x)
	}
	return all
}

// TestThreeBesideEachOther watches and diagnoses a server that `dyno serve` watches. None of the
// three shows anything of another's work, also not of one that was killed, and each shows all that
// a user does.
func TestThreeBesideEachOther(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			s := &shop{Server: servers.Start(t, flavor, "performance_schema=ON"), t: t, home: t.TempDir()}
			s.Exec(
				t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)",
				"CREATE USER tenant@localhost", "GRANT SELECT ON d.* TO tenant@localhost",
				"TRUNCATE performance_schema.events_statements_summary_by_digest",
			)
			s.dyno(nil, "target", "add", "quiet", s.URL("root"))
			db, clients := s.DB(t, ""), 0 // connections that the test itself keeps
			db.SetMaxOpenConns(1)
			s.until("the program that adds it has gone", func() error {
				n := clients
				err := db.QueryRow("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root'").
					Scan(&clients)
				if err == nil && n != clients {
					err = fmt.Errorf("%d connections", clients)
				}
				return err
			})
			v := s.serve()
			out := &said{}
			s.beside(out, "--quiet", "watch", "quiet", "--output", "json")
			v.nothing("quiet", out, clients)
			v.load("quiet", out)
		})
	}
}

// leastRate is the number of statements a second that is told from none.
const leastRate = 0.5

// server reports whether a session is the server's own, or one that MariaDB did not look at.
func server(x state.Session) bool { return x.Command == "Daemon" || x.Command == "Busy" }

// nothing asserts that no dyno shows anything of a server that is used by three of them, and has
// some idle clients.
func (v *served) nothing(target string, out *said, clients int) {
	t := v.t
	v.until("the first readings", func() error {
		_, _, err := v.total(target, "questions")
		if err == nil && len(states(t, out)) < 3 {
			err = errors.New("watch has written nothing")
		}
		return err
	})
	before, began, _ := v.total(target, "questions")
	seen := len(states(t, out))
	for i := range 4 {
		result := v.diagnosis(target, "6s")
		if i == 1 { // one more, that ends without a word
			c := exec.Command(dyno, "--quiet", "watch", target, "--output", "json")
			gone := &said{}
			c.Env, c.Stdout = append(os.Environ(), "DYNO_HOME="+v.home, "HOME="+v.home), gone
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			v.until("another watch reads", func() error {
				if strings.Count(gone.String(), "\n") < 2 {
					return errors.New(gone.String())
				}
				return nil
			})
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		d := result()
		if n, sec := d.statements(); sec == 0 || n > leastRate*sec {
			t.Errorf("a diagnosis beside others: %v statements in %v s", n, sec)
		}
		if len(d.Classes) > 0 {
			t.Errorf("a diagnosis beside others has classes: %+v", d.Classes)
		}
		for _, m := range d.Moments {
			for _, x := range m.Sessions {
				// While one logs in not even Dyno knows its number.
				if !server(x) && x.Command != "Connect" && !strings.HasPrefix(x.SQL, "SET ") {
					t.Errorf("a diagnosis beside others has a session: %+v", x)
				}
			}
		}
	}
	v.until("readings after the last diagnosis", func() error {
		now, at, err := v.total(target, "questions")
		if sec := at.Sub(began).Seconds(); err == nil && sec < 20 {
			err = fmt.Errorf("none after %v", at)
		} else if err == nil && now-before > leastRate*sec {
			t.Errorf("serve shows %v statements in %v s", now-before, sec)
		}
		return err
	})
	var sum, sec float64
	all := states(t, out)[seen-1:]
	alone := 0
	for i, x := range all[1:] {
		step := x.At.Sub(all[i].At).Seconds()
		if qps, ok := x.Get(state.QPS).Get(); ok {
			sum, sec = sum+qps*step, sec+step
		}
		if len(x.Classes) > 0 {
			t.Errorf("watch has classes: %+v", x.Classes)
		}
		n, _ := x.Connections.Get()
		busy := slices.DeleteFunc(x.Sessions, server)
		if n == clients && len(busy) == 0 && x.Get(state.Connected).Or(0) == float64(clients) {
			alone++
		}
	}
	if sec < 10 || sum > leastRate*sec {
		t.Errorf("watch shows %v statements in %v s", sum, sec)
	}
	if 4*alone < 3*len(all) { // a session that logs in knows its number a little later than it is seen
		t.Errorf("%d connections in %d of %d states of watch: %+v", clients, alone, len(all), all[len(all)-1])
	}
	v.until("serve sees no session", func() error {
		x, err := get[moment](v, "state", "target", target)
		if err == nil && (x.Connections == nil || *x.Connections != float64(clients)) {
			err = fmt.Errorf("%+v", x)
		}
		return err
	})
}

// most is how far a figure may be from the truth.
const most = 0.05

// load sends a known number of statements while the three look, and asserts that each shows all of
// them.
func (v *served) load(target string, out *said) {
	t := v.t
	const n, fingerprint = 3000, "select count(*) from t where id = ?"
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "tenant", "unix", v.Socket, "d"
	k, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(k)
	defer db.Close()
	db.SetMaxOpenConns(1)
	if err := db.Ping(); err != nil {
		t.Fatal(err)
	}
	send := func(n int, sql func(int) string) (from, to time.Time) {
		from = time.Now()
		for i := range n {
			if err := answered(t.Context(), db, sql(i)); err != nil {
				t.Fatal(err)
			}
		}
		return from, time.Now()
	}
	near := func(what string, got, want float64) error {
		if math.Abs(got-want) > most*want {
			return fmt.Errorf("%s: %v of %v statements", what, got, want)
		}
		return nil
	}
	began, total := time.Now(), 0
	before, _, err := v.total(target, "questions")
	if err != nil {
		t.Fatal(err)
	}
	seen := len(states(t, out))
	for {
		result := v.diagnosis(target, "15s")
		time.Sleep(5 * time.Second) // it has begun then as a rule; where it has not, once more
		from, to := send(n, func(i int) string { return fmt.Sprintf("SELECT COUNT(*) FROM t WHERE id = %d", i) })
		total += n
		d := result()
		if from.Before(d.From.Add(time.Second)) || to.After(d.To.Add(-time.Second)) {
			if total > 10*n {
				t.Fatalf("no load was within the window of a diagnosis: %v to %v, %v to %v", from, to, d.From, d.To)
			}
			continue
		}
		got, _ := d.statements()
		counted := float64(d.count(fingerprint))
		if err := errors.Join(near("a diagnosis", got, n), near("its class", counted, n)); err != nil {
			t.Error(err)
		}
		break
	}
	// Nor does what Dyno sends itself, with its tag, hide what another user sends.
	send(n/10, func(int) string { return "/* dyno:scrape global_status */ SHOW GLOBAL STATUS" })
	v.until("serve shows the load", func() error {
		now, _, err := v.total(target, "questions")
		// Whole minutes are kept, and nobody has done anything before.
		c, err2 := get[classes](v, "classes", "target", target, "from", unix(began.Add(-5*time.Minute)),
			"to", unix(time.Now()))
		counted := map[string]int{}
		for _, x := range c.Classes {
			counted[x.Fingerprint] += x.Count
		}
		if len(counted) > 2 {
			err2 = fmt.Errorf("serve has classes of nobody: %+v", c)
		}
		return errors.Join(err, err2, near("serve", now-before, float64(total)+n/10),
			near("its class", float64(counted[fingerprint]), float64(total)),
			near("the class that has Dyno's words", float64(counted["show global status"]), n/10))
	})
	v.until("watch shows the load", func() error {
		all, sum := states(t, out)[seen-1:], 0.0
		for i, x := range all[1:] {
			sum += x.Get(state.QPS).Or(0) * x.At.Sub(all[i].At).Seconds()
		}
		return near("watch", sum, float64(total)+n/10)
	})
}
