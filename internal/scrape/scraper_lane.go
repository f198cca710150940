package scrape

import (
	"context"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
)

// lane reads heavy sources one after the other beside the light ones, on a connection of its own. A lane is one job of
// that kind; nil is a lane that has nothing to do.
type lane struct {
	done    chan outcome // closed at the end; it has room for all
	stop    context.CancelFunc
	running bool
}

// start begins to read the heavy sources whose turn it is, unless the job before is still under way: then it returns
// that one.
func (l *lane) start(ctx context.Context, s *Scraper, p pass) *lane {
	if l != nil && l.running {
		return l
	}
	var job []*turn
	for _, st := range s.states {
		if st.traits.Cost == Heavy && (p.whole || st.due(p)) {
			job = append(job, st)
		}
	}
	if len(job) == 0 {
		return nil
	}
	lctx, stop := context.WithCancel(ctx)
	x := &lane{done: make(chan outcome, len(job)), stop: stop, running: true}
	began := time.Now()
	go func() {
		defer close(x.done)
		settle := sync.OnceFunc(func() {})
		if s.heavy != nil {
			work := s.heavy.Work()
			settle = sync.OnceFunc(func() {
				sctx, cancel := context.WithTimeout(lctx, max(s.timeout, 5*time.Second))
				defer cancel()
				work(sctx)
			})
		}
		defer settle()
		for i, st := range job {
			if lctx.Err() != nil {
				return
			}
			bound := max(s.timeout, min(5*time.Second, time.Duration(st.budget()*float64(st.traits.Every))))
			late := time.Since(began)
			var samples []metric.Sample
			o := st.read(lctx, p.at.UnixMilli(), bound, func(m metric.Sample) { samples = append(samples, m) })
			o.samples, o.late = samples, late
			if i == len(job)-1 && st.link != nil { // the last one pays for all
				before := st.link.Used()
				settle()
				o.used = o.used.Plus(st.link.Used().Minus(before))
			}
			x.done <- o
		}
	}()
	return x
}

// collect hands over what has been read, and waits for what has not for as long as grace.
func (l *lane) collect(ctx context.Context, grace time.Duration, take func(outcome)) {
	if l == nil || !l.running {
		return
	}
	var timeout <-chan time.Time
	if grace > 0 {
		t := time.NewTimer(grace)
		defer t.Stop()
		timeout = t.C
	}
	for {
		select { // what is there first
		case o, ok := <-l.done:
			if !ok {
				l.running = false
				l.stop()
				return
			}
			take(o)
			continue
		default:
		}
		if grace <= 0 {
			return
		}
		select {
		case o, ok := <-l.done:
			if !ok {
				l.running = false
				l.stop()
				return
			}
			take(o)
		case <-timeout:
			return
		case <-ctx.Done():
			return
		}
	}
}

// drain ends what heavy sources are doing. What they gave is lost.
func (s *Scraper) drain() {
	if s.lane == nil || !s.lane.running {
		return
	}
	s.lane.stop()
	for range s.lane.done {
	}
	s.lane.running = false
}
