package recipe

import (
	"database/sql"
	"testing"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/workload"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestProbesFindRows runs every statement that a recipe measures, on the data it measures it on: a search that finds
// nothing says nothing of an index.
func TestProbesFindRows(t *testing.T) {
	s := servers.Start(t, "mariadb")
	probes := 0
	for _, name := range []string{"functional-index", "index-order"} {
		r, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Parse(r.Text, plan.Options{File: name, Scale: "small", Workloads: workload.All()})
		if err != nil {
			t.Fatal(err)
		}
		vs, err := p.Variants()
		if err != nil {
			t.Fatal(err)
		}
		s.Exec(t, "DROP DATABASE IF EXISTS d", "CREATE DATABASE d")
		db := s.DB(t, "d")
		for _, q := range vs[0].Config.Data.SQL {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(name, err)
			}
		}
		if name == "functional-index" {
			// as MariaDB has no index on an expression, the column of its own stands there for the other ways
			if _, err := db.Exec("ALTER TABLE visit ADD COLUMN joined_month TINYINT GENERATED ALWAYS AS " +
				"(MONTH(joined)) VIRTUAL"); err != nil {
				t.Fatal(err)
			}
			var all, february int
			if err := db.QueryRow("SELECT COUNT(*), SUM(MONTH(joined) = 2) FROM visit").Scan(&all,
				&february); err != nil || all != 99_015 || february != 182 {
				t.Errorf("%d rows, %d of them in February, %v: the published table had 99015 and 182", all, february,
					err)
			}
		}
		seen := map[string]bool{}
		for _, v := range vs {
			for _, q := range v.Config.Probe {
				if seen[q.SQL] {
					continue
				}
				seen[q.SQL] = true
				probes++
				if !finds(t, db, q.SQL) {
					t.Errorf("%s: %s finds nothing", name, q.SQL)
				}
			}
		}
	}
	if probes < 8 {
		t.Errorf("%d probes", probes)
	}
}

// finds reports whether a statement returns a value: MAX of nothing is a row, too.
func finds(t *testing.T, db *sql.DB, query string) bool {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(query, err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for rows.Next() {
		cells, to := make([]sql.NullString, len(cols)), make([]any, len(cols))
		for i := range cells {
			to[i] = &cells[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		found = found || cells[len(cells)-1].Valid // COUNT stands first
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
