package capture_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/postgres/capture"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/test/judged"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// each runs a query and reads its rows.
func each(sql string, args func(n int) []any) client {
	return func(ctx context.Context, c *pgx.Conn, n int) error {
		rows, err := c.Query(ctx, sql, args(n)...)
		if err != nil {
			return err
		}
		rows.Close()
		return rows.Err()
	}
}

func TestIndexOrder(t *testing.T) {
	s := start(t, "17",
		"CREATE TABLE events (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at int NOT NULL, kind int NOT NULL)",
		"INSERT INTO events (at, kind) SELECT n, n % 5000 FROM generate_series(1, 200000) n",
		"CREATE INDEX by_time ON events (at, kind)", "VACUUM ANALYZE events")
	query := each("SELECT id FROM events WHERE kind = $1 AND at BETWEEN $2 AND $3",
		func(n int) []any { return []any{n % 5000, 1, 190_000} })
	snap := under(t, s, capture.Options{}, query, query)
	f, ok := find(t, snap, "index-order")
	if !ok || f.Action == nil || !strings.HasSuffix(f.Action.SQL, `ON "public"."events" ("kind", "at")`) {
		b, _ := snap.Encode()
		t.Fatalf("%+v\n%s", f, b)
	}
	t.Log(strings.Join(texts(f), "\n"))
	s.Exec(t, database, f.Action.SQL)
	if f, ok := find(t, under(t, s, capture.Options{}, query, query), "index-order"); ok {
		t.Errorf("with the index: %+v", f)
	}
}

func TestIndexesTooMany(t *testing.T) {
	s := start(t, "16",
		"CREATE TABLE a (id int PRIMARY KEY, x int, y int, z text, u int UNIQUE)",
		"INSERT INTO a SELECT n, n, n, n, n FROM generate_series(1, 20000) n",
		"CREATE INDEX short ON a (x)", "CREATE INDEX long ON a (x, y)", "CREATE INDEX idle ON a (z)",
		"CREATE INDEX part ON a (y) WHERE y > 100", "CREATE INDEX part2 ON a (y, z) WHERE y > 100",
		"CREATE INDEX lower_z ON a (lower(z))", "ANALYZE a")
	query := each("SELECT y FROM a WHERE x = $1", func(n int) []any { return []any{n % 20000} })
	snap := under(t, s, capture.Options{}, query)
	f, ok := find(t, snap, "redundant-index")
	if !ok || f.Action == nil || f.Action.SQL != `DROP INDEX CONCURRENTLY "public"."short"` ||
		f.Action.Undo != `CREATE INDEX CONCURRENTLY "short" ON "public"."a" ("x")` || f.Action.Instead != "long" {
		t.Errorf("redundant: %+v", f)
	}
	t.Log(strings.Join(texts(f), "\n"))
	unused := func(snap *snapshot.Snapshot, title, against string) {
		t.Helper()
		f, ok := find(t, snap, "unused-index") // built a moment ago
		if !ok || f.Action != nil || f.Severity != finding.Fact || f.Confidence != finding.Possible ||
			!strings.Contains(f.Suggestion, "DROP INDEX CONCURRENTLY") || !strings.HasPrefix(f.Title, "No scan of ") ||
			!strings.Contains(f.Title, title) || !strings.Contains(f.Against[0], against) {
			t.Errorf("unused: %+v", f)
		}
		t.Log(strings.Join(texts(f), "\n"))
	}
	unused(snap, "is counted", "is unknown")
	s.Exec(t, database, "SELECT pg_stat_reset()")
	unused(under(t, s, capture.Options{}, query), "is counted, for at most ", "since the statistics of the database")
	for _, x := range snap.Tables[0].Indexes {
		t.Logf("%+v", x)
	}
}

