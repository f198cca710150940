package schema

import "testing"

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
