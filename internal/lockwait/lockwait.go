// Package lockwait follows the lock waits of a server through its states, second by second: one
// time that sessions waited for one root is one value, however many seconds and states it lasted.
package lockwait

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

const (
	// Threshold is how long a session has to wait to be kept where nothing else is said.
	Threshold = time.Second
	// longest is how long one wait lasts; what goes on is another one. In a queue for a hot row
	// each session is the next one's root, without an end.
	longest = 5 * time.Minute
	// gap is how long nothing may be known of the waits before they count as ended.
	gap = 10 * time.Second
	// noteEvery is how often a wait that goes on is returned.
	noteEvery = 30 * time.Second
	// mostOpen bounds the waits that are followed at a time.
	mostOpen = 100
	// mostFollowed bounds the sessions of one wait that are followed at a time.
	mostFollowed = 500
)

// Follower finds the waits of one target. Its zero value is ready; it is used by one goroutine at a
// time.
type Follower struct {
	Least time.Duration // threshold; 0 is Threshold
	open  []*following
	last  time.Time
}

// following is a wait that goes on.
type following struct {
	lock.Wait
	key     string              // of the root
	now     map[uint64]*waiting // that wait now, by session
	least   float64             // seconds that a session waits to count
	listed  bool                // some of them waited as long
	noted   time.Time
	counted []lock.Pair
}

// waiting is a session that waits now.
type waiting struct {
	lock.Waiter
	first time.Time // the state that showed it first
}

// Next takes the state of the next scrape and returns the waits that became long enough, went on
// for a while more, or ended. read says that the waits were read in this scrape, however that went:
// a state in which they were not changes nothing.
func (f *Follower) Next(st *state.State, read bool) (out []lock.Wait) {
	if !read || !observed(st) {
		if st != nil && !f.last.IsZero() && st.At.Sub(f.last) > gap {
			out = f.End()
		}
		return out
	}
	if !f.last.IsZero() && (st.At.Sub(f.last) > gap || st.At.Before(f.last)) {
		out = f.End() // which forgets when the last one was
	}
	before := f.last
	f.last = st.At
	least := cmp.Or(f.Least, Threshold).Seconds()
	v := viewOf(st)
	v.before = before
	touched := map[*following]bool{}
	for _, r := range state.Tree(st.Waits) {
		w := f.find(r, touched)
		if w == nil {
			if len(f.open) >= mostOpen {
				continue
			}
			w = &following{key: keyOf(r), now: map[uint64]*waiting{}, least: least}
			f.open = append(f.open, w)
		}
		if !touched[w] {
			touched[w] = true
			w.seen(r, v)
		}
	}
	f.open = slices.DeleteFunc(f.open, func(w *following) bool {
		switch {
		case !touched[w] || st.At.Sub(w.Begin) > longest:
			if w.listed {
				out = append(out, w.value(false))
			}
			return true
		case w.listed && (w.noted.IsZero() || st.At.Sub(w.noted) >= noteEvery):
			w.noted = st.At
			out = append(out, w.value(true))
		}
		return false
	})
	return out
}

// End returns the waits that go on as ended when they were last seen.
func (f *Follower) End() (out []lock.Wait) {
	for _, w := range f.open {
		if w.listed {
			out = append(out, w.value(false))
		}
	}
	f.open, f.last = nil, time.Time{}
	return out
}

// observed reports whether a state shows who waited: no wait in another one means nothing.
func observed(st *state.State) bool {
	return st != nil && st.Up && !slices.ContainsFunc(st.Sources, func(x source.Source) bool {
		return x.Name == source.Locks && x.State != source.OK
	})
}

func keyOf(r state.Root) string {
	if id, ok := r.Session.Get(); ok {
		return fmt.Sprint(id)
	}
	return "? " + r.Object
}

