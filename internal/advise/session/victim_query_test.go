package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/state"
)

const batch = "UPDATE stock SET pieces = pieces + 1 WHERE shelf = 4"

func TestVictimQuery(t *testing.T) {
	m := moments(shop(), 8, func(s float64) state.State {
		return blocked(working(7, batch, 10+s), open(7, 12+s, 5000), 5+s)
	})
	f := one(t, m, "victim-query")
	if !slices.Equal(f.Subject.Sessions, []uint64{7}) || !slices.Equal(f.Subject.Tables, []schema.Ref{stock}) {
		t.Errorf("%+v", f.Subject)
	}
	// The blocker is named, the victims are not blamed.
	if !slices.Equal(f.Subject.Classes, []string{classOf(batch)}) {
		t.Errorf("classes %v", f.Subject.Classes)
	}
	has(t, "explains", f.Explains, advise.ClassTime(classOf(change)))
	has(t, "explains", f.Explains, advise.EffectRowLocks)
	if !strings.Contains(f.Evidence[0].Text, batch) || !strings.Contains(f.Suggestion, "commit earlier") ||
		!strings.Contains(f.Suggestion, "KILL 7") {
		t.Errorf("%s / %s", f.Evidence[0].Text, f.Suggestion)
	}
	// Between two statements now and then: still at work.
	m = moments(shop(), 8, func(s float64) state.State {
		if int(s)%3 == 0 {
			return blocked(sleeping(7, 0.1), open(7, 12+s, 5000), 5+s)
		}
		return blocked(working(7, batch, 0.4), open(7, 12+s, 5000), 5+s)
	})
	one(t, m, "victim-query")
	// A pause after each statement, asleep whenever it is looked at: servers tell the age of a sleep in whole seconds,
	// and some count it from the beginning of the statement.
	m = moments(shop(), 8, func(s float64) state.State {
		return blocked(sleeping(7, float64(int(s)%3)), open(7, 12+s, 5000), 5+s)
	})
	f = one(t, m, "victim-query")
	if !strings.Contains(f.Evidence[0].Text, "with pauses: it was idle in 8 of the 8 samples") {
		t.Error(f.Evidence[0].Text)
	}
}

func TestVictimQuerySilent(t *testing.T) {
	silent(t, "short transactions", moments(shop(), 8, func(s float64) state.State {
		return blocked(working(7, batch, 0.1), open(7, 0.2, 50), 0.1)
	}))
	silent(t, "a long statement, nobody waits", moments(shop(), 8, func(s float64) state.State {
		return state.State{
			Sessions:     []state.Session{working(7, batch, 100+s), working(20, lookup, 0.01)},
			Transactions: []state.Transaction{open(7, 100+s, 5000)},
		}
	}))
	silent(t, "a DELETE of many rows is told by its own rule", moments(
		shop().Exact("DELETE FROM stock WHERE pieces < 4", 1, 5, 4000, 0, func(c *class.Class) {
			c.Affected = known.Of(uint64(4000))
		}), 8,
		func(s float64) state.State {
			return blocked(working(7, "DELETE FROM stock WHERE pieces < 4", 10+s), open(7, 12+s, 5000), 5+s)
		}))
	silent(t, "another one each time", moments(shop(), 8, func(s float64) state.State {
		x := blocked(working(7, batch, 0.5), open(7, 0.5, 5), 0.4)
		x.Sessions[0].ID = 100 + uint64(s)
		for i := range x.Waits {
			x.Waits[i].Blocker = known.Of(100 + uint64(s))
		}
		return x
	}))
}
