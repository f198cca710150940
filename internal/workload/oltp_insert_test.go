package workload

import (
	"math"
	"strings"
	"testing"
)

func TestInsert(t *testing.T) {
	checkShape(t, Insert{}, nil, "INSERT INTO sbtest# (id, k, c, pad) VALUES (0, #, <C>, <P>)")
	p := build(t, Insert{}, map[string]string{"tables": "2"})
	if len(p.Tables) != 2 || p.Tables[0].Rows != 10_000 || p.Tables[0].Key != "id" || !p.Statements[0].Text {
		t.Errorf("tables %+v, statements %+v", p.Tables, p.Statements)
	}
	p = build(t, Insert{}, map[string]string{"auto-inc": "off"})
	if p.Tables[0].Rows != 0 || p.Tables[0].Key != "" || strings.Contains(p.Tables[0].Create, "AUTO_INCREMENT") ||
		!strings.Contains(strings.Join(p.Notes, " "), "1062") {
		t.Errorf("without auto-inc: %+v, notes %q", p.Tables[0], p.Notes)
	}
}

// TestChosenIdsDiffer: within a run no id comes twice, neither from one session nor from two.
func TestChosenIdsDiffer(t *testing.T) {
	p := build(t, Insert{}, map[string]string{"auto-inc": "off"})
	seen := map[int64]bool{}
	negative := 0
	for session := range 50 {
		g := p.Generator(9, session)
		for range 2000 {
			id, err := calls(t, g)[0].Args[0].Int()
			if err != nil || id < math.MinInt32 || id > math.MaxInt32 {
				t.Fatalf("id %d, %v", id, err)
			}
			if seen[id] {
				t.Fatalf("id %d comes twice", id)
			}
			seen[id] = true
			if id < 0 {
				negative++
			}
		}
	}
	if n := len(seen); negative < n*4/10 || negative > n*6/10 {
		t.Errorf("%d of %d ids are negative: they do not spread over the column", negative, n)
	}
	g, again := p.Generator(9, 3), p.Generator(9, 3)
	for range 5 {
		if a, b := calls(t, g)[0].Args[0], calls(t, again)[0].Args[0]; a.Bits() != b.Bits() {
			t.Fatalf("the same seed and session give %v and %v", a, b)
		}
	}
	if a, b := calls(t, p.Generator(9, 0))[0].Args[0], calls(t, p.Generator(8, 0))[0].Args[0]; a.Bits() == b.Bits() {
		t.Errorf("two seeds give the same id %v", a)
	}
}

// TestUniqueIsABijection: all of a power of two of neighbours become different numbers, wherever they begin.
func TestUniqueIsABijection(t *testing.T) {
	for _, from := range []uint32{0, 1 << 31, math.MaxUint32 - 1<<17} {
		u := newUnique(5, 0)
		u.next = from
		seen := make(map[int64]bool, 1<<18)
		for range 1 << 18 {
			seen[u.draw()] = true
		}
		if len(seen) != 1<<18 {
			t.Errorf("from %d: %d different numbers of %d", from, len(seen), 1<<18)
		}
	}
}
