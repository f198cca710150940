package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Queue is what the moments of a snapshot show of who waits for whom.
type Queue struct {
	Moments int                        // that show sessions
	Busy    float64                    // sessions at work or waiting at a time, mean over the moments
	Waiting map[state.WaitKind]float64 // sessions that wait at a time, mean over the moments
	heads   []head                     // those at whom the chains of waits end, the one with most waiters first
	last    map[uint64]state.Session   // the latest that was seen of each session
}

// head is a session that others wait for and that waits for nobody.
type head struct {
	id      uint64
	kind    state.WaitKind
	seen    int     // moments in which somebody waits for it
	asleep  int     // of these, moments in which it slept
	worked  int     // times that it worked between two moments in which it slept
	rested  float64 // the longest that it was seen asleep, seconds
	waiters float64 // sessions that wait for it, directly or behind others, mean over all moments
	most    int
	longest float64 // the longest that one of them was seen waiting, seconds
	session state.Session
	trx     state.Transaction // the zero one when none was seen
	objects []string          // what is waited for, the most frequent first
	held    string            // the lock that is in the way
	victims []string          // classes of those who wait, the most frequent first
	queue   map[uint64]bool   // sessions that were seen waiting for it
}

const (
	// restSlack is by how much the age of a sleep may be shorter than it was, seconds: servers count whole ones.
	restSlack = 1.5
	// longRest is a sleep that is no pause between two statements of a program, seconds. Some servers count the last
	// statement as part of it.
	longRest = 5
)

// Queues reads the moments.
func Queues(v *advise.View) Queue {
	q := Queue{Waiting: map[state.WaitKind]float64{}, last: map[uint64]state.Session{}}
	heads := map[place]*head{}
	slept := map[uint64]time.Time{} // since when a session was not seen to work
	objects, victims := map[place]map[string]int{}, map[place]map[string]int{}
	for _, m := range v.Moments {
		if !m.Up || m.Sessions == nil && m.Transactions == nil {
			continue
		}
		q.Moments++
		sessions := map[uint64]state.Session{}
		for _, x := range m.Sessions {
			sessions[x.ID], q.last[x.ID] = x, x
			if AtWork(x) {
				q.Busy++
			}
		}
		trx := map[uint64]state.Transaction{}
		for _, x := range m.Transactions {
			if x.Session != 0 {
				trx[x.Session] = x
			}
		}
		seen := map[state.WaitKind]map[uint64]bool{}
		for _, w := range m.Waits {
			if seen[w.Kind] == nil {
				seen[w.Kind] = map[uint64]bool{}
			}
			if !seen[w.Kind][w.Waiter] {
				seen[w.Kind][w.Waiter] = true
				q.Waiting[w.Kind]++
			}
		}
		for _, r := range state.Tree(m.Waits) {
			id, ok := r.Session.Get()
			if !ok || r.Cycle || len(r.Waiters) == 0 {
				continue
			}
			at := place{id, r.Waiters[0].Wait.Kind}
			h := heads[at]
			if h == nil {
				h = &head{id: id, kind: at.kind, queue: map[uint64]bool{}}
				heads[at], objects[at], victims[at] = h, map[string]int{}, map[string]int{}
			}
			h.seen++
			h.waiters += float64(r.Total)
			h.most = max(h.most, r.Total)
			if s, ok := sessions[id]; ok {
				h.session = s
				if since, ok := slept[id]; !s.Idle() {
					delete(slept, id)
				} else {
					h.asleep++
					h.rested = max(h.rested, s.Seconds)
					if ok && s.Seconds < m.At.Sub(since).Seconds()-restSlack { // it worked since then
						h.worked++
						ok = false
					}
					if !ok {
						slept[id] = m.At
					}
				}
			}
			if x, ok := trx[id]; ok {
				h.trx = x
			}
			for _, n := range r.Waiters {
				h.longest = max(h.longest, n.Wait.Seconds.Or(0))
				h.held = cmp.Or(n.Wait.Held, h.held)
				if n.Wait.Object != "" && n.Wait.Kind == at.kind {
					objects[at][n.Wait.Object]++
				}
			}
			for w := range below(r.Waiters) {
				h.queue[w.Waiter] = true
				if s, ok := sessions[w.Waiter]; ok && s.ClassID != "" {
					victims[at][s.ClassID]++
				}
			}
		}
	}
	if q.Moments == 0 {
		return q
	}
	n := float64(q.Moments)
	q.Busy /= n
	for k := range q.Waiting {
		q.Waiting[k] /= n
	}
	for at, h := range heads {
		h.waiters /= n
		h.objects, h.victims = Often(objects[at]), Often(victims[at])
		q.heads = append(q.heads, *h)
	}
	slices.SortFunc(q.heads, func(a, b head) int {
		return cmp.Or(cmp.Compare(b.waiters, a.waiters),
			cmp.Compare(a.id, b.id), cmp.Compare(a.kind, b.kind))
	})
	return q
}

// place is a session with the kind of lock that others wait for.
type place struct {
	id   uint64
	kind state.WaitKind
}