func TestExpressionIndex(t *testing.T) {
	s := start(t, "18", "CREATE TABLE people (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, email text)",
		"INSERT INTO people (email) SELECT 'User' || n || '@example.org' FROM generate_series(1, 200000) n",
		"CREATE INDEX by_email ON people (email)", "ANALYZE people")
	query := each("SELECT id FROM people WHERE lower(email) = $1",
		func(n int) []any { return []any{fmt.Sprintf("user%d@example.org", n)} })
	f, ok := find(t, under(t, s, capture.Options{}, query, query), "expression-index")
	if !ok || f.Action == nil {
		t.Fatalf("%+v", f)
	}
	t.Log(strings.Join(texts(f), "\n"))
	s.Exec(t, database, f.Action.SQL, "ANALYZE people")
	snap := under(t, s, capture.Options{}, query, query)
	if f, ok := find(t, snap, "expression-index"); ok || snap.Plans[0].Steps[0].Access == "Seq Scan" {
		t.Errorf("with the index: %+v, %+v", f, snap.Plans)
	}
}

// TestAsk: what is asked of a server for a window that others observed is what a look asks for, whether or not the
// classes have the server's id of their statements.
func TestAsk(t *testing.T) {
	s := start(t, "17", orders...)
	by := open(t, s, pgserver.Superuser)
	want := underBy(t, s, by, capture.Options{}, lookUp, lookUp)
	for _, named := range []bool{true, false} {
		got := &snapshot.Snapshot{
			Format: want.Format, From: want.From, To: want.To, Series: want.Series, Moments: want.Moments,
			Sources: want.Sources, Classes: slices.Clone(want.Classes),
		}
		for i := range got.Classes {
			if !named {
				got.Classes[i].Digest = ""
			}
		}
		if err := capture.Ask(t.Context(), by, got, capture.Options{}); err != nil {
			t.Fatal(err)
		}
		if len(got.Plans) == 0 || len(got.Plans) != len(want.Plans) || got.Plans[0].Raw != want.Plans[0].Raw ||
			len(got.Tables) != len(want.Tables) || len(got.Variables) != len(want.Variables) ||
			got.Target.Server != want.Target.Server {
			t.Errorf("with ids %v: %d tables, %d settings, %+v, plans %+v", named, len(got.Tables), len(got.Variables),
				got.Target, got.Plans)
		}
		if _, all := judged.Findings(got); len(all) == 0 || all[0].Rule != "missing-index" {
			t.Errorf("with ids %v: findings %+v", named, all)
		}
	}
}

// TestPlans asks for plans of statements as applications write them, and of what could change something.
func TestPlans(t *testing.T) {
	for _, version := range []string{"15", "18"} {
		s := start(t, version, "CREATE SCHEMA apart",
			"CREATE TABLE apart.log (id int PRIMARY KEY, at timestamptz, n int)",
			"INSERT INTO apart.log SELECT n, now(), n FROM generate_series(1, 5000) n", "ANALYZE apart.log",
			`CREATE FUNCTION grow() RETURNS int LANGUAGE sql VOLATILE AS
				'INSERT INTO apart.log SELECT max(id) + 1 FROM apart.log RETURNING id'`,
			"SELECT pg_stat_statements_reset()")
		setPath := func(f client) client {
			return func(ctx context.Context, c *pgx.Conn, n int) error {
				if n == 0 {
					if _, err := c.Exec(ctx, "SET search_path = apart"); err != nil {
						return err
					}
				}
				return f(ctx, c, n)
			}
		}
		snap := under(t, s, capture.Options{Top: 20},
			setPath(each("SELECT n FROM log WHERE at > now() - interval '1 day' AND n IN (1, 2, 3)",
				func(int) []any { return nil })),
			each("UPDATE apart.log SET n = n + 1 WHERE id = $1 RETURNING n",
				func(n int) []any { return []any{n % 5000} }),
			each("SELECT grow()", func(int) []any { return nil }))
		byText := map[string]int{}
		for _, p := range snap.Plans {
			c, _ := snap.Class(p.Class)
			byText[c.Fingerprint] = len(p.Steps)
			if p.Error != "" || p.Guess {
				t.Errorf("%s: %s: %+v", version, c.Fingerprint, p)
			}
		}
		for _, want := range []string{
			"select n from log where at > now() - interval ? and n in(?+)",
			"update apart.log set n = n + ? where id = ? returning n",
		} {
			if byText[want] != 1 {
				t.Errorf("%s: %d steps of %s: %v", version, byText[want], want, byText)
			}
		}
		if _, planned := byText["select grow()"]; !planned {
			t.Errorf("%s: no plan of a function: %v", version, byText)
		}
		// What the function has written is what clients called it for; the last call may have been cut off.
		if s.Value(t, database, "SELECT (SELECT count(*) FROM apart.log) <= 5000 + (SELECT sum(calls) FROM "+
			"pg_stat_statements WHERE query = 'SELECT grow()')") != "t" {
			t.Errorf("%s: more rows were written than calls made", version)
		}
	}
}

