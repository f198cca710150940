package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/snap"
)

// TestOrdersOnServers adds the index that is advised for orders of up to three columns in any directions: the server
// then reads the rows of the answer from it, forwards or backwards, and sorts nothing.
func TestOrdersOnServers(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE shop", "USE shop", "CREATE TABLE things (a int, b int, c int, d varchar(80), "+
				"c1 int, c2 int, remark varchar(4000))", "INSERT INTO things VALUES (0, 0, 0, 0, 0, 0, 'x')")
			for n := 1; n < 40_000; n *= 2 {
				s.Exec(t, fmt.Sprintf("INSERT INTO shop.things SELECT a + %d, (a + %[1]d) * 7919 %% 101, "+
					"(a + %[1]d) %% 20, a, (a + %[1]d) * 31 %% 13, (a + %[1]d) * 17 %% 7, REPEAT('x', 60) "+
					"FROM shop.things", n))
			}
			db := s.DB(t, "shop")
			db.SetMaxOpenConns(1)
			ctx := context.Background()
			exec := func(q string) {
				t.Helper()
				if _, err := db.ExecContext(ctx, q); err != nil {
					t.Fatalf("%s: %v", q, err)
				}
			}
			r := rand.New(rand.NewPCG(20, 26))
			for range 24 {
				cols := []string{"a", "b", "c1", "c2"}
				r.Shuffle(len(cols), func(i, j int) { cols[i], cols[j] = cols[j], cols[i] })
				cols = cols[:1+r.IntN(3)]
				for i := range cols {
					cols[i] += []string{"", " DESC"}[r.IntN(2)]
				}
				q := "SELECT remark FROM things WHERE c = 5 ORDER BY " + strings.Join(cols, ", ") + " LIMIT 10"
				m := things(snap.Build()).Exact(q, 1000, 0.05, 300_000, 10).Plan(snap.All("things", 300_000))
				if flavor != "mariadb" {
					m.MySQL("9.7.0")
				}
				fs := adds(m.S, m.Symptoms)
				if len(fs) != 1 || fs[0].Action == nil {
					t.Fatalf("%s: %+v", q, fs)
				}
				exec(fs[0].Action.SQL)
				exec("FLUSH STATUS")
				rows, err := db.QueryContext(ctx, q)
				if err != nil {
					t.Fatal(err)
				}
				for rows.Next() {
				}
				if err := rows.Close(); err != nil {
					t.Fatal(err)
				}
				read, sorted := 0, 0
				rows, err = db.QueryContext(ctx, "SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler_read%' OR "+
					"Variable_name LIKE 'Sort_rows'")
				if err != nil {
					t.Fatal(err)
				}
				for rows.Next() {
					var name string
					var n int
					if err := rows.Scan(&name, &n); err != nil {
						t.Fatal(err)
					}
					if name == "Sort_rows" {
						sorted += n
					} else {
						read += n
					}
				}
				if err := rows.Close(); err != nil {
					t.Fatal(err)
				}
				said := fmt.Sprintf("%s, by %s: %d rows read, %d sorted", q, fs[0].Action.SQL, read, sorted)
				if read > 30 || sorted > 0 {
					t.Error(said)
				} else {
					t.Log(said)
				}
				exec(fs[0].Action.Undo)
			}
		})
	}
}
