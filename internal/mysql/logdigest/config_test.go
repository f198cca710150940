package logdigest

import (
	"fmt"
	"strings"
	"testing"

	queryclass "github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
	"github.com/dyno-perf/dyno/internal/sqltext"
)

func TestGroups(t *testing.T) {
	entries := []slowlog.Entry{
		timed("select * from a.t1 join u on a.t1.id = u.id where x = 1", 0, 1, 1),
		timed("select y from u where x = 2", 1, 2, 2),
		timed("SELECT y FROM u WHERE x = 3", 2, 4, 3),
		timed("select now()", 3, 8, 4),
		timed("Quit", 4, 16, 5),
	}
	entries[4].Admin = true
	for i := range entries {
		entries[i].User, entries[i].Host, entries[i].DB = fmt.Append(nil, "u", i%2),
			fmt.Append(nil, "h", i/2), []byte("d")
	}
	f := func(group string, want ...string) {
		t.Helper()
		g, err := digest.ParseGroup(group)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		r := aggregate(Config{GroupBy: g}, entries).Report(digest.Options{})
		for _, c := range r.Classes {
			got = append(got, fmt.Sprintf("%s %d %v", c.Fingerprint, c.Count, c.Attributes["query_time"].Sum))
			if c.ID != queryclass.ID(c.Fingerprint) {
				t.Errorf("%s: %s has id %s", group, c.Fingerprint, c.ID)
			}
		}
		if strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("%s:\n got %q\nwant %q", group, got, want)
		}
		if g != digest.ByTables && (r.Global.Count != 5 || r.Global.Attributes["query_time"].Sum != 31) {
			t.Errorf("%s: all are %+v", group, r.Global)
		}
	}
	f("fingerprint", "administrator command: Quit 1 16", "select now() 1 8", "select y from u where x = ? 2 6",
		"select * from a.t? join u on a.t?id = u.id where x = ? 1 1")
	f("distill", "ADMIN QUIT 1 16", "SELECT 1 8", "SELECT u 2 6", "SELECT a.t? u 1 1")
	f("tables", "(no table) 2 24", "u 3 7", "a.t1 1 1")
	f("db", "d 5 31")
	f("user", "u0 3 21", "u1 2 10")
	f("host", "h2 1 16", "h1 2 12", "h0 2 3")
	if _, err := digest.ParseGroup("colour"); err == nil || !strings.Contains(err.Error(), "use fingerprint") {
		t.Error(err)
	}
	if s := fmt.Sprint(digest.ByFingerprint, digest.ByItem, digest.ByTables, digest.ByDatabase, digest.ByUser,
		digest.ByHost); s != "fingerprint item tables "+
		"db user host" {
		t.Error(s)
	}
}

func TestWhatIsLeftOut(t *testing.T) {
	entries := input(8, 2000)
	own := slowlog.Entry{
		SQL: []byte(" \n" + sqltext.Tagged("scrape", "7", "select 1")), Offset: 1 << 40,
		Figures: entries[0].Figures,
	}
	entries = append(entries, own)
	f := func(c Config, counted, filtered, owned uint64) {
		t.Helper()
		r := aggregate(c, entries).Report(digest.Options{})
		if r.Global.Entries != counted || r.Global.Filtered != filtered || r.Global.Own != owned {
			t.Errorf("%+v: counted %d, filtered %d, own %d; want %d, %d and %d", c, r.Global.Entries, r.Global.Filtered,
				r.Global.Own, counted, filtered, owned)
		}
	}
	f(Config{}, 2001, 0, 0)
	f(Config{LeaveOwn: true}, 2000, 0, 1)
	f(Config{Filter: func(p *slowlog.Parser, e *slowlog.Entry) bool { return e.Offset >= 1<<40 }}, 1, 2000, 0)
	middle := entries[1000].At
	if middle == 0 {
		middle = entries[1001].At
	}
	before, after := uint64(0), uint64(0)
	perClass := map[string]int{}
	for _, e := range entries[:2000] {
		switch {
		case e.At != 0 && e.At < middle:
			before++
		case e.At >= middle:
			after++
		}
		perClass[mytext.Fingerprint(string(e.SQL))]++
	}
	f(Config{LeaveOwn: true, Since: middle}, after, 2000-after, 1)
	f(Config{LeaveOwn: true, Until: middle}, before, 2000-before, 1)
	sampled := uint64(0)
	for _, n := range perClass {
		sampled += uint64(min(n, 100))
	}
	f(Config{LeaveOwn: true, Sample: 100}, sampled, 2000-sampled, 1)
}

func TestRedactedSamplesShowNoLiteral(t *testing.T) {
	e := timed("select * from t where name = 'Hannah' and id in (4711, 4712)", 0, 1, 1)
	f := func(c Config) {
		t.Helper()
		a := aggregate(c, []slowlog.Entry{e})
		got := asJSON(t, a.Report(digest.Options{})) + string(a.AppendState(nil))
		for _, secret := range []string{"Hannah", "4711", "4712"} {
			if strings.Contains(got, secret) != !c.Redact {
				t.Errorf("redacted %t, shows %s: %t", c.Redact, secret, !c.Redact)
			}
		}
		if !strings.Contains(got, "select * from t where name = ") {
			t.Error("nothing is left of the statement")
		}
	}
	f(Config{Redact: true})
	f(Config{})
}

func TestFurtherClassesAreCountedTogether(t *testing.T) {
	entries := input(9, 4000)
	whole := aggregate(Config{}, entries).Report(digest.Options{})
	a := New(Config{MaxClasses: 20})
	b := New(Config{MaxClasses: 20})
	for i := range entries {
		if i < 3000 {
			a.Add(nil, &entries[i], 0)
		} else {
			b.Add(nil, &entries[i], 0)
		}
	}
	a.Merge(b)
	r := a.Report(digest.Options{})
	if r.Global.Count != whole.Global.Count || len(r.Classes) != 21 || len(r.Global.Notes) == 0 ||
		!strings.Contains(strings.Join(r.Global.Notes, " "), "20 classes") {
		t.Errorf("%d of %d statements in %d classes, %q", r.Global.Count, whole.Global.Count,
			len(r.Classes), r.Global.Notes)
	}
	n := 0
	for _, c := range r.Classes {
		if c.Fingerprint == othersName {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d classes of others", n)
	}
}
