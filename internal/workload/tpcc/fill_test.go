package tpcc

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/workload"
)

func table(t testing.TB, p *workload.Plan, name string) workload.Table {
	t.Helper()
	for _, x := range p.Tables {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no table %s", name)
	return workload.Table{}
}

// rows fills numbers from to to of a table and hands each row over by column.
func rows(tb workload.Table, seed uint64, from, to int, each func(n int, row map[string]workload.Datum)) {
	fill := tb.Fill(seed)
	for n := from; n <= to; n++ {
		fill(n, func(row []workload.Datum) {
			if len(row) != len(tb.Columns) {
				panic(fmt.Sprintf("%s: %d values for %d columns", tb.Name, len(row), len(tb.Columns)))
			}
			m := map[string]workload.Datum{}
			for i, c := range tb.Columns {
				m[c] = row[i]
			}
			each(n, m)
		})
	}
}

func get(t testing.TB, d workload.Datum) int {
	t.Helper()
	n, err := d.Int()
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// TestPopulation holds one district's rows, and some of the others, against clause 4.3.3.1.
func TestPopulation(t *testing.T) {
	p := build(t, "scale=2")
	const w, d = 2, 4
	first := func(each int) int { return ((w-1)*districts+d-1)*each + 1 }
	at := func(row map[string]workload.Datum, prefix string) string {
		return row[prefix+"w_id"].String() + "/" + row[prefix+"d_id"].String()
	}
	within := func(what, s string, low, high int) {
		t.Helper()
		if len(s) < low || len(s) > high {
			t.Fatalf("%s is %d long, want %d to %d: %q", what, len(s), low, high, s)
		}
	}

	bad, names := 0, map[string]int{}
	rows(table(t, p, "customer1"), 3, first(customers), first(customers)+customers-1,
		func(n int, row map[string]workload.Datum) {
			if at(row, "c_") != "2/4" || get(t, row["c_id"]) != n-first(customers)+1 {
				t.Fatalf("customer %d is %s of %s", n, row["c_id"], at(row, "c_"))
			}
			names[row["c_last"].String()]++
			if row["c_credit"].String() == "BC" {
				bad++
			}
			within("c_data", row["c_data"].String(), 300, 500)
			within("c_first", row["c_first"].String(), 8, 16)
			within("c_phone", row["c_phone"].String(), 16, 16)
			if z := row["c_zip"].String(); len(z) != 9 || z[4:] != "11111" {
				t.Fatalf("zip %s", z)
			}
			if row["c_balance"].String() != "-10.00" || row["c_ytd_payment"].String() != "10.00" ||
				get(t, row["c_payment_cnt"]) != 1 || get(t, row["c_delivery_cnt"]) != 0 {
				t.Fatalf("customer %v", row)
			}
		})
	if bad < 200 || bad > 400 {
		t.Errorf("%d of %d customers have bad credit, want one in ten", bad, customers)
	}
	if len(names) != 1000 {
		t.Errorf("%d last names, want all 1000", len(names))
	}

	count := map[int]int{}
	buyers := map[int]bool{}
	total := 0
	rows(table(t, p, "orders1"), 3, first(customers), first(customers)+customers-1,
		func(n int, row map[string]workload.Datum) {
			o := get(t, row["o_id"])
			if at(row, "o_") != "2/4" || row["o_carrier_id"].IsNull() != (o > delivered) {
				t.Fatalf("order %v", row)
			}
			count[o] = get(t, row["o_ol_cnt"])
			total += count[o]
			buyers[get(t, row["o_c_id"])] = true
		})
	if len(count) != customers || len(buyers) != customers || total < 29_000 || total > 31_000 {
		t.Errorf("%d orders of %d customers with %d lines", len(count), len(buyers), total)
	}
	lines := map[int]int{}
	rows(table(t, p, "order_line1"), 3, first(customers), first(customers)+customers-1,
		func(n int, row map[string]workload.Datum) {
			o := get(t, row["ol_o_id"])
			if lines[o]++; lines[o] != get(t, row["ol_number"]) || at(row, "ol_") != "2/4" {
				t.Fatalf("line %v", row)
			}
			amount, ok := cents(row["ol_amount"])
			if !ok || row["ol_delivery_d"].IsNull() != (o > delivered) || (amount == 0) != (o <= delivered) {
				t.Fatalf("line %v", row)
			}
			within("ol_dist_info", row["ol_dist_info"].String(), 24, 24)
		})
	if fmt.Sprint(lines) != fmt.Sprint(count) {
		t.Error("orders and their lines do not agree")
	}
	waiting := 0
	rows(table(t, p, "new_orders1"), 3, first(customers-delivered), first(customers-delivered)+customers-delivered-1,
		func(n int, row map[string]workload.Datum) {
			waiting++
			if at(row, "no_") != "2/4" || get(t, row["no_o_id"]) != delivered+waiting {
				t.Fatalf("new order %v", row)
			}
		})
	if waiting != customers-delivered {
		t.Errorf("%d new orders", waiting)
	}
	rows(table(t, p, "history1"), 3, first(customers), first(customers)+10, func(n int, row map[string]workload.Datum) {
		if at(row, "h_") != "2/4" || at(row, "h_c_") != "2/4" || row["h_amount"].String() != "10.00" {
			t.Fatalf("history %v", row)
		}
	})
	marked := 0
	const some = 10_000
	rows(table(t, p, "item1"), 3, 1, some, func(n int, row map[string]workload.Datum) {
		if strings.Contains(row["i_data"].String(), original) {
			marked++
		}
		within("i_data", row["i_data"].String(), 26, 50)
		within("i_name", row["i_name"].String(), 14, 24)
		if c, ok := cents(row["i_price"]); !ok || c < 1_00 || c > 100_00 || get(t, row["i_id"]) != n {
			t.Fatalf("item %v", row)
		}
	})
	if marked < some/10-some/50 || marked > some/10+some/50 {
		t.Errorf("%d of %d items are original, want one in ten", marked, some)
	}
	rows(table(t, p, "stock1"), 3, items+1, items+50, func(n int, row map[string]workload.Datum) {
		if get(t, row["s_w_id"]) != 2 || get(t, row["s_i_id"]) != n-items {
			t.Fatalf("stock %v", row)
		}
		if q := get(t, row["s_quantity"]); q < 10 || q > 100 {
			t.Fatalf("quantity %d", q)
		}
		within("s_dist_10", row["s_dist_10"].String(), 24, 24)
	})
	rows(table(t, p, "district1"), 3, 1, 20, func(n int, row map[string]workload.Datum) {
		if get(t, row["d_w_id"]) != (n-1)/10+1 || get(t, row["d_id"]) != (n-1)%10+1 ||
			get(t, row["d_next_o_id"]) != 3001 || row["d_ytd"].String() != "30000.00" {
			t.Fatalf("district %v", row)
		}
	})
	rows(table(t, p, "warehouse1"), 3, 1, 2, func(n int, row map[string]workload.Datum) {
		if get(t, row["w_id"]) != n || row["w_ytd"].String() != "300000.00" {
			t.Fatalf("warehouse %v", row)
		}
		if c, ok := cents(row["w_tax"]); !ok || c < 0 || c > 20 {
			t.Fatalf("tax %s", row["w_tax"])
		}
	})
}

// TestRowsDependOnSeedAndNumberAlone fills the same numbers in another order, and with another seed.
func TestRowsDependOnSeedAndNumberAlone(t *testing.T) {
	for _, o := range []string{"unoptimized=off", "unoptimized=worst"} {
		p := build(t, "scale=3", "tables=2", o)
		sums := map[uint64]string{}
		for _, tb := range p.Tables {
			sum := func(seed uint64, order []int) uint64 {
				var x uint64
				fill := tb.Fill(seed)
				for _, n := range order {
					h := fnv.New64a()
					fill(n, func(row []workload.Datum) {
						for _, d := range row {
							h.Write(d.AppendLiteral(nil))
							h.Write([]byte{0})
						}
					})
					x ^= h.Sum64()
				}
				return x
			}
			last := tb.Rows
			a, b := sum(7, []int{1, 2, last}), sum(7, []int{last, 1, 2})
			if a != b {
				t.Errorf("%s: rows depend on what was filled before", tb.Name)
			}
			if tb.Name[:3] != "new" && sum(8, []int{1, 2, last}) == a {
				t.Errorf("%s: rows do not depend on the seed", tb.Name)
			}
			if tb.Name[:3] != "new" && sums[a] != "" {
				t.Errorf("%s has the rows of %s", tb.Name, sums[a])
			}
			sums[a] = tb.Name
		}
	}
}

func TestFillAllocatesNothing(t *testing.T) {
	for _, tb := range build(t, "scale=1", "unoptimized=worst", "force-pk=on").Tables {
		fill := tb.Fill(1)
		n := 0
		emit := func([]workload.Datum) {}
		if a := testing.AllocsPerRun(200, func() { n = n%tb.Rows + 1; fill(n, emit) }); a > 0 {
			t.Errorf("%s: a row allocates %v times", tb.Name, a)
		}
	}
}

// TestSurrogatesAreUnique looks for a number of order_line that comes twice.
func TestSurrogatesAreUnique(t *testing.T) {
	p := build(t, "scale=1", "unoptimized=worst")
	last := 0
	rows(table(t, p, "order_line1"), 1, 1, 5000, func(n int, row map[string]workload.Datum) {
		id := get(t, row["id"])
		if id <= last {
			t.Fatalf("id %d after %d", id, last)
		}
		last = id
	})
}

func BenchmarkFill(b *testing.B) {
	for _, tb := range build(b, "scale=1").Tables {
		b.Run(tb.Name, func(b *testing.B) {
			fill := tb.Fill(1)
			b.ReportAllocs()
			emit := func([]workload.Datum) {}
			for n := 0; b.Loop(); n++ {
				fill(n%tb.Rows+1, emit)
			}
		})
	}
}
