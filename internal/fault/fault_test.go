package fault

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dyno/internal/load"
	"dyno/internal/run"
	"dyno/internal/target"
	"dyno/test/servers"
)

// plant sets a fault up on a fresh server.
func plant(t *testing.T, flavor string, f Fault, seed uint64, more map[string]string) (*servers.Server, *target.Target) {
	t.Helper()
	var settings []string
	for k, v := range f.Settings {
		settings = append(settings, k+"="+v)
	}
	s := servers.Start(t, flavor, settings...)
	spec, err := target.ParseURL(s.URL("root"))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tg.Close() })
	begin := time.Now()
	if err := f.Setup(t.Context(), tg, seed, more, nil); err != nil {
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
		e := f.Expect(0)
		if (f.Kind == Control) != (e.Rule == "" && e.Table.Table == "") {
			t.Errorf("%s is a %s and expects %+v", f.Name, f.Kind, e)
		}
		if got, err := Find(f.Name); err != nil || got.Name != f.Name {
			t.Errorf("find %s: %v", f.Name, err)
		}
	}
	if _, err := Find("mising-index"); err == nil || !strings.Contains(err.Error(), `"missing-index"`) {
		t.Errorf("a slip of the finger: %v", err)
	}
}

// TestEveryFaultRuns plants every fault under names of people and under random ones, and runs every operation of it.
func TestEveryFaultRuns(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, flavor)
			spec, err := target.ParseURL(s.URL("root"))
			if err != nil {
				t.Fatal(err)
			}
			tg, err := target.Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer tg.Close()
			f := func(x Fault, seed uint64) {
				t.Helper()
				o := Options(seed)
				o["table-size"] = "5000"
				if err := x.Setup(t.Context(), tg, seed, map[string]string{"table-size": "5000"}, nil); err != nil {
					t.Error(err)
					return
				}
				events := uint64(400)
				if x.Name == "healthy-idle" {
					events = 1
				}
				r, err := load.Run(t.Context(), tg, load.Config{Workload: x.Workload, Options: o, Threads: x.Threads, Events: events}, nil)
				if err != nil || r.Total.Operations() != events || r.Total.ErrorCount() > 0 {
					t.Errorf("%s: %d operations, errors %v, %v", x.Name, r.Total.Operations(), r.Total.Errors, err)
				}
				for _, op := range r.Total.Ops {
					if op.Latency.Count() == 0 {
						t.Errorf("%s: no %s among %d operations", x.Name, op.Name, events)
					}
				}
				if _, err := load.Cleanup(t.Context(), tg, load.Data{Workload: x.Workload, Options: o}); err != nil {
					t.Error(err)
				}
			}
			for _, x := range All() {
				f(x, 0)
				f(x, 42)
			}
		})
	}
}

// TestMissingIndexHurts proves the fault and its cure by the server's own counters: before, a search reads the whole table; after
// the expected key, only what it returns.
func TestMissingIndexHurts(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			x := missingIndex()
			const seed = 7
			s, tg := plant(t, flavor, x, seed, nil)
			e := x.Expect(seed)
			db := s.DB(t, "")
			var rows, least, most float64
			q := fmt.Sprintf("SELECT SUM(n), MIN(n), MAX(n) FROM (SELECT COUNT(*) n FROM %s GROUP BY %s) x", e.Table.SQL(), e.Columns[0])
			if err := db.QueryRow(q).Scan(&rows, &least, &most); err != nil {
				t.Fatal(err)
			}
			if rows != 400_000 || least < 50 || most > 250 {
				t.Errorf("%v rows, %v to %v of one region; want 400000, 50 to 250", rows, least, most)
			}
			begin := time.Now()
			var n int
			if err := db.QueryRow(fmt.Sprintf("SELECT COUNT(%s) FROM %s WHERE %s = 'R0001'", e.Columns[0], e.Table.SQL(), e.Columns[0])).Scan(&n); err != nil {
				t.Fatal(err)
			}
			scan := time.Since(begin)
			measure := func(when string) (qps, examined float64) {
				t.Helper()
				before := s.Status(t, "Handler_read_rnd_next")
				r, err := load.Run(t.Context(), tg, load.Config{Workload: x.Workload, Options: Options(seed), Threads: x.Threads, Time: 4 * time.Second, Seed: 1}, nil)
				if err != nil {
					t.Fatal(err)
				}
				next := float64(s.Status(t, "Handler_read_rnd_next") - before)
				find := r.Total.Ops[slices.IndexFunc(r.Total.Ops, func(o run.Op) bool { return o.Name == "find_by_region" })]
				t.Logf("%s %s: %.1f queries/s, search p50 %v, Handler_read_rnd_next %.0f/s, client CPU %.0f %%", flavor, when, r.Total.QPS(), find.Latency.Quantile(.5),
					next/r.Elapsed.Seconds(), 100*r.Total.ClientCPU.Seconds()/r.Elapsed.Seconds())
				return r.Total.QPS(), next / float64(find.Latency.Count())
			}
			qps0, examined0 := measure("before")
			begin = time.Now()
			s.Exec(t, fmt.Sprintf("ALTER TABLE %s ADD KEY added (%s), ALGORITHM=INPLACE, LOCK=NONE", e.Table.SQL(), strings.Join(e.Columns, ", ")))
			build := time.Since(begin)
			qps1, examined1 := measure("after")
			t.Logf("%s: one scan %v, key built in %v, ×%.0f", flavor, scan.Round(time.Millisecond), build.Round(10*time.Millisecond), qps1/qps0)
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
	spec, err := target.ParseURL(s.URL("root"))
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
	if err := missingIndex().Setup(ctx, tg, 0, nil, nil); err == nil {
		t.Fatal("400 000 rows in 0.3 s")
	}
	var n int
	if err := s.DB(t, "").QueryRow("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'crm'").Scan(&n); err != nil || n != 0 {
		t.Errorf("the database is left behind (%v)", err)
	}
}

func TestRandomNames(t *testing.T) {
	keys := regexp.MustCompile(`\{([a-z_.]+)\}`)
	word := regexp.MustCompile(`^[a-z]{9}$`)
	for seed := uint64(1); seed < 500; seed++ {
		n := names{seed}
		used := map[string]string{}
		for _, f := range All() {
			for _, o := range f.Workload.(mix).operations {
				for _, m := range keys.FindAllStringSubmatch(o.sql, -1) {
					name := n.of(m[1])
					if other, ok := used[name]; ok && other != m[1] || !word.MatchString(name) {
						t.Fatalf("seed %d: %s is called %s as is %s", seed, m[1], name, other)
					}
					used[name] = m[1]
				}
			}
		}
		if n.of("clients") == (names{seed + 1}).of("clients") {
			t.Errorf("seeds %d and %d give the same names", seed, seed+1)
		}
	}
	// No name of the scene may shine through.
	for _, f := range All() {
		p, err := f.Workload.Build(Options(9))
		if err != nil {
			t.Fatal(err)
		}
		text := p.Schema
		for _, s := range p.Statements {
			text += " " + s.SQL
		}
		for _, tb := range p.Tables {
			text += " " + tb.Name + " " + tb.Create + " " + strings.Join(tb.Columns, " ")
		}
		for _, human := range []string{"crm", "client", "region", "visit", "full_name", "balance", "email", "city", "note"} {
			if strings.Contains(text, human) {
				t.Errorf("%s under random names: %q stands in %s", f.Name, human, text)
			}
		}
	}
}