// find returns the wait that a root belongs to: the one of the same root, or one in which this root
// waited before, or a session below it did: then those above it have gone and the rest goes on.
func (f *Follower) find(r state.Root, taken map[*following]bool) *following {
	key := keyOf(r)
	for _, w := range f.open {
		if w.key == key && !taken[w] {
			return w
		}
	}
	for _, w := range f.open {
		if taken[w] {
			continue
		}
		if id, ok := r.Session.Get(); ok && w.now[id] != nil || slices.ContainsFunc(r.Waiters, func(n state.Node) bool {
			x := w.now[n.Wait.Waiter]
			return x != nil && x.Lock.Object+x.Lock.Index == lockOf(n.Wait).Object+lockOf(n.Wait).Index
		}) {
			w.key = key
			return w
		}
	}
	return nil
}

// view is a state by session.
type view struct {
	at       time.Time
	before   time.Time // of the state before this one; zero when there is none to go by
	sessions map[uint64]state.Session
	trx      map[uint64]state.Transaction
	prints   map[string]string // fingerprints by class
}

func viewOf(st *state.State) view {
	v := view{
		at: st.At, sessions: map[uint64]state.Session{}, trx: map[uint64]state.Transaction{},
		prints: map[string]string{},
	}
	for _, x := range st.Sessions {
		v.sessions[x.ID] = x
	}
	for _, x := range st.Transactions {
		v.trx[x.Session] = x
	}
	for _, c := range st.Classes {
		v.prints[c.ID] = c.Fingerprint
	}
	return v
}

// ago returns the time some seconds before the state.
func (v view) ago(seconds float64) time.Time {
	return v.at.Add(-time.Duration(seconds * float64(time.Second)))
}

// seen takes how a wait stands in a state.
func (w *following) seen(r state.Root, v view) {
	root := v.root(r)
	now := map[uint64]*waiting{}
	depth, total := 0, 0
	var walk func(nodes []state.Node, level int)
	walk = func(nodes []state.Node, level int) {
		for _, n := range nodes {
			total++
			depth = max(depth, level)
			if len(now) < mostFollowed {
				now[n.Wait.Waiter] = w.waiter(n.Wait, level, root, v)
			}
			walk(n.Waiters, level+1)
		}
	}
	walk(r.Waiters, 1)
	for id, x := range w.now {
		if y := now[id]; y == nil || !y.Since.Equal(x.Since) {
			w.leave(&x.Waiter)
		}
	}
	w.now = now
	for _, x := range now {
		if w.Begin.IsZero() || x.Since.Before(w.Begin) {
			w.Begin = x.Since
		}
		w.listed = w.listed || x.Seconds >= w.least
	}
	w.End = v.at
	if total > w.Most || depth > w.Depth {
		w.Root = root
		w.Most, w.Depth = max(w.Most, total), max(w.Depth, depth)
	}
	if w.ID == "" {
		w.ID = fmt.Sprintf("%d-%s", w.Begin.UnixMilli(), w.key)
	}
}

// leave keeps a session that no longer waits.
func (w *following) leave(x *lock.Waiter) {
	if x.Seconds < w.least {
		return
	}
	w.listed = true
	w.Total++
	w.Waiters = append(w.Waiters, *x)
	if len(w.Waiters) > 2*lock.MaxWaiters {
		w.Waiters = longestOf(w.Waiters)
	}
	w.counted = lock.Sum(append(w.counted, w.pair(x)))
	w.counted = w.counted[:min(len(w.counted), lock.MaxWaiters)]
}

func (w *following) pair(x *lock.Waiter) lock.Pair {
	p := lock.Pair{
		Blocking: x.RootClass, Blocked: x.Class, BlockedFingerprint: x.Fingerprint, Waits: 1, Seconds: x.Seconds,
	}
	if p.Blocking == w.Root.Class {
		p.BlockingFingerprint = w.Root.Fingerprint
	}
	return p
}

func longestOf(all []lock.Waiter) []lock.Waiter {
	slices.SortStableFunc(all, func(a, b lock.Waiter) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Session, b.Session))
	})
	return all[:min(len(all), lock.MaxWaiters)]
}

