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
}

// foundLocks is what one reading of a target brought.
type foundLocks struct {
	target string
	seen   lock.Seen
	waits  []lock.Wait
}

// mostFound bounds how many readings may wait to be stored; the oldest go first.
const mostFound = 2000

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
	if len(s.waiting) >= mostFound {
		s.waiting = s.waiting[1:]
	}
	s.waiting = append(s.waiting, x)
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// end keeps the waits of a target that is not watched any more.
func (s *locks) end(m *member) { s.add(foundLocks{target: m.entry.Name, waits: m.waits.End()}) }

// store stores what comes until end is closed, and then what is left.
func (s *locks) store(end <-chan struct{}, failed func(error)) {
	flush := func() {
		for {
			s.mu.Lock()
			if len(s.waiting) == 0 {
				s.mu.Unlock()
				return
			}
			x := s.waiting[0]
			s.mu.Unlock()
			ctx, cancel := context.WithTimeout(context.Background(), storeTime)
			err := s.history.Locks.Put(ctx, x.target, x.seen, x.waits)
			cancel()
			if err != nil {
				failed(err)
				select { // again after the pause
				case s.more <- struct{}{}:
				default:
				}
				return
			}
			s.mu.Lock()
			if len(s.waiting) > 0 {
				s.waiting = s.waiting[1:]
			}
			s.mu.Unlock()
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
