package symptoms

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/state"
)

// waitingMoments adds moments in which so many sessions of a class wait and so many work.
func waitingMoments(s *snapshot.Snapshot, moments, waiting, working int, class string) {
	for range moments {
		m := state.State{Up: true}
		for i := range waiting + working {
			id := uint64(10 + i)
			m.Sessions = append(m.Sessions, state.Session{ID: id, Command: "Query", ClassID: class})
			if i < waiting {
				m.Waits = append(m.Waits, state.Wait{Kind: state.RowLock, Waiter: id, Blocker: known.Of(uint64(7))},
					state.Wait{Kind: state.RowLock, Waiter: id, Blocker: known.Of(uint64(8))})
			}
		}
		s.Moments = append(s.Moments, m)
	}
}

// grow adds a gauge that goes from a to b.
func grow(s *snapshot.Snapshot, name string, a, b float64) {
	x := metric.Series{Name: name, Kind: metric.Gauge}
	for i := range window + 1 {
		x.Points = append(x.Points, metric.Point{At: s.From.UnixMilli() + int64(i)*1000, Value: a +
			(b-a)*float64(i)/window})
	}
	s.Series = append(s.Series, x)
}

func TestLocks(t *testing.T) {
	f := func(what string, change func(*snapshot.Snapshot), want ...string) {
		t.Helper()
		s := quiet()
		change(s)
		var got []string
		for _, look := range lockLooks() {
			for _, x := range look(s) {
				got = append(got, x.ID)
				if x.Title == "" || len(x.Evidence) != 1 || x.Evidence[0].Text == "" || x.Evidence[0].Source == "" {
					t.Errorf("%s: incomplete: %+v", what, x)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	id := fmt.Sprintf("%032d", 0)
	f("quiet", func(*snapshot.Snapshot) {})
	f("nothing seen", func(s *snapshot.Snapshot) { *s = snapshot.Snapshot{} })
	f("two wait, each for two", func(s *snapshot.Snapshot) { waitingMoments(s, 5, 2, 1, id) },
		"lock-queue:row", "lock-waiting:"+id)
	f("one waits now and then", func(s *snapshot.Snapshot) {
		waitingMoments(s, 2, 1, 3, id)
		waitingMoments(s, 8, 0, 3, id)
	})
	f("most of the class works", func(s *snapshot.Snapshot) { waitingMoments(s, 5, 1, 3, id) }, "lock-queue:row")
	f("by the server's clock", func(s *snapshot.Snapshot) {
		s.Classes[0].TimeSec, s.Classes[0].LockSec = 4,
			known.Of(3.0)
	}, "lock-waiting:"+id)
	f("by the clock and by looking, told once", func(s *snapshot.Snapshot) {
		s.Classes[0].TimeSec, s.Classes[0].LockSec = 4, known.Of(3.0)
		waitingMoments(s, 5, 2, 0, id)
	}, "lock-queue:row", "lock-waiting:"+id)
	f("little time", func(s *snapshot.Snapshot) { s.Classes[0].TimeSec, s.Classes[0].LockSec = 0.05, known.Of(0.05) })
	f("a part of its time", func(s *snapshot.Snapshot) {
		s.Classes[0].TimeSec,
			s.Classes[0].LockSec = 4, known.Of(1.0)
	})

	f("deadlocks of MariaDB", func(s *snapshot.Snapshot) { rate(s, "mysql_global_status_innodb_deadlocks", 3) },
		"deadlocks")
	f("deadlocks of MySQL", func(s *snapshot.Snapshot) {
		rate(s, "mysql_info_schema_innodb_metrics_lock_lock_deadlocks_total", 3)
	}, "deadlocks")
	f("one in ten seconds", func(s *snapshot.Snapshot) { rate(s, "mysql_global_status_innodb_deadlocks", 0.1) })

	f("history grows", func(s *snapshot.Snapshot) {
		grow(s, "mysql_global_status_innodb_history_list_length", 100,
			5000)
	}, "old-versions")
	f("history is long", func(s *snapshot.Snapshot) {
		grow(s, "mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len", 2e6, 1.9e6)
	}, "old-versions")
	f("history comes and goes", func(s *snapshot.Snapshot) { grow(s, "dyno_innodb_history_length", 2000, 2100) })
}
