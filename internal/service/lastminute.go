package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/clock"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// How much of what a watcher read is judged without observing a second time.
const (
	// leastRead is the shortest window: rates and averages over samples are of many readings.
	leastRead = 2 * family.MinWindow
	// enoughRead is how much of the minute under way does without the minute before it.
	enoughRead = 30 * time.Second
	// listenSlack is how much longer than it has to be a window may take to be read through a watcher.
	listenSlack = 15 * time.Second
)

// lastMinute is a snapshot of what the watcher of a target read last, up to a minute and a half, with what must be
// asked of the server: it is not observed a second time. Nil: the target is not watched, or not for long enough, or its
// family needs a window of its own.
func (s *Diagnoses) lastMinute(
	ctx context.Context, name string, t family.Server, o family.Look,
) (*snapshot.Snapshot, error) {
	var under minute
	if m := s.fleet.member(name); m != nil {
		if !s.fleet.answers(m, t) {
			return nil, nil
		}
		under = m.underWay()
	}
	return s.past.recent(ctx, name, t, o, under)
}

// RecentSnapshot is a snapshot of the last minute that is stored of a target in Dyno's home, whether or not a process
// is writing there, with what must be asked of the server t. Errors: *WindowError where there is no such minute.
func RecentSnapshot(
	ctx context.Context, a *app.App, target string, t family.Server, o family.Look,
) (x *snapshot.Snapshot, err error) {
	if t.Spec().Redact {
		return nil, unfit("%s is redacted: no stored statement can be explained. Fix: omit --recent", target)
	}
	if _, ok := t.(family.Asker); !ok {
		return nil, unfit("plans of a %s server can be requested only while it is observed. Fix: omit --recent",
			t.About().Flavor)
	}
	now := clock.Now()
	err = archive{}.borrow(ctx, a, target, now.Add(-2*minuteLong), now, func(p archive) error {
		x, err = p.recent(ctx, target, t, o, minute{})
		return err
	})
	if err == nil && x == nil {
		err = unfit("no complete minute of %s from the last %s is stored. Fix: run `dyno serve`, or omit --recent to "+
			"observe the server now", target, unit.Duration(minuteLong))
	}
	return x, err
}

// answers reports whether a server is the one that a member's watcher reads.
func (s *Fleet) answers(m *member, t family.Server) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.server == t.About().Server
}

// underWay returns the minute of classes that is not full yet.
func (m *member) underWay() minute {
	m.counting.Lock()
	defer m.counting.Unlock()
	if m.minute.classes == nil {
		return minute{}
	}
	all := minute{}
	all.take(ClassWindow{From: m.minute.from, To: m.minute.to, Classes: m.minute.list()})
	return all
}

// recent is lastMinute of what is stored and of the minute that is not stored yet.
func (p archive) recent(
	ctx context.Context, name string, t family.Server, o family.Look, under minute,
) (*snapshot.Snapshot, error) {
	if _, ok := t.(family.Asker); !ok || t.Spec().Redact { // no statement is stored that a plan can be asked for
		return nil, nil
	}
	now := clock.Now()
	x := &snapshot.Snapshot{Format: snapshot.Format, Target: snapshot.Target{Name: name}}
	src := source.Source{Name: source.Digests, State: source.OK, Reads: 1}
	if under.classes == nil || under.to.Sub(under.from) < enoughRead {
		ws, _, err := p.history.Courses(ctx, name, nil, now.Add(-2*minuteLong), now)
		if err != nil || len(ws) == 0 {
			return nil, err
		}
		i := len(ws) - 1
		to := ws[i].To
		for i > 0 && to.Sub(ws[i].From) < leastRead { // a watcher that has just begun, or was ended
			i--
		}
		x.From, x.To = ws[i].From.UTC(), to.UTC()
		if src, err = p.addClasses(ctx, x); err != nil || src.State != source.OK {
			return nil, err
		}
		if under.classes != nil && under.from.Sub(x.To).Abs() < time.Second {
			both := minute{}
			both.take(ClassWindow{From: x.From, To: x.To, Classes: x.Classes})
			both.take(ClassWindow{From: under.from, To: under.to, Classes: under.list()})
			under = both
		} else {
			under = minute{}
		}
	}
	if under.classes != nil {
		x.From, x.To, x.Classes = under.from.UTC(), under.to.UTC(), under.list()
	}
	if now.Sub(x.To) > minuteLong || x.To.Sub(x.From) < leastRead {
		return nil, nil
	}
	since, err := p.ledger.Events.List(ctx, name, x.To, now)
	restarted := func(e event.Event) bool { return e.Target != "" && e.Kind == event.Restart }
	if err != nil || slices.ContainsFunc(since, restarted) { // what answers now is not what was read
		return nil, err
	}
	return p.asked(ctx, x, src, t, o)
}

