package fault

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/mysql/loader"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestLoadFaultsHurt proves by the servers' own counters that what is planted is there, and that the cure takes it
// away.
func TestLoadFaultsHurt(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			settings := []string{
				"local_infile=ON", "log_bin=binlog", "server_id=1", "innodb_flush_log_at_trx_commit=1",
				"sync_binlog=1", "thread_cache_size=0",
			}
			if flavor == "mariadb" {
				settings = append(settings, "query_cache_type=1", "query_cache_size=16M")
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
			defer tg.Close()
			const seed = 5
			size := map[string]string{"table-size": "5000"}
			with := fault.Options(seed)
			with["table-size"] = size["table-size"]
			setup := func(x fault.Fault) {
				t.Helper()
				if err := put(t.Context(), tg, x, seed, size); err != nil {
					t.Fatal(err)
				}
			}
			clean := func(x fault.Fault) {
				t.Helper()
				if _, err := (loader.Server{T: tg}).Cleanup(t.Context(),
					load.Data{Workload: x.Workload, Options: with}); err != nil {
					t.Fatal(err)
				}
			}
			work := func(w workload.Workload, c load.Config) loadresult.Run {
				t.Helper()
				c.Workload, c.Options, c.Seed = w, with, 1
				r, err := loader.Server{T: tg}.Run(t.Context(), c, nil)
				if err != nil || r.Total.ErrorCount() > 0 {
					t.Fatalf("%s: %v, errors %v", w.Name(), err, r.Total.Errors)
				}
				return r
			}
			// grown returns how much the status counters grew while f ran.
			grown := func(f func(), counters ...string) map[string]float64 {
				t.Helper()
				before := map[string]float64{}
				for _, c := range counters {
					before[c] = float64(s.Status(t, c))
				}
				f()
				out := map[string]float64{}
				for _, c := range counters {
					out[c] = float64(s.Status(t, c)) - before[c]
				}
				return out
			}

			// Single writes: a sync or more for each, and the cure's groups share them. The load's own counts are the
			// server's.
			x := commitFlush()
			setup(x)
			var r loadresult.Run
			syncs := []string{"Innodb_data_fsyncs", "Com_insert", "Com_update", "Com_commit"}
			alone := grown(func() { r = work(x.Workload, load.Config{Threads: 1, Events: 300}) }, syncs...)
			rows := alone["Com_insert"] + alone["Com_update"]
			if alone["Com_commit"] != 0 || rows < 250 || rows != written(r) || alone["Innodb_data_fsyncs"] < 0.9*rows {
				t.Errorf("alone: %v, %v writes by the load's own count", alone, written(r))
			}
			grouped := grown(func() { r = work(x.Cure.Workload, load.Config{Threads: 1, Events: 30}) }, syncs...)
			rows = grouped["Com_insert"] + grouped["Com_update"]
			if grouped["Com_commit"] != 30 || rows < 250 || rows != written(r) ||
				grouped["Innodb_data_fsyncs"] > 0.5*rows {
				t.Errorf("grouped: %v, %v writes by the load's own count", grouped, written(r))
			}
			clean(x)

			// Connections: one for each query of the site, and with a pool one for each of its pages.
			x = connectionChurn()
			setup(x)
			stage, err := x.Stage(tg, seed)
			if err != nil {
				t.Fatal(err)
			}
			site := func(a fault.Actor, enough func(map[string]float64) bool) map[string]float64 {
				t.Helper()
				ctx, cancel := context.WithCancel(t.Context())
				ends := make(chan error, 1)
				defer func() {
					cancel()
					if err := <-ends; err != nil {
						t.Errorf("%s: %v", a.Name, err)
					}
				}()
				go func() { ends <- a.Run(ctx, stage) }()
				begun := map[string]float64{
					"Connections":     float64(s.Status(t, "Connections")),
					"Com_select":      float64(s.Status(t, "Com_select")),
					"Threads_created": float64(s.Status(t, "Threads_created")),
				}
				for end := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
					now := map[string]float64{}
					for n, v := range begun {
						now[n] = float64(s.Status(t, n)) - v
					}
					if enough(now) {
						return now
					}
					if time.Now().After(end) {
						t.Fatalf("%s: %v after a minute", a.Name, now)
					}
				}
			}
			got := site(x.Actors[0], func(n map[string]float64) bool { return n["Connections"] >= 200 })
			if got["Threads_created"] < 0.5*got["Connections"] {
				t.Errorf("site: %v", got)
			}
			got = site(x.Cure.Actors[0], func(n map[string]float64) bool { return n["Com_select"] >= 200 })
			if got["Connections"] > 3*churners {
				t.Errorf("site with a pool: %v", got)
			}
			clean(x)

			if flavor == "mariadb" { // results are stored, and thrown away before anybody asks for them
				x = queryCache()
				setup(x)
				got = grown(func() { work(x.Workload, load.Config{Threads: 4, Events: 2000}) },
					"Qcache_hits", "Qcache_inserts")
				if got["Qcache_inserts"] < 200 || got["Qcache_hits"] > got["Qcache_inserts"] {
					t.Errorf("query cache: %v", got)
				}
				clean(x)
				return
			}

			// The engine lets one in: the others stand before it, and without the limit more is done.
			x = concurrencyLimit()
			setup(x)
			db := s.DB(t, "")
			text := func() string {
				t.Helper()
				var kind, name, status string
				if err := db.QueryRow("SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &status); err != nil {
					t.Fatal(err)
				}
				return status
			}
			s.Exec(t, "SET GLOBAL innodb_thread_concurrency = 1")
			ctx, cancel := context.WithCancel(t.Context())
			ends := make(chan error, 1)
			go func() {
				_, err := loader.Server{T: tg}.Run(ctx,
					load.Config{Workload: x.Workload, Options: with, Threads: x.Threads}, nil)
				ends <- err
			}()
			queued := false
			for end := time.Now().Add(60 * time.Second); !queued &&
				time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				status := text()
				queued = strings.Contains(status, " queries in queue") &&
					!strings.Contains(status, " 0 queries in queue")
			}
			cancel()
			if err := <-ends; err != nil {
				t.Error(err)
			}
			if !queued {
				t.Error("nobody queued before the engine within a minute")
			}
			limited := work(x.Workload, load.Config{Threads: x.Threads, Time: 2 * time.Second}).Total.QPS()
			s.Exec(t, "SET GLOBAL innodb_thread_concurrency = 0")
			free := work(x.Workload, load.Config{Threads: x.Threads, Time: 2 * time.Second}).Total.QPS()
			t.Logf("%.0f statements/s with the limit, %.0f without", limited, free)
			if free < 1.3*limited {
				t.Errorf("%.0f statements/s with the limit, %.0f without: it hardly hurts", limited, free)
			}
		})
	}
}

// written returns how many statements that write the load counted.
func written(r loadresult.Run) (n float64) {
	for _, o := range r.Total.Ops {
		n += float64(o.Writes)
	}
	return n
}
