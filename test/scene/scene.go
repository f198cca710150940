// Package scene builds snapshots of servers whose sessions are in each other's way, and asks rules about them.
package scene

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/diagnose"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	mysqlsymptoms "github.com/dyno-perf/dyno/internal/mysql/symptoms"
	pgsymptoms "github.com/dyno-perf/dyno/internal/postgres/symptoms"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/snap"
)

// The scene of the tests: sessions of a shop. Session 7 is the one in the way, the others wait.

const (
	Change = "UPDATE stock SET pieces = 5 WHERE id = 3"
	Lookup = "SELECT pieces FROM stock WHERE id = 3"
)

var Stock = schema.Ref{Schema: "shop", Table: "stock"}

func ClassOf(sql string) string { return class.ID(mytext.Fingerprint(sql)) }

func Working(id uint64, sql string, seconds float64) state.Session {
	return state.Session{
		ID: id, User: "app", Host: fmt.Sprintf("10.0.0.7:%d", 40000+id), DB: "shop", Command: "Query",
		Phase: "updating", Seconds: seconds, SQL: sql, ClassID: ClassOf(sql),
	}
}

func Sleeping(id uint64, seconds float64) state.Session {
	return state.Session{ID: id, User: "app", Host: "10.0.0.7:40007", DB: "shop", Command: "Sleep", Seconds: seconds}
}

func RowWait(waiter, blocker uint64, seconds float64) state.Wait {
	return state.Wait{
		Kind: state.RowLock, Waiter: waiter, Blocker: known.Of(blocker), Object: "shop.stock (PRIMARY)",
		Mode: "X", Held: "X", Seconds: known.Of(seconds),
	}
}

func Open(session uint64, seconds float64, modified uint64) state.Transaction {
	return state.Transaction{
		Session: session, ID: fmt.Sprint(1000 + session), Phase: "RUNNING", Seconds: seconds,
		Locks: known.Of(modified + 1), Modified: known.Of(modified),
	}
}

// Shop is a server with a table and two classes on it; sources of sessions are there.
func Shop() *snap.Made {
	m := snap.Build().Table("stock", 10_000, snap.Col("pieces", "int", 4))
	for _, n := range []source.Name{"processlist", "transactions", "locks", "innodb_status"} {
		m.S.Sources = append(m.S.Sources, source.Source{Name: n, State: source.OK, Reads: snap.Window})
	}
	m.Exact(Change, 5000, 0.001, 1, 0, func(c *class.Class) { c.Affected = known.Of(uint64(5000)) })
	m.Exact(Lookup, 20000, 0.0001, 1, 1)
	m.Status("Innodb_row_lock_waits", 0.1).Status("Innodb_row_lock_time", 0.2).
		Gauge("mysql_global_status_innodb_row_lock_current_waits", 0)
	m.Status("Com_begin", 100).Status("Com_commit", 100).Status("Com_update", 500)
	m.Status("Innodb_rows_read", 2500).Status("Innodb_rows_updated", 500).Status("Innodb_rows_inserted", 0).
		Status("Innodb_rows_deleted", 0)
	m.Status("Innodb_buffer_pool_read_requests", 12_000)
	return m.Set("innodb_lock_wait_timeout", "50").Set("lock_wait_timeout", "86400")
}

// Moments adds n moments; second counts from 1.
func Moments(m *snap.Made, n int, at func(second float64) state.State) *snap.Made {
	for i := range n {
		m.Moment(at(float64(i + 1)))
	}
	return m
}

// Blocked is a moment in which four sessions wait for session 7, which is head.
func Blocked(head state.Session, x state.Transaction, waited float64) state.State {
	s := state.State{Sessions: []state.Session{head, Working(20, Lookup, 0.01)}, Transactions: []state.Transaction{x}}
	for id := uint64(10); id < 14; id++ {
		s.Sessions = append(s.Sessions, Working(id, Change, waited))
		s.Waits = append(s.Waits, RowWait(id, 7, waited))
		s.Transactions = append(s.Transactions, state.Transaction{
			Session: id, ID: fmt.Sprint(id),
			Phase: "LOCK WAIT", Seconds: waited,
		})
	}
	return s
}

// Ask returns the findings of one rule and, so that rules do not speak about each other's cases, the names of all that
// found something.
func Ask(t *testing.T, m *snap.Made, rules []advise.Rule, rule string) (own []finding.Finding, all []string) {
	t.Helper()
	looks := mysqlsymptoms.List()
	if m.S.Target.Flavor.IsPostgres() {
		looks = pgsymptoms.List(snap.Dialect(m.S).Parse)
	}
	v := snap.View(m.S, append(diagnose.Symptoms(m.S, looks), m.Symptoms...))
	for _, r := range rules {
		fs := r.Find(v)
		for _, f := range fs {
			complete(t, f)
			all = append(all, f.Rule)
		}
		if r.Name == rule {
			own = append(own, fs...)
		}
	}
	return own, all
}

