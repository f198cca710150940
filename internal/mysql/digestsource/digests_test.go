package digestsource

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRowsOfNoServer: a row's names and times are kept from one window to the next, so they have a
// bound, each of them and all together.
func TestRowsOfNoServer(t *testing.T) {
	d, list := &digests{}, []int{cCount, cTime}
	f := func(what string, want bool, schema, digest, first, last string) {
		t.Helper()
		k, r, ok := d.row([]driver.Value{
			[]byte(schema), []byte(digest), []byte(first), []byte(last), []byte("7"),
			[]byte("9"),
		}, list, false)
		if ok != want || ok && (k != digestKey{schema, digest} || r.first != first || r.last != last ||
			r.v[cCount] != 7 || r.v[cTime] != 9) {
			t.Errorf("%s: %v, %+v %+v", what, ok, k, r)
		}
	}
	const at = "2026-11-21 12:00:10.123456"
	long := strings.Repeat("5", 1<<20)
	f("of a server", true, strings.Repeat("\U0001F600", 64), strings.Repeat("f", 64), at, at)
	f("schema", false, long, "f", at, at)
	f("digest", false, "d", long, at, at)
	f("first seen", false, "d", "f", long, at)
	f("last seen", false, "d", "f", at, long)

	window := func(n int) picture {
		p := picture{rows: map[digestKey]digestRow{}, part: true}
		for i := range 10 {
			p.put(digestKey{"d", fmt.Sprintf("%02d%s", n, strings.Repeat("f", i))},
				digestRow{first: at, last: at, text: long})
		}
		return p
	}
	p := window(1)
	one := p.bytes
	for range 2 {
		if !p.grow(window(2)) {
			t.Error("there is room")
		}
	}
	if p.bytes != 2*one || len(p.rows) != 20 || p.part {
		t.Errorf("%d rows of %d bytes, want 20 of %d", len(p.rows), p.bytes, 2*one)
	}
	if r := p.rows[digestKey{"d", "02"}]; r.text != "" || r.first != at {
		t.Errorf("%+v", r)
	}
	p.bytes = mostPictureBytes - one + 1
	if p.grow(window(3)) {
		t.Error("rows are kept without a bound in bytes")
	}
}

func TestSinceWhenRowsHaveNoNews(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 10, 500e6, time.UTC)
	a := moments{server: at, here: at, counts: map[string]uint64{uptime: 100, truncates: 3}}
	f := func(b moments, want string) {
		t.Helper()
		if got := since(a, b); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	later := func(server, here time.Duration, up, truncated uint64) moments {
		return moments{
			server: at.Add(server), here: at.Add(here),
			counts: map[string]uint64{uptime: up, truncates: truncated},
		}
	}
	f(later(10*time.Second, 10*time.Second, 110, 3), "2026-11-21 12:00:07")
	f(later(10*time.Second, 10*time.Second, 110, 4), "")        // something was emptied
	f(later(10*time.Second, 10*time.Second, 2, 0), "")          // another server by now
	f(later(-50*time.Second, 10*time.Second, 110, 3), "")       // its clock was set
	f(later(90*time.Second, 10*time.Second, 110, 3), "")        // likewise
	f(moments{server: at.Add(time.Second), here: at}, "")       // no counters
	f(moments{here: at.Add(time.Second), counts: a.counts}, "") // no clock
}

func TestBetween(t *testing.T) {
	row := func(first string, count, time, longest uint64, text string) digestRow {
		r := digestRow{first: first, last: first, text: text}
		r.v[cCount], r.v[cTime], r.v[cMax], r.v[cMin] = count, time, longest, 1
		return r
	}
	d := &digests{limit: 1024}
	for i := range d.have {
		d.have[i] = true
	}
	counts := map[string]uint64{uptime: 1}
	a := picture{at: moments{counts: counts}, rows: map[digestKey]digestRow{
		{"d", "1"}: row("x", 5, 50, 20, ""),
		{"d", "2"}: row("x", 5, 50, 20, ""),
		{"d", "3"}: row("x", 5, 50, 20, ""),
		{"d", "4"}: row("x", 5, 50, 20, ""),
	}}
	b := picture{part: true, at: moments{counts: counts}, rows: map[digestKey]digestRow{
		{"d", "1"}: row("x", 8, 90, 30, "SELECT `a`"), // 3 more, one of them the longest ever
		{"d", "2"}: row("x", 5, 50, 20, "SELECT `b`"), // none
		{"d", "5"}: row("y", 2, 20, 15, "SELECT `c`"), // began within
		{"d", "6"}: row("y", 7, 20, 15, "SELECT `own` FROM `dyno_and_a_long_name`"),
		{"", ""}:   row("x", 4, 4e12, 15, ""),
		{"e", ""}:  row("x", 3, 4e12, 15, ""), // no server has two: however many there are, one note says so
	}}
	g := d.between(a, b, newOwn(nil, map[string]uint64{"selectownfromdyno_and_a_long_name": 7}, 1, nil))
	if len(g.rows) != 2 || g.own != 7 || len(g.notes) != 1 || !strings.HasPrefix(g.notes[0], "7 statements (8 s)") ||
		g.fix == "" {
		t.Fatalf("%+v", g)
	}
	for _, x := range g.rows {
		switch x.digest {
		case "1":
			if x.row.v[cCount] != 3 || x.row.v[cTime] != 40 || x.row.v[cMax] != 30 || x.fresh ||
				!x.longer || x.shorter {
				t.Errorf("%+v", x)
			}
		case "5":
			if x.row.v[cCount] != 2 || !x.fresh || !x.longer || !x.shorter || x.fingerprint != "select c" {
				t.Errorf("%+v", x)
			}
		default:
			t.Errorf("%+v", x)
		}
	}
	// A whole picture with rows gone is of a table that was emptied; so is a row that began anew, or counts less.
	b.part = false
	b.rows = map[digestKey]digestRow{{"d", "1"}: row("z", 2, 5, 5, "SELECT `a`")}
	if g := d.between(a, b, newOwn(nil, nil, 1, nil)); len(g.rows) != 1 || g.rows[0].row.v[cCount] != 2 ||
		!g.rows[0].fresh || len(g.notes) != 1 {
		t.Errorf("%+v", g)
	}
}

// TestLost: how much of a window of a minute is missing when the server restarted in it, or somebody emptied its table.
func TestLost(t *testing.T) {
	here, server := time.Now(), time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	a := picture{at: moments{here: here, server: server, counts: map[string]uint64{uptime: 9000}}}
	b := picture{at: moments{
		here: here.Add(time.Minute), server: server.Add(time.Minute),
		counts: map[string]uint64{uptime: 20},
	}}
	f := func(what string, want time.Duration) {
		t.Helper()
		if got := lost(a, b); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	f("restarted 20 s ago", 40*time.Second)
	a.at.counts[uptime] = 10
	f("restarted twice in a short time", 40*time.Second)
	b.at.counts[uptime] = 9060
	f("emptied, and nothing ran since", time.Minute)
	b.rows = map[digestKey]digestRow{
		{digest: "1"}: {first: "2026-03-01 10:00:45.500000"},
		{digest: "2"}: {first: "2026-03-01 10:00:50.000000"},
	}
	f("emptied before the first row", 45500*time.Millisecond)
	b.rows[digestKey{digest: "3"}] = digestRow{first: "2026-02-01 10:00:00.000000"}
	f("a row that was never gone", 0)
}
