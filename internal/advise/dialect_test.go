package advise

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

func TestDialect(t *testing.T) {
	ref := schema.Ref{Schema: "shop", Table: `a"b`}
	x := schema.Index{Name: "i", Type: "BTREE", Parts: []schema.IndexPart{
		{Column: "c", Desc: true}, {Expr: "lower(d)"},
	}}
	for _, c := range []struct {
		flavor              dbms.Flavor
		add, drop, set, end string
	}{
		{
			dbms.MariaDB, "ALTER TABLE `shop`.`a\"b` ADD INDEX `i` (`c` DESC, (lower(d)))",
			"ALTER TABLE `shop`.`a\"b` DROP INDEX `i`", "SET GLOBAL `v` = 'o''n'", "KILL 7",
		},
		{
			dbms.Postgres, `CREATE INDEX CONCURRENTLY "i" ON "shop"."a""b" ("c" DESC, (lower(d)))`,
			`DROP INDEX CONCURRENTLY "shop"."i"`, "ALTER SYSTEM SET v = 'o''n'; SELECT pg_reload_conf()",
			"SELECT pg_terminate_backend(7)",
		},
	} {
		v := NewView(&snapshot.Snapshot{Target: snapshot.Target{Flavor: c.flavor}}, nil)
		d := v.Dialect
		if d.AddIndex(ref, x) != c.add || d.DropIndex(ref, "i") != c.drop || d.Kill(7) != c.end {
			t.Errorf("%s: %s; %s; %s", c.flavor, d.AddIndex(ref, x), d.DropIndex(ref, "i"), d.Kill(7))
		}
		if c.flavor == dbms.Postgres && d.Set("v", "o'n") != c.set {
			t.Errorf("%s: %s", c.flavor, d.Set("v", "o'n"))
		}
		for _, s := range []Subject{MultiColumnIndexes, UnusedIndexes, LocksAndTransactions} {
			if d.Manual(s) == "" {
				t.Errorf("%s: no chapter about %d", c.flavor, s)
			}
		}
	}
}

func TestRulesOfAFamily(t *testing.T) {
	of := func(f dbms.Flavor) *View {
		return NewView(&snapshot.Snapshot{Target: snapshot.Target{Flavor: f}}, nil)
	}
	none := func(*View) []finding.Finding { return nil }
	f := func(want bool, r Rule, k Kind) {
		t.Helper()
		if r.About(of(dbms.Postgres), k) != want || !r.About(of(dbms.MySQL), k) {
			t.Errorf("%+v of kind %s", r, k)
		}
	}
	f(true, Rule{Find: none}, Index)
	f(false, Rule{Find: none, MySQL: true}, Host)
	f(false, Rule{Find: none}, Config)
	f(true, Rule{Find: none, Postgres: true}, Config)
}
