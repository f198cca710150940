package workload

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func build(t *testing.T, w Workload, given map[string]string) *Plan {
	t.Helper()
	p, err := w.Build(given)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// calls returns the statements of the next operation.
func calls(t *testing.T, g Generator) (list []Call) {
	t.Helper()
	var op Op
	g.Begin(&op)
	for {
		var c Call
		more, err := g.Next(&c)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return list
		}
		list = append(list, c)
	}
}

// texts returns the statements of the next operation with their arguments in place.
func texts(t *testing.T, p *Plan, g Generator) []string {
	t.Helper()
	var out []string
	for _, c := range calls(t, g) {
		b, err := p.Statements[c.Statement].AppendText(nil, c.Args)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// pattern turns the shape of a statement into a regular expression: # is a number, C and P are the texts of columns c
// and pad.
func pattern(shape string) *regexp.Regexp {
	s := regexp.QuoteMeta(shape)
	group := `\d{11}`
	s = strings.ReplaceAll(s, "#", `\d+`)
	s = strings.ReplaceAll(s, "<C>", "'"+group+strings.Repeat("-"+group, 9)+"'")
	s = strings.ReplaceAll(s, "<P>", "'"+group+strings.Repeat("-"+group, 4)+"'")
	return regexp.MustCompile("^" + s + "$")
}

// checkShape fails when the operations of a workload are not these statements in this order.
func checkShape(t *testing.T, w Workload, given map[string]string, shapes ...string) {
	t.Helper()
	p := build(t, w, given)
	g := p.Generator(1, 0)
	for range 20 {
		got := texts(t, p, g)
		if len(got) != len(shapes) {
			t.Fatalf("%s %v: %d statements, want %d: %q", w.Name(), given, len(got), len(shapes), got)
		}
		for i := range got {
			if !pattern(shapes[i]).MatchString(got[i]) {
				t.Fatalf("%s %v: statement %d is %s, want %s", w.Name(), given, i, got[i], shapes[i])
			}
		}
	}
}

// refuses fails when the options are accepted, or the error does not say this.
func refuses(t *testing.T, w Workload, given map[string]string, mention string) {
	t.Helper()
	if _, err := w.Build(given); err == nil || !strings.Contains(err.Error(), mention) {
		t.Errorf("%s %v: %v; want %q", w.Name(), given, err, mention)
	}
}

const (
	point    = "SELECT c FROM sbtest# WHERE id=#"
	simple   = "SELECT c FROM sbtest# WHERE id BETWEEN # AND #"
	sum      = "SELECT SUM(k) FROM sbtest# WHERE id BETWEEN # AND #"
	order    = "SELECT c FROM sbtest# WHERE id BETWEEN # AND # ORDER BY c"
	distinct = "SELECT DISTINCT c FROM sbtest# WHERE id BETWEEN # AND # ORDER BY c"
	update   = "UPDATE sbtest# SET k=k+1 WHERE id=#"
	update2  = "UPDATE sbtest# SET c=<C> WHERE id=#"
	del      = "DELETE FROM sbtest# WHERE id=#"
	ins      = "INSERT INTO sbtest# (id, k, c, pad) VALUES (#, #, <C>, <P>)"
)

func TestOneTableForEachKindOfStatement(t *testing.T) {
	p := build(t, ReadWrite{}, map[string]string{"tables": "50", "delete-inserts": "3"})
	g := p.Generator(3, 0)
	table := regexp.MustCompile(`sbtest\d+`)
	seen := map[string]bool{}
	for range 50 {
		s := texts(t, p, g)
		for i := 2; i <= 10; i++ { // BEGIN, then ten reads
			if a, b := table.FindString(s[1]), table.FindString(s[i]); a != b {
				t.Fatalf("point reads of one transaction go to %s and %s", a, b)
			}
		}
		id := regexp.MustCompile(`(?:id=|\()(\d+)`)
		for i := len(s) - 7; i < len(s)-1; i += 2 {
			d, n := id.FindStringSubmatch(s[i]), id.FindStringSubmatch(strings.Replace(s[i+1], "(id,", "", 1))
			if d[1] != n[1] || table.FindString(s[i]) != table.FindString(s[i+1]) {
				t.Fatalf("%s is followed by %s", s[i], s[i+1])
			}
		}
		seen[table.FindString(s[1])] = true
	}
	if len(seen) < 20 {
		t.Errorf("50 transactions used %d of 50 tables", len(seen))
	}
}

func TestRangesAreAsLongAsAsked(t *testing.T) {
	p := build(t, ReadOnly{}, map[string]string{
		"range-size": "7", "point-selects": "0",
		"skip-trx": "on", "table-size": "1000",
	})
	g := p.Generator(1, 0)
	for range 100 {
		for _, c := range calls(t, g) {
			from, to := int64(c.Args[0].Bits()), int64(c.Args[1].Bits())
			if to-from != 6 || from < 1 || from > 1000 {
				t.Fatalf("from %d to %d, want 7 ids from within the table", from, to)
			}
		}
	}
}

func TestSeedAndSessionDecide(t *testing.T) {
	p := build(t, ReadWrite{}, nil)
	f := func(seed uint64, session int) string {
		g := p.Generator(seed, session)
		var all []string
		for range 3 {
			all = append(all, texts(t, p, g)...)
		}
		return strings.Join(all, "\n")
	}
	if once, again := f(1, 0), f(1, 0); once != again {
		t.Error("the same seed and session give other operations")
	}
	if f(1, 0) == f(2, 0) || f(1, 0) == f(1, 1) {
		t.Error("another seed or session gives the same operations")
	}
}

func TestOperationsAllocateNothing(t *testing.T) {
	empty := []Datum{{}}
	for _, w := range All() {
		given := map[string]string{}
		if slices.ContainsFunc(w.Options(), func(o Option) bool { return o.Name == "tables" }) {
			given["tables"] = "4"
		}
		p := build(t, w, given)
		g := p.Generator(1, 0)
		var op Op
		var c Call
		n := testing.AllocsPerRun(200, func() {
			g.Begin(&op)
			for more, _ := g.Next(&c); more; more, _ = g.Next(&c) {
				if p.Statements[c.Statement].Rows {
					g.Row(empty)
				}
			}
		})
		if n > 0 {
			t.Errorf("%s: %v allocations an operation", w.Name(), n)
		}
	}
}

// TestAgain: a failed operation is tried again with what was drawn for it.
func TestAgain(t *testing.T) {
	for _, w := range All() {
		p := build(t, w, nil)
		g := p.Generator(1, 0)
		var op Op
		g.Begin(&op)
		rest := func() (out []string) {
			for {
				var c Call
				if more, err := g.Next(&c); err != nil || !more {
					return out
				}
				if p.Statements[c.Statement].Rows {
					g.Row([]Datum{{}})
				}
				if c.Text != nil {
					out = append(out, string(c.Text))
					continue
				}
				b, err := p.Statements[c.Statement].AppendText(nil, c.Args)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, string(b))
			}
		}
		var c Call
		if _, err := g.Next(&c); err != nil {
			t.Fatal(err)
		}
		g.Again()
		one := rest()
		g.Again()
		if two := rest(); len(one) == 0 || !slices.Equal(one, two) {
			t.Errorf("%s: %q, then again %q", w.Name(), one, two)
		}
	}
}

func TestRows(t *testing.T) {
	p := build(t, PointSelect{}, map[string]string{"tables": "2", "table-size": "1000", "rand-type": "uniform"})
	row := pattern("(#,#,<C>,<P>)")
	source := func(table int) func([]byte, int) []byte {
		fill := p.Tables[table].Fill(5)
		var dst []byte
		emit := func(row []Datum) {
			for i, d := range row {
				dst = d.AppendLiteral(append(dst, "(,"[min(i, 1)]))
			}
			dst = append(dst, ')')
		}
		return func(to []byte, n int) []byte {
			dst = to
			fill(n, emit)
			return dst
		}
	}
	a, b, other := source(0), source(0), source(1)
	for n := 1; n <= 300; n++ {
		x := a(nil, n)
		if !row.Match(x) || !bytes.HasPrefix(x, fmt.Appendf(nil, "(%d,", n)) {
			t.Fatalf("row %d is %s", n, x)
		}
		if n%3 == 0 && !bytes.Equal(x, b(nil, n)) {
			t.Fatalf("row %d depends on the rows before", n)
		}
		if bytes.Equal(x, other(nil, n)) {
			t.Fatalf("row %d is the same in both tables", n)
		}
	}
	buf := make([]byte, 0, 1000)
	if n := testing.AllocsPerRun(100, func() { buf = a(buf[:0], 9) }); n > 0 {
		t.Errorf("%v allocations a row", n)
	}
}

func TestBuildRefuses(t *testing.T) {
	f := func(key, value, mention string) {
		t.Helper()
		_, err := ReadWrite{}.Build(map[string]string{key: value})
		if err == nil || !strings.Contains(err.Error(), mention) {
			t.Errorf("%s=%s: %v; want %q", key, value, err, mention)
		}
	}
	f("table-sise", "1", `did you mean "table-size"?`)
	f("nonsense-at-all", "1", "unknown")
	f("table-size", "0", "from 1")
	f("table-size", "-5", "whole number")
	f("table-size", "1.5", "whole number")
	f("table-size", "3000M", "at most")
	f("tables", "99999999999999999999999", "whole number")
	f("tables", "0", "from 1")
	f("skip-trx", "maybe", "on or off")
	f("rand-type", "exponential", "special, uniform, gaussian, pareto, zipfian")
	f("rand-type", "unifrom", `did you mean "uniform"?`)
	f("rand-spec-iter", "0", "from 1")
	f("rand-spec-res", "100", "at most 99")
	f("mysql-db", "", "name of a database")
	if _, err := (ReadWrite{}).Build(map[string]string{"rand-type": "pareto", "rand-pareto-h": "1"}); err == nil {
		t.Error("rand-pareto-h=1 is accepted")
	}
	for _, e := range []string{"-0.1", "NaN", "Inf", "101", "x", ""} {
		if _, err := (ReadWrite{}).Build(map[string]string{"rand-type": "zipfian", "rand-zipfian-exp": e}); err ==
			nil || !strings.Contains(err.Error(), "0 to 100") {
			t.Errorf("rand-zipfian-exp=%s: %v", e, err)
		}
	}
	none := map[string]string{"point-selects": "0", "range-selects": "off"}
	if _, err := (ReadOnly{}).Build(none); err == nil || !strings.Contains(err.Error(), "nothing is left") {
		t.Errorf("an empty transaction: %v", err)
	}
}

func TestOptionsInForce(t *testing.T) {
	p := build(t, ReadWrite{}, map[string]string{"table_size": "10K", "skip-trx": "", "tables": "2"})
	if p.Options["table-size"] != "10000" || p.Options["skip-trx"] != "on" || p.Options["range-size"] != "100" ||
		p.Schema != "sbtest" {
		t.Errorf("options %v in %s", p.Options, p.Schema)
	}
	if len(p.Options) != len(oltpOptions()) {
		t.Errorf("%d options in force, %d exist", len(p.Options), len(oltpOptions()))
	}
	f := func(randType, note string) {
		t.Helper()
		p := build(t, PointSelect{}, map[string]string{"rand-type": randType})
		if all := strings.Join(p.Notes, "; "); !strings.Contains(all, note) || (all != "") != (note != "") {
			t.Errorf("%s: notes %q, want %q", randType, all, note)
		}
	}
	f("special", "75 % of the draws go to about 1 % of the rows")
	f("pareto", "80 % of the draws go to 20 % of the rows")
	f("zipfian", "30 % of the draws go to 1 % of the rows")
	f("uniform", "")
	f("gaussian", "")
}
