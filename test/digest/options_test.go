package digest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestOptions counts a log of which everything is known: 1000 statements, one a second, of four classes in turn,
// Query_time of 1 to 97 ms.
func TestOptions(t *testing.T) {
	needProgram(t)
	path := write(t, "slow.log", steady(0, 1000))
	run := func(args ...string) report {
		t.Helper()
		return decode(t, dyno(t, 0, append(append([]string{"--output", "json"}, args...), path)...).out)
	}
	f := func(name string, classes int, count uint64, args ...string) {
		t.Helper()
		r := run(args...)
		sum := uint64(0)
		for _, c := range r.Classes {
			sum += c.Count
		}
		if len(r.Classes) != classes || sum != count {
			t.Errorf("%s: %d statements in %d classes, want %d in %d", name, sum, len(r.Classes), count, classes)
		}
		if all := sum + r.Other.Count + r.Global.Filtered; all != 1000 {
			t.Errorf("%s: shown, other and filtered make %d", name, all)
		}
	}
	f("all", 4, 1000, "--limit", "0")
	f("limit", 2, 500, "--limit", "2")
	f("share", 1, 250, "--limit", "20%")
	f("since", 4, 900, "--limit", "0", "--since", begin.Add(100*time.Second).Format(time.RFC3339))
	f("until", 4, 100, "--limit", "0", "--until", begin.Add(100*time.Second).Format(time.RFC3339))
	f("since and until", 4, 20, "--since", begin.Add(100*time.Second).Format(time.RFC3339), "--until",
		begin.Add(120*time.Second).Format(time.RFC3339), "--limit", "0")
	f("filter", 4, 470, "--limit", "0", "--filter", "Query_time > 0.0505")
	f("filter by text", 1, 250, "--limit", "0", "--filter", "sql =~ /from orders/i")
	f("filter by class", 3, 750, "--limit", "0", "--filter", "!(db == 'shop' && fingerprint =~ /stock/)")
	f("sample", 4, 20, "--limit", "0", "--sample", "5")
	f("group by database", 1, 1000, "--limit", "0", "--group-by", "db")
	f("group by table", 4, 1000, "--limit", "0", "--group-by", "tables")
	f("group by item", 4, 1000, "--limit", "0", "--group-by", "item")
	f("group by user", 1, 1000, "--limit", "0", "--group-by", "user")
	f("group by host", 1, 1000, "--limit", "0", "--group-by", "host")
	id := run("--limit", "1").Classes[0].ID
	for _, form := range []string{id, "0x" + id, id[16:], strings.ToLower(id[16:])} {
		if r := run("--id", form); len(r.Classes) != 1 || r.Classes[0].ID != id || r.Classes[0].Count != 250 {
			t.Errorf("--id %s: %+v", form, r.Classes)
		}
	}
	for i, c := range run("--limit", "0", "--order-by", "Query_time:max").Classes {
		if c.Item == "" || i > 3 {
			t.Errorf("%d: %+v", i, c)
		}
	}
	if e := finish(t, command(t, "digest", "--filter", "Query_time >", path)); e.code != 2 && e.code != 1 {
		t.Errorf("a broken filter ends with code %d", e.code)
	}
}

// TestCompareLogs has a log compared with itself and with one that is three times slower.
func TestCompareLogs(t *testing.T) {
	needProgram(t)
	slow := func(times float64) string {
		var b strings.Builder
		for i := range 2000 {
			b.WriteString(entry{
				at:      begin.Add(time.Duration(i) * time.Second),
				seconds: times * 0.001 * float64(1+i*7919%97), sql: "SELECT a FROM orders WHERE id = 1",
			}.String())
		}
		return b.String()
	}
	a, b, c := write(t, "a.log", slow(1)), write(t, "b.log", slow(1)),
		write(t, "c.log", slow(3)+entry{sql: "SELECT b FROM elsewhere"}.String())
	result := func(code int, args ...string) string {
		t.Helper()
		var r struct{ Result string }
		e := dyno(t, code, append([]string{"--output", "json", "--compare", "--fail-on", "worse"}, args...)...)
		if err := json.Unmarshal([]byte(e.out), &r); err != nil {
			t.Fatalf("%v: %s", err, tail(e.out))
		}
		return r.Result
	}
	if r := result(0, a, b); r == "worse" {
		t.Errorf("a log beside itself is %s", r)
	}
	if r := result(5, a, c); r != "worse" {
		t.Errorf("three times as slow is %s", r)
	}
	if r := result(0, c, a); r == "worse" {
		t.Errorf("three times as fast is %s", r)
	}
}
