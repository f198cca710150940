package session

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/state"
)

func TestTableOf(t *testing.T) {
	f := func(object, wantSchema, wantTable string) {
		t.Helper()
		if ref, ok := tableOf(object); ref != (schema.Ref{Schema: wantSchema, Table: wantTable}) ||
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

func TestDefinition(t *testing.T) {
	f := func(sql string, want bool) {
		t.Helper()
		if definition(sql) != want {
			t.Errorf("%q: %v", sql, !want)
		}
	}
	f("ALTER TABLE t ADD x INT", true)
	f("  /* a tool */ alter table t add x int", true)
	f("CREATE UNIQUE INDEX i ON t (a)", true)
	f("CREATE TABLE t (a INT)", false)
	f("TRUNCATE t", true)
	f("LOCK TABLES t WRITE", true)
	f("SELECT 1", false)
	f("/* never ends", false)
	f("", false)
}

// TestQueues counts who waits for whom: directly, behind others, and by whom nobody knows.
func TestQueues(t *testing.T) {
	m := shop()
	m.Moment(blocked(sleeping(7, 3), open(7, 3, 1), 2))
	m.Moment(state.State{Sessions: []state.Session{working(20, lookup, 0.1)}})
	x := blocked(working(7, batch, 3), open(7, 3, 1), 2)
	x.Waits = append(x.Waits, rowWait(20, 10, 1)) // behind one who waits
	m.Moment(x)
	q := queues(m.View())
	if q.moments != 3 || len(q.heads) != 1 || q.waiting[state.RowLock] != 3 {
		t.Fatalf("%+v", q)
	}
	h := q.heads[0]
	if h.id != 7 || h.seen != 2 || h.asleep != 1 || h.most != 5 || h.waiters != 3 || h.longest != 2 ||
		h.objects[0] != "shop.stock (PRIMARY)" {
		t.Errorf("%+v", h)
	}
	if q.busy != (5.0+1+6)/3 {
		t.Error(q.busy)
	}
	if h.sleeps() {
		t.Error("it slept half of the time only")
	}
	if empty := queues(shop().View()); empty.moments != 0 || empty.part(3) != 0 || len(empty.heads) != 0 {
		t.Errorf("%+v", empty)
	}
}
