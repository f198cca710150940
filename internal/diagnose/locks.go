package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// lockLooks look at locks and transactions.
func lockLooks() []look { return []look{lockQueues, lockWaiting, deadlocked, oldVersions} }

// waitersPerMoment is how many sessions must wait at a time, in the mean: half of one is half of somebody's time.
const waitersPerMoment = 0.5

// lockQueues counts the sessions that wait for locks at the moments of the window.
func lockQueues(s *snapshot.Snapshot) (out []finding.Symptom) {
	if len(s.Moments) == 0 {
		return nil
	}
	sum := map[state.WaitKind]int{}
	for _, m := range s.Moments {
		for kind, ids := range waiters(m) {
			sum[kind] += len(ids)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(sum)) {
		mean := float64(sum[kind]) / float64(len(s.Moments))
		if mean < waitersPerMoment {
			continue
		}
		out = append(out, finding.Symptom{
			ID: finding.LockQueue.ID(string(kind)), Kind: finding.LockQueue, Subject: string(kind),
			Title: fmt.Sprintf("%s sessions at a time wait for %s locks", unit.Count(mean), kind),
			Evidence: []finding.Evidence{{
				What: "sessions that wait for " + string(kind) + " locks", Value: known.Of(mean),
				Expected: fmt.Sprintf("< %.1f", waitersPerMoment), Source: source.Locks,
				Sampled: true, Text: fmt.Sprintf("On average over %d samples %s sessions waited for %s locks.",
					len(s.Moments), unit.Count(mean), kind),
			}},
		})
	}
	return out
}

// waiters returns the sessions of a moment that wait, by the kind of lock.
func waiters(m state.State) map[state.WaitKind]map[uint64]bool {
	out := map[state.WaitKind]map[uint64]bool{}
	for _, w := range m.Waits {
		if out[w.Kind] == nil {
			out[w.Kind] = map[uint64]bool{}
		}
		out[w.Kind][w.Waiter] = true
	}
	return out
}

const (
	// seenWaiting is how often a class must have been seen waiting before anything is said of it.
	seenWaiting = 3
	// waitingPart is the part of its time from which on a class is said to wait, not to work.
	waitingPart = 0.5
	// waitSeconds is how much time a class must have taken a second of the window to be looked at.
	waitSeconds = 0.01
	// mostClasses bounds the classes that are looked at; they come with the most time first.
	mostClasses = 200
)

// lockWaiting finds classes that were seen waiting for locks at least as often as working.
func lockWaiting(s *snapshot.Snapshot) (out []finding.Symptom) {
	type tally struct{ seen, waiting int }
	count := map[string]*tally{}
	for _, m := range s.Moments {
		if len(m.Waits) == 0 && len(count) == 0 {
			continue
		}
		waits := map[uint64]bool{}
		for _, ids := range waiters(m) {
			maps.Copy(waits, ids)
		}
		for _, x := range m.Sessions {
			if x.ClassID == "" || x.Idle() {
				continue
			}
			t := count[x.ClassID]
			if t == nil {
				t = &tally{}
				count[x.ClassID] = t
			}
			t.seen++
			if waits[x.ID] {
				t.waiting++
			}
		}
	}
	done := map[string]bool{}
	for i, c := range s.Classes {
		// by the clock of the server: MySQL counts row locks in since 8.0.28, MariaDB locks of tables alone
		lock, ok := c.LockSec.Get()
		if i == mostClasses {
			break
		}
		if !ok || c.Sampled || c.TimeSec < waitSeconds*s.Seconds() || lock < waitingPart*c.TimeSec {
			continue
		}
		done[c.ID] = true
		part := min(1, lock/c.TimeSec)
		out = append(out, finding.Symptom{
			ID: finding.LockWaiting.ID(c.ID), Kind: finding.LockWaiting, Subject: c.ID,
			Title: fmt.Sprintf("a class spends %s of its time waiting for locks", unit.Percent(part)),
			Evidence: []finding.Evidence{{
				What: "time of the class that is waiting for locks", Value: known.Of(100 * part), Unit: "%",
				Expected: "< 50", Source: c.Source(),
				Text: fmt.Sprintf("Of %s it waited %s for locks.", unit.Seconds(c.TimeSec), unit.Seconds(lock)),
			}},
		})
	}
	ids := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(count[b].waiting, count[a].waiting) })
	for _, id := range ids {
		t := count[id]
		if done[id] {
			continue
		}
		if t.waiting < seenWaiting || float64(t.waiting) < waitingPart*float64(t.seen) {
			continue
		}
		part := float64(t.waiting) / float64(t.seen)
		out = append(out, finding.Symptom{
			ID: finding.LockWaiting.ID(id), Kind: finding.LockWaiting, Subject: id,
			Title: fmt.Sprintf("a class spends %s of its time waiting for locks", unit.Percent(part)),
			Evidence: []finding.Evidence{{
				What: "time of the class that is waiting for locks", Value: known.Of(100 * part), Unit: "%",
				Expected: "< 50", Source: source.Locks, Sampled: true,
				Text: fmt.Sprintf("It was sampled %d times, and %d times it waited for a lock that another session "+
					"held.", t.seen, t.waiting),
			}},
		})
	}
	return out
}

