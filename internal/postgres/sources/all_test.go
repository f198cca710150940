package sources

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/pgserver"
)

func open(t *testing.T, s *pgserver.Server, user string) *conn.Target {
	t.Helper()
	x, err := conn.Open(context.Background(), endpoint.Spec{
		Scheme: endpoint.Postgres, Network: "tcp", Address: fmt.Sprintf("127.0.0.1:%d", s.Port), User: user,
		Database: "postgres",
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func scraper(t *testing.T, x *conn.Target, names ...string) *scrape.Scraper {
	t.Helper()
	s, err := New(x, scrape.Options{Timeout: 20 * time.Second, Sources: names}) // tests run on slow machines
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// find returns the value of a series; the labels that are given must be among its own.
func find(r reading.Reading, name string, labels ...string) (float64, bool) {
	for _, x := range r.Samples {
		if x.Name == name && !slices.ContainsFunc(metric.L(labels...), func(l metric.Label) bool {
			return x.Labels.Get(l.Name) != l.Value
		}) {
			return x.Value, true
		}
	}
	return 0, false
}

// value is find for what must be there.
func value(t *testing.T, r reading.Reading, name string, labels ...string) float64 {
	t.Helper()
	v, ok := find(r, name, labels...)
	if !ok {
		t.Errorf("no %s%v among %d samples", name, labels, len(r.Samples))
	}
	return v
}

func sourceOf(t *testing.T, r reading.Reading, name source.Name) source.Source {
	t.Helper()
	for _, x := range r.Sources {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no source %s in %+v", name, r.Sources)
	return source.Source{}
}

// TestOnceReadsEverySource: on each version every source gives something, or says that the version has no such thing.
func TestOnceReadsEverySource(t *testing.T) {
	for _, v := range pgserver.Versions {
		t.Run(v, func(t *testing.T) {
			s := pgserver.Start(t, v)
			s.Exec(t, "postgres", "CREATE EXTENSION pg_stat_statements", "CREATE TABLE t (a int PRIMARY KEY)",
				"INSERT INTO t SELECT generate_series(1, 1000)")
			r := scraper(t, open(t, s, "postgres")).Once(t.Context())
			var want []string
			for _, x := range List() {
				if !x.Asked {
					want = append(want, string(x.Name))
				}
			}
			if len(r.Sources) != len(want) {
				t.Fatalf("%+v, want %v", r.Sources, want)
			}
			for i, x := range r.Sources {
				absent := v == "15" && x.Name == source.IO || x.Name == source.Cgroup
				if string(x.Name) != want[i] || x.State != source.OK && !absent ||
					x.State == source.Missing && x.Reason == "" {
					t.Errorf("%+v, want %s", x, want[i])
				}
			}
			seen := map[string]bool{}
			for _, x := range r.Samples {
				k := x.Name + fmt.Sprint(x.Labels)
				if seen[k] {
					t.Errorf("%s is there twice", k)
				}
				seen[k] = true
			}
			t.Logf("%d series", len(seen))
		})
	}
}
