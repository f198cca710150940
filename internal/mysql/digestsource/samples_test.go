package digestsource

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSamplesHaveABoundInBytes: what a server tells of its statements is kept while they run, and
// of their classes until the window ends.
func TestSamplesHaveABoundInBytes(t *testing.T) {
	s := newSamples(nil, false)
	s.queryID = true
	s.begin(time.Now())
	row := func(id int, user, host, schema, sql string) {
		n := []byte(fmt.Sprint(id))
		s.row([]driver.Value{
			n, []byte("Query"), []byte("1"), []byte("0"), n, []byte(user), []byte(host),
			[]byte(schema), []byte(sql),
		}, 0.1)
	}
	f := func(what string, running, classes, dropped int) {
		t.Helper()
		texts, kept := 0, 0
		for _, e := range s.running {
			texts += len(e.text)
		}
		for _, c := range s.classes {
			kept += len(c.Schema) + len(c.Fingerprint) + len(c.Example) + len(c.worst.text)
			for _, name := range append(c.Users, c.Hosts...) {
				kept += len(name)
			}
		}
		if len(s.running) != running || len(s.classes) != classes || s.dropped != dropped ||
			s.texts != texts || s.kept != kept {
			t.Errorf("%s: %d run, want %d; %d classes, want %d; %d left out, want %d; texts take %d and %d, counted "+
				"as %d and %d",
				what, len(s.running), running, len(s.classes), classes, s.dropped, dropped,
				texts, kept, s.texts, s.kept)
		}
	}
	long := strings.Repeat("x", 1<<20)
	row(1, "app", "h:1", "d", "SELECT 1")
	row(1, "app", "h:1", "d", "SELECT 1 AND 'told again'")
	row(2, strings.Repeat("\U0001F600", 128), strings.Repeat("h", 255)+":65535", strings.Repeat("\U0001F600", 64),
		"SELECT 1, 2")
	f("of a server", 2, 2, 0)
	row(3, long, "h", "d", "SELECT 3")
	row(4, "app", long, "d", "SELECT 4")
	row(5, "app", "h", long, "SELECT 5")
	f("names that are too long", 2, 2, 3)
	row(6, "app", "h", "d", "SELECT '"+long+"'")
	f("a text that is too long", 3, 2, 3) // of the class of the first
	if e := s.running[6]; e == nil || len(e.text) > 4*maxText || len(e.c.Example) > maxText {
		t.Errorf("%+v", e)
	}

	// Texts of many looks add up, when old ones are told short.
	others := mostTexts - 10 - s.texts
	s.texts += others
	row(7, "app", "h", "d", "SELECT 7 FROM t")
	s.texts -= others
	f("no room beside those that run", 3, 2, 4)
	others = mostTexts - s.kept
	s.kept += others
	row(9, "app", "h", "d", "SELECT of, another FROM t")
	row(8, "other", "h8", "d", "SELECT 'of a class that there is'")
	s.kept -= others
	f("no room for another class", 5, 2, 5)
	if c := s.running[8].c; c == nil || c.Count != 3 || len(c.Users) != 1 || len(c.users) != 1 ||
		s.running[9].c != nil {
		t.Errorf("%+v", c)
	}
	for range 2 {
		s.done(time.Now())
	}
	f("all have ended", 0, 2, 5)
}
