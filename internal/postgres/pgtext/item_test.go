package pgtext_test

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
)

func TestItem(t *testing.T) {
	f := func(sql, item, tables string) {
		t.Helper()
		for _, sql := range []string{sql, pgtext.Fingerprint(sql)} {
			if got := pgtext.Item(sql); got != item {
				t.Errorf("%s: %q, want %q", sql, got, item)
			}
			if got := strings.Join(pgtext.Tables(sql), " "); got != tables {
				t.Errorf("%s: tables %q, want %q", sql, got, tables)
			}
		}
	}
	f(`SELECT id, note FROM "Orders" WHERE customer = $1 FOR UPDATE`, "SELECT Orders", "Orders")
	f("select c from sbtest12 where id = $1", "SELECT sbtest?", "sbtest12")
	f("select * from a.t x, only u as y join v on v.id = u.id union select 1", "SELECT UNION a.t u v", "a.t u v")
	f("select * from generate_series(1, 9) g", "SELECT", "")
	f("select * from (select 1 from t) x", "SELECT t", "t")
	f("INSERT INTO t (a) SELECT a FROM u", "INSERT SELECT t u", "t u")
	f("insert into t (a) values (1), (2) on conflict (a) do update set a = 1", "INSERT UPDATE t", "t")
	f("update only t set a = 1 where b = 'secret'", "UPDATE t", "t")
	f("delete from t using u where t.a = u.a", "DELETE t", "t")
	f("with x as (select 1 from t) select * from x", "SELECT t x", "t x")
	f("create index on t (a)", "CREATE INDEX", "")
	f("BEGIN", "BEGIN", "")
	f("", "", "")
}
