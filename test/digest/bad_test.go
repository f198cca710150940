package digest_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// part is a piece of a made log: good entries, or something that no one can read.
type part struct {
	text string
	good int  // entries in it
	bad  bool // it must be reported as skipped, as one part, and nothing else may be
}

// TestBadInput has damage of every kind between good entries. Every good one is counted, everything else is reported
// with its exact place, and the exit code is 7.
func TestBadInput(t *testing.T) {
	f := func(name string, parts ...part) {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			good := 0
			var bad []skip
			for _, p := range parts {
				if p.bad {
					bad = append(bad, skip{Offset: int64(text.Len()), Length: int64(len(p.text))})
				}
				good += p.good
				text.WriteString(p.text)
			}
			code := 0
			if len(bad) > 0 {
				code = 7
			}
			path := write(t, "slow.log", text.String())
			r := digest(t, code, path)
			if r.Global.Count != uint64(good) || r.Global.Entries != uint64(good) {
				t.Errorf("%d statements of %d entries, want %d", r.Global.Count, r.Global.Entries, good)
			}
			if r.Global.Skipped != uint64(len(bad)) || len(r.Skipped) != len(bad) {
				t.Fatalf("%d parts skipped, want %d: %+v", r.Global.Skipped, len(bad), r.Skipped)
			}
			bytes := int64(0)
			for i, s := range r.Skipped {
				bytes += s.Length
				if s.Offset != bad[i].Offset || s.Length != bad[i].Length || s.Reason == "" || s.File != path {
					t.Errorf("skipped %+v, want %d bytes at %d of %s", s, bad[i].Length, bad[i].Offset, path)
				}
			}
			if bytes != r.Global.SkippedBytes {
				t.Errorf("%d bytes skipped, the parts have %d", r.Global.SkippedBytes, bytes)
			}
			if e := dyno(t, code, path); len(bad) > 0 && !strings.Contains(strings.ToLower(e.err+e.out), "skip") {
				t.Errorf("the text says nothing of what was skipped:\n%s", tail(e.out+e.err))
			}
		})
	}
	good := part{text: steady(0, 20), good: 20}
	more := part{text: steady(20, 20), good: 20}
	whole := entry{sql: "SELECT * FROM torn WHERE a = 'text that is long enough to be cut in two'"}.String()
	head := whole[:strings.Index(whole, "SELECT")]
	noise := rand.New(rand.NewPCG(1, 2))
	binary := make([]byte, 500)
	for i := range binary {
		binary[i] = byte(noise.Uint32())
		if binary[i] == '#' || binary[i] == '\n' {
			binary[i] = 0
		}
	}

	f("good", good, more)
	f("good with banners", part{text: banner}, good, part{text: banner}, more)
	f("CRLF", part{text: strings.ReplaceAll(good.text, "\n", "\r\n"), good: 20})
	f("log cut at its beginning", part{text: "FROM orders WHERE id = 3 AND name = 'x';\n", bad: true}, good)
	f("log cut within a header", part{text: "ngth  Lock_time: 0.000100 Rows_sent: 1  Rows_examined: 10\nSET " +
		"timestamp=1;\nSELECT 1;\n", bad: true}, good)
	f("log ends within a header", good, part{text: whole[:strings.Index(whole, "# Query")], bad: true})
	f("log ends before the statement", good, part{text: head, bad: true})
	f("header without a statement in the middle", good, part{text: head, bad: true}, more)
	f("garbage between entries", good, part{text: "\x00\x01\x02 what is this \xff\xfe\n", bad: true}, more)
	f("binary garbage between entries", good, part{text: string(binary) + "\n", bad: true}, more)
	f("zeroes between entries, as a crash leaves them", good, part{text: strings.Repeat("\x00", 4096) +
		"\n", bad: true}, more)
	f("NUL and invalid UTF-8 in statements", good,
		part{text: entry{sql: "SELECT 'a\x00b', '\xff\xfe\x80', '\xc3'"}.String(), good: 1}, more)
	f("NUL in names", part{text: entry{user: "a\x00b\xff", sql: "SELECT 1"}.String(), good: 1}, more)
	f("the clock goes back", more, good, part{
		text: entry{at: begin.AddDate(-2, 0, 0), sql: "SELECT 1"}.String(),
		good: 1,
	})
	f("mixed time zones", good,
		part{
			text: strings.Replace(entry{sql: "SELECT 1"}.String(), "10:00:00.000000Z", "12:00:00.000000+02:00", 1),
			good: 1,
		},
		part{
			text: strings.Replace(entry{sql: "SELECT 1"}.String(), "10:00:00.000000Z", "05:30:00.000000-04:30", 1),
			good: 1,
		})
	f("another dialect in the middle", good,
		part{text: "# Time: 261120 10:00:00\n# User@Host: a[a] @ localhost []\n# Thread_id: 9  Schema: d  QC_hit: " +
			"No\n# Query_time: 0.000100  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 0\n# Rows_affected: 0  " +
			"Bytes_sent: 7\nSET timestamp=1795255200;\nSELECT 1;\n", good: 1},
		part{text: "# Time: 071015 21:43:52\n# User@Host: root[root] @ localhost []\n# Query_time: 2  Lock_time: 0  " +
			"Rows_sent: 1  Rows_examined: 0\nselect 2;\n", good: 1}, more)
	f("figures that are no numbers", good, part{text: strings.Replace(entry{sql: "SELECT 1"}.String(),
		"Query_time: 0.500000", "Query_time: many", 1), bad: true}, more)
	f("a long line without an end", good, part{text: strings.Repeat("x", 9<<20) + "\n", bad: true}, more)
}

