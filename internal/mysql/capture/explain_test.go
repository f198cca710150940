package capture

import (
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestExplainChangesNothing has a function that leaves a trace whenever it is called, also by constant folding.
func TestExplainChangesNothing(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor, "log_bin_trust_function_creators=ON")
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, KEY v (v))",
				"INSERT INTO d.t VALUES (1,1),(2,2),(3,3)",
				"CREATE TABLE d.trace (n INT)",
				"CREATE FUNCTION d.f() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO d.trace VALUES "+
					"(1); RETURN 1; END",
				"CREATE VIEW d.plain AS SELECT id, v FROM d.t", "CREATE VIEW d.above AS SELECT id FROM d.plain",
				"CREATE VIEW d.bad AS SELECT id FROM d.t WHERE id = d.f()",
				"CREATE VIEW d.worse AS SELECT * FROM d.bad")
			db := s.DB(t, "d")
			count := func() (n int) {
				t.Helper()
				if err := db.QueryRow("SELECT COUNT(*) FROM trace").Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			// The server does call it while it plans: that is what there is to guard against.
			if rows, err := db.Query("EXPLAIN SELECT id FROM t WHERE id = f()"); err == nil {
				rows.Close()
				_ = rows.Err()
			}
			if count() == 0 {
				t.Log("this server plans without calling the function")
			}
			s.Exec(t, "DELETE FROM d.trace")
			x, err := NewExplainer(t.Context(), open(t, s, "root"))
			if err != nil {
				t.Fatal(err)
			}
			f := func(db, sql, want string) {
				t.Helper()
				p, err := x.Explain(t.Context(), "X", db, sql)
				if err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
				if want == "" && (p.Error != "" || len(p.Steps) == 0 || p.Class != "X" || p.Raw == "") || want != "" &&
					!strings.Contains(p.Error, want) {
					t.Errorf("%s: %+v", sql, p)
				}
			}
			f("", "SELECT 1 FROM d.t", "")
			f("d", "SELECT id FROM t WHERE v = 1", "")
			f("d", "SELECT id FROM t WHERE v = 1 FOR UPDATE", "")
			f("d", "SELECT id FROM t WHERE v = (SELECT MAX(v) FROM t)", "")
			f("d", "UPDATE t SET v = 7 WHERE v = 1", "")
			f("d", "DELETE FROM t WHERE id = 1", "")
			f("d", "SELECT id FROM plain WHERE id = 1", "")
			f("d", "SELECT id FROM above", "")
			f("", "SELECT id FROM d.above", "")
			f("", "SELECT id FROM t", "default database is unknown")
			f("d", "SELECT id FROM t WHERE id = f()", "side effects")
			f("d", "SELECT id FROM bad", "the view bad")
			f("d", "SELECT id FROM worse", "the view bad")
			f("d", "SELECT * FROM t WHERE id IN (SELECT id FROM worse)", "the view bad")
			f("d", "SELECT SLEEP(100)", "side effects")
			f("d", "INSERT INTO t VALUES (9, 9)", "not a SELECT")
			f("d", "SELECT id FROM nowhere", "nowhere")
			f("e", "SELECT 1", "e")
			f("d", "SELECT id FROM t", "") // goes on after a refusal
			if n := count(); n != 0 {
				t.Errorf("the function was called %d times", n)
			}
			var sum int
			if err := db.QueryRow("SELECT SUM(v) FROM t").Scan(&sum); err != nil || sum != 6 {
				t.Errorf("the table was changed: %d %v", sum, err)
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestExplainDoesNotWait has a row locked that the plan of a statement would read.
func TestExplainDoesNotWait(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)",
				"INSERT INTO d.t VALUES (1,1),(2,2)")
			tx, err := s.DB(t, "d").Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			if _, err := tx.Exec("UPDATE t SET v = 5 WHERE id = 1"); err != nil {
				t.Fatal(err)
			}
			x, err := NewExplainer(t.Context(), open(t, s, "root"))
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			began := time.Now()
			for _, q := range []string{
				"UPDATE t SET v = 6 WHERE id = 1", "SELECT v FROM t WHERE id = 1 FOR UPDATE",
				"SELECT v FROM t WHERE id = 1",
			} {
				if _, err := x.Explain(t.Context(), "X", "d", q); err != nil {
					t.Errorf("%s: %v", q, err)
				}
			}
			if d := time.Since(began); d > 20*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

func TestExplainReport(t *testing.T) {
	s := servers.Start(t, "mariadb")
	s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT INTO d.t VALUES (1,1),(2,2)")
	rep := digest.Report{Classes: []digest.Row{
		{ID: "A", Worst: &digest.Sample{SQL: "SELECT v FROM t WHERE v = 2", DB: "d"}},
		{
			ID: "B", Worst: &digest.Sample{SQL: "SELECT v FROM t WHERE v = 2"},
			Databases: []digest.Tally{{Name: "d", Count: 1}},
		},
		{ID: "C"},
		{ID: "D", Worst: &digest.Sample{SQL: "SELECT v FROM", Cut: true, DB: "d"}},
		{ID: "E", Worst: &digest.Sample{SQL: "SELECT NOSUCH()", DB: "d"}},
		{ID: "F", Plan: []string{"of the log"}},
		{ID: "G", Worst: &digest.Sample{SQL: "SELECT v FROM t WHERE v = ?", DB: "d"}},
		{ID: "H", Worst: &digest.Sample{SQL: "SELECT v FROM t", DB: "d"}},
	}}
	if err := ExplainReport(t.Context(), open(t, s, "root"), &rep, 7); err != nil {
		t.Fatal(err)
	}
	f := func(i int, want string) {
		t.Helper()
		if got := strings.Join(rep.Classes[i].Plan, "\n"); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", rep.Classes[i].ID, got, want)
		}
	}
	f(0, "\tt\tALL\t")
	f(1, "\tt\tALL\t")
	f(2, "no statement of this class")
	f(3, "the end of the statement")
	f(4, "NOSUCH")
	f(5, "of the log")
	f(6, "values of the statement are unknown")
	f(7, "")
}
