package page

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/explain"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// minutes waits for what is kept by the minute: until the minute that has begun is over and was read.
func minutes(t *testing.T, what string, ok func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute + patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if err = ok(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// TestKnownClass runs a statement a known number of times on a table of known size: the page shows that number, what
// each call reads, and the table.
func TestKnownClass(t *testing.T) { stage(t).knownClass(t) }

func (s *Stage) knownClass(t *testing.T) {
	t.Helper()
	const evil = `<img src=x onerror=window.pwned=1>`
	s.Exec("CREATE TABLE knowns (id INT PRIMARY KEY, tag INT NOT NULL, `"+evil+"` VARCHAR(99), UNIQUE KEY by_evil (`"+
		evil+"`(7), id)) ENGINE=InnoDB",
		"INSERT INTO knowns WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 50) SELECT n, n, "+
			"NULL FROM s")
	t.Cleanup(func() { s.Exec("DROP TABLE IF EXISTS knowns") })
	from := time.Now()
	const calls = 137
	for i := range calls {
		var id int
		if err := s.DB.QueryRowContext(t.Context(), fmt.Sprintf("SELECT id FROM knowns WHERE tag = %d", i%50+1)).
			Scan(&id); err != nil {
			t.Fatal(err)
		}
	}
	id := class.ID(mytext.Fingerprint("SELECT id FROM knowns WHERE tag = 1"))
	window := fmt.Sprintf("from=%d&to=%d", from.Unix()-120, from.Unix()+240)
	minutes(t, "the minute is kept", func() error {
		var a struct{ Class class.Class }
		if err := getJSON(s.URL, "class?target=shop&id="+id+"&"+window, &a); err != nil {
			return err
		}
		if a.Class.Count != calls {
			return fmt.Errorf("%d calls are kept", a.Class.Count)
		}
		return nil
	})
	b := s.Browser(t)
	visit(b, "/queries?target=shop&"+window)
	b.Fill("[data-search]", "knowns where tag")
	b.Until("one class is left", func() error {
		if rows := b.Texts("main table tbody tr"); len(rows) != 1 ||
			!strings.Contains(rows[0], "select id from knowns where tag = ?") || !strings.Contains(rows[0], " 50") {
			return fmt.Errorf("rows are %q", rows)
		}
		return nil
	})
	b.Click("main table tbody tr a")
	b.WaitURL("class=" + id)
	figure := func(label, value, note string) {
		t.Helper()
		b.Until(label, func() error {
			for _, f := range b.Texts(".figures .figure") {
				if strings.HasPrefix(f, label) && strings.Contains(f, value) && strings.Contains(f, note) {
					return nil
				}
			}
			return fmt.Errorf("%q", b.Texts(".figures .figure"))
		})
	}
	figure("Calls", "/s", "137 in the window")
	figure("Examined per row sent", "50", "50 rows per call")
	figure("Errors", "0", "0 in the window")
	b.WaitText(".class-id", id)
	b.WaitText(".meta", "knowns")

	// Its table, as a diagnosis reads it.
	s.Dyno("diagnose", "shop", "--window", "3s")
	visit(b, "/queries?target=shop&class="+id+"&"+window)
	b.WaitText("section[aria-label=Tables] summary", "knowns")
	for _, want := range []string{
		"PRIMARY id primary key", "by_evil " + evil + "(7), id yes", "id int", evil + " varchar(99)",
	} {
		b.Until("its definition", func() error {
			if got := b.Texts("section[aria-label=Tables] tbody tr"); !strings.Contains(strings.Join(got, "\n"), want) {
				return fmt.Errorf("%q in %q", want, got)
			}
			return nil
		})
	}
	harmless(t, b, "tables")
	b.Settle()
	shots(b, "queries-tables", "section[aria-label=Tables]")
}

// TestQueriesPage looks at the list and at a class under the steady load.
func TestQueriesPage(t *testing.T) {
	s := stage(t)
	minutes(t, "classes are kept", func() error {
		var a struct{ Classes []class.Class }
		if err := getJSON(s.URL, "classes?target=shop", &a); err != nil {
			return err
		}
		for _, c := range a.Classes {
			if strings.Contains(c.Fingerprint, "from orders where customer") {
				return nil
			}
		}
		return fmt.Errorf("%d classes", len(a.Classes))
	})
	b := s.Browser(t)
	visit(b, "/queries?target=shop&from=-15m")
	b.Wait("select sum(total) from orders where customer = ?")
	shots(b, "queries-list", "main")
	b.ClickText("select sum(total) from orders where customer = ?")
	b.Wait("Statistics")
	b.Settle()
	shots(b, "queries-class", "main")
	refusals(b, "404", `class\?`)
	visit(b, "/queries?target=shop&class=%3Cscript%3Enone")
	b.Wait("This class did not run in this time range")
	b.Axe("main")
	b.Shot("queries-unknown")
	b.ClickText("All classes")
	b.Wait("main table tbody tr")
}

// TestTwoPeriods keeps two periods with known differences: the page tells which class is slower, new, gone, the same,
// and how its plan changed.
func TestTwoPeriods(t *testing.T) {
	s := stage(t)
	home := folder(t)
	h, err := history.Open(t.Context(), filepath.Join(home, "store", "history.db"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now().Truncate(time.Hour).Add(-5 * time.Hour)
	of := func(sql string, count uint64, sec float64) class.Class {
		fp := mytext.Fingerprint(sql)
		return class.Class{
			ID: class.ID(fp), Fingerprint: fp, Schema: "shop", Origin: class.PerformanceSchema,
			Count: count, TimeSec: sec, Examined: known.Of(count * 10), RowsSent: known.Of(count),
		}
	}
	put := func(from time.Time, n int, cs func(wobble float64) []class.Class) {
		t.Helper()
		for i := range n {
			at := from.Add(time.Duration(i) * time.Minute)
			if err := h.PutClasses(t.Context(), "shop", at, at.Add(time.Minute),
				cs([]float64{1, 1.1, 0.9, 1.05, 0.95}[i%5])); err != nil {
				t.Fatal(err)
			}
		}
	}
	const slow, even, gone, fresh = "SELECT a FROM slows WHERE b = 1", "SELECT a FROM evens WHERE b = 1",
		"SELECT a FROM gones WHERE b = 1", "SELECT a FROM freshs WHERE b = '" + `<img src=x onerror="window.pwned=1">` +
			"'"
	put(begin, 60, func(w float64) []class.Class {
		return []class.Class{of(slow, 600, 6*w), of(even, 300, 6*w), of(gone, 60, 30*w)}
	})
	put(begin.Add(2*time.Hour), 42, func(w float64) []class.Class {
		return []class.Class{of(slow, 600, 18*w), of(even, 300, 6*w), of(fresh, 60, 42*w)}
	})
	id := of(slow, 0, 0).ID
	for i, step := range []explain.Step{{
		SelectType: "SIMPLE", Table: "slows", Access: "ref", Key: "by_b", KeyLen: "4",
		Ref: "const", Rows: 10,
	}, {
		SelectType: "SIMPLE", Table: "slows", Access: "ALL", Rows: 90000,
		Extra: []string{"Using where"},
	}} {
		if _, err := h.PutPlan(t.Context(), "shop", "shop", begin.Add(time.Duration(i)*2*time.Hour),
			explain.Plan{Class: id, Steps: []explain.Step{step}, Raw: "id\tselect_type\n1\tSIMPLE"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.PutSample(t.Context(), "shop", history.Sample{
		Class: id, At: begin.Add(2 * time.Hour), Schema: "shop",
		SQL: "SELECT a FROM slows WHERE b = '" + attack + bidi + "'", Sec: known.Of(0.25),
	}); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	try(t, home, "target", "add", "shop", s.Server.URL("root"))
	p := serve(t, home)
	p.waitUp(t, "shop")
	b := tab(t, p.URL)
	after := begin.Add(2 * time.Hour).Unix()
	window := fmt.Sprintf("from=%d&to=%d", after, after+3600)

	visit(b, fmt.Sprintf("/queries?target=shop&%s&before_from=%d&before_to=%d", window,
		begin.Unix(), begin.Unix()+3600))
	row := func(table string, words ...string) {
		t.Helper()
		b.Until(strings.Join(words, ", ")+" of "+table, func() error {
			for _, r := range b.Texts("main table tbody tr") {
				if !strings.Contains(r, "from "+table) {
					continue
				}
				for _, w := range words {
					if !strings.Contains(r, w) {
						return fmt.Errorf("%q has no %q", r, w)
					}
				}
				return nil
			}
			return fmt.Errorf("%q", b.Texts("main table tbody tr"))
		})
	}
	row("slows", "slower", "+0.2", "×3.0", "×1.00")
	row("evens", "same", "×1.0")
	row("gones", "gone", "−0.5")
	row("freshs", "new", "+0.7")
	b.Wait("Worse than before")
	b.Wait("covers 42 of 60 min")
	harmless(t, b, "two periods")
	shots(b, "queries-compare", "main")
	b.ClickText("Previous period")
	b.WaitURL("before=halves") // nothing is kept of the hour before
	b.Wait("comparing the two halves of the available data")
	b.Wait("data covers 21 min of 21 min")

	visit(b, fmt.Sprintf("/queries?target=shop&%s", window))
	b.Wait("data covers 42 of 60 min")
	row("slows", "0.3", "10", "30")
	visit(b, fmt.Sprintf("/queries?target=shop&%s&class=%s", window, id))
	for _, words := range []string{
		"slows: access ref → ALL", "slows: key by_b → none", "whole table",
		"Changed", "250 ms", "onerror",
	} {
		b.Wait(words)
	}
	if got := strings.Join(b.Texts(".example .sql-text"), " "); !strings.Contains(got, "<script>") ||
		!strings.Contains(got, "⟨RLO⟩") {
		t.Errorf("the example is %q", got)
	}
	harmless(t, b, "a class")
	b.Settle()
	shots(b, "queries-plans", "main")
}