// TestTorn cuts a log at every byte of its last entries: whatever is left, all whole entries are counted once, and
// nothing is lost in silence.
func TestTorn(t *testing.T) {
	text := steady(0, 4)
	last := len(steady(0, 3))
	for n := last; n < len(text); n += 7 {
		path := write(t, "slow.log", text[:n])
		e := finish(t, command(t, "digest", "--output", "json", "--limit", "0", path))
		r := decode(t, e.out)
		kept := r.Global.Entries - 3
		switch {
		case kept > 1 || r.Global.Skipped > 1:
			t.Errorf("cut after %d bytes: %d entries, %d skipped", n-last, r.Global.Entries, r.Global.Skipped)
		case n > last && kept == 0 && (r.Global.Skipped != 1 || e.code != 7):
			t.Errorf("cut after %d bytes: the torn entry is neither counted nor reported, code %d", n-last, e.code)
		case r.Global.Skipped > 0 && (r.Skipped[0].Offset != int64(last) || r.Skipped[0].Length != int64(n-last)):
			t.Errorf("cut after %d bytes: skipped %+v, want all from %d on", n-last, r.Skipped[0], last)
		}
	}
}

// TestLargeStatement has a statement of 100 MB, which is counted like any other.
func TestLargeStatement(t *testing.T) {
	needProgram(t)
	path := t.TempDir() + "/slow.log"
	large := entry{sql: "INSERT INTO t (a) VALUES ('" + strings.Repeat("0123456789abcdef", 100<<20/16) + "')"}.String()
	if err := os.WriteFile(path, []byte(steady(0, 10)+large+steady(10, 10)), 0o644); err != nil {
		t.Fatal(err)
	}
	r := digest(t, 0, path)
	if r.Global.Count != 21 || r.Global.Skipped != 0 {
		t.Fatalf("%d statements, %d skipped: %+v", r.Global.Count, r.Global.Skipped, r.Skipped)
	}
	for _, c := range r.Classes {
		if c.Item == "INSERT t" {
			if f := c.Attributes["query_length"]; f.Max != 100<<20+29 {
				t.Errorf("it has %v bytes", f.Max)
			}
			if c.Worst == nil || !c.Worst.Cut || len(c.Worst.SQL) > 1<<20 {
				t.Error("its sample is not cut")
			}
			return
		}
	}
	t.Errorf("no class for it: %+v", r.Classes)
}

// TestUnreadableFiles has everything among the files that is no log. The good ones are done; each other one is named
// once; the code is 7.
func TestUnreadableFiles(t *testing.T) {
	needProgram(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, other := file("a.log", steady(0, 30)), file("b.log", steady(30, 30))
	f := func(name, path, reason string) {
		t.Run(name, func(t *testing.T) {
			r := digest(t, 7, good, path, other)
			if r.Global.Count != 60 {
				t.Errorf("%d statements, want 60", r.Global.Count)
			}
			if r.Global.Skipped != 1 || len(r.Skipped) != 1 || r.Skipped[0].File != path ||
				!strings.Contains(strings.ToLower(r.Skipped[0].Reason), reason) {
				t.Errorf("skipped %d: %+v, want %s for %q", r.Global.Skipped, r.Skipped, path, reason)
			}
			if e := finish(t, command(t, "digest", path)); e.code == 0 ||
				!strings.Contains(e.err+e.out, filepath.Base(path)) {
				t.Errorf("alone: code %d\n%s%s", e.code, tail(e.out), e.err)
			}
		})
	}
	f("empty", file("empty.log", ""), "empty")
	f("missing", filepath.Join(dir, "missing.log"), "no such file")
	f("directory", dir, "directory")
	f("binary log", file("binlog.000001", "\xfebin\x00\x00\x00\x00\x0f\x01\x00\x00\x00"+
		strings.Repeat("\x00\x01", 500)), "binary log")
	f("error log", file("error.log", "2026-11-20T10:00:00.000000Z 0 [System] [MY-010116] [Server] /usr/sbin/mysqld "+
		"(mysqld 8.0.33) starting as process 77\n2026-11-20T10:00:01.000000Z 1 [System] [MY-013576] [InnoDB] InnoDB "+
		"initialization has started.\n"), "error log")
	f("PostgreSQL's log", file("postgresql.log", "2026-11-20 10:00:00.123 UTC [123] LOG:  duration: 12.345 ms  "+
		"statement: SELECT 1\n2026-11-20 10:00:01.123 UTC [123] LOG:  checkpoint starting: time\n"), "postgresql")
	f("some other text", file("words.txt", strings.Repeat("Lorem ipsum dolor sit amet\n", 100)), "")
	f("torn gzip", file("torn.gz", gzipped(t, steady(0, 2000))[:200]), "")
}

// TestManyBad checks that what is skipped is counted in full when the list of it ends.
func TestManyBad(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprint(&b, entry{at: begin.Add(time.Duration(i) * time.Second), sql: "SELECT 1"}, "\x01 garbage \x02\n")
	}
	r := digest(t, 7, write(t, "slow.log", b.String()))
	if r.Global.Count != 3000 || r.Global.Skipped != 3000 || len(r.Skipped) != 1000 {
		t.Errorf("%d statements, %d skipped of which %d listed", r.Global.Count, r.Global.Skipped, len(r.Skipped))
	}
}
