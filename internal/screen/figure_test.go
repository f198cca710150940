package screen

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

func TestUnknownIsNeverZero(t *testing.T) {
	f := func(s *state.State, want string) {
		t.Helper()
		if got := (figure{"slow", state.SlowQueries, perSecond, nil}).show(s).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(&state.State{}, "slow –")
	f(&state.State{Vitals: []state.Vital{{Name: state.SlowQueries}}}, "slow 0/s")
	f(&state.State{Vitals: []state.Vital{{Name: state.SlowQueries, Value: math.NaN()}}}, "slow –")
	if got := shown(known.None[uint64](), size); got != none {
		t.Errorf("got %q", got)
	}
	if got := shown(known.Of(uint64(0)), size); got != "0 B" {
		t.Errorf("got %q", got)
	}
	x, y := known.Of(1.0), known.None[float64]()
	by := most(func(v known.Value[float64]) known.Value[float64] { return v })
	if by(x, y) >= 0 || by(y, x) <= 0 || by(y, y) != 0 || by(known.Of(2.0), x) >= 0 {
		t.Error("what is unknown is not last")
	}
}

// TestLockWaitsOfAnyKind: the headline does not say 0 while sessions wait for a metadata lock, which the server's
// counter leaves out.
func TestLockWaitsOfAnyKind(t *testing.T) {
	i := slices.IndexFunc(activity, func(f figure) bool { return f.name == state.RowLockWaiting })
	s := &state.State{Vitals: []state.Vital{{Name: state.RowLockWaiting}}}
	f := func(want string) {
		t.Helper()
		if got := activity[i].show(s).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f("lock waits 0")
	s.Waits = []state.Wait{
		{Kind: state.MetadataLock, Waiter: 3},
		{Kind: state.MetadataLock, Waiter: 3},
		{Kind: state.MetadataLock, Waiter: 4},
	}
	f("lock waits 2")
	s.Vitals[0].Value = 9
	f("lock waits 9")
}

func TestFlowPutsKnownFiguresFirst(t *testing.T) {
	s := &state.State{Vitals: []state.Vital{{Name: "b", Value: 2}, {Name: "c", Value: 3}}}
	fs := []figure{{"aa", "a", unit.Count, nil}, {"bb", "b", unit.Count, nil}, {"cc", "c", unit.Count, above(3, 9)}}
	f := func(width, rows int, want ...string) {
		t.Helper()
		ls := flow(s, fs, width, rows)
		if len(ls) != len(want) {
			t.Fatalf("%d cells: got %v", width, ls)
		}
		for i, l := range ls {
			if l.String() != want[i] || l.cells() > width {
				t.Errorf("%d cells: got %q, want %q", width, l.String(), want[i])
			}
		}
	}
	f(80, 1, "bb 2   cc 3   aa –")
	f(12, 1, "bb 2   cc 3")
	f(12, 2, "bb 2   cc 3", "aa –")
	if r := fs[2].of(s).role; r != warn {
		t.Errorf("role %v", r)
	}
}

// TestFiguresOfPostgres: what it cannot have is absent and not unknown, and what is left has its words.
func TestFiguresOfPostgres(t *testing.T) {
	f := func(server, want string) {
		t.Helper()
		s := &state.State{Server: server, Vitals: []state.Vital{{Name: state.RedoBytes, Value: 5}}}
		if ls := flow(s, work, 200, 1); len(ls) != 1 || ls[0].String() != want {
			t.Errorf("%s: %q, want %q", server, ls, want)
		}
	}
	f("postgres 17.10", "WAL 5 B/s   rows read –   written –   block reads –   checkpoint age –")
	f("mysql 9.7.0", "redo 5 B/s   rows read –   written –   pool misses –   history –   dirty –   checkpoint age –"+
		"   free –   row lock waits –")
}

// TestNothingOfPostgres: where its only source of something is denied, that is not known to be none.
func TestNothingOfPostgres(t *testing.T) {
	f := func(server, classes, trx string) {
		t.Helper()
		s := &state.State{Up: true, Server: server, ClassSeconds: 5, Sources: []source.Source{
			{Name: source.Digests, State: source.Denied, Reason: "no grant"},
			{Name: source.Processlist, State: source.Denied, Reason: "no grant"},
		}}
		if got := noClasses(s, ""); got != classes {
			t.Errorf("%s: classes: %q", server, got)
		}
		if got := transactions(s, 80)[0].line.String(); got != "transactions "+trx {
			t.Errorf("%s: %q", server, got)
		}
	}
	f("postgres 17.10", "– not observed: digests: no grant", "– not observed: processlist: no grant")
	f("mysql 9.7.0", "no statement in the last 5.0 s", "none is open")
}

func TestSeconds(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		if got := seconds(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
	f(0, "0 s")
	f(0.012, "12 ms")
	f(3.25, "3.2 s")
	f(59.9, "0:59")
	f(3599, "59:59")
	f(3600, "1:00:00")
	f(86399, "23:59:59")
	f(90000, "1 d 1 h")
	f(-5, none)
	f(math.NaN(), "unknown")
}

func TestClockNamesTheDayOnlyWhenItIsAnother(t *testing.T) {
	if got := clock(noon, noon.Add(time.Hour), time.UTC); got != "12:00:00" {
		t.Error(got)
	}
	if got := clock(noon, noon.Add(13*time.Hour), time.UTC); got != "2026-03-14 12:00:00" {
		t.Error(got)
	}
	if got := clock(noon, noon, time.FixedZone("x", 5*3600)); got != "17:00:00" {
		t.Error(got)
	}
}

func TestParseTime(t *testing.T) {
	loc := time.FixedZone("x", 2*3600)
	now := time.Date(2026, 3, 14, 12, 30, 0, 0, loc)
	f := func(in, want string) {
		t.Helper()
		at, err := parseTime(in, now, loc)
		got := "error"
		if err == nil {
			got = at.In(loc).Format("2006-01-02 15:04:05")
		}
		if got != want {
			t.Errorf("%q: got %s (%v), want %s", in, got, err, want)
		}
	}
	f("12:03", "2026-03-14 12:03:00")
	f(" 12:03:20 ", "2026-03-14 12:03:20")
	f("12:31", "2026-03-13 12:31:00") // has not come yet today
	f("2026-01-31 14:03", "2026-01-31 14:03:00")
	f("2026-01-31T14:03:09", "2026-01-31 14:03:09")
	f("2026-01-31T14:03:09Z", "2026-01-31 16:03:09")
	f("2026-01-31", "2026-01-31 00:00:00")
	f("-90s", "2026-03-14 12:28:30")
	f("-1h30m", "2026-03-14 11:00:00")
	f("", "error")
	f("--5m", "error")
	f("25:00", "error")
	f("yesterday", "error")
	f("-\x1b", "error")
}