// DeadlockRate returns deadlocks per second, and the source that told; unknown when no counter of them was observed.
func DeadlockRate(s *snapshot.Snapshot) (known.Value[float64], source.Name) {
	if r := s.Rate("mysql_global_status_innodb_deadlocks"); r.OK() { // MariaDB, Percona Server
		return r, source.GlobalStatus
	}
	return s.Rate("mysql_info_schema_innodb_metrics_lock_lock_deadlocks_total"), source.InnodbMetrics
}

// deadlocksPerSec is what retries hide without anybody's notice: one every two seconds.
const deadlocksPerSec = 0.5

func deadlocked(s *snapshot.Snapshot) []finding.Symptom {
	r, from := DeadlockRate(s)
	v, ok := r.Get()
	if !ok || v < deadlocksPerSec {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.Deadlocks.ID(), Kind: finding.Deadlocks, Subject: "server", Title: unit.Rate(v,
			"deadlocks a second"),
		Evidence: []finding.Evidence{{
			What: "deadlocks per second", Value: r, Unit: "1/s", Expected: fmt.Sprintf("< %.1f", deadlocksPerSec),
			Source: from,
			Text:   fmt.Sprintf("The server ended %s to resolve deadlocks.", unit.Rate(v, "transactions a second")),
		}},
	}}
}

// History returns the series of the history list's length under whichever name it was observed, with its source.
func History(s *snapshot.Snapshot) (first, last known.Value[float64], from source.Name) {
	for _, x := range []struct {
		name string
		from source.Name
	}{
		{"mysql_global_status_innodb_history_list_length", source.GlobalStatus},
		{"mysql_info_schema_innodb_metrics_transaction_trx_rseg_history_len", source.InnodbMetrics},
		{"dyno_innodb_history_length", source.InnodbStatus},
	} {
		if y, ok := s.Find(x.name); ok && len(y.Points) > 1 {
			return known.Of(y.Points[0].Value), known.Of(y.Points[len(y.Points)-1].Value), x.from
		}
	}
	return known.None[float64](), known.None[float64](), ""
}

const (
	// historyLong is a length that purge keeps well below on servers that it keeps up with.
	historyLong = 100_000
	// historyGrowth is how much it must have grown in the window, when it is not long yet: changes that purge did not
	// clear away.
	historyGrowth = 500
)

func oldVersions(s *snapshot.Snapshot) []finding.Symptom {
	first, last, from := History(s)
	a, ok := first.Get()
	b := last.Or(0)
	if !ok || s.Seconds() <= 0 || b < historyLong && b-a < historyGrowth {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.OldVersions.ID(), Kind: finding.OldVersions, Subject: "server",
		Title: fmt.Sprintf("the history of old row versions holds %s transactions", unit.Count(b)),
		Evidence: []finding.Evidence{{
			What: "history list length", Value: last, Expected: fmt.Sprintf("< %s, and not growing",
				unit.Count(historyLong)), Source: from,
			Text: fmt.Sprintf("The history list went from %s to %s in %s.", unit.Count(a), unit.Count(b),
				unit.Seconds(s.Seconds())),
		}},
	}}
}
