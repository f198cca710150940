package slowlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestGeneralLogs(t *testing.T) {
	f := func(name, log string, want ...string) {
		t.Helper()
		spanned, skips := readAll(NewGeneralParser(), log, 0, State{}, false)
		got := slices.Clone(spanned)
		for i := range got {
			_, got[i], _ = strings.Cut(got[i], " ")
		}
		if got = append(got, skips...); !same(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
		want = append(spanned, skips...)
		// In pieces.
		for n := range len(log) {
			p := NewGeneralParser()
			c := CutGeneral([]byte(log[:n]), false)
			got, skips := readAll(p, log[:c], 0, State{}, false)
			state := p.State().Clone()
			q := NewGeneralParser()
			more, moreSkips := readAll(q, log[c:], int64(c), state, false)
			if got = append(append(got, more...), append(skips, moreSkips...)...); !same(got, want) {
				t.Fatalf("%s, cut at %d:\n got %s\nwant %s", name, c, strings.Join(got, "\n     "),
					strings.Join(want, "\n     "))
			}
		}
		checkPieces(t, NewGeneralParser(), []byte(log))
	}
	banner := "/usr/sbin/mysqld, Version: 9.7.0 (x). started with:\nTcp port: 3306  Unix socket: /s\nTime            " +
		"     Id Command    Argument\n"
	f("MySQL 9", banner+
		"2026-11-21T07:33:34.000001Z\t    8 Connect\troot@localhost on shop using Socket\n"+
		"2026-11-21T07:33:34.000002Z\t    8 Query\tselect 1\n"+
		"2026-11-21T07:33:34.000003Z\t    9 Query\tselect 2\nfrom t\n\twhere a = 1\n2026-11-21\n"+
		"2026-11-21T07:33:34.000004Z\t    8 Init DB\tother\n"+
		"2026-11-21T07:33:34.000005Z\t    8 Prepare\tselect ?\n"+
		"2026-11-21T07:33:34.000006Z\t    8 Execute\tselect 5\n"+
		"2026-11-21T07:33:34.000007Z\t    8 Close stmt\t\n"+banner+
		"2026-11-21T07:33:34.000008Z\t    8 Quit\t\n"+
		"2026-11-21T07:33:34.000009Z\t    8 Query\tselect 3\n",
		`at 2026-11-21T07:33:34.000001 id 8 root@localhost db shop admin "Connect"`,
		`at 2026-11-21T07:33:34.000002 id 8 root@localhost db shop~ "select 1"`,
		`at 2026-11-21T07:33:34.000003 id 9 "select 2\nfrom t\n\twhere a = 1\n2026-11-21"`,
		`at 2026-11-21T07:33:34.000004 id 8 root@localhost db other admin "Init DB"`,
		`at 2026-11-21T07:33:34.000005 id 8 root@localhost db other~ admin "Prepare"`,
		`at 2026-11-21T07:33:34.000006 id 8 root@localhost db other~ "select 5"`,
		`at 2026-11-21T07:33:34.000007 id 8 root@localhost db other~ admin "Close stmt"`,
		`at 2026-11-21T07:33:34.000008 id 8 root@localhost db other~ admin "Quit"`,
		`at 2026-11-21T07:33:34.000009 id 8 "select 3"`)
	f("MariaDB", "261121  7:33:34\t     5 Connect\tapp@web1 on  using TCP/IP\n\t\t     5 Query\tselect 1\r\n261121  "+
		"7:33:35\t     5 Field List\tt \n",
		`at 2026-11-21T07:33:34 id 5 app@web1 admin "Connect"`,
		`at 2026-11-21T07:33:34~ id 5 app@web1 "select 1"`,
		`at 2026-11-21T07:33:35 id 5 app@web1 admin "Field List"`)
	f("MySQL 5.0", "071007  7:55:00\t      1 Connect     root@localhost on shop\n\t\t      1 Query       SELECT "+
		"1\n\t\t      1 Quit       \n",
		`at 2007-10-07T07:55:00 id 1 root@localhost db shop admin "Connect"`,
		`at 2007-10-07T07:55:00~ id 1 root@localhost db shop~ "SELECT 1"`,
		`at 2007-10-07T07:55:00~ id 1 root@localhost db shop~ admin "Quit"`)
	f("damage", "om t\nwhere\n2026-11-21T07:33:34.000001Z\t    8 Connect\tAccess denied for user 'x'@'y' (using "+
		"password: YES)\ngarbage\n\x00\n2026-11-21T07:33:34.000002Z\t    8 Query\tselect",
		`at 2026-11-21T07:33:34.000001 id 8 errno 1045 admin "Connect"`,
		"0+11 "+reasonText, "106+10 "+reasonText, "116+46 "+reasonTornEnd)
	f("empty", "")
}

func TestGeneralSessionsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range maxSessions + 10 {
		fmt.Fprintf(&b, "\t\t%5d Connect\troot@localhost on shop\n", i+1)
	}
	p := NewGeneralParser()
	readAll(p, b.String(), 0, State{}, false)
	if n := len(p.State().Sessions); n > maxSessions || n < maxSessions/2 {
		t.Fatalf("%d sessions are remembered", n)
	}
	// The newest stay.
	got, _ := readAll(p, fmt.Sprintf("\t\t%5d Query\tselect 1\n", maxSessions+10), 0, p.State(), false)
	if len(got) != 1 || !strings.Contains(got[0], "db shop") {
		t.Fatal(got)
	}
}

func TestGeneralParserDoesNotAllocate(t *testing.T) {
	log := []byte("2026-11-21T07:33:34.000001Z\t    8 Connect\troot@localhost on shop using Socket\n" +
		strings.Repeat("2026-11-21T07:33:34.000002Z\t    8 Query\tselect 1\nfrom t\n", 100))
	p := NewGeneralParser()
	s := State{Sessions: map[uint64]Session{}}
	var e Entry
	n := testing.AllocsPerRun(10, func() {
		p.Reset(log, 0, s)
		for p.Next(&e) {
		}
	})
	if n > 3 { // the one Connect
		t.Errorf("%v allocations for 100 entries", n)
	}
}

func FuzzGeneralParser(f *testing.F) {
	f.Add([]byte("2026-11-21T07:33:34.000001Z\t    8 Connect\troot@localhost on shop using "+
		"Socket\n2026-11-21T07:33:34.000002Z\t    8 Query\tselect 1\nfrom t\n"), uint16(90))
	f.Add([]byte("x\n261121  7:33:34\t     5 Connect\tapp@web1 on  using TCP/IP\n\t\t     5 Query\tselect "+
		"1\r\n261121  7:33:35\t     5 Quit\n"), uint16(70))
	f.Fuzz(func(t *testing.T, d []byte, n uint16) {
		checkPieces(t, NewGeneralParser(), d)
		want, wantSkips := readAll(NewGeneralParser(), string(d), 0, State{}, false)
		p := NewGeneralParser()
		c := CutGeneral(d[:min(int(n), len(d))], false)
		got, skips := readAll(p, string(d[:c]), 0, State{}, false)
		more, moreSkips := readAll(NewGeneralParser(), string(d[c:]), int64(c), p.State(), false)
		if got, skips = append(got, more...), append(skips, moreSkips...); !same(got, want) || !same(skips, wantSkips) {
			t.Fatalf("cut at %d:\n got %q %q\nwant %q %q", c, got, skips, want, wantSkips)
		}
	})
}
