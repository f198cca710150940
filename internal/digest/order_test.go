package digest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
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

// timed is an entry with a Query_time and some rows.
func timed(sql string, offset int64, seconds, rows float64) slowlog.Entry {
	return slowlog.Entry{SQL: []byte(sql), Offset: offset, Rate: 1, Figures: []slowlog.Figure{
		{Attribute: slowlog.QueryTime, Value: seconds},
		{Attribute: slowlog.RowsExamined, Value: rows},
		{Attribute: slowlog.FullScan, Value: float64(offset % 2)},
	}}
}

func TestOrderAndLimit(t *testing.T) {
	var entries []slowlog.Entry
	add := func(table string, n int, seconds, rows float64) {
		for range n {
			entries = append(entries, timed("select * from "+table, int64(len(entries)), seconds, rows))
		}
	}
	add("a", 1, 50, 3)
	add("b", 30, 1, 1)
	add("c", 100, 0.1, 9) // has a summary
	add("d", 2, 4, 0)
	add("e", 2, 1, 100)
	a := aggregate(Config{}, entries)
	f := func(order, limit, want string, rest Rest) {
		t.Helper()
		o, err := ParseOrder(order)
		if err != nil {
			t.Fatal(err)
		}
		l, err := ParseLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		r := a.Report(Options{OrderBy: o, Limit: l})
		got := ""
		for _, c := range r.Classes {
			got += strings.TrimPrefix(c.Fingerprint, "select * from ")
		}
		if got != want {
			t.Errorf("%s %s shows %s, want %s", order, limit, got, want)
		}
		if r.Other.Classes != rest.Classes || r.Other.Count != rest.Count || !close9(r.Other.QuerySec, rest.QuerySec) ||
			!close9(r.Other.Share, rest.QuerySec/100) {
			t.Errorf("%s %s leaves %+v, want %+v", order, limit, r.Other, rest)
		}
		if r.Global.Count != 135 || r.Global.Classes != 5 || len(r.Global.Notes) > 0 {
			t.Errorf("%s %s: %+v", order, limit, r.Global)
		}
	}
	f("Query_time:sum", "0", "abcde", Rest{})
	// d and e have as many: more time does not decide, the place in the log does
	f("Query_time:cnt", "0", "cbdea", Rest{})
	f("Query_time:max", "0", "adbec", Rest{})
	f("Query_time:min", "0", "adbec", Rest{})
	f("Query_time:avg", "0", "adbec", Rest{})
	f("Rows_examined:sum", "0", "cebad", Rest{})
	f("Rows_examined:max", "0", "ecabd", Rest{})
	f("Full_scan:sum", "0", "cbdea", Rest{})
	f("Query_time:sum", "2", "ab", Rest{Classes: 3, Count: 104, QuerySec: 20})
	f("Query_time:sum", "80%", "ab", Rest{Classes: 3, Count: 104, QuerySec: 20})
	f("Query_time:sum", "81%", "abc", Rest{Classes: 2, Count: 4, QuerySec: 10})
	f("Query_time:sum", "99%:1", "a", Rest{Classes: 4, Count: 134, QuerySec: 50})
	f("Query_time:sum", "1%", "a", Rest{Classes: 4, Count: 134, QuerySec: 50})
	f("Query_time:sum", "100%", "abcde", Rest{})
}

func TestOrderByWhatNobodyHas(t *testing.T) {
	entries := []slowlog.Entry{timed("select * from a", 0, 1, 5), timed("select * from b", 1, 2, 3)}
	r := aggregate(Config{}, entries).Report(Options{OrderBy: Order{Key: "bytes_sent"}})
	if len(r.Global.Notes) != 1 || !strings.Contains(r.Global.Notes[0], "bytes_sent") ||
		r.Classes[0].Fingerprint != "select * from b" {
		t.Errorf("got %q, first %s", r.Global.Notes, r.Classes[0].Fingerprint)
	}
	// A general log has no times at all.
	for i := range entries {
		entries[i].Figures = nil
	}
	entries = append(entries, slowlog.Entry{SQL: []byte("select * from b"), Offset: 2})
	r = aggregate(Config{}, entries).Report(Options{Source: "general_log"})
	if r.Classes[0].Fingerprint != "select * from b" || r.Classes[0].Count != 2 || r.Global.Source != "general_log" ||
		r.Global.Concurrency.OK() {
		t.Errorf("got %+v", r.Classes[0])
	}
	if len(r.Global.Attributes) != 0 {
		t.Errorf("attributes from nowhere: %v", r.Global.Attributes)
	}
}

func TestClassesAreThoseOfTheReport(t *testing.T) {
	a := aggregate(Config{}, input(3, 3000))
	want := a.Report(Options{Limit: Limit{Count: 30}})
	r, classes := a.Classes(Options{Limit: Limit{Count: 30}})
	for c := range classes {
		r.Classes = append(r.Classes, c)
		if len(r.Classes) == 7 { // stops, and may be gone through again
			break
		}
	}
	r.Classes = nil
	for c := range classes {
		r.Classes = append(r.Classes, c)
	}
	if asJSON(t, r) != asJSON(t, want) {
		t.Error("one by one they are others")
	}
	if a.Entries() != 3000 {
		t.Errorf("%d entries", a.Entries())
	}
}

func TestOrderString(t *testing.T) {
	if s := fmt.Sprint(Sum, Cnt, Min, Max, Avg); s != "sum cnt min max avg" {
		t.Error(s)
	}
}
