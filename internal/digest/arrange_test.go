package digest

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
)

func TestArrange(t *testing.T) {
	class := func(id string, count uint64, sum, largest, rows float64) Row {
		return Row{ID: id, Count: count, Attributes: map[string]Figures{
			"query_time": {Sum: sum, Max: known.Of(largest), Avg: sum / float64(count)}, "rows_examined": {Sum: rows},
		}}
	}
	f := func(limit, order, want string, other Rest) {
		t.Helper()
		r := Report{
			Global:  Global{Attributes: map[string]Figures{"query_time": {Sum: 10}}},
			Classes: []Row{class("a", 1, 1, 1, 500), class("b", 9, 6, 0.9, 0), class("c", 30, 3, 0.5, 90)},
		}
		l, err := ParseLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		o, err := ParseOrder(order)
		if err != nil {
			t.Fatal(err)
		}
		Arrange(&r, l, o)
		got := ""
		for i, c := range r.Classes {
			got += c.ID
			if c.Rank != i+1 {
				t.Errorf("%s %s: rank %d at %d", limit, order, c.Rank, i)
			}
		}
		if got != want || r.Other != other {
			t.Errorf("%s %s: got %s and %+v, want %s and %+v", limit, order, got, r.Other, want, other)
		}
	}
	f("0", "Query_time:sum", "bca", Rest{})
	f("1", "Query_time:sum", "b", Rest{Classes: 2, Count: 31, QuerySec: 4, Share: 0.4})
	f("90%", "Query_time:sum", "bc", Rest{Classes: 1, Count: 1, QuerySec: 1, Share: 0.1})
	f("95%:20", "Query_time:max", "abc", Rest{})
	f("0", "Query_time:cnt", "cba", Rest{})
	f("0", "rows_examined", "acb", Rest{})
	f("0", "Query_time:avg", "abc", Rest{})
	f("0", "Nothing:sum", "cba", Rest{})
}
