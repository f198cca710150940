package ddl

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/schema"
)

func TestIndexSQL(t *testing.T) {
	f := func(x schema.Index, want string) {
		t.Helper()
		ref := schema.Ref{Schema: "my`shop", Table: "t 1"}
		if got := AddIndexSQL(ref, x); got != "ALTER TABLE `my``shop`.`t 1` "+want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(schema.Index{Name: "k", Parts: []schema.IndexPart{{Column: "a"}}}, "ADD INDEX `k` (`a`)")
	f(schema.Index{Name: "k", Type: "BTREE", Unique: true, Parts: []schema.IndexPart{
		{Column: "a", Prefix: 10},
		{Column: "b", Desc: true},
	}}, "ADD UNIQUE INDEX `k` (`a`(10), `b` DESC)")
	f(schema.Index{Name: "k`x", Parts: []schema.IndexPart{{Expr: "lower(`c`)", Desc: true}}},
		"ADD INDEX `k``x` ((lower(`c`)) DESC)")
	f(schema.Index{Name: "f", Type: "FULLTEXT", Parts: []schema.IndexPart{{Column: "größe"}}},
		"ADD FULLTEXT INDEX `f` (`größe`)")
	f(schema.Index{Name: "s", Type: "SPATIAL", Parts: []schema.IndexPart{{Column: "p"}}}, "ADD SPATIAL INDEX `s` (`p`)")
	f(schema.Index{Name: "h", Type: "HASH", Parts: []schema.IndexPart{{Column: "a"}}}, "ADD INDEX `h` (`a`) USING HASH")
	f(schema.Index{Name: "PRIMARY", Unique: true, Parts: []schema.IndexPart{{Column: "id"}}}, "ADD PRIMARY KEY (`id`)")
	if got := DropIndexSQL(schema.Ref{Table: "t"}, "k`"); got != "ALTER TABLE `t` DROP INDEX `k```" {
		t.Error(got)
	}
	primary := DropIndexSQL(schema.Ref{Schema: "d", Table: "t"}, "PRIMARY")
	if got := primary; got != "ALTER TABLE `d`.`t` DROP PRIMARY KEY" {
		t.Error(got)
	}
}
