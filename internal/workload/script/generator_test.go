package script

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/workload"
)

func plan(t testing.TB, options map[string]string, texts ...string) *workload.Plan {
	t.Helper()
	var w Workload
	for _, text := range texts {
		w.Scripts = append(w.Scripts, parse(t, text))
	}
	p, err := w.Build(options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// following returns the next statement of a generator as it would be sent, "" at the end.
func following(t testing.TB, p *workload.Plan, g workload.Generator) string {
	t.Helper()
	var c workload.Call
	more, err := g.Next(&c)
	if err != nil {
		t.Fatal(err)
	}
	if !more {
		return ""
	}
	if c.Text != nil {
		return string(c.Text)
	}
	b, err := p.Statements[c.Statement].AppendText(nil, c.Args)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// sent returns the statements of the next operation; every answer is the row given, nil for none.
func sent(t testing.TB, p *workload.Plan, g workload.Generator, row ...workload.Datum) (list []string) {
	t.Helper()
	var op workload.Op
	g.Begin(&op)
	return rest(t, p, g, row...)
}

func rest(t testing.TB, p *workload.Plan, g workload.Generator, row ...workload.Datum) (list []string) {
	t.Helper()
	for s := following(t, p, g); s != ""; s = following(t, p, g) {
		list = append(list, s)
		if row != nil {
			g.Row(row)
			g.Row([]workload.Datum{workload.String("a second row")})
		}
	}
	return list
}

func TestRun(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		p := plan(t, nil, text)
		if got := sent(t, p, p.Generator(1, 7)); !slices.Equal(got, want) {
			t.Errorf("%q sends %q, want %q", text, got, want)
		}
	}
	f("BEGIN; SELECT 1; COMMIT;", "BEGIN", "SELECT 1", "COMMIT")
	f("\\set a 1 + 2 * 3\nSELECT :a;", "SELECT 7")
	f("\\set a 'it''s'\nSELECT :a;\n\\set a :a\nSELECT :a;", `SELECT 'it\'s'`, `SELECT 'it\'s'`)
	f("SELECT :session, :client_id;", "SELECT 7, 7")
	f("\\option n 10K rows\nSELECT :n;", "SELECT 10000")
	f("\\option n 0.5\nSELECT :n;", "SELECT 0.5")
	f("\\option n 'a b'\nSELECT :n;", "SELECT 'a b'")
	f("\\set t 3\nSELECT c FROM t{t}, {t}t WHERE id = :t;", "SELECT c FROM t3, 3t WHERE id = 3")
	f("\\set t 'eu_1'\nSELECT c FROM t_{t} -- more\n;", "SELECT c FROM t_eu_1")
	f("\\repeat 3\n\\set a sequence()\n\\repeat 2\nSELECT :a;\n\\endrepeat\n\\endrepeat", "SELECT 1", "SELECT 1",
		"SELECT 2", "SELECT 2", "SELECT 3", "SELECT 3")
	f("\\repeat 0\nSELECT 1;\n\\endrepeat\nSELECT 2;", "SELECT 2")
	branches := "\nA;\n\\elif :x = 2\nB;\n\\elif :x = 3\nC;\n\\else\nD;\n\\endif\nE;"
	f("\\set x 1\n\\if :x = 1"+branches, "A", "E")
	f("\\set x 2\n\\if :x = 1"+branches, "B", "E")
	f("\\set x 3\n\\if :x = 1"+branches, "C", "E")
	f("\\set x 4\n\\if :x = 1"+branches, "D", "E")
	f("\\if 0\nA;\n\\endif\n\\if 1\n\\if 0\nB;\n\\else\nC;\n\\endif\n\\endif", "C")
	f("\\if 0\n\\set a 1\n\\endif\nSELECT :a;", "SELECT NULL")
	f("\\list c red 'light blue' 7\n\\list c 1.5\n\\set a item(1, c)\n\\set b item(2, c)\n\\set d item(3, c)\n\\set "+
		"e item(4, c)\nSELECT :a, :b, :d, :e;",
		"SELECT 'red', 'light blue', 7, 1.5")
	f("\\text on\n\\set a 'x'\nINSERT INTO t VALUES (:a, :a);", "INSERT INTO t VALUES ('x', 'x')")
	f("\\set a concat('x', \\\n   1)\nSELECT :a;", "SELECT 'x1'")
	f("\\SET a 1 -- a comment\nSELECT :a;", "SELECT 1")
}

func TestInto(t *testing.T) {
	text := "\\set b 'old'\nSELECT a, b FROM t WHERE b = :b; \\into a, b\nUPDATE t SET a = :a WHERE b = :b;"
	p := plan(t, nil, text)
	g := p.Generator(1, 0)
	b := []byte("new")
	got := sent(t, p, g, workload.Int(5), workload.Bytes(b))
	if want := []string{"SELECT a, b FROM t WHERE b = 'old'", "UPDATE t SET a = 5 WHERE b = 'new'"}; !slices.Equal(got,
		want) {
		t.Errorf("%q, want %q", got, want)
	}
	copy(b, "xxx") // the row was valid only during the call
	if got := sent(t, p, g); got[1] != "UPDATE t SET a = NULL WHERE b = NULL" {
		t.Errorf("without a row: %q", got)
	}

	// The arguments of a statement hold while its answer comes in.
	var op workload.Op
	var c workload.Call
	g.Begin(&op)
	if _, err := g.Next(&c); err != nil {
		t.Fatal(err)
	}
	g.Row([]workload.Datum{workload.Int(1), workload.String("zzzzzz")})
	if string(c.Args[0].Raw()) != "old" {
		t.Errorf("the argument became %s", c.Args[0])
	}
	if s := following(t, p, g); s != "UPDATE t SET a = 1 WHERE b = 'zzzzzz'" {
		t.Errorf("%s", s)
	}

	g.Begin(&op)
	if _, err := g.Next(&c); err != nil {
		t.Fatal(err)
	}
	g.Row([]workload.Datum{workload.Int(1)})
	var e *Error
	if _, err := g.Next(&c); !errors.As(err, &e) || e.Line != 2 || !strings.Contains(e.Text, "1 columns") {
		t.Errorf("two names for one column: %v", err)
	}
}

func TestAgainDrawsTheSame(t *testing.T) {
	text := "\\transaction a 3\n\\think uniform(1, 9) s\n\\set x uniform(1, 1000000)\nSELECT :x; \\into y\n\\set z " +
		"string(8)\n\\set n sequence()\nSELECT :z, :n, :y;\n" +
		"\\transaction b\n\\set x zipf(1, 1000000)\n\\set u uuid()\nSELECT :x, :u;\nSELECT 1;"
	p := plan(t, nil, text)
	g, twin := p.Generator(5, 1), p.Generator(5, 1)
	for range 50 {
		var op, other workload.Op
		g.Begin(&op)
		twin.Begin(&other)
		if op != other {
			t.Fatalf("%v and %v", op, other)
		}
		want := rest(t, p, twin, workload.Int(3))
		following(t, p, g)
		g.Again()
		following(t, p, g)
		g.Row([]workload.Datum{workload.Int(99)})
		following(t, p, g)
		g.Again()
		if got := rest(t, p, g, workload.Int(3)); !slices.Equal(got, want) {
			t.Fatalf("after failures %q, without them %q", got, want)
		}
	}
}

func TestSeedAndSessionDecide(t *testing.T) {
	p := plan(t, nil, "\\set x uniform(1, 1000000000)\nSELECT :x;")
	f := func(seed uint64, session int) string {
		return strings.Join(sent(t, p, p.Generator(seed, session)), " ")
	}
	if once, again := f(1, 0), f(1, 0); once != again {
		t.Error("the same seed and session draw other numbers")
	}
	if f(1, 0) == f(2, 0) || f(1, 0) == f(1, 1) {
		t.Error("another seed or session draws the same numbers")
	}
}

func TestWeights(t *testing.T) {
	a, b := parse(t, "\\transaction a 3\nA;\n\\transaction b\nB;"), parse(t, "\\transaction c\nC;")
	b.Weight = 4
	p, err := Workload{Scripts: []*Script{a, b}}.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Operations, []string{"a", "b", "c"}) {
		t.Errorf("operations %q", p.Operations)
	}
	g := p.Generator(1, 0)
	var n [3]float64
	const all = 40_000
	for range all {
		var op workload.Op
		g.Begin(&op)
		n[op.Kind]++
		if s := following(t, p, g); s != []string{"A", "B", "C"}[op.Kind] {
			t.Fatalf("operation %d sends %s", op.Kind, s)
		}
	}
	for i, share := range [3]float64{3. / 8, 1. / 8, 4. / 8} {
		if math.Abs(n[i]-share*all) > 6*math.Sqrt(share*all) {
			t.Errorf("transaction %d came %v times, want about %v", i, n[i], share*all)
		}
	}
}

func TestThink(t *testing.T) {
	f := func(think string, want time.Duration) {
		t.Helper()
		p := plan(t, nil, "\\option n 3\n\\think "+think+"\nSELECT 1;")
		var op workload.Op
		p.Generator(1, 0).Begin(&op)
		if op.Think != want {
			t.Errorf("think %s waits %v, want %v", think, op.Think, want)
		}
	}
	f("2", 2*time.Second)
	f(":n ms", 3*time.Millisecond)
	f("1.5 us", 1500*time.Nanosecond)
	f("-1", 0)
	f("1e9", longestThink)
	p := plan(t, nil, "\\think exponential(100) ms\nSELECT 1;")
	g := p.Generator(1, 0)
	var sum time.Duration
	for range 10_000 {
		var op workload.Op
		g.Begin(&op)
		sum += op.Think
	}
	if mean := sum / 10_000; mean < 95*time.Millisecond || mean > 105*time.Millisecond {
		t.Errorf("the mean is %v, want 100 ms", mean)
	}
	p = plan(t, nil, "\\think 'x'\nSELECT 1;")
	g = p.Generator(1, 0)
	var op workload.Op
	var c workload.Call
	g.Begin(&op)
	if _, err := g.Next(&c); err == nil || !strings.Contains(err.Error(), "dir/test.sql:1:8") {
		t.Errorf("think 'x': %v", err)
	}
}

func TestErrorsOfARun(t *testing.T) {
	f := func(text, at, mention string) {
		t.Helper()
		p := plan(t, nil, text)
		g := p.Generator(1, 0)
		var op workload.Op
		g.Begin(&op)
		for range 10 {
			var c workload.Call
			more, err := g.Next(&c)
			if err != nil {
				if !strings.HasPrefix(err.Error(), "dir/test.sql:"+at+": ") || !strings.Contains(err.Error(), mention) {
					t.Errorf("%q: %v; want %q at %s", text, err, mention, at)
				}
				return
			}
			if !more {
				break
			}
		}
		t.Errorf("%q ends without an error", text)
	}
	f("\\set a 1 / 0\nSELECT :a;", "1:10", "division by 0")
	f("\\set a 1 % 0.0\nSELECT :a;", "1:10", "division by 0")
	f("\\set a 9223372036854775807 + 1\nSELECT :a;", "1:28", "too large")
	f("\\set a 'x' + 1\nSELECT :a;", "1:12", `"x" is not a number`)
	f("\\set a -'x'\nSELECT :a;", "1:8", "not a number")
	f("\\set a uniform(5, 1)\nSELECT :a;", "1:8", "smaller number comes first")
	f("\\set a zipf(1, 10, -3)\nSELECT :a;", "1:8", "rand-zipfian-exp")
	f("\\set a string(99999999)\nSELECT :a;", "1:8", "characters")
	f("\\set a item(3, 'a', 'b')\nSELECT :a;", "1:8", "item 3 of 2")
	f("\\set a uniform('x', 1)\nSELECT :a;", "1:16", "not a whole number")
	f("\\repeat 2000000\nSELECT 1;\n\\endrepeat", "1:1", "takes a number up to")
	f("\\repeat 'x'\nSELECT 1;\n\\endrepeat", "1:1", "takes a number")
	f("\\set t 'a b'\nSELECT 1 FROM t{t};", "2:16", "part of a name")
	f("\\set t null\nSELECT 1 FROM t{t};", "2:16", "part of a name")
	f("\\set t 1.5\nSELECT 1 FROM t{t};", "2:16", "part of a name")
	f("\\transaction x\n\\repeat 100000\n\\repeat 100000\n\\set a 1\n\\endrepeat\n\\endrepeat\nSELECT 1;",
		"1:1", "without a statement")
	f("\\repeat 1000000\n\\set a string(1000000)\n\\endrepeat\nSELECT 1;", "1:1", "without a statement")
}

func TestOperationsAllocateNothing(t *testing.T) {
	p := plan(t, nil, "\\list c red green blue\n\\option n 1000\n\\set a zipf(1, :n)\n\\set b pareto(1, :a)\n\\set s "+
		"string(5, 20)\n\\set t concat(:s, '-', :a, pattern('##'), digits(3))\n"+
		"\\set p pick(c)\n\\set u uuid()\n\\set h hash(:t) % 100 + sequence(1)\n\\set f gaussian(1, 10) * 1.5 / "+
		"special(1, 5)\n\\set g greatest(:a, :b, nurand(255, 1, 3000))\n"+
		"BEGIN;\nSELECT a, b FROM t WHERE a = :a AND b = :t; \\into x, y\n\\if :x > 1 and :y is not null\nUPDATE "+
		"t{b} SET a = :f, b = :y WHERE c = :u;\n\\endif\n"+
		"\\repeat 3\nSELECT :p, :h, :g;\n\\endrepeat\nCOMMIT;")
	g := p.Generator(1, 0)
	row := []workload.Datum{workload.String("12"), workload.Bytes([]byte("some text"))}
	var op workload.Op
	var c workload.Call
	once := func() {
		g.Begin(&op)
		for range 2 {
			for more := true; more; {
				var err error
				if more, err = g.Next(&c); err != nil {
					t.Fatal(err)
				}
				g.Row(row)
			}
			g.Again()
		}
	}
	for range 100 { // the buffers grow
		once()
	}
	if n := testing.AllocsPerRun(200, once); n > 0 {
		t.Errorf("%v allocations an operation", n)
	}
}
