package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/snap"
)

func TestIdleTransaction(t *testing.T) {
	m := moments(shop().Set("idle_transaction_timeout", "0"), 8, func(s float64) state.State {
		return blocked(sleeping(7, 20+s), open(7, 21+s, 200), 10+s)
	})
	f := one(t, m, "idle-transaction")
	if !slices.Equal(f.Subject.Sessions, []uint64{7}) || !slices.Equal(f.Subject.Tables, []schema.Ref{stock}) ||
		f.Severity != finding.Critical || f.Confidence != finding.Certain {
		t.Errorf("%+v, %s, %s", f.Subject, f.Severity, f.Confidence)
	}
	if len(f.Subject.Classes) > 0 {
		t.Error("a class is blamed")
	}
	if !strings.Contains(f.Title, "4 of 5 active sessions") ||
		!strings.Contains(f.Title, "session 7 (app@10.0.0.7:40007)") || !strings.Contains(f.Title, "28 s") {
		t.Error(f.Title)
	}
	if !strings.Contains(f.Suggestion, "KILL 7") ||
		!slices.Equal(f.Setting, []string{"idle_transaction_timeout = 60"}) {
		t.Errorf("%s %q", f.Suggestion, f.Setting)
	}
	if f.Share < 0.79 || f.Share > 0.81 {
		t.Error(f.Share)
	}
	has(t, "explains", f.Explains, advise.ClassTime(classOf(change)))
	if slices.Contains(f.Explains, advise.ClassTime(classOf(lookup))) {
		t.Error("a class that works is explained away")
	}
	// Another connection of the same account is the same trouble.
	again := moments(shop(), 8, func(s float64) state.State {
		x := blocked(sleeping(7, 20+s), open(7, 21+s, 200), 10+s)
		x.Sessions[0].Host = "10.0.0.7:51234"
		return x
	})
	if g := one(t, again, "idle-transaction"); g.ID != f.ID || len(g.Setting) > 0 {
		t.Errorf("%s and %s, %q where the server has no such setting", f.ID, g.ID, g.Setting)
	}
}

// TestIdleLastStatement: what an idle blocker ran last is in the finding where the server reports it.
func TestIdleLastStatement(t *testing.T) {
	const last = "UPDATE stock SET n = n - 1 WHERE id = 42"
	idle := func(s float64) state.Session {
		x := sleeping(7, 60+s)
		x.Last = last
		return x
	}
	text := func(rule string, m *snap.Made) string {
		f := one(t, m, rule)
		all := strings.Join(f.Against, "\n")
		for _, e := range f.Evidence {
			all += "\n" + e.Text
		}
		return all
	}
	for name, got := range map[string]string{
		"idle blocker": text("idle-transaction", moments(shop(), 8, func(s float64) state.State {
			return blocked(idle(s), open(7, 61+s, 200), 10+s)
		})),
		"idle holder": text("idle-transaction", moments(shop(), 8, func(s float64) state.State {
			return state.State{
				Sessions:     []state.Session{idle(s)},
				Transactions: []state.Transaction{open(7, 301+s, 12)},
			}
		})),
		"blocker of a metadata lock": text("mdl-pileup", moments(shop(), 8, func(s float64) state.State {
			x := closed(true, s, idle(s))
			x.Transactions = []state.Transaction{open(7, 61+s, 0)}
			return x
		})),
		"many blockers": text("lock-pileup", moments(busyLocks(shop()), 8, func(s float64) state.State {
			x := hotRow(s)
			x.Sessions[0].Command, x.Sessions[0].SQL, x.Sessions[0].ClassID, x.Sessions[0].Last = "Sleep", "", "", last
			return x
		})),
	} {
		if !strings.Contains(strings.ToLower(got), "update stock set n = n") || strings.Contains(got, "unknown") {
			t.Errorf("%s: the last statement is not in %q", name, got)
		}
	}
}

func TestIdleTransactionThatNobodyWaitsFor(t *testing.T) {
	m := moments(shop(), 8, func(s float64) state.State {
		return state.State{
			Sessions:     []state.Session{sleeping(7, 300+s), working(20, lookup, 0.01)},
			Transactions: []state.Transaction{open(7, 301+s, 12)},
		}
	})
	if f := one(t, m, "idle-transaction"); f.Severity != finding.Notice || f.Share != 0 ||
		!slices.Equal(f.Subject.Sessions, []uint64{7}) {
		t.Errorf("%+v", f)
	}
}

func TestIdleTransactionSilent(t *testing.T) {
	silent(t, "nobody", moments(shop(), 8, func(float64) state.State {
		return state.State{Sessions: []state.Session{working(20, lookup, 0.01)}}
	}))
	silent(t, "no moments", shop())
	silent(t, "a pause between two statements", moments(shop(), 8, func(float64) state.State {
		return blocked(sleeping(7, 0.1), open(7, 0.2, 2), 0.1)
	}))
	silent(t, "once", moments(shop(), 8, func(s float64) state.State {
		if s == 4 {
			return blocked(sleeping(7, 3), open(7, 3, 2), 2.5)
		}
		return state.State{Sessions: []state.Session{working(20, lookup, 0.01)}}
	}))
	silent(t, "open for long, changed nothing", moments(shop(), 8, func(s float64) state.State {
		return state.State{
			Sessions:     []state.Session{sleeping(7, 300)},
			Transactions: []state.Transaction{{Session: 7, ID: "1", Seconds: 300, Modified: known.Of(uint64(0))}},
		}
	}))
	silent(t, "how many rows it changed is not known", moments(shop(), 8, func(s float64) state.State {
		return state.State{
			Sessions:     []state.Session{sleeping(7, 300)},
			Transactions: []state.Transaction{{Session: 7, ID: "1", Seconds: 300}},
		}
	}))
	silent(t, "the blocker is not known", moments(shop(), 8, func(s float64) state.State {
		x := blocked(sleeping(7, 20), open(7, 20, 0), 10)
		for i := range x.Waits {
			x.Waits[i].Blocker, x.Waits[i].Why = known.None[uint64](), "it ended during the query"
		}
		return x
	}))
	silent(t, "one of hundred waits", moments(shop(), 8, func(s float64) state.State {
		x := state.State{
			Sessions: []state.Session{sleeping(7, 20)}, Transactions: []state.Transaction{open(7, 20, 5)},
			Waits: []state.Wait{rowWait(10, 7, 10)},
		}
		for id := uint64(10); id < 110; id++ {
			x.Sessions = append(x.Sessions, working(id, lookup, 0.1))
		}
		return x
	}))
	m := shop()
	m.S.Sources = append(m.S.Sources[:0], source.Source{Name: "transactions", State: source.Denied})
	silent(t, "nothing is seen", m)
}
