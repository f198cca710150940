package session_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

func TestLockPileup(t *testing.T) {
	f := one(t, moments(busyLocks(shop()), 8, hotRow), "lock-pileup")
	if !slices.Equal(f.Subject.Tables, []schema.Ref{stock}) ||
		!slices.Equal(f.Subject.Classes, []string{classOf(change)}) || len(f.Subject.Sessions) > 0 {
		t.Errorf("%+v", f.Subject)
	}
	if !strings.Contains(f.Title, "4 of 6 active sessions") || !strings.Contains(f.Title, "200 waits a second") ||
		!strings.Contains(f.Title, "shop.stock") {
		t.Error(f.Title)
	}
	text := ""
	for _, e := range f.Evidence {
		text += e.Text + "\n"
	}
	for _, want := range []string{
		"those that ended had taken 20 ms each", "as if 4 sessions did nothing but wait",
		"Waits: update stock set pieces = ?", "8 were in SELECT * FROM elsewhere",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	has(t, "explains", f.Explains, advise.ClassTime(classOf(change)))
	if f.Severity != finding.Critical || f.Confidence != finding.Certain {
		t.Errorf("%s %s", f.Severity, f.Confidence)
	}

	// Who waits for whom may not be seen: the server's own clock tells as much, and the finding says what is missing.
	m := busyLocks(shop())
	m.Lose("locks", source.Denied, "no PROCESS", "GRANT PROCESS ON *.* TO u")
	m.S.Classes[0].TimeSec = 50
	f = one(t, m, "lock-pileup")
	if f.Confidence == finding.Certain || len(f.Unobserved) == 0 || len(f.Subject.Tables) > 0 {
		t.Errorf("%s %v %+v", f.Confidence, f.Unobserved, f.Subject)
	}
}

func TestLockPileupSilent(t *testing.T) {
	silent(t, "few waits", moments(shop(), 8, func(s float64) state.State {
		if s == 3 {
			return hotRow(s)
		}
		return state.State{Sessions: []state.Session{working(20, lookup, 0.01)}}
	}))
	silent(t, "many waits, none for long", moments(shop().Status("x", 1), 8, func(float64) state.State {
		return state.State{Sessions: []state.Session{working(20, lookup, 0.01)}}
	}))
	m := shop()
	m.S.Series = nil
	silent(t, "no counters and no moments", m)
	// Few of many wait.
	silent(t, "four of a hundred", moments(busyLocks(shop()), 8, func(s float64) state.State {
		x := hotRow(s)
		for id := uint64(200); id < 300; id++ {
			x.Sessions = append(x.Sessions, working(id, lookup, 0.01))
		}
		return x
	}))
	// All wait for one who is to blame by name: told there.
	m = moments(busyLocks(shop()), 8, func(s float64) state.State {
		return blocked(sleeping(7, 20+s), open(7, 21+s, 200), 10+s)
	})
	if _, all := ask(t, m, ""); !slices.Equal(all, []string{"idle-transaction"}) {
		t.Error(all)
	}
	// A change that reads all rows locks all rows: what is wanted is an index.
	m = moments(busyLocks(shop()), 8, hotRow)
	m.S.Classes[0].Examined = known.Of(uint64(5000 * 10_000))
	silent(t, "a lacking index", m)
	silent(t, "a DELETE of many rows", moments(
		busyLocks(shop()).Exact("DELETE FROM stock WHERE pieces < 4", 10, 0.5, 4000, 0, func(c *class.Class) {
			c.Affected = known.Of(uint64(40_000))
		}), 8,
		func(s float64) state.State {
			x := hotRow(s)
			x.Sessions[0] = working(x.Sessions[0].ID, "DELETE FROM stock WHERE pieces < 4", 0.4)
			return x
		}))
	// Metadata locks are none of rows.
	silent(t, "other locks", moments(busyLocks(shop()), 8, func(s float64) state.State {
		x := hotRow(s)
		for i := range x.Waits {
			x.Waits[i].Kind, x.Waits[i].Seconds = state.UserLock, known.Of(0.1)
		}
		return x
	}))
}