// TestScansThatAreRight has statements that read all of a table and need it, or whose plan for any value is a scan and
// which are executed otherwise.
func TestScansThatAreRight(t *testing.T) {
	s := start(t, "17",
		"CREATE TABLE a (id int PRIMARY KEY, b int, kind int, note text)", "CREATE TABLE b (id int, name text)",
		"INSERT INTO a SELECT n, n % 1000, CASE WHEN n % 1000 = 0 THEN n ELSE 1 END, 'x' "+
			"FROM generate_series(1, 50000) n",
		"INSERT INTO b SELECT n, 'name' FROM generate_series(0, 5000) n",
		"CREATE INDEX by_kind ON a (kind)", "VACUUM ANALYZE a, b")
	none := func(int) []any { return nil }
	snap := under(t, s, capture.Options{},
		each("SELECT a.id, b.name FROM a JOIN b ON b.id = a.b", none),
		each("SELECT count(*) FROM a JOIN b ON b.id = a.b", none),
		each("SELECT id FROM a WHERE note = $1 LIMIT 1", func(int) []any { return []any{"x"} }),
		each("SELECT max(note) FROM a", none))
	for _, rule := range []string{"missing-index", "unindexed-join", "index-order", "narrow-index", "filesort"} {
		if f, ok := find(t, snap, rule); ok {
			t.Errorf("%s: %s", rule, strings.Join(texts(f), "\n"))
		}
	}
}

func TestUnindexedJoin(t *testing.T) {
	s := start(t, "17",
		"CREATE TABLE customer (id int PRIMARY KEY, email text UNIQUE)",
		"CREATE TABLE invoice (id int, customer int, sum int)",
		"INSERT INTO customer SELECT n, 'mail' || n FROM generate_series(1, 20000) n",
		"INSERT INTO invoice SELECT n, n % 20000, n FROM generate_series(1, 200000) n",
		"VACUUM ANALYZE customer, invoice")
	query := each("SELECT i.sum FROM customer c JOIN invoice i ON i.customer = c.id WHERE c.email = $1",
		func(n int) []any { return []any{fmt.Sprintf("mail%d", n%20000+1)} })
	snap := under(t, s, capture.Options{}, query)
	f, ok := find(t, snap, "unindexed-join")
	if !ok || f.Action == nil || !strings.HasSuffix(f.Action.SQL, `ON "public"."invoice" ("customer")`) {
		b, _ := snap.Encode()
		t.Fatalf("%+v\n%s", f, b)
	}
	t.Log(strings.Join(texts(f), "\n"))
}

// TestPlansDenied looks with an account that may read one of two tables: that one's plan comes all the same.
func TestPlansDenied(t *testing.T) {
	s := start(t, "17", append(orders, "CREATE TABLE small (id int PRIMARY KEY)", "ANALYZE small",
		"CREATE ROLE watcher LOGIN IN ROLE pg_monitor", "GRANT SELECT ON small TO watcher")...)
	small := each("SELECT id FROM small WHERE id = $1", func(n int) []any { return []any{n} })
	snap := underBy(t, s, openSpec(t, specOf(s, "watcher")), capture.Options{Top: 5}, lookUp, small)
	got := map[string]bool{}
	for _, p := range snap.Plans {
		c, _ := snap.Class(p.Class)
		got[c.Fingerprint] = p.Denied
		if !p.Denied && (p.Error != "" || len(p.Steps) != 1) {
			t.Errorf("%s: %+v", c.Fingerprint, p)
		}
	}
	if denied, asked := got[`select id, note from "Orders" where customer = ?`]; !asked || !denied || len(got) != 2 {
		t.Errorf("%v", got)
	}
}
