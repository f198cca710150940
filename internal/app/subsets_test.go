package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/change"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/mysql/apply"
	"github.com/dyno-perf/dyno/internal/mysql/capture"
	"github.com/dyno-perf/dyno/internal/mysql/catalog"
	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestAnyAdviceInAnyOrder follows advice on indexes of tables made by chance, any part of it in any order, as somebody
// may who reads the list once: whatever a statement was found by before, something serves for it afterwards.
func TestAnyAdviceInAnyOrder(t *testing.T) {
	for n, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "performance_schema=ON")
			r := rand.New(rand.NewPCG(uint64(n), 15))
			columns := []string{"a", "b", "c"}
			some := func(most int) string {
				r.Shuffle(len(columns), func(i, j int) { columns[i], columns[j] = columns[j], columns[i] })
				return strings.Join(columns[:1+r.IntN(most)], ", ")
			}
			var statements []string
			s.Exec(t, "CREATE DATABASE shop")
			for i := range 8 {
				table := "shop.t" + string(rune('a'+i))
				s.Exec(t, "CREATE TABLE "+table+" (id INT PRIMARY KEY AUTO_INCREMENT, a INT NOT NULL, b INT NOT "+
					"NULL, c INT NOT NULL, note VARCHAR(90))")
				keys := 0
				for range 2 + r.IntN(4) {
					keys++
					s.Exec(t, fmt.Sprintf("ALTER TABLE %s ADD INDEX k%d (%s)", table, keys, some(3)))
				}
				s.Exec(t, "INSERT INTO "+table+" (a, b, c, note) SELECT RAND()*400, RAND()*90, RAND()*2000, "+
					"REPEAT('x', 60) FROM information_schema.COLUMNS LIMIT 3000", "ANALYZE TABLE "+table)
				for range 2 {
					var where []string
					for _, c := range strings.Split(some(2), ", ") {
						where = append(where, fmt.Sprintf("%s = %d", c, r.IntN(80)))
					}
					statements = append(statements, "SELECT note FROM "+table+" WHERE "+strings.Join(where, " AND "))
				}
			}
			x, err := target.Open(t.Context(), parsed(t, s.URL("root")))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { x.Close() })
			db := s.DB(t, "")
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ctx.Err() == nil {
					for _, q := range statements {
						_, _ = db.ExecContext(ctx, q)
					}
				}
			}()
			snap, err := capture.Take(t.Context(), x, capture.Options{
				Window: capture.MinWindow,
				Top:    30, Home: t.TempDir(),
			})
			stop()
			<-done
			if err != nil {
				t.Fatal(err)
			}
			_, all := Advise(snap, advise.Index)
			taking := 0
			all = slices.DeleteFunc(all, func(f finding.Finding) bool { return f.Action == nil })
			for _, f := range all {
				if f.Action.Kind == finding.HideIndex {
					taking++
				}
			}
			if taking < 6 {
				t.Fatalf("of %d pieces of advice only %d take an index away: the test proves nothing", len(all), taking)
			}
			before := map[string]schema.Index{}
			for _, q := range statements {
				if found, ok := foundBy(t, db, x, q); ok {
					before[q] = found
				}
			}
			l, err := alone(t).Ledger(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			refused, made := 0, 0
			for round := range 6 {
				r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				var in, what []string
				for k, f := range all[:1+r.IntN(len(all))] {
					id := fmt.Sprintf("a-%d-%d", round, k)
					_, err := change.Apply(t.Context(), apply.On(x), l, journal.Entry{
						ID: id, Target: "shop", Finding: f.ID,
						Action: *f.Action,
					}, change.Options{}, nil, nil)
					var blocked *change.BlockedError
					switch {
					case errors.As(err, &blocked):
						refused++
					case err != nil:
						t.Fatalf("%s: %v", f.Action.SQL, err)
					default:
						made++
						in, what = append(in, id), append(what, f.Rule+": "+f.Action.SQL)
					}
				}
				for q, was := range before {
					now := tableNow(t, x, tableOf(q)).Indexes
					if !slices.ContainsFunc(now, func(i schema.Index) bool {
						return !i.Hidden &&
							fits(i, q) >= fits(was, q)
					}) {
						t.Errorf("%s: nothing serves instead of %s (%s) after %q", q, was.Name,
							ddl.PartsSQL(was.Parts), what)
					}
				}
				for _, id := range slices.Backward(in) {
					if _, err := change.Undo(t.Context(), apply.On(x), l, id, change.Options{}, nil, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
			t.Logf("%d findings; %d changes made, %d refused", len(all), made, refused)
		})
	}
}

func parsed(t *testing.T, url string) endpoint.Spec {
	t.Helper()
	s, err := endpoint.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fits is by how many columns of a WHERE, all of them compared with =, an index finds rows.
func fits(x schema.Index, q string) (n int) {
	_, where, _ := strings.Cut(q, " WHERE ")
	for n < len(x.Parts) && strings.Contains(where, x.Parts[n].Column+" = ") {
		n++
	}
	return n
}

func tableOf(q string) schema.Ref {
	_, rest, _ := strings.Cut(q, "shop.")
	name, _, _ := strings.Cut(rest, " ")
	return schema.Ref{Schema: "shop", Table: name}
}

func tableNow(t *testing.T, x *target.Target, ref schema.Ref) schema.Table {
	t.Helper()
	tables, err := catalog.Tables(t.Context(), x.DB(), []schema.Ref{ref})
	if err != nil || len(tables) != 1 {
		t.Fatalf("%s: %v %v", ref, tables, err)
	}
	return tables[0]
}

// foundBy returns the index that the server finds a statement's rows by.
func foundBy(t *testing.T, db *sql.DB, x *target.Target, q string) (schema.Index, bool) {
	t.Helper()
	rows, err := db.Query("EXPLAIN FORMAT=TRADITIONAL " + q)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, _ := rows.Columns()
	row := make([]any, len(names))
	text := make([]sql.NullString, len(names))
	for i := range row {
		row[i] = &text[i]
	}
	for rows.Next() {
		if err := rows.Scan(row...); err != nil {
			t.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	key := text[slices.Index(names, "key")].String
	for _, i := range tableNow(t, x, tableOf(q)).Indexes {
		if i.Name == key && !i.Primary() {
			return i, true
		}
	}
	return schema.Index{}, false
}
