// Package incident finds incidents in the per-second observations of a server. It is a pure
// function of its samples: it reads no clock and asks no server.
//
// A Detector finds conditions: lock pile-ups, saturation, refused connections, a stopped replica, a
// server that is down. A condition begins when it has held for some time, and ends when it has been
// clear for some time. One pile-up is therefore one condition, although the number of waiting
// sessions rises and falls. Missing observations neither begin nor end a condition.
//
// A Tracker joins conditions, and findings that are new, into the incidents of a target: what
// overlaps or follows within a short pause is one Incident.
package incident

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/state"
)

// Sample is what was observed of a server in one second.
type Sample struct {
	State *state.State
	// Locks says that the waits of State were read in this second: without it, no wait does not mean that no session
	// waits.
	Locks bool
	// Slow says that a server which is not up is there and did not answer in time, as one that hangs, or whose machine
	// is busy.
	Slow bool
	// Refused is the server's counter of connections that it refused, Connected how many there are, Dyno's own counted
	// in, and Limit how many there may be; unknown when they were not read.
	Refused, Connected, Limit known.Value[float64]
	LimitName                 string // the server's setting of Limit
	// Replica says which thread of a replica does not run, "" when all do; unknown when it was not read.
	Replica known.Value[string]
}

// Condition is one of a kind, as far as it is known.
type Condition struct {
	Kind  event.Kind `json:"kind"`
	From  time.Time  `json:"from"`
	To    time.Time  `json:"to"` // its end, or while it is open when it was seen last
	Open  bool       `json:"open,omitzero"`
	Title string     `json:"title"` // "Lock pile-up"
	Text  string     `json:"text"`  // one line: the title, how long, and the worst that was seen
	// Times is how often it began during an Incident; 0 in what a Detector returns.
	Times int `json:"times,omitzero"`
}

// Thresholds. A server whose figures lie between those of begin and end keeps the incident that it has.
const (
	// waiters is how many sessions must have waited for a lock for waited or longer.
	waiters = 2
	waited  = 1.0 // seconds
	// runningPerCPU is how many sessions must run for each CPU, sessions that wait for locks not counted; half as many
	// end it.
	runningPerCPU = 4
	leastRunning  = 16 // on any machine
	runningBlind  = 64 // where the number of CPUs is unknown
	// gap is the pause between two samples after which a condition that held before does not count.
	gap = 10 * time.Second
	// Patience is how long a server may fail to answer in time before it counts as down.
	Patience = 2 * time.Second
)

// Detector follows one server. The zero value is ready.
type Detector struct {
	at      time.Time
	refused known.Value[float64]
	limit   known.Value[float64] // the newest: it is read less often
	tracks  [6]track
	waiting map[uint64]bool // in the sample before
	gone    time.Time       // since when the server is not up; zero while it is
	level   float64         // see Level
}

// track is what is remembered of one kind of incident.
type track struct {
	open        bool
	from        time.Time // when the condition was first not clear
	held, clear time.Time // since when; zero when it does not
	worst       float64
	what        string // about the worst
}

// observed is what one sample says of a kind.
type observed struct {
	known bool
	holds bool
	clear bool
	level float64 // how bad it is, to remember the worst
	limit float64 // level from which the condition holds; 0: a level has no meaning across kinds
	what  string
}

// kind is how one kind of incident is told from passing trouble.
type kind struct {
	kind         event.Kind
	title        string
	after, until time.Duration // for how long the condition holds before it begins, and is clear before it ends
	look         func(*Detector, Sample) observed
}

func kinds() [6]kind {
	return [6]kind{
		{event.Down, "Server down", time.Second, time.Second, (*Detector).down},
		{event.Login, "Login refused", time.Second, time.Second, (*Detector).login},
		{event.Locks, "Lock pile-up", time.Second, 3 * time.Second, (*Detector).locks},
		{event.Saturation, "Server saturated", 2 * time.Second, 10 * time.Second, (*Detector).saturated},
		{event.Refused, "Connections refused", 0, 10 * time.Second, (*Detector).refusing},
		{event.Replication, "Replication stopped", 3 * time.Second, 3 * time.Second, (*Detector).replication},
	}
}