// below lists the waits of a tree.
func below(nodes []state.Node) func(func(state.Wait) bool) {
	return func(yield func(state.Wait) bool) {
		var walk func([]state.Node) bool
		walk = func(nodes []state.Node) bool {
			for _, n := range nodes {
				if !yield(n.Wait) || !walk(n.Waiters) {
					return false
				}
			}
			return true
		}
		walk(nodes)
	}
}

// AtWork reports whether a session works on a statement of a client, or waits in one.
func AtWork(x state.Session) bool {
	switch x.Command {
	case "Query", "Execute", "Prepare", "Fetch", "Long Data", "Init DB", "Field List", "Busy":
		return true
	}
	return false
}

// Often returns the keys, the most frequent first.
func Often(count map[string]int) []string {
	keys := slices.Sorted(maps.Keys(count))
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return keys
}

// What makes a queue worth telling.
const (
	// leastWaiters is how many sessions have to wait at a time, in the mean: half of one is half of somebody's time.
	leastWaiters = 0.5
	// leastPart is the part of the sessions at work that have to be waiting.
	leastPart = 0.1
	// LongSeconds is for how long one session has to be in the way before it is blamed by name. Transactions of
	// applications take milliseconds; one that is in the way for seconds stands out, whatever it does.
	LongSeconds = 2.0
	// LongMoments is in which part of the moments it has to be in the way.
	LongMoments = 0.3
)

// Part returns which part of the sessions at work a number of waiting ones is, 0 to 1.
func (q Queue) Part(waiting float64) float64 {
	if q.Busy <= 0 {
		return 0
	}
	return min(1, waiting/q.Busy)
}

// Heavy reports whether so many waiters are worth telling.
func (q Queue) Heavy(waiting float64) bool {
	return waiting >= leastWaiters && q.Part(waiting) >= leastPart
}

// long reports whether one session alone is in the way of others for long.
func (q Queue) long(h head) bool {
	return q.Heavy(h.waiters) && h.longest >= LongSeconds && float64(h.seen) >= max(2, LongMoments*float64(q.Moments))
}

// sleeps reports whether a head slept nearly all the time that others waited for it, and for long: one that only pauses
// between statements is asleep in most moments, too.
func (h head) sleeps() bool {
	return h.seen > 0 && float64(h.asleep) >= 0.75*float64(h.seen) && (h.worked == 0 || h.rested >= longRest)
}

// named reports whether the lock is one that a statement took for its session, which no end of a transaction releases.
func (h head) named(v *advise.View) bool {
	return h.kind != state.RowLock && (h.kind != state.TableLock || slices.Contains(v.Dialect.TableLocks, h.held))
}

// Who names a session for people: "session 12 (app@10.0.0.7)".
func Who(x state.Session, id uint64) string {
	s := fmt.Sprintf("session %d", id)
	if x.User != "" {
		s += " (" + x.User
		if x.Host != "" {
			s += "@" + x.Host
		}
		s += ")"
	}
	return s
}

// Account names the account and the machine of a session without the port, so that the next connection of the same
// client has the same name.
func Account(x state.Session) string {
	host, _, _ := strings.Cut(x.Host, ":")
	return x.User + "@" + host
}

// TableOf returns the table of what is waited for: "schema.table (index)", "schema.table /* Partition p0 */ (index)".
func TableOf(object string) (schema.Ref, bool) {
	name, _, _ := strings.Cut(object, " ")
	s, t, ok := strings.Cut(name, ".")
	t, _, _ = strings.Cut(t, "#P#")
	if !ok || s == "" || t == "" {
		return schema.Ref{}, false
	}
	return schema.Ref{Schema: s, Table: t}, true
}

// tables returns the tables of several objects, each once.
func tables(objects []string) (out []schema.Ref) {
	for _, o := range objects {
		if ref, ok := TableOf(o); ok && !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}

// Told names a class by its statement, for people.
func Told(v *advise.View, id string) string {
	if c, ok := v.Class(id); ok {
		return Clip(c.Fingerprint)
	}
	for i := range v.Moments {
		for _, s := range v.Moments[i].Sessions {
			if s.ClassID == id && s.SQL != "" {
				return Clip(s.SQL)
			}
		}
	}
	return "class " + id
}

// Clip shortens a statement for one line.
func Clip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// fewOf says "3.6 of 8".
func fewOf(n, of float64) string {
	return unit.Count(Round(n)) + " of " + unit.Count(Round(of))
}

func Round(v float64) float64 { return float64(int(v*10+0.5)) / 10 }

// ClassTimes are the effects that classes take their time, for those who only wait.
func ClassTimes(ids []string) (out []string) {
	for _, id := range ids {
		out = append(out, advise.ClassTime(id))
	}
	return out
}

// WaitingOnly keeps the classes that spend most of their time waiting: their time is no fault of theirs.
func WaitingOnly(v *advise.View, ids []string) (out []string) {
	for _, id := range ids {
		if _, ok := v.Has(finding.LockWaiting, id); ok {
			out = append(out, id)
		}
	}
	return out
}