// value returns the wait as it is kept.
func (w *following) value(open bool) lock.Wait {
	x := w.Wait
	x.Open = open
	y := following{Wait: x, counted: slices.Clone(w.counted), least: w.least}
	y.Waiters = slices.Clone(w.Waiters)
	for _, n := range w.now {
		y.leave(&n.Waiter)
	}
	y.Waiters = longestOf(y.Waiters)
	y.Left = y.Total - len(y.Waiters)
	y.Pairs = y.counted
	return y.Wait
}

func lockOf(w state.Wait) lock.Lock {
	l := lock.Lock{Kind: string(w.Kind), Object: w.Object, Mode: w.Mode}
	if n := len(l.Object); n > 0 && l.Object[n-1] == ')' { // "d.t (PRIMARY)"
		for i := n - 2; i > 0; i-- {
			if l.Object[i] == '(' && l.Object[i-1] == ' ' {
				l.Object, l.Index = l.Object[:i-1], l.Object[i+1:n-1]
				break
			}
		}
	}
	return l
}

// waiter describes a session that waits now. It is the same wait as before when it has the same
// lock and statement and the server counts on: a client may wait for a hot row again and again.
func (w *following) waiter(n state.Wait, level int, root lock.Root, v view) *waiting {
	s := v.sessions[n.Waiter]
	x := &waiting{first: v.at, Waiter: lock.Waiter{
		Session: n.Waiter, Blocker: n.Blocker, Lock: lockOf(n), Held: n.Held, Since: v.at, Depth: level,
		User: s.User, Class: s.ClassID, Fingerprint: v.prints[s.ClassID], SQL: s.SQL,
		Root: root.Session, RootClass: root.Class,
	}}
	if sec, ok := n.Seconds.Get(); ok {
		x.Since = v.ago(sec)
	}
	y := w.now[n.Waiter]
	if y != nil && y.same(x, n, v.at) {
		x.Since, x.first, x.Root, x.RootClass = y.Since, y.first, y.Root, cmp.Or(y.RootClass, x.RootClass)
		x.Depth = max(x.Depth, y.Depth)
		x.Class, x.SQL = cmp.Or(y.Class, x.Class), cmp.Or(y.SQL, x.SQL)
		x.Fingerprint = cmp.Or(y.Fingerprint, x.Fingerprint)
	} else if x.Since.Before(v.before) { // it did not wait then: this is how long its statement has run
		x.Since = v.before
	}
	x.Seconds = v.at.Sub(x.Since).Seconds()
	if sec, ok := n.Seconds.Get(); ok { // several short waits in a row look like one, but for this
		x.Seconds = min(x.Seconds, sec+0.99)
	}
	return x
}

// same reports whether a session still waits as it did. Servers count whole seconds, and a busy one is read late.
func (y *waiting) same(x *waiting, n state.Wait, at time.Time) bool {
	sec, ok := n.Seconds.Get()
	return y.Lock.Kind == x.Lock.Kind && y.Lock.Object == x.Lock.Object && y.Lock.Index == x.Lock.Index &&
		(y.SQL == x.SQL || x.SQL == "" || y.SQL == "") &&
		(!ok || sec >= at.Sub(y.first).Seconds()/2-1)
}

// root describes the session at the top.
func (v view) root(r state.Root) lock.Root {
	x := lock.Root{Session: r.Session, Why: r.Why, Cycle: r.Cycle}
	id, ok := r.Session.Get()
	if !ok {
		return x
	}
	if t, ok := v.trx[id]; ok {
		x.Transaction = known.Of(t.Seconds)
	}
	s, ok := v.sessions[id]
	if !ok {
		return x
	}
	x.User, x.Host, x.SQL, x.Class = s.User, s.Host, s.SQL, s.ClassID
	x.Since = v.ago(s.Seconds)
	if s.Command == "Sleep" || s.SQL == "" {
		x.Idle, x.SQL, x.Class = true, s.Last, s.LastClass
	}
	x.Fingerprint = v.prints[x.Class]
	return x
}
