package event

import "testing"

func TestNames(t *testing.T) {
	f := func(text, name string, want bool) {
		t.Helper()
		if got := (Event{Kind: DDL, Text: text}).Names(name); got != want {
			t.Errorf("%q names %q: %v", text, name, got)
		}
	}
	f("ALTER TABLE `Order` ADD KEY a (b)", "order", true)
	f("ALTER TABLE shop.order_items ADD KEY a (b)", "order", false)
	f("CREATE INDEX by_order ON reorder (a)", "order", false)
	f("RENAME TABLE _orders_new TO orders", "orders", true)
	f("DROP TABLE x", "", false)
	f(More(4, Alike("ALTER TABLE sbtest17")), "sbtest1", true)
	f(More(4, Alike("ALTER TABLE sbtest17")), "sbtest", false)
	f(More(4, Alike("TRUNCATE TABLE staging")), "orders", false)
	f(More(4, OtherDDL), "orders", true)
}
