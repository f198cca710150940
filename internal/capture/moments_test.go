package capture

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/test/servers"
)

func TestMomentsAreSpreadEvenly(t *testing.T) {
	from := time.Unix(1000, 0)
	f := func(n int) {
		t.Helper()
		var m moments
		for i := range n {
			x := state.State{Up: true, At: from.Add(time.Duration(i) * time.Second)}
			if i == n/2 {
				x.InnoDB = "text"
			}
			m.add(&x)
			m.add(nil)
			m.add(&state.State{At: x.At}) // the server did not answer
		}
		got := m.pick()
		if len(got) != min(n, snapshot.MaxMoments) {
			t.Fatalf("%d moments of %d", len(got), n)
		}
		if n == 0 {
			return
		}
		last := got[len(got)-1]
		if want := from.Add(time.Duration(n-1) * time.Second); !last.At.Equal(want) || last.InnoDB != "text" {
			t.Errorf("of %d the last is %v with %q", n, last.At, last.InnoDB)
		}
		for i := 1; i < len(got); i++ {
			if gap := got[i].At.Sub(got[i-1].At).Seconds(); gap <= 0 || gap > max(1, 3*float64(n)/snapshot.MaxMoments) {
				t.Errorf("of %d: %v s between two", n, gap)
			}
		}
	}
	for _, n := range []int{0, 1, 5, 12, 13, 23, 24, 25, 60, 600} {
		f(n)
	}
}

func TestMomentsOfACrowd(t *testing.T) {
	var m moments
	for i := range 10 {
		x := state.State{Up: true, At: time.Unix(int64(1000+i), 0)}
		for id := range uint64(10 * state.MaxSessions) {
			x.Sessions = append(x.Sessions, state.Session{ID: id, Command: "Query", SQL: strings.Repeat("x",
				state.MaxText), Seconds: 9000 - float64(id)})
		}
		x.Waits = []state.Wait{{Kind: state.RowLock, Waiter: 198, Blocker: known.Of(uint64(199))}}
		m.add(&x)
		if len(x.Sessions) != 10*state.MaxSessions {
			t.Fatalf("the reading itself was changed: %d sessions", len(x.Sessions))
		}
	}
	for i, x := range m.kept {
		if len(x.Sessions) > state.MaxSessions {
			t.Errorf("%d sessions of moment %d are held", len(x.Sessions), i)
		}
	}
	got := m.pick()
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

// TestRedactedDeadlock holds a real report on a deadlock against what is kept of it.
func TestRedactedDeadlock(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, note VARCHAR(80))",
				"INSERT INTO d.t VALUES (1, '"+secret+"'), (2, '"+secret+"')")
			deadlock(t, s)
			x := open(t, s, "root")
			for _, redacted := range []bool{false, true} {
				snap, err := Take(context.Background(), x, Options{Window: MinWindow, Redact: redacted})
				if err != nil {
					t.Fatal(err)
				}
				text := snap.Moments[len(snap.Moments)-1].InnoDB
				for _, want := range []string{"LATEST DETECTED DEADLOCK", "WE ROLL BACK TRANSACTION", "`d`.`t`"} {
					if !strings.Contains(text, want) {
						t.Errorf("redacted %v: no %q in\n%s", redacted, want, text)
					}
				}
				if strings.Contains(text, secret) == redacted || redacted && strings.Contains(text, "hex") {
					t.Errorf("redacted %v:\n%s", redacted, text)
				}
			}
		})
	}
}

// deadlock makes two sessions wait for each other.
func deadlock(t *testing.T, s *servers.Server) {
	t.Helper()
	ctx := context.Background()
	db := s.DB(t, "d")
	a, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	up := func(id int) string {
		return fmt.Sprintf("UPDATE t SET note = CONCAT(note, '%s\nTRANSACTION 12, ACTIVE 3 sec %s') WHERE id = %d",
			secret, secret, id)
	}
	if _, err := a.Exec(up(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Exec(up(2)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := a.Exec(up(2)); done <- err }()
	_, errB := b.Exec(up(1))
	if errA := <-done; (errA == nil) == (errB == nil) {
		t.Fatalf("no deadlock: %v, %v", errA, errB)
	}
	a.Rollback()
	b.Rollback()
}