// refusals is the place of refused connections among the kinds.
const refusals = 4

// Next takes the next sample and returns the conditions that began or ended with it. Samples come in order of time.
func (d *Detector) Next(s Sample) (changed []Condition) {
	at := s.State.At
	jumped := !d.at.IsZero() && at.Sub(d.at) > gap
	d.at = at
	if jumped {
		d.gone, d.refused, d.waiting = time.Time{}, known.Value[float64]{}, nil // nothing of a gap is of one second
	}
	d.level = 0
	for i, k := range kinds() {
		t := &d.tracks[i]
		f := k.look(d, s)
		ends := k.kind != event.Down && k.kind != event.Login && !s.State.Up // with the server
		if ends {
			f = observed{known: true, clear: true}
		}
		if !f.known {
			continue
		}
		if jumped && !t.open {
			*t = track{}
		}
		if f.limit > 0 && !f.clear {
			d.level = max(d.level, f.level/f.limit)
		}
		if c, ok := t.next(k, at, f, ends); ok {
			changed = append(changed, c)
		}
	}
	d.remember(s)
	return changed
}

// Level is how bad the last sample was: 1 at the threshold of a condition, 2 at twice that, the highest of all
// conditions; 0 when none that has a measure was near.
func (d *Detector) Level() float64 { return d.level }

// Open returns the conditions that go on, as of the last sample.
func (d *Detector) Open() (open []Condition) {
	for i, k := range kinds() {
		if t := &d.tracks[i]; t.open {
			open = append(open, t.condition(k, d.at, true))
		}
	}
	return open
}

// next follows a kind through one sample; at once says that a clear condition ends it without a pause.
func (t *track) next(k kind, at time.Time, f observed, atOnce bool) (Condition, bool) {
	since := func(p *time.Time, now bool) {
		switch {
		case !now:
			*p = time.Time{}
		case p.IsZero():
			*p = at
		}
	}
	since(&t.held, f.holds)
	since(&t.clear, f.clear)
	if t.from.IsZero() && !f.clear {
		t.from = at
	}
	if !f.clear && f.level > t.worst || t.what == "" {
		t.worst, t.what = f.level, f.what
	}
	switch {
	case !t.open && f.holds && at.Sub(t.held) >= k.after:
		t.open = true
		return t.condition(k, at, true), true
	case t.open && f.clear && (atOnce || at.Sub(t.clear) >= k.until):
		done := t.condition(k, t.clear, false)
		*t = track{}
		return done, true
	case !t.open && f.clear:
		*t = track{}
	}
	return Condition{}, false
}

func (t *track) condition(k kind, to time.Time, open bool) Condition {
	text := k.title
	if !open {
		text += fmt.Sprintf(" for %v", max(time.Second, to.Sub(t.from).Round(time.Second)))
	}
	if t.what != "" {
		text += ": " + t.what
	}
	return Condition{Kind: k.kind, From: t.from, To: to, Open: open, Title: k.title, Text: text}
}

func (d *Detector) remember(s Sample) {
	if s.Refused.OK() || !s.State.Up {
		d.refused = s.Refused
	}
	if s.Limit.OK() {
		d.limit = s.Limit
	}
	if s.Locks {
		d.waiting = map[uint64]bool{}
		for _, w := range s.State.Waits {
			d.waiting[w.Waiter] = true
		}
	}
}

func (d *Detector) down(s Sample) observed {
	down := !s.State.Up && !s.State.LoginRefused
	switch {
	case !down:
		d.gone = time.Time{}
	case d.gone.IsZero():
		d.gone = s.State.At
	}
	late := s.State.At.Sub(d.gone) >= Patience
	return observed{known: !s.State.NotConfigured, holds: down && (!s.Slow || late), clear: !down, what: s.State.Reason}
}

