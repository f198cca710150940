package tpcc

import (
	"slices"
	"strings"
	"testing"
)

// TestKinds holds the schemas that the options choose against what they promise. Columns, types and indexes of the
// ordinary one are compared with sysbench-tpcc's on real servers, where the conditions are tested too.
func TestKinds(t *testing.T) {
	f := func(name, key string, indexes int, numbers string, options ...string) {
		t.Helper()
		tb := table(t, build(t, append(options, "scale=2")...), name)
		if want := "PRIMARY KEY (" + key + ")"; (key != "") != strings.Contains(tb.Create, "PRIMARY KEY") ||
			key != "" && !strings.Contains(tb.Create, want) {
			t.Errorf("%v: %s, want %s", options, tb.Create, want)
		}
		n := 0
		for _, q := range tb.After {
			if strings.HasPrefix(q, "CREATE INDEX") {
				n++
			}
		}
		if n != indexes || tb.Key != numbers {
			t.Errorf("%v: %s has %d indexes and %q numbers its rows, want %d and %q", options, name, n,
				tb.Key, indexes, numbers)
		}
		if tb.Key != "" && !slices.Contains(tb.Columns, tb.Key) {
			t.Errorf("%v: no column %s", options, tb.Key)
		}
	}
	f("new_orders1", "no_w_id, no_d_id, no_o_id", 0, "")
	f("new_orders1", "no_o_id, no_d_id, no_w_id", 0, "", "unoptimized=on")
	f("new_orders1", "id", 0, "id", "unoptimized=worst")
	f("order_line1", "ol_w_id, ol_d_id, ol_o_id, ol_number", 1, "")
	f("order_line1", "ol_w_id, ol_d_id, ol_o_id, ol_number", 0, "", "unoptimized=on")
	f("order_line1", "id", 0, "", "unoptimized=worst")
	f("stock1", "s_w_id, s_i_id", 1, "")
	f("stock1", "s_w_id, s_i_id, s_quantity", 0, "", "unoptimized=on")
	f("stock1", "s_w_id, s_i_id, s_quantity", 0, "", "unoptimized=worst")
	f("customer1", "c_w_id, c_d_id, c_id", 1, "")
	f("customer1", "c_w_id, c_d_id, c_id", 0, "", "unoptimized=on")
	f("history1", "", 2, "")
	f("history1", "id", 2, "id", "force-pk=on")
	f("history1", "", 0, "", "unoptimized=on")
	f("warehouse1", "w_id", 0, "w_id")
	f("item1", "i_id", 0, "i_id")
}

func TestForeignKeys(t *testing.T) {
	f := func(want int, options ...string) {
		t.Helper()
		n := 0
		for _, tb := range build(t, append(options, "tables=2")...).Tables {
			for i, q := range tb.After {
				if strings.Contains(q, "FOREIGN KEY") {
					n++
					if tb.After[len(tb.After)-1] != "SET SESSION foreign_key_checks=1" {
						t.Errorf("%s ends with %s", tb.Name, tb.After[len(tb.After)-1])
					}
					if i == 0 {
						t.Errorf("%s begins with %s", tb.Name, q)
					}
				}
			}
		}
		if n != want {
			t.Errorf("%v: %d foreign keys, want %d", options, n, want)
		}
	}
	f(20)
	f(0, "use-fk=off")
	f(0, "use-fk=on", "unoptimized=on")
}

func TestRowsOfAScale(t *testing.T) {
	f := func(name string, want int) {
		t.Helper()
		if got := table(t, build(t, "scale=3"), name).Rows; got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	f("warehouse1", 3)
	f("district1", 30)
	f("customer1", 90_000)
	f("history1", 90_000)
	f("orders1", 90_000)
	f("new_orders1", 27_000)
	f("order_line1", 90_000) // orders: a number stands for all lines of one
	f("stock1", 300_000)
	f("item1", 100_000)
}

func TestTableOptions(t *testing.T) {
	tb := table(t, build(t, "mysql-storage-engine=rocksdb", "mysql-table-options=COLLATE latin1_bin"), "item1")
	if !strings.HasSuffix(tb.Create, ") ENGINE=rocksdb COLLATE latin1_bin") {
		t.Error(tb.Create)
	}
	if tb := table(t, build(t, "mysql-storage-engine="), "item1"); strings.Contains(tb.Create, "ENGINE") {
		t.Error(tb.Create)
	}
}
