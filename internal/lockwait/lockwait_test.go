package lockwait

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(sec int, waits ...state.Wait) *state.State {
	return &state.State{
		Target: "shop", At: noon.Add(time.Duration(sec) * time.Second), Up: true, Waits: waits,
		Sessions: []state.Session{
			{ID: 1, User: "batch", Command: "Sleep", Seconds: float64(sec), Last: "UPDATE a", LastClass: "A"},
			{ID: 2, User: "app", Command: "Query", SQL: "UPDATE b", ClassID: "B"},
			{ID: 3, User: "app", Command: "Query", SQL: "UPDATE c", ClassID: "C"},
			{ID: 4, User: "app", Command: "Query", SQL: "UPDATE c", ClassID: "C"},
		},
		Transactions: []state.Transaction{{Session: 1, Seconds: 60}},
		Classes:      []state.ActiveClass{{ID: "B", Fingerprint: "update b"}},
	}
}

func wait(waiter, blocker uint64, sec float64) state.Wait {
	return state.Wait{
		Kind: state.RowLock, Waiter: waiter, Blocker: known.Of(blocker), Object: "d.t (PRIMARY)", Mode: "X", Held: "X",
		Seconds: known.Of(sec),
	}
}

// follow returns the waits as they are kept: what has the same id replaces what was before.
func follow(f *Follower, states ...*state.State) map[string]lock.Wait {
	kept := map[string]lock.Wait{}
	for _, st := range states {
		for _, w := range f.Next(st, true) {
			kept[w.ID] = w
		}
	}
	for _, w := range f.End() {
		kept[w.ID] = w
	}
	return kept
}

func only(t *testing.T, kept map[string]lock.Wait) lock.Wait {
	t.Helper()
	if len(kept) != 1 {
		t.Fatalf("%d waits: %+v", len(kept), kept)
	}
	for _, w := range kept {
		return w
	}
	panic("unreachable")
}

// TestChain: 3 waits for 2, which waits for 1, for three seconds. It is one wait, also when 1 has gone and 3 waits
// for 2 a while longer.
func TestChain(t *testing.T) {
	w := only(t, follow(new(Follower), at(0),
		at(1, wait(2, 1, 0)), at(2, wait(2, 1, 1), wait(3, 2, 0)), at(3, wait(2, 1, 2), wait(3, 2, 1)),
		at(4, wait(2, 1, 3), wait(3, 2, 2)), at(5, wait(3, 2, 3)), at(6)))
	if w.Root.Session.Or(0) != 1 || !w.Root.Idle || w.Root.Class != "A" || w.Root.SQL != "UPDATE a" ||
		w.Root.Transaction.Or(0) != 60 || w.Depth != 2 || w.Most != 2 || w.Total != 2 || w.Open {
		t.Errorf("%+v", w)
	}
	if !w.Begin.Equal(noon.Add(time.Second)) || !w.End.Equal(noon.Add(5*time.Second)) {
		t.Errorf("from %v to %v", w.Begin, w.End)
	}
	if len(w.Waiters) != 2 || w.Waiters[0].Session != 2 || w.Waiters[0].Seconds != 3 || w.Waiters[0].Depth != 1 ||
		w.Waiters[1].Session != 3 || w.Waiters[1].Seconds != 3 || w.Waiters[1].Depth != 2 ||
		w.Waiters[1].Lock.Object != "d.t" || w.Waiters[1].Lock.Index != "PRIMARY" {
		t.Errorf("%+v", w.Waiters)
	}
	if len(w.Pairs) != 2 || w.Pairs[0].Blocking != "A" || w.Pairs[0].Blocked != "B" || w.Pairs[0].Waits != 1 ||
		w.Pairs[0].BlockedFingerprint != "update b" || w.Pairs[1].Blocked != "C" || w.Pairs[1].Seconds != 3 {
		t.Errorf("%+v", w.Pairs)
	}
}

// TestShortWaits: a client that waits again and again for less than the threshold waits never long enough, though each
// second shows it.
func TestShortWaits(t *testing.T) {
	var states []*state.State
	for i := range 10 {
		states = append(states, at(i, wait(2, 1, 0)))
	}
	if kept := follow(new(Follower), states...); len(kept) > 0 {
		t.Errorf("%+v", kept)
	}
}

// TestThreshold: a wait of two seconds is kept by a threshold of two, and not of three.
func TestThreshold(t *testing.T) {
	for least, want := range map[time.Duration]int{2 * time.Second: 1, 3 * time.Second: 0} {
		kept := follow(&Follower{Least: least}, at(0), at(1, wait(2, 1, 0)), at(2, wait(2, 1, 1)),
			at(3, wait(2, 1, 2)), at(4))
		if len(kept) != want {
			t.Errorf("%v: %+v", least, kept)
		}
	}
}

// TestThresholdOfEach: one session waits long enough, and those behind it that do not are not counted with it.
func TestThresholdOfEach(t *testing.T) {
	w := only(t, follow(new(Follower), at(0), at(1, wait(2, 1, 0)),
		at(2, wait(2, 1, 1), wait(3, 1, 0.2), wait(4, 1, 0.2)), at(3)))
	if w.Total != 1 || w.Most != 3 || len(w.Waiters) != 1 || len(w.Pairs) != 1 || w.Pairs[0].Waits != 1 {
		t.Errorf("%+v", w)
	}
}

// TestNotObserved: a second in which the waits were not read does not end one; a gap does, and what comes after it is
// another one.
func TestNotObserved(t *testing.T) {
	blind := at(2)
	blind.Sources = []source.Source{{Name: source.Locks, State: source.Slow}}
	w := only(t, follow(new(Follower), at(1, wait(2, 1, 5)), blind, at(3, wait(2, 1, 7)), at(4)))
	if !w.End.Equal(noon.Add(3*time.Second)) || w.Waiters[0].Seconds != 7 {
		t.Errorf("%+v", w)
	}
	f := new(Follower)
	f.Next(at(1, wait(2, 1, 5)), true)
	if out := f.Next(at(2), false); len(out) > 0 {
		t.Errorf("a scrape that did not read the waits ended %+v", out)
	}
	if w := only(t, follow(f, at(3, wait(2, 1, 7)), at(4))); w.Waiters[0].Seconds != 7 {
		t.Errorf("%+v", w)
	}
	kept := follow(new(Follower), at(1, wait(2, 1, 5)), at(20, wait(2, 1, 2)))
	if len(kept) != 2 {
		t.Errorf("%+v", kept)
	}
}

// TestPileUp: hundreds behind one whom the server does not name are one wait with a bounded list.
func TestPileUp(t *testing.T) {
	var one, two []state.Wait
	for i := range uint64(200) {
		w := state.Wait{
			Kind: state.MetadataLock, Waiter: 100 + i, Object: "d.t", Why: "no plugin", Seconds: known.Of(1.0),
		}
		one = append(one, w)
		w.Seconds = known.Of(2.0)
		two = append(two, w)
	}
	w := only(t, follow(new(Follower), at(0), at(1, one...), at(2, two...), at(3)))
	if w.Total != 200 || len(w.Waiters) != lock.MaxWaiters || w.Left != 150 || w.Most != 200 || w.Root.Session.OK() ||
		w.Root.Why != "no plugin" {
		t.Errorf("%d %d %d %d %+v", w.Total, len(w.Waiters), w.Left, w.Most, w.Root)
	}
}
