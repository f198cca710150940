package logdigest

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

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
	f := func(order, limit, want string, rest digest.Rest) {
		t.Helper()
		o, err := digest.ParseOrder(order)
		if err != nil {
			t.Fatal(err)
		}
		l, err := digest.ParseLimit(limit)
		if err != nil {
			t.Fatal(err)
		}
		r := a.Report(digest.Options{OrderBy: o, Limit: l})
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
	f("Query_time:sum", "0", "abcde", digest.Rest{})
	// d and e have as many: more time does not decide, the place in the log does
	f("Query_time:cnt", "0", "cbdea", digest.Rest{})
	f("Query_time:max", "0", "adbec", digest.Rest{})
	f("Query_time:min", "0", "adbec", digest.Rest{})
	f("Query_time:avg", "0", "adbec", digest.Rest{})
	f("Rows_examined:sum", "0", "cebad", digest.Rest{})
	f("Rows_examined:max", "0", "ecabd", digest.Rest{})
	f("Full_scan:sum", "0", "cbdea", digest.Rest{})
	f("Query_time:sum", "2", "ab", digest.Rest{Classes: 3, Count: 104, QuerySec: 20})
	f("Query_time:sum", "80%", "ab", digest.Rest{Classes: 3, Count: 104, QuerySec: 20})
	f("Query_time:sum", "81%", "abc", digest.Rest{Classes: 2, Count: 4, QuerySec: 10})
	f("Query_time:sum", "99%:1", "a", digest.Rest{Classes: 4, Count: 134, QuerySec: 50})
	f("Query_time:sum", "1%", "a", digest.Rest{Classes: 4, Count: 134, QuerySec: 50})
	f("Query_time:sum", "100%", "abcde", digest.Rest{})
}

func TestOrderByWhatNobodyHas(t *testing.T) {
	entries := []slowlog.Entry{timed("select * from a", 0, 1, 5), timed("select * from b", 1, 2, 3)}
	r := aggregate(Config{}, entries).Report(digest.Options{OrderBy: digest.Order{Key: "bytes_sent"}})
	if len(r.Global.Notes) != 1 || !strings.Contains(r.Global.Notes[0], "bytes_sent") ||
		r.Classes[0].Fingerprint != "select * from b" {
		t.Errorf("got %q, first %s", r.Global.Notes, r.Classes[0].Fingerprint)
	}
	// A general log has no times at all.
	for i := range entries {
		entries[i].Figures = nil
	}
	entries = append(entries, slowlog.Entry{SQL: []byte("select * from b"), Offset: 2})
	r = aggregate(Config{}, entries).Report(digest.Options{Source: "general_log"})
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
	want := a.Report(digest.Options{Limit: digest.Limit{Count: 30}})
	r, classes := a.Classes(digest.Options{Limit: digest.Limit{Count: 30}})
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
