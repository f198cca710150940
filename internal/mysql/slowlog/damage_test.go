package slowlog

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
)

// one writes an entry as MySQL does.
func one(sql string) string {
	return "# Time: 2026-11-21T07:33:34.123456Z\n# User@Host: root[root] @ localhost []  Id:     8\n" +
		"# Query_time: 0.5  Lock_time: 0.000003 Rows_sent: 1  Rows_examined: 2\nSET timestamp=1795246414;\n" + sql
}

func TestStatementsKeepWhatTheyHold(t *testing.T) {
	f := func(sql string) {
		t.Helper()
		log := one("select 0;\n") + one(sql+";\n") + one("select 2;\n")
		got, skipped := sqls(log)
		// Comments with # in front of a statement belong to nobody, as in pt-query-digest.
		if want := []string{"select 0", sql, "select 2"}; !same(got, want) || len(skipped) != 0 {
			t.Errorf("got %q %q, want %q", got, skipped, want)
		}
	}
	f("select 1")
	f("select 1;\n\n")
	f("")
	f("select 1\n\n\nfrom t")
	f("-- who\nselect 1")
	f("/* who */ select 1")
	f("use shop")
	f("SET timestamp=5")
	f("select 'a;\nb;\nc' from t")
	f("select 'it''s; \\'\n;\nb;\nc', \"x;\ny\", `z;\nz` from t")
	f("select 1 -- it's;\nfrom t")
	f("select 1 # a comment;\nfrom t")
	f("select 1 /* two;\nlines */ from t")
	f("select 1;\n-- done")
	f("select 1;\nselect 2")
	f("selec 1;\nno sql")
	f("CREATE PROCEDURE p()\nBEGIN\n  DECLARE x INT;\n  xyz: LOOP\n    foo;\n  # a comment;\n# Time: flies\n  END " +
		"LOOP;\nEND")
	f("BEGIN NOT ATOMIC\n  x;\n  y;\nEND")
	f("insert into t values ('\x00\xff\xfe;\n\x00')")
	// Text of a log, but no ; before it and no whole header.
	f("select '\n# Time: 2026-11-21T07:33:34.123456Z\n# User@Host: a[a] @ b []\n' from t")
	f("select 'Tcp port: 3306\nTcp port: 3306\nTime                 Id Command    Argument\n' from t")
	f("select 1\n# Query_time: 5\nfrom t")
	f("select 1\n# Query_time: 5  Lock_time: soon\nfrom t")
	f("select " + strings.Repeat("'x;\n',", 10000) + "1")
}

func TestServersOwnLinesAndStatements(t *testing.T) {
	f := func(log string, want ...string) {
		t.Helper()
		got, skipped := sqls(log)
		if got = append(got, skipped...); !same(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", log, got, want)
		}
	}
	head := "# User@Host: root[root] @ localhost []\n# Query_time: 2  Lock_time: 0  Rows_sent: 1  Rows_examined: 0\n"
	f(head+"use shop;\nSET NAMES utf8;\n", "SET NAMES utf8")
	// without SET timestamp it can only be the statement
	f(head+"use shop;\n"+head+"select 1;\n", "use shop", "select 1")
	f(head+"SET timestamp=1, sql_mode='';\n", "SET timestamp=1, sql_mode=''")
	f(head+"SET timestamp=1;\n# who\n# why\nselect 1;\n", "select 1")
	f(head+"SET timestamp=1;\n# administrator command: Quit;\n", "Quit")
	f(head+"# administrator command: Quit;\n"+head+"select 1;\n", "Quit", "select 1")
	f(head+"select 1", reasonTornEnd+": "+head+"select 1")
	f(head+"select 1\n", "select 1") // logs of other tools
	f(head+"select 1;", "select 1")
	f("")
	f("\n \n\r\n")
}

