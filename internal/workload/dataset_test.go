package workload

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// datasets are the workloads on each kind of table, in the order load, select, update.
var datasets = [][]Workload{
	{PageCountsLoad(), PageCountsSelect(), PageCountsUpdate()},
	{WideMetricsLoad(), WideMetricsSelect(), WideMetricsUpdate()},
}

func TestDatasetsShareTheirTables(t *testing.T) {
	for _, d := range datasets {
		var create, after string
		for _, w := range d {
			p := build(t, w, map[string]string{
				"tables": "2", "table-size": "500",
				"create-table-options": "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
			})
			tb := p.Tables[1]
			if len(p.Tables) != 2 || tb.Rows != 500 ||
				!strings.HasSuffix(tb.Create, "ENGINE=innodb ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8") {
				t.Errorf("%s makes %+v", w.Name(), tb)
			}
			if create == "" {
				create, after = tb.Create, tb.After[0]
			}
			if tb.Create != create || tb.After[0] != after || !strings.Contains(after, tb.Name) {
				t.Errorf("%s has another table: %s %s", w.Name(), tb.Create, tb.After)
			}
		}
	}
}

// rowsOf returns rows of a table as texts.
func rowsOf(tb Table, seed uint64, from, to int) (list [][]string) {
	fill := tb.Fill(seed)
	for n := from; n <= to; n++ {
		fill(n, func(row []Datum) {
			var out []string
			for _, d := range row {
				out = append(out, d.String())
			}
			list = append(list, out)
		})
	}
	return list
}

func TestDatasetRows(t *testing.T) {
	for _, d := range datasets {
		p := build(t, d[1], map[string]string{"tables": "2", "table-size": "500"})
		a, b := rowsOf(p.Tables[0], 5, 1, 500), rowsOf(p.Tables[0], 5, 251, 500)
		if !slices.EqualFunc(a[250:], b, slices.Equal[[]string]) {
			t.Errorf("%s: rows depend on the rows before", d[1].Name())
		}
		for i, row := range a {
			if row[0] != fmt.Sprint(i+1) || len(row) != len(p.Tables[0].Columns) {
				t.Fatalf("row %d is %v", i+1, row)
			}
		}
		if other := rowsOf(p.Tables[1], 5, 1, 500); slices.EqualFunc(a, other, slices.Equal[[]string]) {
			t.Errorf("%s: both tables have the same rows", d[1].Name())
		}
		if other := rowsOf(p.Tables[0], 6, 1, 500); slices.EqualFunc(a, other, slices.Equal[[]string]) {
			t.Errorf("%s: another seed gives the same rows", d[1].Name())
		}
		fill, n := p.Tables[0].Fill(1), 0
		emit := func([]Datum) {}
		for ; n < 200; n++ { // the buffers grow
			fill(n+1, emit)
		}
		if allocs := testing.AllocsPerRun(100, func() { n++; fill(n, emit) }); allocs > 0 {
			t.Errorf("%s: %v allocations a row", d[1].Name(), allocs)
		}
	}
}

