package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// put plants a fault on a server.
func put(ctx context.Context, tg *target.Target, f fault.Fault, seed uint64, more map[string]string) error {
	return Plant(ctx, tg, loader.Server{T: tg}, f, seed, more, nil)
}

// plant sets a fault up on a fresh server.
func plant(
	t *testing.T, flavor string, f fault.Fault, seed uint64, more map[string]string,
) (*servers.Server, *target.Target) {
	t.Helper()
	var settings []string
	for k, v := range f.Settings {
		settings = append(settings, k+"="+v)
	}
	s := servers.Start(t, flavor, settings...)
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tg.Close() })
	begin := time.Now()
	if err := put(t.Context(), tg, f, seed, more); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s on %s: data ready in %v", f.Name, flavor, time.Since(begin).Round(10*time.Millisecond))
	return s, tg
}

func TestEveryFaultIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		if f.Name == "" || f.Title == "" || f.Story == "" || f.Threads < 1 || len(f.Settings) == 0 || seen[f.Name] {
			t.Errorf("%q lacks something or is there twice", f.Name)
		}
		seen[f.Name] = true
		if f.Workload.Name() != f.Name {
			t.Errorf("the workload of %s is called %s", f.Name, f.Workload.Name())
		}
		if _, err := f.Workload.Build(map[string]string{fault.NamesSeed: "3", "table-size": "1000"}); err != nil {
			t.Errorf("the workload of %s: %v", f.Name, err)
		}
		for _, w := range f.Flavors {
			if w != "mariadb" && w != "mysql" {
				t.Errorf("%s exists on %q", f.Name, w)
			}
		}
		if (f.Cure.Kind == fault.CureActors) && len(f.Actors) == 0 || (f.Cure.Kind == fault.CureWorkload) &&
			f.Cure.Workload == nil && f.Cure.Actors == nil {
			t.Errorf("the cure of %s changes nothing", f.Name)
		}
		if _, err := Set().Together("mysql", "", f); err != nil && f.Exists("mysql") {
			t.Error(err)
		}
		e := f.Expect(0)
		if (f.Kind == fault.Control) != (e.Rule == "" && e.Table.Table == "") {
			t.Errorf("%s is a %s and expects %+v", f.Name, f.Kind, e)
		}
		if got, ok := Set().Find(f.Name); !ok || got.Name != f.Name {
			t.Errorf("find %s: %v", f.Name, got.Name)
		}
	}
}

// TestEveryFaultRuns plants every fault, half of them under names of people and the others under random ones, and the
// other way round on the other flavor; it runs every operation of it and of its cure, and lets its actors play for a
// moment.
func TestEveryFaultRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	for i, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			// Purge holds the metadata lock of its tables for a whole batch, and one of row-versions takes minutes at
			// the default size (see there).
			s := servers.Start(t, flavor, "local_infile=ON", "innodb_buffer_pool_size=256M",
				"innodb_flush_log_at_trx_commit=0", "sync_binlog=0",
				"innodb_purge_batch_size=1")
			spec, err := endpoint.ParseURL(s.URL("root"))
			if err != nil {
				t.Fatal(err)
			}
			tg, err := target.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer tg.Close()
			for j, x := range All() {
				if !x.Exists(dbms.Flavor(flavor)) {
					continue
				}
				begin := time.Now()
				runFault(t, tg, x, uint64(42*((i+j)%2)))
				t.Logf("%s: %v", x.Name, time.Since(begin).Round(10*time.Millisecond))
			}
		})
	}
}

// runFault plants one fault with small tables.
func runFault(t *testing.T, tg *target.Target, x fault.Fault, seed uint64) {
	t.Helper()
	more := map[string]string{"table-size": "2000"}
	o := fault.Options(seed)
	maps.Copy(o, more)
	if err := put(t.Context(), tg, x, seed, more); err != nil {
		t.Error(err)
		return
	}
	work := func(w workload.Workload, what string) {
		t.Helper()
		const events = 1000
		r, err := loader.Server{T: tg}.Run(t.Context(), load.Config{
			Workload: w, Options: o, Threads: min(x.Threads, 16),
			Events: events, Time: 3 * time.Second,
		}, nil)
		if err != nil || r.Total.Operations() == 0 {
			t.Errorf("%s%s: %d operations, errors %v, %v", x.Name, what, r.Total.Operations(), r.Total.Errors, err)
			return
		}
		retried, _ := loader.Server{}.Retried()
		for key, n := range r.Total.Errors {
			if !slices.Contains(retried, key) {
				t.Errorf("%s%s: error %s, %d times", x.Name, what, key, n)
			}
		}
		for _, op := range r.Total.Ops {
			if op.Latency.Count() == 0 && weight(w, op.Name) >= 0.02 && r.Total.Operations() == events {
				t.Errorf("%s%s: no %s among %d operations", x.Name, what, op.Name, events)
			}
		}
	}
	play := func(actors []fault.Actor) {
		t.Helper()
		stage, err := x.Stage(tg, seed)
		if err != nil {
			t.Error(err)
			return
		}
		end := time.Now().Add(time.Second)
		ctx, cancel := context.WithDeadline(t.Context(), end)
		defer cancel()
		var wg sync.WaitGroup
		for _, a := range actors {
			wg.Go(func() {
				// A dial that has to end by then gives up a moment before ctx says so.
				if err := a.Run(ctx, stage); err != nil && ctx.Err() == nil && time.Now().Before(end) {
					t.Errorf("%s: %s: %v", x.Name, a.Name, err)
				}
			})
		}
		wg.Wait()
	}
	work(x.Workload, "")
	play(x.Actors)
	if w := x.Cure.Workload; w != nil {
		work(w, " cured")
	}
	play(x.Cure.Actors)
	if _, err := (loader.Server{T: tg}).Cleanup(t.Context(), load.Data{Workload: x.Workload, Options: o}); err != nil {
		t.Error(err)
	}
}

