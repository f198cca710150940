package logdigest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/slowlog"
)

func TestLongSamplesAreCut(t *testing.T) {
	long := "select '" + strings.Repeat("ä", 20_000) + "'"
	f := func(c Config, sql string, most int, cut bool) {
		t.Helper()
		s := aggregate(c, []slowlog.Entry{timed(sql, 0, 1, 1)}).Report(digest.Options{}).Classes[0].Worst
		if s.Cut != cut || len(s.SQL) > most || len(s.SQL) < min(most, len(sql))-3 || !utf8.ValidString(s.SQL) ||
			!strings.HasPrefix(sql, s.SQL) {
			t.Errorf("%d of %d bytes, cut %t", len(s.SQL), len(sql), s.Cut)
		}
	}
	f(Config{}, long, 16<<10, true)
	f(Config{MaxSample: 99}, long, 99, true)
	f(Config{MaxSample: 100}, long, 100, true)
	f(Config{MaxSample: 1 << 20}, long, 1<<20, false)
	f(Config{}, "select 1", 16<<10, false)
	whole := aggregate(Config{Redact: true}, []slowlog.Entry{timed(long, 0, 1, 1)}).Report(digest.Options{})
	r := whole.Classes[0].Worst
	if !r.Cut || r.SQL != "select ?" {
		t.Errorf("redacted: %q, cut %t", r.SQL, r.Cut)
	}
}

// TestManyClassesHaveShorterSamples counts the same log whole and in parts: what is left of samples only depends on the
// number of classes.
func TestManyClassesHaveShorterSamples(t *testing.T) {
	var entries []slowlog.Entry
	for i := range 24_000 {
		k := i % 12_000
		sql := fmt.Sprintf("select %s%s from t where x = '%s'", word(k/600), word(k%600),
			strings.Repeat("y", 100+i%7*800))
		entries = append(entries, timed(sql, int64(i), float64(i%5), 1))
	}
	for _, redact := range []bool{false, true} {
		c := Config{Redact: redact}
		whole := aggregate(c, entries)
		if whole.roster.tier != 2 {
			t.Fatalf("tier %d", whole.roster.tier)
		}
		parts := []*Aggregator{New(c), New(c)}
		for i := range entries {
			parts[i%5/4].Add(nil, &entries[i], 0)
		}
		merged := New(c)
		merged.Merge(parts[1])
		merged.Merge(parts[0])
		want, got := whole.Report(digest.Options{}), merged.Report(digest.Options{})
		for i, x := range want.Classes {
			y := got.Classes[i]
			if x.ID != y.ID || *x.Worst != *y.Worst || (x.Typical == nil) != (y.Typical == nil) || x.Typical != nil &&
				*x.Typical != *y.Typical {
				t.Fatalf("class %d: %+v and %+v", i, x.Worst, y.Worst)
			}
			if len(x.Worst.SQL) > tiers[2].text || !redact && !x.Worst.Cut && len(x.Worst.SQL) < 100 {
				t.Fatalf("class %d: a sample of %d bytes", i, len(x.Worst.SQL))
			}
		}
		sum := 0
		for _, c := range merged.roster.classes {
			sum += len(c.worst.text)
			for _, s := range c.drawn {
				if s != c.worst {
					sum += len(s.text)
				}
			}
		}
		if sum != merged.roster.text {
			t.Errorf("samples have %d bytes, accounted for %d", sum, merged.roster.text)
		}
	}
}

func TestTextsTogetherAreBounded(t *testing.T) {
	a := New(Config{MaxSample: 1 << 20})
	long := strings.Repeat("z", 1<<20)
	for i := range 90 {
		e := timed("select "+word(i)+" from t where x = '"+long+"'", int64(i), 1, 1)
		a.Add(nil, &e, 0)
	}
	if a.roster.text > maxText {
		t.Errorf("%d bytes", a.roster.text)
	}
	for _, c := range a.Report(digest.Options{}).Classes {
		if !c.Worst.Cut || len(c.Worst.SQL) > 1<<19 {
			t.Errorf("a sample of %d bytes, cut %t", len(c.Worst.SQL), c.Worst.Cut)
		}
	}
}

// TestTypicalIsNearTheMedian has a class of few very slow and many quick statements.
func TestTypicalIsNearTheMedian(t *testing.T) {
	var entries []slowlog.Entry
	for i := range 1000 {
		seconds := 0.01
		if i%100 == 0 {
			seconds = 100
		}
		entries = append(entries, timed("select 1", int64(i), seconds, 1))
	}
	c := aggregate(Config{}, entries).Report(digest.Options{}).Classes[0]
	if c.Worst.QuerySec != 100 || c.Worst.Offset != 0 || c.Typical == nil || c.Typical.QuerySec != 0.01 {
		t.Errorf("worst %+v, typical %+v", c.Worst, c.Typical)
	}
}

func TestPlanOfTheWorst(t *testing.T) {
	e, f := timed("select 1", 0, 2, 1), timed("select 1", 9, 1, 1)
	e.Plan = []byte("# explain: id\ttype\n# explain: 1\tALL\n")
	f.Plan = []byte("# explain: another\n")
	e.Thread, e.User, e.Host, e.DB = 8, []byte("u"), []byte("h"), []byte("d")
	files := []digest.File{{Name: "slow.log"}}
	c := aggregate(Config{}, []slowlog.Entry{e, f}).Report(digest.Options{Files: files}).Classes[0]
	if len(c.Plan) != 2 || c.Plan[1] != "# explain: 1\tALL" {
		t.Errorf("plan %q", c.Plan)
	}
	if s := *c.Worst; s.File != "slow.log" || s.Thread != 8 || s.User != "u" || s.Host != "h" || s.DB != "d" {
		t.Errorf("worst %+v", s)
	}
}

func TestWhole8(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := whole8([]byte(in)); !bytes.Equal(got, []byte(want)) {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	f("", "")
	f("abc", "abc")
	f("aä", "aä")
	f("a\xc3", "a")
	f("a\xe2\x82", "a")
	f("a\xf0\x9f\x98", "a")
	f("😀", "😀")
	f("\x80\x80\x80\x80\x80", "\x80\x80\x80\x80\x80") // no text at all: as it is
}
