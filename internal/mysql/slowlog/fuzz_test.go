package slowlog

import (
	"bytes"
	"strings"
	"testing"
)

// seeds are logs of every dialect with damage of every kind in them.
func seeds() []string {
	a := one("select 1;\n")
	maria := "# Time: 261121  7:33:34\n# User@Host: app[app] @ web1 [10.0.0.1]\n# Thread_id: 31  Schema: shop  " +
		"QC_hit: No\n" +
		"# Query_time: 0.001400  Lock_time: 0.000100  Rows_sent: 3  Rows_examined: 40\n# Rows_affected: 0  " +
		"Bytes_sent: 120\n" +
		"# Full_scan: Yes  Full_join: No  Tmp_table: Yes  Tmp_table_on_disk: No\n# Filesort: No  Filesort_on_disk: " +
		"No  Merge_passes: 0  Priority_queue: No\n" +
		"#\n# explain: id\tselect_type\n# explain: 1\tSIMPLE\n#\nuse `shop`;\nSET timestamp=1795246414;\nselect " +
		"1\nfrom items;\n"
	percona := "# Time: 071218 11:48:27 # User@Host: [SQL_SLAVE] @  []\n# Thread_id: 10  Schema: a b;  Last_errno: 1 " +
		" Killed: 0\n# Query_time: 0.7  Lock_time: 0\n" +
		"# No InnoDB statistics available for this query\nuse db1;\nSET insert_id=1,timestamp=1197996507;\n# " +
		"administrator command: Quit;\n"
	banner := "/usr/sbin/mysqld, Version: 5.0.38 (x). started with:\nTcp port: 3306  Unix socket: /s\nTime           " +
		"      Id Command    Argument\n"
	return []string{
		"", "#", "\n", a, maria, percona, banner, a + maria + percona + banner + a,
		a + "garbage;\n" + maria, a + "\x00\x00" + a, a[:len(a)-3] + a, a[:len(a)-3] + banner + a, a[:60] + a,
		a[:90] + a, a[:130] + maria,
		strings.ReplaceAll(a+maria, "\n", "\r\n"), a + "use x;\n" + a, maria + "# Schema: x;\n" + a,
		a + "select ';\n# Time: 2026\nuse y;\n';\n" + a,
		a + "\nuse y;\n" + a, "# Query_time: 1\nuse z;\n# Query_time: 1\nselect 1;\n# Query_time: 1\nuse z;\nselect " +
			"2;\n", maria + maria + maria[:100],
		"# Query_time: 18446744073709551616.5\nx;\n# Query_time: 1  Query_time: 2  A: B: 3  C:\nx;\n# Time: x\n# " +
			"Query_time: 1\n#\n# x\nselect 1;\n",
		"# Query_time: 1 # User@Host: a[b] @ c [d]  Id: 3 # User@Host: x;\n;\n;\n# Query_time: 1\n;\n# Schema: \n# " +
			"Query_time: 1\nSET timestamp=1;\n",
	}
}

// checkPieces holds what is true of any bytes: each is in one entry, in one skip, or a line between entries; in order.
func checkPieces(t *testing.T, p anyParser, d []byte) {
	t.Helper()
	type span struct{ from, to int64 }
	var spans []span
	skips := 0
	take := func(before int64) {
		for _, s := range p.Skipped()[skips:] {
			if s.Offset < before {
				spans = append(spans, span{s.Offset, s.Offset + s.Length})
				skips++
			}
		}
	}
	p.Reset(d, 0, State{})
	for e := (Entry{}); p.Next(&e); {
		take(e.Offset)
		spans = append(spans, span{e.Offset, e.Offset + e.Length})
		if len(e.Figures) == 0 || e.Rate == 0 {
			t.Fatalf("an entry without figures at %d", e.Offset)
		}
	}
	take(int64(len(d)) + 1)
	if skips != len(p.Skipped()) {
		t.Fatal("skips are out of order")
	}
	at := int64(0)
	between := func(to int64) {
		for at < to {
			next := int64(lineEnd(d[:to], int(at)))
			if line := d[at:next]; !blank(line) && !banner(line) {
				t.Fatalf("lost at %d: %q", at, line)
			}
			at = next
		}
	}
	for _, s := range spans {
		if s.from < at || s.to <= s.from || s.to > int64(len(d)) {
			t.Fatalf("%v at %d: %v", s, at, spans)
		}
		between(s.from)
		at = s.to
	}
	between(int64(len(d)))
}

// naive is a parser that forgets all it learned before each entry.
type naive struct{ *Parser }