// asked fills in what else was read in a window with its classes, and what must be asked of the server. Nil: the window
// is not fit to be judged.
func (p archive) asked(
	ctx context.Context, x *snapshot.Snapshot, classes source.Source, t family.Server, o family.Look,
) (*snapshot.Snapshot, error) {
	asker, ok := t.(family.Asker)
	if !ok {
		return nil, nil
	}
	err := p.fill(ctx, x, classes)
	var unfit *WindowError
	// The time before a change of Dyno's must not make a finding look as if the change had done nothing.
	changed := func(e event.Event) bool { return e.Target != "" && e.Kind == event.Action }
	if errors.As(err, &unfit) || err == nil && (!classed(x) || slices.ContainsFunc(x.Events, changed)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if x.Target.Flavor != t.About().Flavor || x.Target.Version != t.About().Version {
		return nil, nil // another server than the one that was watched in it
	}
	sources := len(x.Sources)
	if err := asker.Ask(ctx, x, o); err != nil {
		return nil, err
	}
	for i := range x.Sources[sources:] {
		if y := &x.Sources[sources+i]; y.State == source.OK {
			y.Reason = strings.TrimPrefix(y.Reason+"; read at "+local(clock.Now())+", after the window", "; ")
		}
	}
	snapshot.Bound(x, 0)
	return x, nil
}

// listener gathers the query classes of the windows that a watcher reads, until they are long enough.
type listener struct {
	since time.Time     // windows that began before are none of it
	least time.Duration // how long they are to be
	got   minute
	full  chan minute
}

// listen begins to gather windows of at least a length. The caller ends it with deaf.
func (m *member) listen(length time.Duration) *listener {
	// Windows are a moment shorter or longer than their schedule.
	l := &listener{since: clock.Now(), least: length - time.Second/2, full: make(chan minute, 1)}
	m.counting.Lock()
	defer m.counting.Unlock()
	if m.listeners == nil {
		m.listeners = map[*listener]bool{}
	}
	m.listeners[l] = true
	return l
}

func (m *member) deaf(l *listener) {
	m.counting.Lock()
	defer m.counting.Unlock()
	delete(m.listeners, l)
}

// hear hands a window to those who listen. One in which the clock was set is of no use: they start again.
func (m *member) hear(w ClassWindow, set bool) {
	m.counting.Lock()
	defer m.counting.Unlock()
	for l := range m.listeners {
		if set || !l.got.follows(w) {
			l.got = minute{}
		}
		if set || w.From.Before(l.since) {
			continue
		}
		if l.got.take(w); l.got.to.Sub(l.got.from) >= l.least {
			l.full <- l.got // it has room for the one that is sent
			delete(m.listeners, l)
		}
	}
}

// listened is a snapshot of the next o.Window of a target as its watcher reads it, with what must be asked of the
// server: an incident is not judged by the time before it, and the server is not read a second time. Nil as for
// lastMinute.
func (s *Diagnoses) listened(
	ctx context.Context, name string, t family.Server, o family.Look,
) (*snapshot.Snapshot, error) {
	m := s.fleet.member(name)
	if _, ok := t.(family.Asker); !ok || m == nil || t.Spec().Redact || !s.fleet.answers(m, t) {
		return nil, nil
	}
	l := m.listen(o.Window)
	defer m.deaf(l)
	began, most := time.Now(), o.Window+listenSlack
	over := time.NewTimer(most)
	defer over.Stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case got := <-l.full:
			x := &snapshot.Snapshot{
				Format: snapshot.Format, From: got.from.UTC(), To: got.to.UTC(), Target: snapshot.Target{Name: name},
				Classes: got.list(),
			}
			return s.past.asked(ctx, x, source.Source{Name: source.Digests, State: source.OK, Reads: 1}, t, o)
		case <-tick.C:
			o.Progress.Report(progress.Progress{
				Step: "observing " + name, Unit: "s", Started: began, At: time.Now(),
				Done: min(time.Since(began), o.Window).Seconds(), Total: o.Window.Seconds(),
			})
		case <-over.C:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
