package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

const (
	// pileWaits is how many waits for row locks must begin each second: below that it is somebody's accident, not how
	// the application works.
	pileWaits = 5
	// pilePart is the part of the sessions at work that must wait in turn for each other.
	pilePart = 0.25
	// pileDeadlocks is the part of the waits that end in deadlocks from which on the order of the locks is the cause.
	pileDeadlocks = 0.02
)

// pileups finds rows that many transactions lock one after the other, each holding them for too long: everybody waits
// for a short while, and nobody alone is to blame.
func pileups(v *advise.View) []finding.Finding {
	q := queues(v)
	waiting, ok := q.rows(v)
	waits := v.Status("Innodb_row_lock_waits")
	n, counted := waits.Get()
	if !ok || counted && n < pileWaits {
		return nil
	}
	for _, h := range q.heads { // those who wait for one that is to blame by name are told there
		if q.long(h) || bulkDelete(v, h) {
			waiting -= h.waiters
		}
	}
	busy := q.busy
	if q.moments == 0 {
		busy = v.Total / max(v.Window, 1)
		q.busy = busy
	}
	part := q.part(waiting)
	if waiting < leastWaiters || part < pilePart {
		return nil
	}
	if d, _ := deadlocks(v); counted && n > 0 && d >= deadlockRate && d/n >= pileDeadlocks {
		return nil
	}
	p := pile(v, q)
	if slices.ContainsFunc(append(p.holders[:min(2, len(p.holders))], p.waiters...), func(id string) bool {
		return scansToChange(v, id)
	}) {
		return nil // a lacking index locks what it reads, and is told as that
	}
	refs := tables(p.objects)
	if len(refs) > 2 {
		refs = refs[:2]
	}
	where := "rows of unknown tables"
	if len(refs) > 0 {
		where = "the same rows of " + refs[0].String()
	}
	f := finding.Finding{
		Rule: "lock-pileup", ID: finding.MakeID("lock-pileup", names(refs)...), Severity: severity(part),
		Confidence: finding.Certain, Share: part,
		Subject: finding.Subject{Tables: refs, Classes: p.waiters},
		Explains: append([]string{advise.EffectRowLocks, advise.EffectRunning},
			classTimes(waitingOnly(v, p.waiters))...),
		Rests: []string{advise.EffectRowLocks},
		Title: fmt.Sprintf("%s active sessions wait in turn for %s", fewOf(waiting, busy), where),
	}
	if counted {
		f.Title += fmt.Sprintf(": %s waits a second", unit.Count(n))
	}
	if p.moments < 3 {
		f.Confidence = finding.Likely
	}
	f.Cause = "Many transactions change the same few rows, and each keeps its lock from that statement until its " +
		"commit. The longer it takes from there to the commit, the fewer " +
		"can finish in a second, however many sessions there are."
	f.Evidence = []finding.Evidence{{
		What: "sessions that wait for row locks", Value: known.Of(waiting), Expected: fmt.Sprintf("< %.1f",
			leastWaiters), Source: source.Locks, Sampled: q.moments > 0,
		Text: fmt.Sprintf("%s sessions at a time waited for row locks, of %s active (%d samples).",
			unit.Count(round1(waiting)), unit.Count(round1(busy)), q.moments),
	}}
	f.Evidence = append(f.Evidence, lockCounters(v)...)
	if w, ok := waitsOf(v).Get(); ok {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "time of waits that ended, per second", Value: known.Of(w), Unit: "s/s", Source: source.GlobalStatus,
			Text: fmt.Sprintf("Innodb_row_lock_time grew by %s a second: as if %s sessions did nothing but wait.",
				unit.Seconds(w), unit.Count(round1(w))),
		})
	}
	for _, o := range p.objects[:min(2, len(p.objects))] {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "waited for", Value: known.Of(float64(p.object[o])),
			Source: source.Locks, Sampled: true, Text: fmt.Sprintf("%d of %d waiting sessions waited for %s.",
				p.object[o], p.seen, o),
		})
	}
	for _, id := range p.waiters {
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "blocked class", Source: source.Processlist, Sampled: true,
			Text: "Waits: " + told(v, id) + ".",
		})
	}
	last := "the statement that takes the lock"
	if len(p.waiters) > 0 {
		last = "the statement that takes it (" + told(v, p.waiters[0]) + ")"
	}
	for i, b := range p.holders {
		if i == 3 {
			break
		}
		what := "between two statements, in the application"
		if b != "" {
			what = "in " + told(v, b)
		}
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "blocking class", Value: known.Of(float64(p.holder[b])), Source: source.Locks, Sampled: true,
			Text: fmt.Sprintf("Of %d sessions at the head of a queue %d were %s.", p.heads, p.holder[b], what),
		})
	}
	f.Falsify = "Disproved if Innodb_row_lock_waits stays as it is when the transactions hold the row for a shorter " +
		"time."
	f.Suggestion = "Shorten the time from the lock to the commit: put " + last + " last in its transaction, move " +
		"slow work and calls to other services out of it, or change the row in " +
		"a separate transaction. Where that is not enough, spread the row over several and add them up when they are " +
		"read."
	f.Cost = "Application work. A row that is changed in a separate transaction is no longer rolled back with the " +
		"rest; several rows instead of one make reads add them up."
	f.Reference = "MySQL manual, \"InnoDB Locking\" and \"Optimizing InnoDB Transaction Management\""
	if v.Postgres {
		f.Falsify = "Disproved if as many sessions wait when the transactions hold the row for a shorter time."
		f.Reference = v.Dialect.Manual(advise.LocksAndTransactions)
	}
	f.Gain = waitGain(part)
	f.Symptoms = symptomIDs(v, p.waiters, finding.LockQueue, finding.LockWaiting)
	if text := v.Blind(source.Locks); text != "" {
		f.Unobserved = append(f.Unobserved, text)
		f.Confidence = finding.Likely
	}
	if len(p.holders) > 0 && p.holders[0] == "" {
		f.Against = append(f.Against, "Most of the blockers were idle between two statements. "+p.lastStatements())
	}
	var r reasons
	r.say("What do the sessions do?", source.Locks, "%s of the active sessions wait for row locks.", fewOf(waiting,
		busy))
	r.say("Is one session the blocker?", source.Locks,
		"No: %d different sessions were at the head of a queue in %d samples.", p.different, p.moments)
	if counted {
		r.say("How often?", source.GlobalStatus, "%s waits a second begin.", unit.Count(n))
	}
	if len(p.objects) > 0 {
		r.say("For what?", source.Locks, "%s, in %d of %d waits seen.", p.objects[0], p.object[p.objects[0]], p.seen)
	}
	if len(p.holders) > 0 && p.holders[0] != "" {
		r.say("What do the blockers do meanwhile?", source.Processlist, "Mostly %s.", told(v, p.holders[0]))
	}
	f.Why = r
	return []finding.Finding{f}
}

