package snapshot

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
)

func TestMomentsAreSpreadEvenly(t *testing.T) {
	from := time.Unix(1000, 0)
	f := func(n int) {
		t.Helper()
		var m Gather
		for i := range n {
			x := state.State{Up: true, At: from.Add(time.Duration(i) * time.Second)}
			if i == n/2 {
				x.EngineStatus = "text"
			}
			m.Add(&x)
			m.Add(nil)
			m.Add(&state.State{At: x.At}) // the server did not answer
		}
		got := m.Pick()
		if len(got) != min(n, MaxMoments) {
			t.Fatalf("%d moments of %d", len(got), n)
		}
		if n == 0 {
			return
		}
		last := got[len(got)-1]
		if want := from.Add(time.Duration(n-1) * time.Second); !last.At.Equal(want) || last.EngineStatus != "text" {
			t.Errorf("of %d the last is %v with %q", n, last.At, last.EngineStatus)
		}
		for i := 1; i < len(got); i++ {
			if gap := got[i].At.Sub(got[i-1].At).Seconds(); gap <= 0 || gap > max(1, 3*float64(n)/MaxMoments) {
				t.Errorf("of %d: %v s between two", n, gap)
			}
		}
	}
	for _, n := range []int{0, 1, 5, 12, 13, 23, 24, 25, 60, 600} {
		f(n)
	}
}

func TestMomentsOfACrowd(t *testing.T) {
	var m Gather
	for i := range 10 {
		x := state.State{Up: true, At: time.Unix(int64(1000+i), 0)}
		for id := range uint64(10 * state.MaxSessions) {
			x.Sessions = append(x.Sessions, state.Session{ID: id, Command: "Query", SQL: strings.Repeat("x",
				state.MaxText), Seconds: 9000 - float64(id)})
		}
		x.Waits = []state.Wait{{Kind: state.RowLock, Waiter: 198, Blocker: known.Of(uint64(199))}}
		m.Add(&x)
		if len(x.Sessions) != 10*state.MaxSessions {
			t.Fatalf("the reading itself was changed: %d sessions", len(x.Sessions))
		}
	}
	for i, x := range m.kept {
		if len(x.Sessions) > state.MaxSessions {
			t.Errorf("%d sessions of moment %d are held", len(x.Sessions), i)
		}
	}
	got := m.Pick()
	for i, x := range got {
		want := slimSessions
		if i >= len(got)-wholeMoments {
			want = state.MaxSessions
		}
		if len(x.Sessions) != want || len(x.Sessions)+x.Left.Sessions != 10*state.MaxSessions {
			t.Errorf("moment %d: %d sessions, %d left out", i, len(x.Sessions), x.Left.Sessions)
		}
		for _, id := range []uint64{0, 198, 199} { // the longest, and those of the wait
			if !slices.ContainsFunc(x.Sessions, func(s state.Session) bool { return s.ID == id }) {
				t.Errorf("moment %d: no session %d", i, id)
			}
		}
	}
}
