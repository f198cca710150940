package schema

import "testing"

func TestIndexSQL(t *testing.T) {
	f := func(x Index, want string) {
		t.Helper()
		if got := AddIndexSQL(Ref{"my`shop", "t 1"}, x); got != "ALTER TABLE `my``shop`.`t 1` "+want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	f(Index{Name: "k", Parts: []IndexPart{{Column: "a"}}}, "ADD INDEX `k` (`a`)")
	f(Index{Name: "k", Type: "BTREE", Unique: true, Parts: []IndexPart{
		{Column: "a", Prefix: 10},
		{Column: "b", Desc: true},
	}}, "ADD UNIQUE INDEX `k` (`a`(10), `b` DESC)")
	f(Index{Name: "k`x", Parts: []IndexPart{{Expr: "lower(`c`)", Desc: true}}}, "ADD INDEX `k``x` ((lower(`c`)) DESC)")
	f(Index{Name: "f", Type: "FULLTEXT", Parts: []IndexPart{{Column: "größe"}}}, "ADD FULLTEXT INDEX `f` (`größe`)")
	f(Index{Name: "s", Type: "SPATIAL", Parts: []IndexPart{{Column: "p"}}}, "ADD SPATIAL INDEX `s` (`p`)")
	f(Index{Name: "h", Type: "HASH", Parts: []IndexPart{{Column: "a"}}}, "ADD INDEX `h` (`a`) USING HASH")
	f(Index{Name: "PRIMARY", Unique: true, Parts: []IndexPart{{Column: "id"}}}, "ADD PRIMARY KEY (`id`)")
	if got := DropIndexSQL(Ref{"", "t"}, "k`"); got != "ALTER TABLE `t` DROP INDEX `k```" {
		t.Error(got)
	}
	if got := DropIndexSQL(Ref{"d", "t"}, "PRIMARY"); got != "ALTER TABLE `d`.`t` DROP PRIMARY KEY" {
		t.Error(got)
	}
}

func TestServes(t *testing.T) {
	x := func(unique bool, parts ...IndexPart) Index { return Index{Unique: unique, Type: "BTREE", Parts: parts} }
	c := func(name string) IndexPart { return IndexPart{Column: name} }
	pre := func(name string, n int) IndexPart { return IndexPart{Column: name, Prefix: n} }
	f := func(what string, have, need Index, want bool) {
		t.Helper()
		if got := Serves(have, need); got != want {
			t.Errorf("%s: got %v", what, got)
		}
	}
	f("itself", x(false, c("a")), x(false, c("A")), true)
	f("a longer one", x(false, c("a"), c("b")), x(false, c("a")), true)
	f("a shorter one", x(false, c("a")), x(false, c("a"), c("b")), false)
	f("another order", x(false, c("b"), c("a")), x(false, c("a"), c("b")), false)
	f("another direction", x(false, IndexPart{Column: "a", Desc: true}), x(false, c("a")), false)
	f("unique serves plain", x(true, c("a")), x(false, c("a")), true)
	f("plain never serves unique", x(false, c("a")), x(true, c("a")), false)
	f("a longer unique enforces less", x(true, c("a"), c("b")), x(true, c("a")), false)
	f("whole column serves a prefix", x(false, c("a")), x(false, pre("a", 5)), true)
	f("longer prefix serves a shorter", x(false, pre("a", 9)), x(false, pre("a", 5)), true)
	f("prefix does not serve the whole", x(false, pre("a", 5)), x(false, c("a")), false)
	f("a prefix in the middle", x(false, c("a"), c("b")), x(false, pre("a", 5), c("b")), false)
	f("expression", x(false, IndexPart{Expr: "lower(a)"}), x(false, IndexPart{Expr: "lower(a)"}), true)
	f("expression is no column", x(false, IndexPart{Expr: "a"}), x(false, c("a")), false)
	hidden := x(false, c("a"))
	hidden.Hidden = true
	f("hidden", hidden, x(false, c("a")), false)
	full := x(false, c("a"))
	full.Type = "FULLTEXT"
	f("fulltext", full, x(false, c("a")), false)
	if SameKey(full, x(false, c("a"))) || !SameKey(x(false, c("a")),
		Index{Name: "other", Parts: []IndexPart{c("A")}}) || SameKey(x(true, c("a")), x(false, c("a"))) {
		t.Error("same key")
	}
}
