package loader

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/workload"
)

func build(t *testing.T, w workload.Workload, given map[string]string) *workload.Plan {
	t.Helper()
	p, err := w.Build(given)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func translated(t *testing.T, w workload.Workload, given map[string]string) *workload.Plan {
	t.Helper()
	w, err := inDialect(w)
	if err != nil {
		t.Fatal(err)
	}
	return build(t, w, given)
}

// rowsOf returns some rows of a table as text.
func rowsOf(tb workload.Table, seed uint64, from, to int) (list [][]string) {
	fill := tb.Fill(seed)
	for n := from; n <= to; n++ {
		fill(n, func(row []workload.Datum) {
			var out []string
			for _, d := range row {
				out = append(out, d.String())
			}
			list = append(list, out)
		})
	}
	return list
}

func TestOLTPInPostgreSQL(t *testing.T) {
	p := translated(t, workload.ReadWrite{}, map[string]string{"tables": "2", "table_size": "500", "mysql_db": "x"})
	tb := p.Tables[1]
	if want := "CREATE TABLE sbtest2 (id SERIAL, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, " +
		"pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"; tb.Create != want {
		t.Errorf("%s, want %s", tb.Create, want)
	}
	if want := []string{
		"SELECT setval(pg_get_serial_sequence('sbtest2', 'id'), 500)", "CREATE INDEX k_2 ON sbtest2 (k)",
	}; !slices.Equal(tb.After, want) {
		t.Errorf("%s, want %s", tb.After, want)
	}
	if p.Schema != "x" || p.Options["pgsql-db"] != "x" {
		t.Errorf("database %s, options %v", p.Schema, p.Options)
	}
	for _, n := range []string{"mysql-db", "mysql-storage-engine"} {
		if _, ok := p.Options[n]; ok {
			t.Errorf("there is an option %s", n)
		}
	}
	// The rows are those of the other families.
	if a, b := rowsOf(tb, 7, 1, 5), rowsOf(build(t, workload.ReadWrite{}, map[string]string{
		"tables": "2", "table-size": "500",
	}).Tables[1], 7, 1, 5); !slices.EqualFunc(a, b, slices.Equal[[]string]) {
		t.Errorf("rows %s, want %s", a, b)
	}
	p = translated(t, workload.ReadOnly{}, map[string]string{
		"secondary": "on", "auto-inc": "off", "create-secondary": "off", "create-table-options": "WITH (fillfactor=90)",
	})
	if tb := p.Tables[0]; !strings.Contains(tb.Create, "(id INTEGER NOT NULL,") || strings.Contains(tb.Create, "KEY") ||
		!strings.HasSuffix(tb.Create, "NOT NULL) WITH (fillfactor=90)") ||
		!slices.Equal(tb.After, []string{"CREATE INDEX xid_1 ON sbtest1 (id)"}) {
		t.Errorf("%+v", tb)
	}
}

func TestInsertsInPostgreSQL(t *testing.T) {
	f := func(w workload.Workload, o map[string]string, statement int, want, note string) {
		t.Helper()
		p := translated(t, w, o)
		if got := p.Statements[statement].SQL; got != want || !strings.Contains(strings.Join(p.Notes, " "), note) {
			t.Errorf("%s %v: %s, want %s; notes %s", w.Name(), o, got, want, p.Notes)
		}
	}
	f(workload.Insert{}, map[string]string{"tables": "2"}, 1, "INSERT INTO sbtest2 (k, c, pad) VALUES (?, ?, ?)", "")
	f(workload.Insert{}, map[string]string{"auto-inc": "off"}, 0,
		"INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
		"error 23505 ends the run")
	f(workload.BulkInsert{}, nil, 0, "SELECT MAX(id) FROM sbtest1", "")
}

func TestWorkloadsInPostgreSQL(t *testing.T) {
	w, err := inDialect(workload.PointSelect{})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := inDialect(w); err != nil || again != w || w.Name() != "oltp_point_select" {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := inDialect(workload.PageCountsLoad()); err == nil ||
		!strings.Contains(err.Error(), "page_counts_load is not there for PostgreSQL yet") {
		t.Errorf("%v", err)
	}
	f := func(given map[string]string, want string) {
		t.Helper()
		if _, err := w.Build(given); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", given, err)
		}
	}
	f(map[string]string{"mysql_storage_engine": "innodb"}, "PostgreSQL has no storage engines")
	f(map[string]string{"tabels": "2"}, `did you mean "tables"?`)
	if slices.ContainsFunc(w.Options(), func(o workload.Option) bool { return strings.HasPrefix(o.Name, "mysql-") }) {
		t.Errorf("options %v", w.Options())
	}
}
