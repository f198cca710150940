package advise

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/snapshot"
)

func TestDialect(t *testing.T) {
	d := Dialect()
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
	f(d.AddIndex(ref, x), "ALTER TABLE `shop`.`a\"b` ADD INDEX `i` (`c` DESC, (lower(d)))")
	f(d.DropIndex(ref, "i"), "ALTER TABLE `shop`.`a\"b` DROP INDEX `i`")
	f(d.Kill(7), "KILL 7")
	f(d.Set("v", "7"), "SET GLOBAL v = 7")
	for s := advise.MultiColumnIndexes; s <= advise.ConnectionLimit; s++ {
		if d.Manual[s] == "" {
			t.Errorf("no chapter about %d", s)
		}
	}
}

func TestHideIndex(t *testing.T) {
	f := func(flavor dbms.Flavor, version, hide, show string) {
		t.Helper()
		s := &snapshot.Snapshot{Target: snapshot.Target{Flavor: flavor, Version: version}}
		v := advise.NewView(s, nil, Dialect())
		off, on, ok := v.Dialect.HideIndex(v, schema.Ref{Table: "t"}, "i")
		if ok != (hide != "") || ok && (off != "ALTER TABLE `t` ALTER INDEX `i` "+hide ||
			on != "ALTER TABLE `t` ALTER INDEX `i` "+show) {
			t.Errorf("%s %s: %s; %s, %v", flavor, version, off, on, ok)
		}
	}
	f(dbms.MariaDB, "10.11.6", "IGNORED", "NOT IGNORED")
	f(dbms.MariaDB, "10.5.1", "", "")
	f(dbms.MySQL, "8.0.33", "INVISIBLE", "VISIBLE")
	f(dbms.MySQL, "5.7.44", "", "")
}
