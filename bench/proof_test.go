//go:build bench

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestProof compares live proofs of an index that is hidden and shown with interleaved windows of the same load, and
// proves changes that do nothing.
func TestProof(t *testing.T) {
	for _, flavor := range strings.Fields(os.Getenv("SERVERS")) {
		t.Run(flavor, func(t *testing.T) { proofs(t, flavor) })
	}
}

func proofs(t *testing.T, flavor string) {
	s := servers.Start(t, flavor, "performance_schema=ON")
	hide, show := "IGNORED", "NOT IGNORED"
	if flavor == "mysql" {
		hide, show = "INVISIBLE", "VISIBLE"
	}
	s.Exec(t, "CREATE DATABASE shop", "USE shop",
		"CREATE TABLE boxes (id INT PRIMARY KEY AUTO_INCREMENT, shelf INT, note VARCHAR(50), KEY by_shelf (shelf))",
		"INSERT INTO boxes (shelf, note) VALUES (1, REPEAT('x', 40))")
	for range 12 { // 4096 rows
		s.Exec(t, "INSERT INTO shop.boxes (shelf, note) SELECT id + shelf, note FROM shop.boxes")
	}
	s.Exec(t, "UPDATE shop.boxes SET shelf = id % 1000", "ANALYZE TABLE shop.boxes",
		"CREATE TABLE shop.lamps AS SELECT id, shelf AS watt FROM shop.boxes",
		"ALTER TABLE shop.lamps ADD PRIMARY KEY (id)")
	toggle := func(how string) { s.Exec(t, "ALTER TABLE shop.boxes ALTER INDEX by_shelf "+how) }

	ctx, stop := context.WithCancel(t.Context())
	load, loading := errgroup.WithContext(ctx)
	db := s.DB(t, "shop")
	for i := range 2 {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		load.Go(func() error {
			for loading.Err() == nil {
				queries := []string{fmt.Sprintf("SELECT COUNT(note) FROM boxes WHERE shelf = %d", r.IntN(1000))}
				for range 3 {
					queries = append(queries, fmt.Sprintf("SELECT watt FROM lamps WHERE id = %d", r.IntN(4000)))
				}
				for _, q := range queries {
					var n int
					if err := db.QueryRowContext(loading, q).Scan(&n); err != nil && loading.Err() == nil &&
						!strings.Contains(err.Error(), "no rows") {
						return err
					}
				}
				time.Sleep(time.Duration(r.ExpFloat64() * float64(2*time.Millisecond)))
			}
			return nil
		})
	}
	defer func() {
		stop()
		if err := load.Wait(); err != nil {
			t.Error(err)
		}
	}()

	a := app.Actions{App: &app.App{Home: t.TempDir(), Version: "bench", Environ: func(string) string { return "" }}}
	tg, err := a.Open(ctx, s.URL("root"), app.Login{})
	if err != nil {
		t.Fatal(err)
	}
	defer tg.Close()
	window, windows := setting(t, "WINDOW"), count(t, "WINDOWS")
	name := tg.Spec().Name
	side := func() {
		t.Helper()
		if err := a.Record(ctx, tg, name, window, windows, nil); err != nil {
			t.Fatal(err)
		}
	}
	table := finding.Action{Kind: finding.AddIndex, Table: schema.Ref{Schema: "shop", Table: "boxes"}}
	// judge proves a change that was made between two sides.
	judge := func(x finding.Action, before time.Time, change func()) (stat.Result, stat.Interval, []string) {
		t.Helper()
		side()
		e := journal.Entry{ID: "a-bench", Target: name, Action: x, State: journal.Done, Started: time.Now()}
		change()
		e.Ended = time.Now()
		side()
		p, err := a.Live(ctx, tg, e, app.Proving{Before: e.Started.Sub(before), After: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		return p.Result, p.Ratio, p.Reasons
	}

	// The truth: windows in turn, in random order within each pair.
	var pairs []stat.Pair
	order := rand.New(rand.NewPCG(1, 2))
	for i := range count(t, "PAIRS") {
		p := stat.Pair{Round: i + 1, VariantFirst: order.IntN(2) == 0}
		for k := range 2 {
			if (k == 0) == p.VariantFirst {
				toggle(hide)
				p.Variant = meanOf(t, ctx, tg, window)
			} else {
				toggle(show)
				p.Baseline = meanOf(t, ctx, tg, window)
			}
		}
		pairs = append(pairs, p)
	}
	truth, err := stat.PairedRatio(pairs, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("%s: windows of %s, %d of each side\n", flavor, window, windows)
	fmt.Printf("interleaved: ×%.2f (×%.2f to ×%.2f, n=%d pairs)\n", truth.Center, truth.Lo, truth.Hi, truth.N)
	hit, better := 0, 0
	for i := range count(t, "PROOFS") {
		toggle(hide)
		result, x, why := judge(table, time.Now(), func() { toggle(show) })
		in := x.N > 0 && x.Lo <= truth.Center && truth.Center <= x.Hi
		if in {
			hit++
		}
		if result == stat.Better {
			better++
		}
		fmt.Printf("proof %2d: %-8s ×%.2f (×%.2f to ×%.2f, n=%d) contains the truth: %v %s\n", i+1, result,
			x.Center, x.Lo, x.Hi, x.N, in, strings.Join(why, "; "))
	}
	results := map[stat.Result]int{}
	for i := range count(t, "NOTHING") {
		x := table
		if i%2 == 1 {
			x = finding.Action{Kind: finding.SetVariable, Variable: "long_query_time", Value: "10"}
		}
		result, r, _ := judge(x, time.Now(), func() { s.Exec(t, "SET GLOBAL long_query_time = 10") })
		results[result]++
		if result == stat.Better || result == stat.Worse {
			fmt.Printf("nothing %2d: %s ×%.3f (×%.3f to ×%.3f, n=%d)\n", i+1, result, r.Center, r.Lo, r.Hi, r.N)
		}
	}
	fmt.Printf("| %s | truth contained | %d of %d |\n| %[1]s | gain called better | %[4]d of %[3]d |\n", flavor, hit,
		count(t, "PROOFS"), better)
	fmt.Printf("| %s | nothing called better or worse | %d of %d | %v\n", flavor,
		results[stat.Better]+results[stat.Worse], count(t, "NOTHING"), results)
}

// meanOf is the mean time of the class that reads boxes in a window, seconds.
func meanOf(t *testing.T, ctx context.Context, tg family.Server, window time.Duration) float64 {
	t.Helper()
	c, err := tg.(family.Classifier).Classes(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Begin(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(window)
	list, _, err := c.End(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var sum class.Class
	for _, x := range list {
		if strings.Contains(x.Fingerprint, "boxes where") {
			sum.Count, sum.TimeSec = sum.Count+x.Count, sum.TimeSec+x.TimeSec
		}
	}
	v, ok := sum.MeanSec().Get()
	if !ok {
		t.Fatalf("the class of boxes did not run in %s", window)
	}
	return v
}
