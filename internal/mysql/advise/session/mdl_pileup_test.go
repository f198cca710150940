package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/state"
)

func TestMdlPileup(t *testing.T) {
	f := one(t, moments(shop(), 8, func(s float64) state.State { return closed(true, s, working(7, report, 60+s)) }),
		"mdl-pileup")
	if !slices.Equal(f.Subject.Sessions, []uint64{7, 8}) || !slices.Equal(f.Subject.Tables, []schema.Ref{stock}) ||
		f.Confidence != finding.Certain || f.Severity != finding.Critical {
		t.Errorf("%+v %s %s", f.Subject, f.Confidence, f.Severity)
	}
	if !strings.Contains(f.Title, "ALTER of shop.stock waits for 13 s behind session 7") ||
		!strings.Contains(f.Title, "4 sessions wait behind it") {
		t.Error(f.Title)
	}
	for _, want := range []string{"KILL 7", "KILL 8", "lock_wait_timeout"} {
		if !strings.Contains(f.Suggestion, want) {
			t.Errorf("no %s in %s", want, f.Suggestion)
		}
	}
	has(t, "explains", f.Explains, advise.ClassTime(classOf(lookup)))
	has(t, "explains", f.Explains, advise.EffectMetadata)

	// A window that began before the change: four wait behind it once it is there.
	f = one(t, moments(shop(), 8, func(s float64) state.State {
		if s < 3 {
			return state.State{Sessions: []state.Session{working(7, report, 60+s), working(20, "SELECT 1", 0.01)}}
		}
		return closed(true, s, working(7, report, 60+s))
	}), "mdl-pileup")
	if !strings.Contains(f.Title, "4 sessions wait behind it") {
		t.Error(f.Title)
	}

	// An idle transaction in the way is the same chain, and one finding.
	f = one(t, moments(shop(), 8, func(s float64) state.State {
		x := closed(true, s, sleeping(7, 60+s))
		x.Transactions = []state.Transaction{{Session: 7, ID: "1", Seconds: 61 + s, Modified: known.Of(uint64(0))}}
		return x
	}), "mdl-pileup")
	if !slices.Equal(f.Subject.Sessions, []uint64{7, 8}) {
		t.Errorf("%+v", f.Subject)
	}

	// The server does not tell who is in the way: only one can be, and it is said that this is concluded.
	f = one(t, moments(shop(), 8, func(s float64) state.State {
		return closed(false, s, working(7, report, 60+s), working(30, "SELECT * FROM shelves", 90+s),
			working(31, lookup, 0.1))
	}), "mdl-pileup")
	if !slices.Equal(f.Subject.Sessions, []uint64{7, 8}) || f.Confidence != finding.Likely || len(f.Against) == 0 {
		t.Errorf("%+v %s %v", f.Subject, f.Confidence, f.Against)
	}
	// Two tables are two chains, the one with more behind it first, every time.
	for range 20 {
		m := moments(shop(), 8, func(s float64) state.State {
			x, y := closed(true, s, working(7, report, 60+s)), closed(true, s)
			for i, z := range y.Sessions {
				z.ID += 100
				z.SQL = strings.ReplaceAll(z.SQL, "stock", "shelves")
				y.Sessions[i] = z
			}
			for i, w := range y.Waits[:4] {
				w.Waiter, w.Blocker, w.Object = w.Waiter+100, known.Of(w.Blocker.Or(0)+100), "shop.shelves"
				y.Waits[i] = w
			}
			x.Sessions, x.Waits = append(x.Sessions, y.Sessions...), append(x.Waits, y.Waits[:4]...)
			return x
		})
		own, _ := ask(t, m, "mdl-pileup")
		if len(own) != 2 || own[0].Subject.Sessions[1] != 8 || own[1].Subject.Sessions[1] != 108 {
			t.Fatalf("%d findings", len(own))
		}
	}
	// Two can be: nobody is blamed by guess.
	f = one(t, moments(shop(), 8, func(s float64) state.State {
		return closed(false, s, working(7, report, 60+s), working(9, report, 50+s))
	}), "mdl-pileup")
	if !slices.Equal(f.Subject.Sessions, []uint64{8}) || strings.Contains(f.Suggestion, "KILL 7") ||
		len(f.Unobserved) == 0 {
		t.Errorf("%+v %s %v", f.Subject, f.Suggestion, f.Unobserved)
	}
}

func TestMdlPileupSilent(t *testing.T) {
	silent(t, "a moment's wait", moments(shop(), 8, func(s float64) state.State {
		if s == 2 {
			return closed(true, 0, working(7, report, 60))
		}
		return state.State{Sessions: []state.Session{working(20, lookup, 0.01)}}
	}))
	silent(t, "ALTER at work", moments(shop(), 8, func(s float64) state.State {
		return state.State{Sessions: []state.Session{working(8, alteration, 60+s), working(20, lookup, 0.01)}}
	}))
	silent(t, "short waits", moments(shop(), 8, func(s float64) state.State {
		x := closed(true, s, working(7, report, 1))
		for i := range x.Waits {
			x.Waits[i].Seconds = known.Of(0.2)
		}
		return x
	}))
	silent(t, "waits without a change", moments(shop(), 8, func(s float64) state.State {
		x := closed(true, s, working(7, report, 60))
		x.Sessions[0].SQL = lookup
		return x
	}))
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
