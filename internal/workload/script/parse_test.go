package script

import (
	"errors"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/workload"
)

func parse(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Parse("dir/test.sql", []byte(text))
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return s
}

func TestParseTransactions(t *testing.T) {
	s := parse(t, "\\option n 5\n\\set a 1\n\\transaction one 3\nSELECT :a;\n\\transaction two\n\\set b 2\nSELECT "+
		":a, :b, :n;")
	if got := strings.Join(s.Transactions(), " "); got != "one two" || s.transactions[0].weight != 3 ||
		s.transactions[1].weight != 1 {
		t.Errorf("%s", got)
	}
	if got := parse(t, "SELECT 1;").Transactions(); len(got) != 1 || got[0] != "test" {
		t.Errorf("%q, want the name of the file", got)
	}
	if st := parse(t, "\\text on\nSELECT 1;\n\\text off\nSELECT 2;").transactions[0].calls; !st[0].Text || st[1].Text {
		t.Error("\\text is not obeyed")
	}
}

func TestParseErrors(t *testing.T) {
	f := func(text string, line, column int, mention ...string) {
		t.Helper()
		_, err := Parse("t.sql", []byte(text))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v, want an *Error", text, err)
			return
		}
		if e.Line != line || e.Column != column || e.Script != "t.sql" {
			t.Errorf("%q: %v; want it at %d:%d", text, err, line, column)
		}
		for _, m := range mention {
			if !strings.Contains(err.Error(), m) {
				t.Errorf("%q: %v; want %q", text, err, m)
			}
		}
	}
	f("", 1, 1, "no statement")
	f("-- only a comment\n", 2, 1, "no statement")
	f("SELECT 1;\nSELECT :idd;", 2, 8, "variable idd", "\\set idd")
	f("\\set id 1\nSELECT :idd;", 2, 8, `did you mean :id?`)
	f("SELECT 1;\nSELECT 'a;\n", 2, 8, "no end", "'")
	f("SELECT 1 /* a", 1, 10, "*/")
	f("SELECT ?;", 1, 8, ":name")
	f("SELECT 1\n\\set a 1\nSELECT 2;", 1, 1, "end it with ;")
	f("SELECT ü, \\n;", 1, 11, "backslash")
	f("SELECT 1 \\gset\n", 1, 1, ";")
	f("SELECT 1; \\gset", 1, 11, "\\into")
	f("\\sett a 1\nSELECT 1;", 1, 1, "did you mean \\set?")
	f("\\frobnicate\nSELECT 1;", 1, 1, "commands are")
	f("\\sleep 10 ms\nSELECT 1;", 1, 1, "\\think")
	f("\\\nSELECT 1;", 1, 1, "\\set NAME")
	f("\\set a\nSELECT 1;", 1, 7, "a value is missing")
	f("\\set 1\nSELECT 1;", 1, 6, "name")
	f("\\set :a 1\nSELECT 1;", 1, 6, "without the colon")
	f("\\set a 1 2\nSELECT 1;", 1, 10, "continues")
	f("\\set a (1 + 2\nSELECT 1;", 1, 14, ") is missing", "column 8")
	f("\\set a 1 +\nSELECT 1;", 1, 11, "a value is missing")
	f("\\set a 1x\nSELECT 1;", 1, 8, "not a number")
	f("\\set a b\nSELECT 1;", 1, 8, "quotes")
	f("\\set a uniform\nSELECT 1;", 1, 8, "uniform(…)")
	f("\\set a unifrom(1, 2)\nSELECT 1;", 1, 8, "did you mean uniform?")
	f("\\set a uniform(1)\nSELECT 1;", 1, 8, "1 argument", "uniform(1, 100)")
	f("\\set a uniform(1 2)\nSELECT 1;", 1, 18, "comma")
	f("\\set a 'x\nSELECT 1;", 1, 8, "no end")
	f("\\set a &\nSELECT 1;", 1, 8, "unexpected")
	f("\\set a :x is 3\nSELECT 1;", 1, 8, "variable x")
	f("\\set x 1\n\\set a :x is 3\nSELECT 1;", 2, 11, "is null")
	f("\\set session 3\nSELECT 1;", 1, 6, "number of the session")
	f("\\option n 1\n\\set n 3\nSELECT 1;", 2, 6, "option")
	f("\\option n 1\n\\option n 3\nSELECT 1;", 2, 9, "option")
	f("\\option n\nSELECT 1;", 1, 10, "no default")
	f("SELECT 1;\n\\option n 1\n", 2, 1, "top")
	f("\\option mysql_db x\nSELECT 1;", 1, 1, "there already")
	f("\\list\nSELECT 1;", 1, 6, "no name")
	f("\\list a\nSELECT 1;", 1, 1, "no values")
	f("\\list a 1 2\nSELECT :a;", 2, 8, "pick(a)")
	f("\\list a 1 2\n\\set a 1\nSELECT 1;", 2, 6, "list")
	f("\\transaction\nSELECT 1;", 1, 13, "name")
	f("\\transaction a/b\nSELECT 1;", 1, 14, "name")
	f("\\transaction a 0\nSELECT 1;", 1, 16, "weight")
	f("\\transaction a\nSELECT 1;\n\\transaction a\nSELECT 2;", 3, 1, "there already")
	f("\\transaction a\n\\transaction b\nSELECT 2;", 1, 1, "no statement")
	f("SELECT 1;\n\\transaction a\nSELECT 2;", 2, 1, "before it")
	f("\\transaction a\n\\set x 1\nSELECT :x;\n\\transaction b\nSELECT :x;", 5, 8, "variable x")
	f("SELECT 1;\n\\think 1\n", 2, 1, "once")
	f("\\set x 1\n\\think 1\nSELECT 1;", 2, 1, "once")
	f("\\think 1 h\nSELECT 1;", 1, 10, "units")
	f("\\set x 1\n\\transaction a\n\\think :x\nSELECT 1;", 3, 8, "options")
	f("\\into a\nSELECT 1;", 1, 1, "right after")
	f("UPDATE t SET a = 1;\n\\into a", 2, 1, "without rows")
	f("\\text maybe\nSELECT 1;", 1, 7, "on or off")
	f("\\if 1\nSELECT 1;", 1, 1, "\\endif")
	f("\\repeat 3\nSELECT 1;", 1, 1, "\\endrepeat")
	f("\\endif\nSELECT 1;", 1, 1, "\\if first")
	f("\\else\nSELECT 1;", 1, 1, "\\if first")
	f("\\endrepeat\nSELECT 1;", 1, 1, "\\repeat first")
	f("\\if 1\n\\repeat 2\n\\endif\nSELECT 1;", 3, 1, "\\if first")
	f("\\if 1\n\\else\n\\elif 2\n\\endif\nSELECT 1;", 3, 1, "\\if first")
	f("SELECT 1;\xff", 1, 10, "UTF-8")
	f(strings.Repeat("\\if 1\n", 60)+"SELECT 1;", 51, 1, "blocks")
	f("\\set a "+strings.Repeat("(", 200)+"1\nSELECT 1;", 1, 108, "inside of each other")
	f("\\set a "+strings.Repeat("-", 200)+"1\nSELECT 1;", 1, 108, "inside of each other")
	f("\\set a "+strings.Repeat("not ", 200)+"1\nSELECT 1;", 1, 408, "inside of each other")
	f("SELECT /*+ it's */ 1;", 1, 8, "hint")
	f("), (;", 1, 1, "begins with a word")
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"SELECT 1;", "\\set aid random(1, 100000 * 10)\nUPDATE t SET a = a + :aid WHERE id = :aid;",
		"\\option rows 10K how many\n\\list c red 'light blue' 3\n\\set x pick(c)\n\\transaction a 3\n\\think " +
			"exponential(10) ms\nSELECT a FROM t{rows} WHERE b = :x; \\into y z\n" +
			"\\if :y > 1 and not :z is null\nBEGIN;\n\\elif :y = " +
			"1.5e3\nCOMMIT;\n\\else\nROLLBACK;\n\\endif\n\\repeat 3\nSELECT :y -- z\n;\n\\endrepeat\n",
		"SELECT 'it\\'s', \"a\"\"b\", `c`, /*+ h */ {d '1'}, @a := 1;",
		"\\set a concat('x', \\\n  string(3))\nINSERT INTO t VALUES (:a);",
		"\\set a zipf(1, 10, 0.9) + -7 % 3 / 2 * (1 <> 2)\nSELECT :a, :a;",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("f.sql", []byte(text))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Line < 1 || e.Column < 1 || e.Text == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		p, err := Workload{Scripts: []*Script{s}}.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		g := p.Generator(1, 3)
		row := []workload.Datum{workload.Int(3), workload.String("x"), {}}
		for range 3 {
			var op workload.Op
			g.Begin(&op)
			for n := range 20 {
				var c workload.Call
				more, err := g.Next(&c)
				if err != nil || !more {
					break
				}
				st := &p.Statements[c.Statement]
				if c.Text == nil {
					if _, err := st.AppendText(nil, c.Args); err != nil {
						t.Fatalf("%q: %v", text, err)
					}
				}
				g.Row(row[:n%4])
			}
			g.Again()
		}
	})
}
