package peer

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	const (
		ours = `{"version":1,"global":{"count":3,"unique":1},"classes":[{"id":"A1","fingerprint":"select ?","item":"SELECT","count":3,
			"attributes":{"query_time":{"count":3,"sum":0.6,"min":0.1,"max":0.3,"avg":0.2},"rows_sent":{"count":3,"sum":7,"min":1,"max":4,"avg":2.333}},
			"flags":{"full_scan":{"yes":2,"no":1}},"histogram":[0,0,0,0,0,3,0,0],"first_seen":"2026-11-20T10:00:00.5Z","last_seen":"2026-11-20T10:00:09Z"}]}`
		theirs = `{"global":{"query_count":3,"unique_query_count":1},"classes":[{"checksum":"A1","fingerprint":"select ?","distillate":"SELECT","query_count":3,
			"ts_min":"2026-11-20 10:00:00","ts_max":"2026-11-20 10:00:09","metrics":{
			"Query_time":{"sum":"0.600000","min":"0.100000","max":"0.300000","avg":"0.200000","pct_95":"0.3"},"Rows_sent":{"sum":"7","min":"1","max":"4","avg":"2"},
			"Full_scan":{"yes":"2"},"user":{"value":"app"},"Errno":{"sum":"9","min":"0","max":"9","avg":"3"}}}]}`
	)
	f := func(from, to, want string) {
		t.Helper()
		for _, side := range []int{0, 1} {
			texts := []string{ours, theirs}
			texts[side] = strings.ReplaceAll(texts[side], from, to)
			if texts[side] == []string{ours, theirs}[side] && from != "" {
				continue
			}
			a, err := Decode(texts[0])
			if err != nil {
				t.Fatal(err)
			}
			b, err := DecodePt(texts[1])
			if err != nil {
				t.Fatal(err)
			}
			d := strings.Join(Compare(a, b, Options{}), "\n")
			if want == "" && d != "" || want != "" && !strings.Contains(d, want) {
				t.Errorf("%q for %q on side %d: got %q, want %q", to, from, side, d, want)
			}
		}
	}
	f("", "", "")
	f(`"A1"`, `"B2"`, "no class")
	f(`count":3,"unique"`, `count":4,"unique"`, "4 statements, pt-query-digest has 3")
	f(`"query_count":3,"unique`, `"query_count":5,"unique`, "3 statements, pt-query-digest has 5")
	f("select ?", "select a", "fingerprint")
	f(`"SELECT"`, `"SELECT t"`, "item")
	f(`"sum":0.6`, `"sum":0.61`, "sum of Query_time")
	f(`"max":4`, `"max":5`, "max of Rows_sent")
	f(`"rows_sent"`, `"rows_seen"`, "nothing about Rows_sent")
	f(`"yes":2`, `"yes":1`, "Full_scan is set in 1, want 2")
	f(`10:00:09`, `10:00:08`, "last seen")
	f(`0,0,3,0,0]`, `0,0,2,0,0]`, "histogram")
	f(`"Full_scan"`, `"Full_join"`, "full_scan is set in 2, pt-query-digest has none")
}

func TestBytesOf(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := bytesOf(in); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("select ?", "select ?")
	f("Ã¼nÃ¯", "ünï")
	f("数", "数")
}
