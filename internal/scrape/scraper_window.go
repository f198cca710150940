package scrape

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/reading"
)

// endsTime bounds the first and the last round of a window.
const endsTime = 20 * time.Second

// Window reads the sources for a length of time, as Run does, but every one of them in the first round and once more at
// the end, however seldom it is read else: so each counter is known over the whole window. In these two a source may
// take as long as Options.Timeout: on a server that can hardly answer, two readings are better than none. The round at
// the end is not at a whole multiple of every.
//
// ctx may end it early, which is no error; there is no round at the end then. sink is called as by Run.
func (s *Scraper) Window(ctx context.Context, every, length time.Duration, sink func(reading.Reading)) error {
	if every < 100*time.Millisecond {
		return fmt.Errorf("scrape every %v: the shortest interval is 100ms", every)
	}
	s.drain()
	for _, st := range s.states {
		st.reads, st.took, st.ever, st.next = 0, 0, false, time.Time{}
	}
	defer s.drain()
	end := time.Now().Add(length)
	ends := min(time.Duration(len(s.states))*s.timeout, endsTime)
	p := pass{every: every, budget: ends, whole: true}
	b := newBeat(every)
	between, stop := context.WithDeadline(ctx, end.Add(-every/2)) // a round just before the last one would tell nothing
	defer stop()
	for {
		at, gap, ok := b.next(between)
		if !ok {
			break
		}
		p.at = at
		r := s.round(ctx, p)
		p.budget, p.whole = every*9/10, false
		if ctx.Err() != nil {
			return nil
		}
		r.Events = append(gap, r.Events...)
		sink(r)
	}
	t := time.NewTimer(time.Until(end))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-t.C:
	}
	s.lane.collect(ctx, every, func(o outcome) { o.turn.settle(o, p) })
	s.drain()
	for _, st := range s.states {
		st.next = time.Time{} // one that failed before has this one more chance
	}
	p = pass{at: time.Now(), every: every, budget: ends, whole: true}
	r := s.round(ctx, p)
	if ctx.Err() == nil {
		sink(r)
	}
	return nil
}
