package state

import (
	"cmp"
	"slices"

	"github.com/dyno-perf/dyno/internal/known"
)

// Root is what stands at the top of a chain of waits: a session that others wait for and that waits for nobody itself,
// a blocker that the server does not name, or one session of a circle in which all wait for each other.
type Root struct {
	Session known.Value[uint64] `json:"session,omitzero"` // unknown where the server does not tell who it is
	Why     string              `json:"unknown,omitzero"` // with an unknown session: why, and what would show it
	Object  string              `json:"object,omitzero"`  // with an unknown session: what is waited for
	Cycle   bool                `json:"cycle,omitzero"`   // it waits as well, for a session below it
	Total   int                 `json:"total"`            // sessions below it, each once
	Waiters []Node              `json:"waiters"`
}

// Node is a session that waits, with those that wait for it in turn.
type Node struct {
	Wait    Wait   `json:"wait"` // for the session above
	Waiters []Node `json:"waiters,omitempty"`
}

// Tree orders waits by who blocks whom, the root with most waiters first. Below a root each session stands once, at its
// shortest way from the root: in a queue for one lock everybody waits for those before as well, which would fill the
// screen and tell nothing. A session that two roots block stands below both, for both must go before it can.
func Tree(waits []Wait) []Root {
	type unknown struct {
		kind        WaitKind
		object, why string
	}
	below := map[uint64][]Wait{}   // by blocker
	above := map[uint64][]uint64{} // blockers by waiter
	nobody := map[unknown][]Wait{}
	waits = slices.Clone(waits)
	slices.SortStableFunc(waits, func(a, b Wait) int {
		// who waits longest first
		return cmp.Or(cmp.Compare(b.Seconds.Or(-1), a.Seconds.Or(-1)), cmp.Compare(a.Waiter, b.Waiter))
	})
	var order []unknown
	for _, w := range waits {
		if b, ok := w.Blocker.Get(); ok {
			below[b] = append(below[b], w)
			above[w.Waiter] = append(above[w.Waiter], b)
			continue
		}
		k := unknown{w.Kind, w.Object, w.Why}
		if nobody[k] == nil {
			order = append(order, k)
		}
		nobody[k] = append(nobody[k], w)
		above[w.Waiter] = append(above[w.Waiter], 0)
	}
	reached := map[uint64]bool{}
	// grow hangs below each level of sessions those that wait for it and were not seen under this root.
	grow := func(top []Wait, seen map[uint64]bool) ([]Node, int) {
		total := 0
		var nodes []Node
		type place struct {
			into *[]Node
			from []Wait
		}
		for level := []place{{&nodes, top}}; len(level) > 0; {
			var next []place
			for _, p := range level {
				for _, w := range p.from {
					if !seen[w.Waiter] {
						seen[w.Waiter], reached[w.Waiter] = true, true
						*p.into = append(*p.into, Node{Wait: w})
						total++
					}
				}
				for i := range *p.into { // its address is settled now
					n := &(*p.into)[i]
					next = append(next, place{&n.Waiters, below[n.Wait.Waiter]})
				}
			}
			level = next
		}
		return nodes, total
	}
	var roots []Root
	blockers := make([]uint64, 0, len(below))
	for b := range below {
		blockers = append(blockers, b)
	}
	slices.Sort(blockers)
	for _, b := range blockers {
		if len(above[b]) == 0 {
			r := Root{Session: known.Of(b)}
			r.Waiters, r.Total = grow(below[b], map[uint64]bool{b: true})
			roots = append(roots, r)
		}
	}
	for _, k := range order {
		r := Root{Why: k.why, Object: k.object}
		r.Waiters, r.Total = grow(nobody[k], map[uint64]bool{})
		roots = append(roots, r)
	}
	// Who was not reached has blockers that were not reached either: going up ends in a circle.
	waiters := make([]uint64, 0, len(above))
	for w := range above {
		waiters = append(waiters, w)
	}
	slices.Sort(waiters)
	for _, w := range waiters {
		if reached[w] {
			continue
		}
		at := w
		for seen := map[uint64]bool{}; !seen[at]; at = above[at][0] {
			seen[at] = true
		}
		top := at
		for x := above[at][0]; x != at; x = above[x][0] {
			top = min(top, x)
		}
		r := Root{Session: known.Of(top), Cycle: true}
		reached[top] = true
		r.Waiters, r.Total = grow(below[top], map[uint64]bool{top: true})
		roots = append(roots, r)
	}
	slices.SortStableFunc(roots, func(a, b Root) int { return cmp.Compare(b.Total, a.Total) })
	return roots
}
