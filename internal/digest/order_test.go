package digest

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseLimit(t *testing.T) {
	f := func(in string, want Limit) {
		t.Helper()
		if got, err := ParseLimit(in); err != nil || got != want {
			t.Errorf("%q is %+v (%v), want %+v", in, got, err, want)
		}
	}
	f("20", Limit{Count: 20})
	f("0", Limit{})
	f("all", Limit{})
	f("95%", Limit{Share: 0.95})
	f("95%:20", Limit{0.95, 20})
	f("12.5%:3", Limit{Share: 0.125, Count: 3})
	for _, in := range []string{
		"", "%", "95%20", "95%:", "0%", "101%", "-1", "95%:x", "x%",
		"NaN%", "20:95%", "95%::3",
	} {
		if got, err := ParseLimit(in); err == nil || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%q is %+v (%v)", in, got, err)
		}
	}
}

func TestParseOrder(t *testing.T) {
	f := func(in string, want Order) {
		t.Helper()
		if got, err := ParseOrder(in); err != nil || got != want {
			t.Errorf("%q is %+v (%v), want %+v", in, got, err, want)
		}
	}
	f("Query_time:sum", Order{"query_time", Sum})
	f("rows_examined:MAX", Order{"rows_examined", Max})
	f("Query_time:cnt", Order{"query_time", Cnt})
	f("Query_time:count", Order{"query_time", Cnt})
	f("Lock_time", Order{"lock_time", Sum})
	f("Lock_time:avg", Order{"lock_time", Avg})
	f("Lock_time:min", Order{"lock_time", Min})
	for _, in := range []string{"", ":sum", "Query_time:", "Query_time:p95", "a:b:c"} {
		if got, err := ParseOrder(in); err == nil || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%q is %+v (%v)", in, got, err)
		}
	}
}

func TestOrderString(t *testing.T) {
	if s := fmt.Sprint(Sum, Cnt, Min, Max, Avg); s != "sum cnt min max avg" {
		t.Error(s)
	}
}
