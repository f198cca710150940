package advise

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/schema"
)

func TestDialect(t *testing.T) {
	d := Dialect(nil)
	ref := schema.Ref{Schema: "shop", Table: `a"b`}
	x := schema.Index{Name: "i", Type: "BTREE", Parts: []schema.IndexPart{
		{Column: "c", Desc: true}, {Expr: "lower(d)"},
	}}
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(d.AddIndex(ref, x), `CREATE INDEX CONCURRENTLY "i" ON "shop"."a""b" ("c" DESC, (lower(d)))`)
	f(d.DropIndex(ref, "i"), `DROP INDEX CONCURRENTLY "shop"."i"`)
	f(d.Kill(7), "SELECT pg_terminate_backend(7)")
	f(d.Set("v", "o'n"), "ALTER SYSTEM SET v = 'o''n'; SELECT pg_reload_conf()")
	for s := advise.MultiColumnIndexes; s <= advise.ConnectionLimit; s++ {
		if d.Manual[s] == "" {
			t.Errorf("no chapter about %d", s)
		}
	}
	if _, _, ok := d.HideIndex(nil, ref, "i"); ok {
		t.Error("PostgreSQL hides no index")
	}
}
