package remotewrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/prompb"
)

// rows makes rows from "a:1,2 b:1", names and times.
func rowsOf(text string) (rows []row) {
	for f := range strings.FieldsSeq(text) {
		name, times, _ := strings.Cut(f, ":")
		r := row{key: name, series: prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: name}}}}
		for at := range strings.SplitSeq(times, ",") {
			var s prompb.Sample
			fmt.Sscan(at, &s.Timestamp)
			r.series.Samples = append(r.series.Samples, s)
			r.lastAt = s.Timestamp
		}
		rows = append(rows, r)
	}
	return rows
}

func text(rows []row) string {
	var out []string
	for _, r := range rows {
		var at []string
		for _, s := range r.series.Samples {
			at = append(at, fmt.Sprint(s.Timestamp))
		}
		out = append(out, r.key+":"+strings.Join(at, ","))
	}
	return strings.Join(out, " ")
}

func TestFirst(t *testing.T) {
	f := func(in string, max int, batch, rest string) {
		t.Helper()
		a, b := first(rowsOf(in), max)
		if text(a) != batch || text(b) != rest {
			t.Errorf("%s: %s | %s", in, text(a), text(b))
		}
	}
	f("a:1,2 b:1 c:1", 3, "a:1,2 b:1", "c:1")
	f("a:1,2,3 b:1", 2, "a:1,2,3", "b:1")
	f("a:1", 5, "a:1", "")
}

func TestHalves(t *testing.T) {
	f := func(in, x, y string) {
		t.Helper()
		a, b, ok := halves(rowsOf(in))
		if text(a) != x || text(b) != y || ok != (x != "") {
			t.Errorf("%s: %s | %s %v", in, text(a), text(b), ok)
		}
	}
	f("", "", "")
	f("a:1", "", "")
	f("a:1,2,3", "a:1", "a:2,3")
	f("a:1 b:2 c:3", "a:1", "b:2 c:3")
}

func TestMoments(t *testing.T) {
	f := func(in string, want ...string) {
		t.Helper()
		var got []string
		for _, m := range moments(rowsOf(in)) {
			got = append(got, text(m))
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %v", in, got)
		}
	}
	f("a:1,3 b:2,3 c:1", "a:1 c:1", "b:2", "a:3 b:3")
	f("")
}

func TestMerge(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := text(merge(rowsOf(in))); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
	f("a:1,2 b:1", "a:1,2 b:1")
	f("a:1,3 a:2,3,4 b:1 b:0", "a:1,2,3,4 b:0,1")
}
