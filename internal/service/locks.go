package service

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/lock"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/store/history"
)

// locks keeps the deadlocks and lock waits of all targets. They are stored by another goroutine than those that read,
// so that no one waits for the disk.
type locks struct {
	history *history.History
	more    chan struct{}

	mu      sync.Mutex
	waiting []foundLocks
	bytes   int // of them
}

// foundLocks is what one reading of a target brought.
type foundLocks struct {
	target string
	seen   lock.Seen
	waits  []lock.Wait
}

// These bound the readings that wait to be stored: their number, and about their bytes. The oldest go first.
const (
	mostFound      = 2000
	mostFoundBytes = 16 << 20
)

// size is about what it takes, in bytes.
func (x foundLocks) size() int {
	const each = 500 // of a session or lock without its statement
	n := each
	for _, d := range x.seen.Deadlocks {
		for _, p := range d.Parties {
			n += each*(1+len(p.Holds)+len(p.Waits)) + len(p.SQL) + len(p.Fingerprint)
		}
	}
	for _, w := range x.waits {
		n += each + len(w.Root.SQL) + len(w.Root.Fingerprint)
		for _, y := range w.Waiters {
			n += each + len(y.SQL) + len(y.Fingerprint)
		}
		for _, p := range w.Pairs {
			n += each + len(p.BlockingFingerprint) + len(p.BlockedFingerprint)
		}
	}
	return n
}

// take follows the locks of a target through a reading, and returns its deadlocks as events.
func (s *locks) take(m *member, r *reading.Reading) (events []event.Event) {
	read := slices.ContainsFunc(r.Parts, func(p reading.Part) bool { return p.Source == source.Locks })
	x := foundLocks{m.entry.Name, r.Deadlocks, m.waits.Next(r.State, read)}
	s.add(x)
	for _, d := range x.seen.Deadlocks {
		events = append(events, event.Event{
			ID: "deadlock-" + d.ID + "-" + x.target, At: d.At, Target: x.target, Kind: event.Deadlock, Ref: d.ID,
			Text: deadlockText(d),
		})
	}
	return events
}

// deadlockText describes a deadlock in one line, without literals of statements.
func deadlockText(d lock.Deadlock) string {
	text := fmt.Sprintf("Deadlock of %d sessions", len(d.Parties))
	for _, p := range d.Parties {
		if len(p.Waits) > 0 {
			text += " on " + p.Waits[0].Object
			if p.Waits[0].Index != "" {
				text += " (" + p.Waits[0].Index + ")"
			}
			break
		}
	}
	if v, ok := d.Victim(); ok {
		text += fmt.Sprintf("; session %d was rolled back", v.Session)
	}
	return text
}

func (s *locks) add(x foundLocks) {
	if len(x.seen.Deadlocks)+len(x.seen.Missed)+len(x.waits) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, x)
	s.bytes += x.size()
	s.bound()
	s.wake()
}

// bound lets the oldest go; s.mu is held.
func (s *locks) bound() {
	for len(s.waiting) > mostFound || s.bytes > mostFoundBytes && len(s.waiting) > 1 {
		s.bytes -= s.waiting[0].size()
		s.waiting = slices.Delete(s.waiting, 0, 1)
	}
}

func (s *locks) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// next takes the oldest reading out: nothing else drops or changes it while it is stored.
func (s *locks) next() (x foundLocks, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return x, false
	}
	x = s.waiting[0]
	s.bytes -= x.size()
	s.waiting = slices.Delete(s.waiting, 0, 1)
	return x, true
}

// back puts a reading that was not stored where it was.
func (s *locks) back(x foundLocks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.Insert(s.waiting, 0, x)
	s.bytes += x.size()
	s.bound()
	s.wake() // again after the pause
}

// end keeps the waits of a target that is not watched any more.
func (s *locks) end(m *member) { s.add(foundLocks{target: m.entry.Name, waits: m.waits.End()}) }

// store stores what comes until end is closed, and then what is left.
func (s *locks) store(end <-chan struct{}, failed func(error)) {
	flush := func() {
		for {
			x, ok := s.next()
			if !ok {
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), storeTime)
			err := s.history.Locks.Put(ctx, x.target, x.seen, x.waits)
			cancel()
			if err != nil {
				failed(err)
				s.back(x)
				return
			}
		}
	}
	pause := time.NewTicker(time.Second)
	defer pause.Stop()
	for {
		select {
		case <-s.more:
			flush()
		case <-end:
			flush()
			return
		}
		select {
		case <-pause.C:
		case <-end:
		}
	}
}