// weight is the share of an operation in a mix; 0 for other workloads, whose sessions may have different things to do.
func weight(w workload.Workload, name string) float64 {
	m, ok := w.(fault.Mix)
	if !ok {
		return 0
	}
	total, its := 0, 0
	for _, o := range m.Operations {
		total += o.Weight
		if o.Name == name {
			its += o.Weight
		}
	}
	return float64(its) / float64(total)
}

// TestMissingIndexHurts proves the fault and its cure by the server's own counters: before, a search reads the whole
// table; after the expected key, only what it returns.
func TestMissingIndexHurts(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			x := missingIndex()
			const seed = 7
			s, tg := plant(t, flavor, x, seed, nil)
			e := x.Expect(seed)
			db := s.DB(t, "")
			var rows, least, most float64
			q := fmt.Sprintf("SELECT SUM(n), MIN(n), MAX(n) FROM (SELECT COUNT(*) n FROM %s GROUP BY %s) x",
				ddl.Name(e.Table), e.Columns[0])
			if err := db.QueryRow(q).Scan(&rows, &least, &most); err != nil {
				t.Fatal(err)
			}
			if rows != 400_000 || least < 50 || most > 250 {
				t.Errorf("%v rows, %v to %v of one region; want 400000, 50 to 250", rows, least, most)
			}
			begin := time.Now()
			var n int
			if err := db.QueryRow(fmt.Sprintf("SELECT COUNT(%s) FROM %s WHERE %s = 'R0001'", e.Columns[0],
				ddl.Name(e.Table), e.Columns[0])).Scan(&n); err != nil {
				t.Fatal(err)
			}
			scan := time.Since(begin)
			measure := func(when string) (qps, examined float64) {
				t.Helper()
				before := s.Status(t, "Handler_read_rnd_next")
				r, err := loader.Server{T: tg}.Run(t.Context(), load.Config{
					Workload: x.Workload, Options: fault.Options(seed),
					Threads: x.Threads, Time: 4 * time.Second, Seed: 1,
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				next := float64(s.Status(t, "Handler_read_rnd_next") - before)
				find := r.Total.Ops[slices.IndexFunc(r.Total.Ops, func(o loadresult.Op) bool {
					return o.Name == "find_by_region"
				})]
				t.Logf("%s %s: %.1f queries/s, search p50 %v, Handler_read_rnd_next %.0f/s, client CPU %.0f %%", flavor,
					when, r.Total.QPS(), find.Latency.Quantile(.5),
					next/r.Elapsed.Seconds(), 100*r.Total.ClientCPU.Seconds()/r.Elapsed.Seconds())
				return r.Total.QPS(), next / float64(find.Latency.Count())
			}
			qps0, examined0 := measure("before")
			begin = time.Now()
			s.Exec(t, fmt.Sprintf("ALTER TABLE %s ADD KEY added (%s), ALGORITHM=INPLACE, LOCK=NONE", ddl.Name(e.Table),
				strings.Join(e.Columns, ", ")))
			build := time.Since(begin)
			qps1, examined1 := measure("after")
			t.Logf("%s: one scan %v, key built in %v, ×%.0f", flavor, scan.Round(time.Millisecond),
				build.Round(10*time.Millisecond), qps1/qps0)
			if examined0 < 390_000 || examined1 > 100 {
				t.Errorf("a search read %.0f rows in order before the key and %.0f after", examined0, examined1)
			}
			if qps1 < 5*qps0 {
				t.Errorf("the key made %.1f queries/s out of %.1f: the fault hardly hurts", qps1, qps0)
			}
		})
	}
}

func TestSetupCanBeCancelled(t *testing.T) {
	s := servers.Start(t, "mariadb")
	spec, err := endpoint.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := put(ctx, tg, missingIndex(), 0, nil); err == nil {
		t.Fatal("400 000 rows in 0.3 s")
	}
	var n int
	if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'crm'").
		Scan(&n); err != nil || n != 0 {
		t.Errorf("the database is left behind (%v)", err)
	}
}
