package pgtext_test

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/sqlshape"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
	"github.com/dyno-perf/dyno/internal/shape"
)

func TestFingerprint(t *testing.T) {
	f := func(want string, texts ...string) {
		t.Helper()
		for _, sql := range append(texts, want) {
			if got := pgtext.Fingerprint(sql); got != want {
				t.Errorf("%s\n got %s\nwant %s", sql, got, want)
			}
		}
	}
	f("select * from t where a = ? and b in(?+)",
		"SELECT * FROM t WHERE a = $1 AND b IN ($2,$3)",               // pg_stat_statements up to 17
		"SELECT  *\nFROM t WHERE a = $1 AND b IN ($2 /*, ... */)",     // 18
		"select * from T where a = -5 and b in (1, 2 , 3);",           // a log
		"/* app:x */ select * from t where a = 'it''s' and b in (7)",  // with a comment
		"select * from t where a = E'it\\'s' and b in ('a'::text)",    // escapes, casts
		"select * from t where a = $x$it's $y$ $x$ and b in (+1, -2)", // dollar quotes
		"select * from t -- it's\nwhere a = U&'\\0041' and b in (B'01', X'1F')",
		"select * from t where a = 1.5e-3 /* a /* nested */ one */ and b in (0x1F, 1_000, .5)")
	f(`select "Name", "a""b" from "public"."T" where x is not null and y = ?`,
		`SELECT "Name", "a""b" FROM "public"."T" WHERE x IS NOT NULL AND Y = NULL`)
	f("insert into t (a, b) values(?+)", "insert into t (a, b) values (1, 'x'), (2, default)",
		"INSERT INTO t (a, b) VALUES ($1, $2)", "insert into t (a, b) values ($1::int, $2::varchar(20)[])")
	f("select ?::int8, array[?+], a -?, f(?)", "select 5::int8, array[1,2], a -1, f(-1)",
		"SELECT $1::int8, ARRAY[$2 /*, ... */], a -$3, f($4)")
	f("select interval ?, x at time zone ? from t2 limit ? offset ?",
		"select interval '1 day', x at time zone 'utc' from t2 limit 10 offset 20")
	f("select a from t where b in (select c from u where d = ?)")
	f("select data ? ?, data ?| ?, a is true, b @> ?", "select data ? 'k', data ?| $1, a is true, b @> '{}'")
	f("alter role x password ?", "ALTER ROLE x PASSWORD 'secret", "alter role x password $$secret")
	f("select ?", "select 'a'\n'b'")
	f("update t set a = a + ? where b = ?", "update t set a = a + 1 where b = false")
	f("", "", " ; ", "-- nothing")
}

func TestRedacted(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		got := pgtext.Redacted(in)
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
		if again := pgtext.Redacted(got); again != got {
			t.Errorf("%s: redacted twice: %s", got, again)
		}
	}
	f("", "")
	f("(SELECT 'x' /* secret */)", "(select ? )")
	// With standard_conforming_strings off the first string ends after AND, and secret is in the second.
	f(`SELECT a FROM t WHERE b = 'c:\' AND d = 'secret'`, "select a from t where b = ?…")
	f(`SELECT a FROM t WHERE b = E'it\'s' AND d = 'secret'`, "select a from t where b = ?…")
	f("autovacuum: VACUUM public.t", "autovacuum: vacuum public.t")
	f("my secret was pasted here", "?")
	f("'secret'", "?")
}

func TestOwn(t *testing.T) {
	for _, sql := range []string{
		pgtext.Tagged("capture", "SELECT 1"), "/* dyno:scrape */ select 1", " -- a\n select /* dyno:x */ 1",
	} {
		if !pgtext.Own(sql) {
			t.Error(sql)
		}
	}
	for _, sql := range []string{"select 1 /* dyno:x */", "select '/* dyno:x */'", "", "/* dynol: */ select 1"} {
		if pgtext.Own(sql) {
			t.Error(sql)
		}
	}
}

func TestParsable(t *testing.T) {
	f := func(sql, table, column string, op shape.Op) {
		t.Helper()
		text := pgtext.Parsable(pgtext.Fingerprint(sql))
		sh, err := sqlshape.Parse(text)
		if err != nil {
			t.Errorf("%s: %s: %v", sql, text, err)
			return
		}
		if len(sh.Tables) != 1 || sh.Tables[0].Name != table || op != "" &&
			(len(sh.Predicates) == 0 || sh.Predicates[0].Column != column || sh.Predicates[0].Op != op) {
			t.Errorf("%s: %s: %+v", sql, text, sh)
		}
	}
	f(`SELECT * FROM "public"."Orders" WHERE "Customer" = $1::int8`, "Orders", "Customer", shape.Eq)
	f("select a from t where b = any($1)", "t", "b", shape.In)
	f("select a from t where b = any ($1::int[]) limit $2 offset $3", "t", "b", shape.In)
	f("select a from t where b in ($1, $2) for no key update", "t", "b", shape.In)
	f("update t set a = $1 where b = $2 returning *", "t", "b", shape.Eq)
	f("insert into t (a) values ($1) on conflict (a) do nothing", "t", "", "")
	f("select rank from t where key = $1", "t", "key", shape.Eq)
	f("select a from t where at > now() - interval '1 day'", "t", "at", shape.Range)
	f("select a from t where b || c = $1", "t", "b", shape.OtherOp)
	f("select a from t where lower(b) = $1", "t", "b", shape.OtherOp)
	f("select a from t where b ilike $1", "t", "b", shape.OtherOp)
	f("select a from sbtest1 where c between $1 and $2", "sbtest1", "c", shape.Range)
}

func TestExplainable(t *testing.T) {
	got, n := pgtext.Explainable("select a from t where b > now() - INTERVAL $1 and date > $12 and d = date $3;")
	want := "select a from t where b > now() - $1::INTERVAL and date > $12 and d = $3::date"
	if got != want || n != 12 {
		t.Errorf("%d %s", n, got)
	}
}

func TestNames(t *testing.T) {
	got := strings.Join(pgtext.Names(`SELECT a FROM "S"."T""x", Orders o WHERE a = 'b' AND a > 1`), ",")
	if want := `select,a,from,S,T"x,orders,o,where,and`; got != want {
		t.Error(got)
	}
}

func FuzzFingerprint(f *testing.F) {
	for _, s := range []string{"select 'a', $1, -1 in (1,2)", `"`, "$a$", "E'\\", "values (1::int[]),(2)", "/*/*", "?+?"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		once := pgtext.Fingerprint(sql)
		if twice := pgtext.Fingerprint(once); twice != once {
			t.Errorf("%q: %q, then %q", sql, once, twice)
		}
		pgtext.Parsable(once)
		pgtext.Explainable(sql)
		pgtext.Own(sql)
		if strings.Contains(once, "'") && !strings.Contains(once, `"`) {
			t.Errorf("%q: %q", sql, once)
		}
	})
}