// login follows the server's answer to Dyno's own login.
func (d *Detector) login(s Sample) observed {
	no := s.State.LoginRefused
	return observed{known: !s.State.NotConfigured, holds: no, clear: !no, what: s.State.Reason}
}

// locks counts the sessions that wait for a while. Locks that applications take by name are left out: waiting for them
// is their purpose.
func (d *Detector) locks(s Sample) observed {
	if !s.Locks {
		return observed{}
	}
	long := map[uint64]bool{}
	longest := 0.0
	var waits []state.Wait
	for _, w := range s.State.Waits {
		if w.Kind == state.UserLock {
			continue
		}
		waits = append(waits, w)
		sec, timed := w.Seconds.Get()
		if timed && sec >= waited || !timed && d.waiting[w.Waiter] {
			long[w.Waiter] = true
			longest = max(longest, sec)
		}
	}
	f := observed{
		known: true, holds: len(long) >= waiters, clear: len(long) == 0, level: float64(len(long)),
		limit: waiters,
	}
	if f.clear {
		return f
	}
	f.what = fmt.Sprintf("%s waited, blocked by %s", sessions(len(long)), blocker(s.State, waits))
	return f
}

// blocker names the session at the top of the largest tree of waits.
func blocker(s *state.State, waits []state.Wait) string {
	root := state.Tree(waits)[0]
	id, ok := root.Session.Get()
	if !ok {
		return "a session that the server does not report"
	}
	i := slices.IndexFunc(s.Sessions, func(x state.Session) bool { return x.ID == id })
	if i < 0 {
		return fmt.Sprintf("session %d", id)
	}
	x := s.Sessions[i]
	text := fmt.Sprintf("session %d (%s@%s", id, x.User, x.Host)
	if !x.Busy() {
		text += ", idle"
	}
	return text + ")"
}

func (d *Detector) saturated(s Sample) observed {
	running, ok := s.State.Get(state.Running).Get()
	if !ok || !s.Locks {
		return observed{}
	}
	waiting := map[uint64]bool{}
	for _, w := range s.State.Waits {
		waiting[w.Waiter] = true
	}
	running -= float64(len(waiting) + s.State.Left.Waits)
	limit, of := float64(runningBlind), ""
	if cpus, ok := s.State.Get(state.HostCPUs).Get(); ok {
		limit, of = max(leastRunning, runningPerCPU*cpus), fmt.Sprintf(" on %g CPUs", cpus)
	}
	return observed{
		known: true, holds: running >= limit, clear: running < limit/2, level: running, limit: limit,
		what: fmt.Sprintf("%s ran at a time%s", sessions(int(math.Max(0, running))), of),
	}
}

// refusing follows the server's counter, which begins at 0 when the server does. It grows only when a client tries:
// while no connection is left, the next one is refused.
func (d *Detector) refusing(s Sample) observed {
	now, ok := s.Refused.Get()
	if !ok {
		return observed{}
	}
	before, ok := d.refused.Get()
	if !ok || now < before {
		return observed{known: true, clear: true}
	}
	open, ok1 := s.Connected.Get()
	limit, ok2 := d.limit.Get()
	still := d.tracks[refusals].open && ok1 && ok2 && limit > 0 && open >= limit
	return observed{
		known: true, holds: now > before, clear: now == before && !still, level: now - before,
		limit: 1, what: s.LimitName + " was reached",
	}
}

func (d *Detector) replication(s Sample) observed {
	what, ok := s.Replica.Get()
	return observed{known: ok, holds: what != "", clear: what == "", what: what}
}

func sessions(n int) string {
	if n == 1 {
		return "1 session"
	}
	return fmt.Sprintf("%d sessions", n)
}