// lastStatements says in a sentence what idle blockers ran last, the most frequent first.
func (p heap) lastStatements() string {
	list := often(p.last)
	if len(list) == 0 {
		return "Their last statements are unknown."
	}
	return "Their last statements: " + strings.Join(list[:min(3, len(list))], "; ") + "."
}

// heap is what the moments show of a pile-up.
type heap struct {
	moments, seen, heads, different int
	object                          map[string]int // sessions seen waiting for it
	objects                         []string
	waiters                         []string // classes, at most three
	// by class of the sessions at the head, "" for those between two statements
	holder  map[string]int
	holders []string
	last    map[string]int // last statements of idle sessions at the head, without their values
}

func pile(v *advise.View, q queue) heap {
	p := heap{object: map[string]int{}, holder: map[string]int{}, last: map[string]int{}}
	waits, ids := map[string]int{}, map[uint64]bool{}
	for _, m := range v.Moments {
		classes := map[uint64]state.Session{}
		for _, x := range m.Sessions {
			classes[x.ID] = x
		}
		seen := map[uint64]bool{}
		for _, w := range m.Waits {
			if w.Kind != state.RowLock || seen[w.Waiter] {
				continue
			}
			seen[w.Waiter] = true
			p.seen++
			if w.Object != "" {
				p.object[w.Object]++
			}
			if c := classes[w.Waiter].ClassID; c != "" {
				waits[c]++
			}
		}
		if len(seen) > 0 {
			p.moments++
		}
		for _, r := range state.Tree(m.Waits) {
			id, ok := r.Session.Get()
			if !ok || len(r.Waiters) == 0 || r.Waiters[0].Wait.Kind != state.RowLock {
				continue
			}
			ids[id] = true
			p.heads++
			if x, ok := classes[id]; ok {
				p.holder[x.ClassID]++
				if x.ClassID == "" && x.Last != "" {
					p.last[clip(mytext.Fingerprint(x.Last))]++
				}
			}
		}
	}
	p.different = len(ids)
	p.objects, p.holders = often(p.object), often(p.holder)
	for _, c := range often(waits) {
		// sessions and waits are not read at one instant: who was seen with a wait now and then had just had it
		if len(p.waiters) < 3 && 5*waits[c] >= p.seen {
			p.waiters = append(p.waiters, c)
		}
	}
	return p
}

// pairOf returns two references in a fixed order.
func pairOf(refs []schema.Ref) []schema.Ref {
	refs = slices.Clone(refs)
	slices.SortFunc(refs, func(a, b schema.Ref) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(refs)
}
