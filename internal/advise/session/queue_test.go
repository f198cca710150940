package session

import (
	"testing"

	"github.com/dyno-perf/dyno/test/scene"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/state"
)

func TestTableOf(t *testing.T) {
	f := func(object, wantSchema, wantTable string) {
		t.Helper()
		if ref, ok := TableOf(object); ref != (schema.Ref{Schema: wantSchema, Table: wantTable}) ||
			ok != (wantTable != "") {
			t.Errorf("%q: %v", object, ref)
		}
	}
	f("shop.stock (PRIMARY)", "shop", "stock")
	f("shop.stock", "shop", "stock")
	f("shop.stock /* Partition p0 */ (by_shelf)", "shop", "stock")
	f("shop.stock#P#p0 (PRIMARY)", "shop", "stock")
	f("a name of GET_LOCK", "", "")
	f("", "", "")
}

// TestQueues counts who waits for whom: directly, behind others, and by whom nobody knows.
func TestQueues(t *testing.T) {
	m := scene.Shop()
	m.Moment(scene.Blocked(scene.Sleeping(7, 3), scene.Open(7, 3, 1), 2))
	m.Moment(state.State{Sessions: []state.Session{scene.Working(20, scene.Lookup, 0.1)}})
	x := scene.Blocked(scene.Working(7, scene.Change, 3), scene.Open(7, 3, 1), 2)
	x.Waits = append(x.Waits, scene.RowWait(20, 10, 1)) // behind one who waits
	m.Moment(x)
	q := Queues(m.View())
	if q.Moments != 3 || len(q.heads) != 1 || q.Waiting[state.RowLock] != 3 {
		t.Fatalf("%+v", q)
	}
	h := q.heads[0]
	if h.id != 7 || h.seen != 2 || h.asleep != 1 || h.most != 5 || h.waiters != 3 || h.longest != 2 ||
		h.objects[0] != "shop.stock (PRIMARY)" {
		t.Errorf("%+v", h)
	}
	if q.Busy != (5.0+1+6)/3 {
		t.Error(q.Busy)
	}
	if h.sleeps() {
		t.Error("it slept half of the time only")
	}
	if empty := Queues(scene.Shop().View()); empty.Moments != 0 || empty.Part(3) != 0 || len(empty.heads) != 0 {
		t.Errorf("%+v", empty)
	}
}
