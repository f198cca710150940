package page

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/store/history"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// TestManyTargets watches 200 targets, of which 8 are the stage's server and the others do not answer: the fleet shows
// and finds them.
func TestManyTargets(t *testing.T) {
	s := stage(t)
	home := folder(t)
	l, err := ledger.Open(t.Context(), filepath.Join(home, "store", "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		x := ledger.Target{Name: fmt.Sprintf("db-%03d", i), URL: "mysql://root@" + deadPort}
		if i%25 == 7 {
			x.URL = s.Server.URL("root")
		}
		if err := l.PutTarget(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p := serve(t, home)
	p.waitUp(t, "db-182")
	b := tab(t, p.URL)
	before, began := b.ThreadSeconds(), time.Now()
	visit(b, "/")
	b.Wait("db-000")
	t.Logf("the fleet stood after %v", time.Since(began).Round(10*time.Millisecond))
	b.Wait("200 servers")
	b.Settle()
	b.Shot("fleet-200")
	if n := b.Sideways(); n != 0 {
		t.Errorf("it scrolls sideways by %d", n)
	}
	// Nobody touches it: it neither asks for each server by itself nor draws all of them anew with every second. Times
	// are held against what opening it took on the same machine.
	loaded, asked := b.ThreadSeconds(), len(b.Requests())
	opened := loaded - before
	const idle = 5
	time.Sleep(idle * time.Second)
	used := b.ThreadSeconds() - loaded
	t.Logf("opening took %.2f s of the browser's CPU, %d s of looking on %.2f s", opened, idle, used)
	if used > idle*opened {
		t.Errorf("a fleet of 200 that nobody touches takes %.2f s of CPU in %d s, opening it took %.2f s", used, idle,
			opened)
	}
	if n := len(b.Requests()) - asked; n > 4*idle {
		t.Errorf("a fleet of 200 that nobody touches asks %d times in %d s", n, idle)
	}
	b.Key("/")
	b.Type("db-182")
	b.WaitGone("db-000")
	b.Wait("db-182")
	b.ClickText("db-182")
	b.WaitURL("target=db-182")
	b.Wait("h1")
	b.Settle()
	b.Shot("fleet-200-found")
	b.Dark()
	visit(b, "/settings")
	b.Wait("db-000")
	b.Shot("settings-200")
}

// TestManyClasses keeps 10 000 query classes: the page shows those that take most time, says how many there are and
// what it leaves out, and draws those in sight.
func TestManyClasses(t *testing.T) {
	s := stage(t)
	home := folder(t)
	ctx := context.Background()
	h, err := history.Open(ctx, filepath.Join(home, "store", "history.db"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 10_000
	end := time.Now().Truncate(time.Minute).Add(-time.Minute)
	all := make([]class.Class, n)
	for i := range all {
		// Words, not numbers: digits do not tell fingerprints apart.
		fp := mytext.Fingerprint("SELECT a FROM " + letters(i) + " WHERE id = 1")
		all[i] = class.Class{
			ID: class.ID(fp), Fingerprint: fp, Schema: "shop", Count: uint64(i + 1),
			TimeSec: float64(i+1) / 1000, MaxSec: known.Of(0.5), Examined: known.Of(uint64(i)),
		}
	}
	if err := h.PutClasses(ctx, "shop", end.Add(-time.Minute), end, all); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	try(t, home, "target", "add", "shop", s.Server.URL("root"))
	p := serve(t, home)
	p.waitUp(t, "shop")
	b := tab(t, p.URL)
	began := time.Now()
	visit(b, fmt.Sprintf("/queries?target=shop&from=%d&to=%d", end.Unix()-60, end.Unix()))
	heaviest := letters(n - 1)
	b.Wait(heaviest)
	b.Settle()
	t.Logf("the classes stood after %v", time.Since(began).Round(10*time.Millisecond))
	// Together 50 005 000 executions in 50 005 s, within a minute.
	figures := b.Texts(".figures .figure")
	for _, want := range []string{
		"Load 833 ", "Statements 833k/s 50 005 000 in total",
		"Mean time 1.00ms ", "Classes 10.0k ",
	} {
		if !slices.ContainsFunc(figures, func(f string) bool {
			return strings.HasPrefix(strings.ReplaceAll(f, " ", ""), strings.ReplaceAll(want, " ", ""))
		}) {
			t.Errorf("no figure is %q: %q", want, figures)
		}
	}
	b.WaitText(".filters", "the top 200 of 10 000 classes by time")
	if rows := b.Count("main tbody tr[data-key]"); rows != 200 {
		t.Errorf("%d rows are drawn of the 200 with most time", rows)
	}
	b.ClickText("Show 1000")
	b.WaitText(".filters", "the top 1000 of 10 000 classes by time")
	b.Wait("main table[aria-rowcount='1001']")
	b.Wait(heaviest)
	if rows := b.Count("main tbody tr[data-key]"); rows < 10 || rows > 200 {
		t.Errorf("%d rows of 1000 are drawn at once", rows)
	}
	b.Shot("queries-10000")
	b.Key("/")
	b.Type(heaviest)
	b.Until("one row is left", func() error {
		rows := b.Texts("main tbody tr")
		if len(rows) != 1 || !strings.Contains(rows[0], heaviest) {
			return fmt.Errorf("rows are %q", rows[:min(len(rows), 5)])
		}
		return nil
	})
	b.Shot("queries-10000-found")
}

// letters writes a number in letters alone.
func letters(i int) string {
	var b strings.Builder
	b.WriteString("t")
	for _, d := range strconv.Itoa(i) {
		b.WriteByte("qwertzuiop"[d-'0'])
	}
	return b.String()
}