func TestDamage(t *testing.T) {
	a, b, c := one("select 1;\n"), one("select 2\nfrom b;\n"), one("select 3;\n")
	banner := "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (Debian). started with:\nTcp port: 3306  Unix " +
		"socket: /run/s\nTime                 Id Command    Argument\n"
	maria := strings.Replace(banner, "Time                 Id Command    Argument", "Time\t\t    Id Command\tArgument",
		1)
	windows := "C:\\mysql\\bin\\mysqld.exe, Version: 5.1.30 (MySQL). started with:\r\nTCP Port: 3306, Named Pipe: " +
		"(null)\r\nTime                 Id Command    Argument\r\n"
	f := func(log string, statements, skipped []string) {
		t.Helper()
		got, lost := sqls(log)
		if !same(got, statements) || !same(lost, skipped) {
			t.Errorf("%q\n got %q\n     %q\nwant %q\n     %q", log, got, lost, statements, skipped)
		}
	}
	all := []string{"select 1", "select 2\nfrom b", "select 3"}
	ends := []string{"select 1", "select 3"}
	f(a+b+c, all, nil)
	f(banner+a+banner+maria+b+windows+c+banner, all, nil)
	f(a+"\n\n"+b+"\r\n"+c+"\n", all, nil)

	// Garbage.
	for _, g := range []string{
		"garbage\n", "\x00\x00\x00\x00\n", "xx\nyy\n", "\xff\xfe\x00;\nzz;\n", "12 monkeys;\n",
		"{\"json\": true}\n", "2026-11-21 7:33:34 [Note] mysqld: ready\n",
	} {
		f(g+a+b+c, all, []string{reasonText + ": " + g})
		f(a+g+b+c, all, []string{reasonText + ": " + g})
		f(a+b+g+c, all, []string{reasonText + ": " + g})
		f(a+b+c+g, all, []string{reasonText + ": " + g})
	}
	f(a+"garbage"+b+c, all, []string{reasonText + ": garbage"})
	f(a+"\x00\x00\x00"+b+c, all, []string{reasonText + ": \x00\x00\x00"})

	// Torn entries. A statement that the server did not finish runs into the next header, or into the lines of the next
	// start.
	torn := b[:len(b)-len("b;\n")]
	f(a+torn+"\n"+c, ends, []string{reasonTorn + ": " + torn + "\n"})
	f(a+torn+c, ends, []string{reasonTorn + ": " + torn})
	f(a+torn+"\n"+banner+c, ends, []string{reasonTorn + ": " + torn + "\n"})
	f(a+c+torn, ends, []string{reasonTornEnd + ": " + torn})
	lines := strings.SplitAfter(b, "\n")
	f(a+lines[0]+c, ends, []string{reasonNoText + ": " + lines[0]})
	f(a+lines[0]+lines[1]+c, ends, []string{reasonNoText + ": " + lines[0] + lines[1]})
	f(a+lines[0]+lines[1]+lines[2]+c, ends, []string{reasonNoText + ": " + lines[0] + lines[1] + lines[2]})
	f(a+lines[0]+lines[1]+lines[2]+lines[3]+c, ends, []string{reasonNoText + ": " + lines[0] +
		lines[1] + lines[2] + lines[3]})
	f(a+lines[0]+lines[1][:20]+c, ends, []string{reasonNoText + ": " + lines[0] + lines[1][:20]})
	f(a+lines[0]+lines[1]+lines[3]+lines[4]+lines[5]+c, ends, []string{reasonNoTime + ": " + lines[0] + lines[1] +
		lines[3] + lines[4] + lines[5]})
	f(a+lines[1]+lines[2]+lines[3]+lines[4]+lines[5]+c, all, nil) // its "# Time:" lost: the time is told by SET
	f(a+c+lines[0][:12], ends, []string{reasonTornEnd + ": " + lines[0][:12]})
	f(a+c+lines[0][:4], ends, []string{reasonTornEnd + ": " + lines[0][:4]})
	f(a+c+lines[0]+lines[1]+lines[2], ends, []string{reasonTornEnd + ": " + lines[0] + lines[1] + lines[2]})
	// Cut at its beginning.
	f(lines[3]+lines[4]+lines[5]+c, []string{"select 3"}, []string{reasonText + ": " + lines[3] + lines[4] + lines[5]})
	f("om b;\n"+c, []string{"select 3"}, []string{reasonText + ": om b;\n"})
	// A header lost.
	f(a+lines[3]+lines[4]+lines[5]+c, ends, []string{reasonText + ": " + lines[3] + lines[4] + lines[5]})

	// A clock that went back.
	back := strings.Replace(b, "Query_time: 0.5", "Query_time: 18446744073709.551230", 1)
	f(a+back+c, ends, []string{reasonBadTime + ": " + back})
	back = strings.Replace(b, "Query_time: 0.5", "Query_time: 18446744073708.796870.000036", 1)
	f(a+back+c, ends, []string{reasonBadTime + ": " + back})
	back = strings.Replace(b, "Lock_time: 0.000003", "Lock_time: 18446744073709.551230", 1)
	f(a+back+c, ends, []string{reasonBadTime + ": " + back})
	back = strings.Replace(b, "Query_time: 0.5", "Query_time: -0.5", 1)
	f(a+back+c, ends, []string{reasonBadTime + ": " + back})
}

