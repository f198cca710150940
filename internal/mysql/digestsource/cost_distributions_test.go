package digestsource

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/test/servers"
)

// BenchmarkDistributions tells what a minute's histograms cost a MySQL, in processor time: that of all statements, and
// those of the heaviest classes, of tables with few and with many digests. Of each the least of all rounds.
func BenchmarkDistributions(b *testing.B) {
	s := servers.Start(b, "mysql", "performance_schema=ON", "performance_schema_digests_size=12000")
	s.Exec(b, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT INTO d.t VALUES (1,1)")
	conn, err := s.DB(b, "d").Conn(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		b.Fatal(err)
	}
	t, err := target.Open(context.Background(), spec)
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	made := 0
	for _, digests := range []int{500, 10_000} {
		for ; made < digests; made++ {
			rows, err := conn.QueryContext(context.Background(), fmt.Sprintf("SELECT id AS name_%s FROM t WHERE id = 1",
				letters(made)))
			if err != nil {
				b.Fatal(err)
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprint(digests), func(b *testing.B) {
			r, err := Open(context.Background(), t, Options{
				NoSlowLog: true, Timeout: 30 * time.Second, Distributions: time.Hour,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			if err := r.Begin(b.Context()); err != nil {
				b.Fatal(err)
			}
			least := map[string]float64{}
			cost := func(name string, do func()) {
				before, began := cpu(b, s.PID), time.Now()
				do()
				took := float64(time.Since(began)) / 1e6
				time.Sleep(5 * time.Millisecond)
				ms := cpu(b, s.PID) - before
				if x, ok := least[name]; !ok || ms < x {
					least[name], least[name+"_answer"] = ms, took
				}
			}
			for range b.N {
				for k, row := range r.digests.before.rows {
					if r.dist.grown[k] == nil {
						r.dist.grown[k] = &grownDigest{id: k.digest, count: 1, time: row.v[cTime], fresh: true}
					}
				}
				cost("all", func() { r.times.global(b.Context()) })
				cost("minute", func() { r.dist.fromHistograms(b.Context(), r) })
			}
			if len(r.dist.last.Classes) == 0 {
				b.Fatalf("nothing was read: %+v", r.dist.last)
			}
			b.ReportMetric(least["all"], "global-ms")
			b.ReportMetric(least["minute"], "minute-ms")
			b.ReportMetric(least["minute_answer"], "minute-answer-ms")
			b.ReportMetric(float64(len(r.times.before)), "classes")
		})
	}
}
