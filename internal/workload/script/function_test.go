package script

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/dyno-perf/dyno/internal/workload"
)

// drawn returns values of an expression, each of a new operation.
func drawn(t *testing.T, expression string, n int) (list []workload.Datum) {
	t.Helper()
	p := plan(t, nil, "\\list colours red green blue\n\\set x "+expression+"\nSELECT :x;")
	g := p.Generator(3, 0)
	for range n {
		var op workload.Op
		var c workload.Call
		g.Begin(&op)
		if _, err := g.Next(&c); err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		d := c.Args[0]
		if d.Kind() == workload.BytesDatum {
			d = workload.String(d.String())
		}
		list = append(list, d)
	}
	return list
}

func TestShapesOfTexts(t *testing.T) {
	f := func(expression, pattern string) {
		t.Helper()
		re := regexp.MustCompile("^(" + pattern + ")$")
		seen := map[string]bool{}
		for _, d := range drawn(t, expression, 100) {
			if !re.MatchString(d.String()) {
				t.Fatalf("%s gives %s, want %s", expression, d, pattern)
			}
			seen[d.String()] = true
		}
		if len(seen) < 3 {
			t.Errorf("%s gives %d different texts", expression, len(seen))
		}
	}
	f("string(12)", "[a-z]{12}")
	f("string(2, 5)", "[a-z]{2,5}")
	f("digits(12)", "[0-9]{12}")
	f("pattern('##-@@@-x')", "[0-9]{2}-[a-z]{3}-x")
	f("uuid()", "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
	f("pick(colours)", "red|green|blue")
	f("pick('a', colours, 7)", "a|red|green|blue|7")
}

func TestDraws(t *testing.T) {
	f := func(expression string, lo, hi, mean, within float64) {
		t.Helper()
		sum := 0.0
		const n = 20_000
		for _, d := range drawn(t, expression, n) {
			x, err := d.Int()
			if err != nil || float64(x) < lo || float64(x) > hi {
				t.Fatalf("%s gives %s", expression, d)
			}
			sum += float64(x)
		}
		if m := sum / n; math.Abs(m-mean) > within {
			t.Errorf("%s has the mean %.1f, want %.1f", expression, m, mean)
		}
	}
	f("uniform(1, 100)", 1, 100, 50.5, 2)
	f("random(-10, 10)", -10, 10, 0, 0.5)
	f("uniform(-9223372036854775807 - 1, 9223372036854775807)", math.MinInt64, math.MaxInt64, 0, 4e17)
	f("gaussian(101, 200)", 101, 200, 150.5, 2)
	f("special(1, 1000)", 1, 1000, 500, 10)
	f("zipf(11, 20, 0)", 11, 20, 15.5, 0.2)
	f("zipf(1, 10, 1)", 1, 10, 10/2.928968, 0.1) // the harmonic number
	f("random_zipfian(1, 10, 1)", 1, 10, 10/2.928968, 0.1)
	f("pareto(1, 1000, 0.5)", 1, 1000, 500, 15)
	f("nurand(255, 1, 3000)", 1, 3000, 1500, 100)
	f("hash(uniform(1, 1000000)) % 1000", 0, 999, 499.5, 10)
	f("hash(string(5)) % 1000", 0, 999, 499.5, 10)
}

func TestZipfFollowsItsArguments(t *testing.T) {
	p := plan(t, nil, "\\set n uniform(1, 3)\n\\set e uniform(0, 50)\n\\set x zipf(1, :n, :e)\nSELECT :n, :e, :x;")
	g := p.Generator(3, 0)
	var even, all float64
	for range 5000 {
		var op workload.Op
		var c workload.Call
		g.Begin(&op)
		if _, err := g.Next(&c); err != nil {
			t.Fatal(err)
		}
		n, e, x := int64(c.Args[0].Bits()), int64(c.Args[1].Bits()), int64(c.Args[2].Bits())
		if x < 1 || x > n || e > 40 && x != 1 {
			t.Fatalf("zipf(1, %d, %d) gives %d", n, e, x)
		}
		if e == 0 && n > 1 {
			all++
			if x > 1 {
				even++
			}
		}
	}
	if even/all < 0.3 {
		t.Errorf("an even draw gives 1 in %.0f of %.0f cases", all-even, all)
	}
}

func TestSequencesCount(t *testing.T) {
	for i, d := range drawn(t, "sequence(5, 2)", 10) {
		if s := strconv.Itoa(5 + 2*i); d.String() != s {
			t.Errorf("call %d gives %s, want %s", i, d, s)
		}
	}
}

// TestEveryFunctionIsUsable parses what the hints say.
func TestEveryFunctionIsUsable(t *testing.T) {
	for _, f := range functions() {
		for _, usage := range regexp.MustCompile(`\w+\((?:[^()]|\(\))*\)`).FindAllString(f.usage, -1) {
			text := fmt.Sprintf(
				"\\list a_list x y\n\\set a 1\n\\set b 2\n\\set x 3\n\\set id 4\n\\set r %s\nSELECT :r;", usage)
			p := plan(t, nil, text)
			if got := sent(t, p, p.Generator(1, 0)); len(got) != 1 || got[0] == "SELECT NULL" {
				t.Errorf("%s: %q", usage, got)
			}
		}
	}
}