func TestTimeGoesBackAndZonesMix(t *testing.T) {
	p := NewParser()
	log := strings.Replace(one("select 1;\n"), "2026-11-21T07:33:34.123456Z", "2026-11-21T07:33:34.123456+05:30", 1) +
		strings.Replace(one("select 2;\n"), "2026-11-21T07:33:34.123456Z", "2025-01-01T00:00:00.000001Z", 1) +
		strings.Replace(one("select 3;\n"), "2026-11-21T07:33:34.123456Z", "261121  7:33:34", 1) +
		"# Query_time: 1\nselect 4;\n"
	got, skips := readAll(p, log, 0, State{}, false)
	if len(skips) != 0 || len(got) != 4 {
		t.Fatal(got, skips)
	}
	for i, want := range []string{
		" at 2026-11-21T02:03:34.123456 ", " at 2025-01-01T00:00:00.000001 ",
		" at 2026-11-21T07:33:34 ", " at 2026-11-21T07:33:34~ ",
	} {
		if !strings.Contains(got[i], want) {
			t.Errorf("got %s, want%s", got[i], want)
		}
	}
}

// TestWorkIsLinear reads the worst kinds of input: work that grows with its square would take many minutes.
func TestWorkIsLinear(t *testing.T) {
	const size = 256 << 10
	began := time.Now()
	for _, unit := range []string{
		"x", ";\n", "';\n", "select 1;\n", "select 1;\nx\n", "# Time: 2026\n", "# Query_time: x ",
		"# Query_time: 1  Lock_time: x  ", "# Query_time: 1\n", "# Schema: ",
		"# User@Host: x", "# User@Host: x[y ", "# User@Host: x\n", "Tcp port: 1\n", "# Schema: a;\n", "\n", "\x00",
		"# a: b c: 1 ", "use x;\n", ";\nuse x;\n# Query_time: 1",
		"/*;\n", "# administrator command: Quit;\n", "create procedure p()\nx;\n", "# \n", "a_b: 1 ", "\r",
		", Version: started with:\n",
	} {
		d := bytes.Repeat([]byte(unit), size/len(unit))
		for _, before := range []string{"", one("select 1\n"), one("create function f()\n"), one("")} {
			d := append([]byte(before), d...)
			p := NewParser()
			p.Reset(d, 0, State{})
			for e := (Entry{}); p.Next(&e); {
			}
			Cut(d, false)
			CutFirst(d)
			(State{}).After(d)
			Sniff(d[:64<<10])
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Fatalf("%v after %q", took, unit)
		}
	}
}

// TestOutsideAgrees holds the reading that goes on in the middle of a text to package mytext's rules of quoting.
func TestOutsideAgrees(t *testing.T) {
	pieces := []string{
		"'", "'", "\"", "`", "\\", "/*", "*/", "/*!40101 ", "--", "-- ", "--\t", "--\n", "--\r",
		"--\x01", "#", "\n", " ", "a", "1", ";\n", ";\n", ";\n",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		var s []byte
		for range 1 + r.IntN(16) {
			s = append(s, pieces[r.IntN(len(pieces))]...)
		}
		var l lexer
		kind, end := mytext.Sign, 0
		for n, from := 0, 0; n < len(s); n++ {
			if n >= end {
				from = n
				kind, end = mytext.Next(s, n)
			}
			if s[n] != ';' {
				continue
			}
			if want := kind == mytext.Sign; l.outside(s, n) != want {
				t.Fatalf("%q at %d, of a token from %d: outside %v, want %v", s, n, from, !want, want)
			}
		}
	}
}
