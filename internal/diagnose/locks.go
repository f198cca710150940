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

// waitersPerMoment is how many sessions must wait at a time, in the mean: half of one is half of somebody's time.
const waitersPerMoment = 0.5

// LockQueues counts the sessions that wait for locks at the moments of the window.
func LockQueues(s *snapshot.Snapshot) (out []finding.Symptom) {
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

// LockWaiting finds classes that were seen waiting for locks at least as often as working.
func LockWaiting(s *snapshot.Snapshot) (out []finding.Symptom) {
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