func TestDatasetOperations(t *testing.T) {
	one := func(w Workload, o map[string]string) string {
		t.Helper()
		p := build(t, w, o)
		g := p.Generator(1, 0)
		var all []string
		for range 50 {
			for _, c := range calls(t, g) {
				if c.Text != nil {
					all = append(all, string(c.Text))
					continue
				}
				b, err := p.Statements[c.Statement].AppendText(nil, c.Args)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, string(b))
			}
		}
		return strings.Join(all, "\n")
	}
	f := func(w Workload, pattern string) {
		t.Helper()
		o := map[string]string{"tables": "3", "table-size": "2000", "rows-per-insert": "2", "range-size": "50"}
		got := one(w, o)
		re := regexp.MustCompile("^" + pattern + "$")
		lines := strings.Split(got, "\n")
		if len(lines) != 50 {
			t.Errorf("%s: %d statements", w.Name(), len(lines))
		}
		for _, l := range lines {
			if !re.MatchString(l) {
				t.Fatalf("%s sends %s", w.Name(), l)
			}
			if m := regexp.MustCompile(`BETWEEN (\d+) AND (\d+)`).FindStringSubmatch(l); m != nil {
				var from, to int
				fmt.Sscan(m[1], &from)
				fmt.Sscan(m[2], &to)
				if to-from != 49 || from < 1 || to > 2000 {
					t.Fatalf("%s: %d to %d, want 50 of 2000 rows", w.Name(), from, to)
				}
			}
		}
		maps.Copy(o, map[string]string{"mysql-db": "other"})
		if one(w, o) != got {
			t.Errorf("%s: the same seed gives other operations", w.Name())
		}
	}
	const when = `'20\d\d-\d\d-\d\d \d\d:\d\d:\d\d'`
	page := `\(` + when + `,'[a-z.]+','[A-Za-z0-9_%()]+',\d+,\d+\)`
	f(PageCountsLoad(), `INSERT INTO page_counts[1-3] \(hour,project,title,requests,size\) VALUES `+page+","+page)
	f(PageCountsSelect(), `SELECT project, title, requests, size FROM page_counts[1-3] WHERE id BETWEEN \d+ AND \d+`)
	f(PageCountsUpdate(), `UPDATE page_counts[1-3] SET requests = requests \+ 1, size = size \+ \d+ WHERE id = \d+`)
	metric := `\(` + when + `,'db-\d+\.example\.com'(,(\d+|NULL|\d+\.\d+)){100}\)`
	f(WideMetricsLoad(),
		`INSERT INTO wide_metrics[1-3] \(at,host,counter_1,gauge_1,percent_1,rare_1,fixed_1,.*,fixed_20\) VALUES `+
			metric+","+metric)
	f(WideMetricsSelect(),
		`SELECT at, host, counter_1, gauge_1, percent_1 FROM wide_metrics[1-3] WHERE id BETWEEN \d+ AND \d+`)
	f(WideMetricsUpdate(),
		`UPDATE wide_metrics[1-3] SET counter_1 = counter_1 \+ \d+, gauge_1 = \d+, percent_1 = [0-9.]+ WHERE id = \d+`)
}

// TestDatasetLoadsGoOn: the rows of a load differ from session to session and from operation to operation, and come
// again after a failure.
func TestDatasetLoadsGoOn(t *testing.T) {
	for _, d := range datasets {
		p := build(t, d[0], nil)
		seen := map[string]bool{}
		for session := range 3 {
			g := p.Generator(1, session)
			for range 3 {
				var op Op
				var c, again Call
				g.Begin(&op)
				g.Next(&c)
				text := string(c.Text)
				g.Again()
				if g.Next(&again); string(again.Text) != text {
					t.Errorf("%s: another text after a failure", d[0].Name())
				}
				if seen[text] {
					t.Errorf("%s: session %d inserts the same rows once more", d[0].Name(), session)
				}
				seen[text] = true
			}
		}
	}
}

func TestDatasetsRefuse(t *testing.T) {
	f := func(w Workload, key, value, mention string) {
		t.Helper()
		if _, err := w.Build(map[string]string{key: value}); err == nil || !strings.Contains(err.Error(), mention) {
			t.Errorf("%s %s=%s: %v; want %q", w.Name(), key, value, err, mention)
		}
	}
	f(PageCountsSelect(), "table-size", "0", "from 1")
	f(PageCountsSelect(), "pages", "0", "from 1")
	f(PageCountsLoad(), "rows-per-insert", "0", "from 1")
	f(PageCountsLoad(), "rows-per-insert", "1M", "at most")
	f(PageCountsUpdate(), "tables", "0", "from 1")
	f(PageCountsUpdate(), "mysql-db", "", "database")
	f(PageCountsUpdate(), "page", "1", `did you mean "pages"?`)
	f(WideMetricsSelect(), "metrics", "4", "from 5")
	f(WideMetricsSelect(), "metrics", "501", "at most 500")
	f(WideMetricsSelect(), "hosts", "0", "from 1")
	f(WideMetricsUpdate(), "rand-type", "zipfain", `did you mean "zipfian"?`)
	if p := build(t, PageCountsLoad(), nil); p.Tables[0].Rows != 0 {
		t.Errorf("prepare of a load makes %d rows", p.Tables[0].Rows)
	}
}
