package digestsource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/test/servers"
)

// letters writes a number without digits, which a fingerprint would drop.
func letters(i int) string {
	return strings.Map(func(r rune) rune { return 'k' + r - '0' }, fmt.Sprint(i))
}

// cpu returns the time that a process has had on processors, milliseconds.
func cpu(b *testing.B, pid int) (ms float64) {
	b.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		b.Skipf("this system does not tell a process's time: %v", err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		var ns float64
		if err != nil { // a thread that ended
			continue
		}
		if _, err := fmt.Sscan(string(text), &ns); err != nil {
			b.Fatal(err)
		}
		ms += ns / 1e6
	}
	return ms
}

// BenchmarkPass looks at a server whose table of digests holds 10 000 classes, a tenth of them busy, and tells what
// that costs the server in processor time: the look that begins a window, the one that ends it, and for comparison a
// walk through the table that returns one row, which is the least that any look can cost. Of each the least of all
// rounds: what is more is noise of the machine.
func BenchmarkPass(b *testing.B) {
	for _, flavor := range servers.Flavors {
		for _, detail := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/detail=%v", flavor, detail), func(b *testing.B) {
				s := servers.Start(b, flavor, "performance_schema=ON", "performance_schema_digests_size=12000")
				s.Exec(b, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, name VARCHAR(40), at "+
					"DATETIME)", "INSERT INTO d.t VALUES (1,1,'a',NOW())")
				conn, err := s.DB(b, "d").Conn(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				statement := func(i int) {
					rows, err := conn.QueryContext(context.Background(),
						fmt.Sprintf("SELECT t.id AS name_%s, t.v, t.name FROM t LEFT JOIN t u ON u.id = t.v WHERE "+
							"t.id = 1 AND t.name LIKE 'x%%' ORDER BY t.v LIMIT 10", letters(i)))
					if err != nil {
						b.Fatal(err)
					}
					if err := errors.Join(rows.Err(), rows.Close()); err != nil {
						b.Fatal(err)
					}
				}
				for i := range 10_000 {
					statement(i)
				}
				spec, err := endpoint.ParseURL(s.URL("root"))
				if err != nil {
					b.Fatal(err)
				}
				t, err := target.Open(context.Background(), spec)
				if err != nil {
					b.Fatal(err)
				}
				defer t.Close()
				r, err := Open(context.Background(), t, Options{
					Detail: detail, NoSlowLog: true,
					Timeout: 30 * time.Second,
				})
				if err != nil {
					b.Fatal(err)
				}
				defer r.Close()
				least := map[string]float64{}
				cost := func(name string, do func() error) {
					b.Helper()
					before := cpu(b, s.PID)
					if err := do(); err != nil {
						b.Fatal(err)
					}
					time.Sleep(5 * time.Millisecond) // the server goes on a little behind its answer
					ms := cpu(b, s.PID) - before
					if x, ok := least[name]; !ok || ms < x {
						least[name] = ms
					}
				}
				for range b.N {
					cost("walk", func() error {
						var n uint64
						return conn.QueryRowContext(context.Background(),
							"SELECT SUM(COUNT_STAR) FROM performance_schema.events_statements_summary_by_digest").
							Scan(&n)
					})
					cost("begin", func() error { return r.Begin(b.Context()) })
					for i := range 1000 {
						statement(i * 10)
					}
					n := 0
					cost("end", func() error {
						if detail {
							rep, _, err := r.Report(b.Context(), ReportOptions{})
							n = len(rep.Classes)
							return err
						}
						cs, _, err := r.End(b.Context())
						n = len(cs)
						return err
					})
					if n < 1000 {
						b.Fatalf("%d classes", n)
					}
				}
				for name, ms := range least {
					b.ReportMetric(ms, "cpu-ms/"+name)
				}
			})
		}
	}
}