func (n naive) Next(e *Entry) bool {
	clear(n.nodes)
	return n.Parser.Next(e)
}

func checkLearning(t *testing.T, log string) {
	t.Helper()
	want, wantSkips := readAll(NewParser(), log, 0, State{}, false)
	trained := NewParser()
	for _, s := range seeds() {
		readAll(trained, s, 0, State{}, false)
	}
	readAll(trained, log, 0, State{}, false)
	got, gotSkips := readAll(trained, log, 0, State{}, false)
	if !same(got, want) || !same(gotSkips, wantSkips) {
		t.Fatalf("learning changes what is read:\n%q %q\n%q %q", got, gotSkips, want, wantSkips)
	}
	figures := func(p anyParser) (all []Figure) {
		p.Reset([]byte(log), 0, State{})
		for e := (Entry{}); p.Next(&e); {
			all = append(all, Figure{Value: float64(e.Offset)})
			all = append(all, e.Figures...)
		}
		return all
	}
	fresh := NewParser()
	figures(fresh) // the numbers of unknown attributes
	a, b := figures(naive{fresh}), figures(fresh)
	if len(a) != len(b) {
		t.Fatalf("figures: %v and %v", a, b)
	}
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("figures: %v and %v", a[i], b[i])
		}
	}
}

func checkCuts(t *testing.T, log string, step int) {
	t.Helper()
	want, wantSkips := readAll(NewParser(), log, 0, State{}, false)
	for n := 0; n <= len(log); n += step {
		c := Cut([]byte(log[:n]), false)
		if c < 0 || c > n {
			t.Fatalf("Cut of %d bytes: %d", n, c)
		}
		p := NewParser()
		got, gotSkips := readAll(p, log[:c], 0, State{}, false)
		after := (State{}).After([]byte(log[:c]))
		if s := p.State(); s.At != after.At || s.DB != after.DB {
			t.Fatalf("state behind %q: %v, After says %v", log[:c], s, after)
		}
		more, moreSkips := readAll(NewParser(), log[c:], int64(c), after, false)
		got, gotSkips = append(got, more...), append(gotSkips, moreSkips...)
		if !same(got, want) || !same(gotSkips, wantSkips) {
			t.Fatalf("cut at %d of %q:\n got %q %q\nwant %q %q", c, log, got, gotSkips, want, wantSkips)
		}
		if first := CutFirst([]byte(log[n:])); first >= 0 {
			prefix, suffix := n+first, ""
			if prefix < len(log) {
				suffix = log[prefix:]
			}
			a, aSkips := readAll(NewParser(), log[:prefix], 0, State{}, false)
			b, bSkips := readAll(NewParser(), suffix, int64(prefix), (State{}).After([]byte(log[:prefix])), false)
			if a, aSkips = append(a, b...), append(aSkips, bSkips...); !same(a, want) || !same(aSkips, wantSkips) {
				t.Fatalf("CutFirst at %d of %q:\n got %q %q\nwant %q %q", prefix, log, a, aSkips, want, wantSkips)
			}
		}
	}
}

func TestAnyCutGivesTheSameEntries(t *testing.T) {
	for _, s := range seeds() {
		checkCuts(t, s, 7)
		checkPieces(t, NewParser(), []byte(s))
		checkLearning(t, s)
	}
	checkCuts(t, string(fullLog(40)), 997)
	checkCuts(t, strings.Repeat(seeds()[7], 40), 4999)
}

func FuzzParser(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s), uint16(len(s)/2))
	}
	f.Fuzz(func(t *testing.T, d []byte, n uint16) {
		checkPieces(t, NewParser(), d)
		checkLearning(t, string(d))
		checkCuts(t, string(d), max(int(n), len(d)/4+1))
		Sniff(d)
		if c := Cut(d, true); c != len(d) {
			t.Fatalf("Cut at the end: %d of %d", c, len(d))
		}
	})
}

// FuzzPasted puts any text into a statement and between entries: the entries around it are read all the same.
func FuzzPasted(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, d []byte) {
		a, b := one("select 'first';\n"), one("select 'last';\n")
		if bytes.Contains(d, []byte("# ")) {
			return // may be an entry
		}
		got, _ := sqls(a + string(d) + "\n" + b)
		if n := len(got); n < 2 || !strings.HasPrefix(got[0], "select 'first'") || got[n-1] != "select 'last'" &&
			!bytes.HasSuffix(d, []byte("#")) {
			t.Fatalf("%q", got)
		}
	})
}
