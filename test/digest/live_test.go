package digest_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	queryclass "github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
)

// TestLive digests a server over a window in which a known number of statements runs, one of them killed and one still
// running when it ends.
func TestLive(t *testing.T) {
	everywhere(t, func(t *testing.T, l *logger) {
		l.do(t, tables...)
		c := l.session(t, "root", "d1")
		d := command(t, "digest", "--target", l.url, "--time", "8s", "--output", "json", "--limit", "0")
		var out, errs bytes.Buffer
		d.Stdout, d.Stderr = &out, &errs
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
		defer d.Process.Kill() // it has ended when all is well
		others := func() (n int) {
			err := l.own.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE id "+
				"<> CONNECTION_ID() AND command NOT IN ('Daemon')").Scan(&n)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for end := time.Now().Add(30 * time.Second); others() < 2; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("it does not connect: %s", errs.String())
			}
		}
		time.Sleep(2 * time.Second) // its first look at the counters is over then
		for i := range 300 {
			must(t, c, fmt.Sprintf("SELECT a FROM t1 WHERE id = %d", i))
		}
		for i := range 20 {
			must(t, c, fmt.Sprintf("UPDATE t_2024 SET c1 = %d WHERE id = 1", i))
		}
		running := l.session(t, "root", "d1")
		go running.ExecContext(t.Context(), "SELECT SLEEP(30), 'still running'") // the test ends before
		if err := d.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, errs.String())
		}
		r := decode(t, out.String())
		if r.Global.Source == "" {
			t.Error("no source")
		}
		f := func(q string, n uint64) {
			t.Helper()
			id := queryclass.ID(mytext.Fingerprint(q))
			for _, x := range r.Classes {
				if x.ID == id {
					if x.Count != n {
						t.Errorf("%s: count %d, want %d", q, x.Count, n)
					}
					if x.Attributes["query_time"].Sum <= 0 {
						t.Errorf("%s took no time", q)
					}
					return
				}
			}
			var have []string
			for _, x := range r.Classes {
				have = append(have, fmt.Sprint(x.Count, " ", cut(x.Fingerprint)))
			}
			t.Errorf("no class for %s among\n%s", q, strings.Join(have, "\n"))
		}
		f("SELECT a FROM t1 WHERE id = 1", 300)
		f("UPDATE t_2024 SET c1 = 1 WHERE id = 1", 20)
		still := uint64(0)
		for _, x := range r.Classes {
			if strings.Contains(x.Fingerprint, "sleep(") {
				still += x.Running
			}
			if strings.Contains(strings.ToLower(x.Fingerprint), "events_statements") {
				t.Errorf("a statement of Dyno's own: %s", cut(x.Fingerprint))
			}
		}
		if still != 1 {
			t.Errorf("%d statements of the running class are told as running, want 1", still)
		}
	}, "performance_schema=ON")
}
