package state

import (
	"fmt"
	"strings"
	"testing"

	"dyno/internal/known"
)

// waits reads "2>1 3>?": 2 waits for 1, 3 for somebody unknown.
func waits(t *testing.T, s string) (ws []Wait) {
	t.Helper()
	for _, f := range strings.Fields(s) {
		w := Wait{Kind: RowLock, Object: "d.t"}
		if a, ok := strings.CutSuffix(f, ">?"); ok {
			w.Why = "not told"
			fmt.Sscan(a, &w.Waiter)
		} else {
			var b uint64
			if n, err := fmt.Sscanf(f, "%d>%d", &w.Waiter, &b); n != 2 {
				t.Fatal(err)
			}
			w.Blocker = known.Of(b)
		}
		ws = append(ws, w)
	}
	return ws
}

func show(roots []Root) string {
	var b strings.Builder
	var nodes func([]Node)
	nodes = func(ns []Node) {
		if len(ns) == 0 {
			return
		}
		b.WriteByte('(')
		for i, n := range ns {
			if i > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprint(&b, n.Wait.Waiter)
			nodes(n.Waiters)
		}
		b.WriteByte(')')
	}
	for i, r := range roots {
		if i > 0 {
			b.WriteByte(' ')
		}
		if id, ok := r.Session.Get(); ok {
			fmt.Fprint(&b, id)
		} else {
			b.WriteString("?" + r.Object)
		}
		if r.Cycle {
			b.WriteByte('*')
		}
		fmt.Fprint(&b, ":", r.Total)
		nodes(r.Waiters)
	}
	return b.String()
}

func TestTree(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := show(Tree(waits(t, in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	f("", "")
	f("2>1", "1:1(2)")
	f("2>1 3>2", "1:2(2(3))")
	f("2>1 3>1 3>2 4>1 4>2 4>3", "1:3(2 3 4)") // a queue
	f("2>1 3>2 4>2 4>3", "1:3(2(3 4))")        // behind an ALTER
	f("3>1 3>2", "1:1(3) 2:1(3)")              // both must go
	f("9>8 2>1 3>1", "1:2(2 3) 8:1(9)")        // more waiters first
	f("2>? 3>2 4>?", "?d.t:3(2(3) 4)")         // no name, but it has a place
	f("1>2 2>1", "1*:1(2)")
	f("1>2 2>3 3>1 9>2", "1*:3(3(2(9)))")
	f("5>5", "5*:0")
	f("2>1 4>3 3>4", "1:1(2) 3*:1(4)")
	f("7>6 6>5 5>6 1>5", "5*:3(1 6(7))")
}

func TestTreeIsQuickForAQueue(t *testing.T) {
	var ws []Wait
	for w := uint64(2); w <= 33; w++ {
		for b := uint64(1); b < w; b++ {
			ws = append(ws, Wait{Waiter: w, Blocker: known.Of(b)})
		}
	}
	r := Tree(ws) // to list every way would take 2^31 nodes
	if len(r) != 1 || r[0].Total != 32 || len(r[0].Waiters) != 32 {
		t.Fatalf("%+v", r)
	}
}

func TestTreePutsTheLongestFirst(t *testing.T) {
	r := Tree([]Wait{
		{Waiter: 2, Blocker: known.Of(uint64(1)), Seconds: known.Of(1.0)},
		{Waiter: 3, Blocker: known.Of(uint64(1)), Seconds: known.Of(9.0)},
		{Waiter: 4, Blocker: known.Of(uint64(1))},
	})
	if got := show(r); got != "1:3(3 2 4)" {
		t.Fatal(got)
	}
}