// One wants exactly one finding of all rules, of this one.
func One(t *testing.T, m *snap.Made, rules []advise.Rule, rule string) finding.Finding {
	t.Helper()
	own, all := Ask(t, m, rules, rule)
	if len(own) != 1 || len(all) != 1 {
		t.Fatalf("%d findings of %s, all: %v", len(own), rule, all)
	}
	return own[0]
}

// Silent wants none of any rule.
func Silent(t *testing.T, what string, m *snap.Made, rules []advise.Rule) {
	t.Helper()
	if _, all := Ask(t, m, rules, ""); len(all) > 0 {
		t.Errorf("%s: %v", what, all)
	}
}

// complete checks that a finding says all that people need.
func complete(t *testing.T, f finding.Finding) {
	t.Helper()
	if f.ID == "" || f.Title == "" || f.Cause == "" || len(f.Evidence) == 0 || f.Falsify == "" || f.Suggestion == "" ||
		f.Cost == "" || len(f.Why) == 0 || f.Reference == "" {
		t.Errorf("incomplete: %+v", f)
	}
	if f.Share < 0 || f.Share > 1 || f.Severity.Rank() == 0 {
		t.Errorf("share %v, severity %q", f.Share, f.Severity)
	}
	for _, e := range f.Evidence {
		if e.Text == "" || e.Source == "" || strings.Contains(e.Text, "NaN") || strings.Contains(e.Text, "Inf") {
			t.Errorf("evidence %+v", e)
		}
	}
	if f.Gain != nil && (f.Gain.Lo < 1 || f.Gain.Hi < f.Gain.Lo) {
		t.Errorf("gain %+v", f.Gain)
	}
}

func Has(t *testing.T, what string, list []string, want string) {
	t.Helper()
	for _, x := range list {
		if x == want {
			return
		}
	}
	t.Errorf("%s: %q is not among %q", what, want, list)
}

const Slow = "SELECT * FROM elsewhere WHERE id = 1"

// HotRow is a moment in which four wait for another head each time, which is at other work by now.
func HotRow(second float64) state.State {
	head := 100 + uint64(second)
	x := state.State{
		Sessions:     []state.Session{Working(head, Slow, 0.005), Working(20, Lookup, 0.01)},
		Transactions: []state.Transaction{Open(head, 0, 1)},
	}
	for id := uint64(10); id < 14; id++ {
		x.Sessions = append(x.Sessions, Working(id, Change, 0.03))
		w := RowWait(id, head, 0)
		x.Waits = append(x.Waits, w)
	}
	return x
}

func BusyLocks(m *snap.Made) *snap.Made {
	for _, n := range []string{"innodb_row_lock_waits", "innodb_row_lock_time"} {
		m.S.Series = slices.DeleteFunc(m.S.Series, func(x metric.Series) bool {
			return x.Name == "mysql_global_status_"+n
		})
	}
	return m.Status("Innodb_row_lock_waits", 200).Status("Innodb_row_lock_time", 4000)
}

const Alteration, Report = "ALTER TABLE stock ADD COLUMN colour INT", "SELECT * FROM stock ORDER BY pieces"

// Closed is a moment in which an ALTER waits for session 7, if told, and four wait behind it.
func Closed(told bool, s float64, more ...state.Session) state.State {
	wait := func(waiter, blocker uint64, held string) state.Wait {
		w := state.Wait{Kind: state.MetadataLock, Waiter: waiter, Object: "shop.stock", Seconds: known.Of(5 + s)}
		if told {
			w.Blocker, w.Held = known.Of(blocker), held
		} else {
			w.Why = "the server does not show who holds metadata locks"
		}
		return w
	}
	alter := Working(8, Alteration, 5+s)
	alter.Phase = "Waiting for table metadata lock"
	x := state.State{
		Sessions: append([]state.Session{alter, Working(20, "SELECT 1", 0.01)}, more...),
		Waits:    []state.Wait{wait(8, 7, "SHARED_READ")},
	}
	for id := uint64(10); id < 14; id++ {
		y := Working(id, Lookup, 4+s)
		y.Phase = "Waiting for table metadata lock"
		x.Sessions = append(x.Sessions, y)
		x.Waits = append(x.Waits, wait(id, 8, "EXCLUSIVE (waiting)"))
	}
	return x
}
