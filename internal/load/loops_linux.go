package load

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// loopWay returns the way to drive sessions by event loops over bare descriptors.
func loopWay(s Sessions) []way {
	d, ok := s.(WireDialer)
	if !ok {
		return nil
	}
	return []way{{"loops", func(cr *crew) party {
		cr.timing = true // the moments are taken in any case
		return &looped{crew: cr, dial: func(ctx context.Context) (*rawLink, error) {
			return dialRaw(ctx, d, cr.plan, cr.config.PSMode)
		}}
	}}}
}

// looped is the party of event loops: a few threads that share the sessions out among them.
type looped struct {
	*crew
	dial func(ctx context.Context) (*rawLink, error)
	all  []*loop
	// politely is set when there are more loops than Go runs at the same time: none may then keep its processor while
	// it waits.
	politely bool
}

// loopsFor chooses the number of loops: few, because every loop more is a thread more to wake, and most CPUs are left
// to a server on the same machine. It is reasoned, not measured on large machines; Config.Loops overrides it.
func loopsFor(sessions, cpus int) int { return max(1, min(cpus/4, sessions/16)) }

func (p *looped) connect(ctx context.Context) error {
	n := p.config.Loops
	if n == 0 {
		n = loopsFor(p.config.Threads, runtime.GOMAXPROCS(0))
	}
	n = min(n, p.config.Threads)
	p.politely = n > runtime.GOMAXPROCS(0)
	recs := newRecorders(p.crew, n)
	for i := range n {
		poll, err := newPoller()
		if err != nil {
			p.close()
			return err
		}
		p.all = append(p.all, &loop{looped: p, poll: poll, rec: recs[i], buf: make([]byte, readSize)})
	}
	links := make([]*rawLink, p.config.Threads)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(dialers)
	for i := range links {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			l, err := p.dial(p.hard)
			if err != nil {
				return fmt.Errorf("connect session %d of %d: %w", i+1, len(links), p.server.Explain(err, p.plan))
			}
			links[i] = l
			return nil
		})
	}
	err := g.Wait()
	for i, link := range links {
		if link == nil {
			continue
		}
		l := p.all[i%n]
		s := &looper{loop: l, token: int32(len(l.sessions)), link: link}
		s.flow.crew = p.crew
		if p.config.Terminals <= p.config.Threads {
			s.own = p.newTerminal(i)
		}
		l.sessions = append(l.sessions, s)
		if aerr := s.watch(); aerr != nil && err == nil {
			err = aerr
		}
	}
	if err != nil {
		p.close()
	}
	return err
}

// readSize is how much a loop reads at once.
const readSize = 64 << 10

func (p *looped) close() {
	for _, l := range p.all {
		for _, s := range l.sessions {
			s.link.wire.Close()
		}
		l.poll.close()
	}
}

func (p *looped) run() {
	var all sync.WaitGroup
	for _, l := range p.all {
		all.Go(l.run)
	}
	all.Wait()
	for _, l := range p.all { // a loop that has ended may still have been woken by another
		l.poll.close()
	}
}

func (p *looped) wake() {
	for _, l := range p.all {
		l.poll.wake()
	}
}

func (p *looped) busyIDs() (ids []uint64) {
	for _, l := range p.all {
		for _, s := range l.sessions {
			if id := s.busyID.Load(); id != 0 {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func (p *looped) recorders() (out []*recorder) {
	for _, l := range p.all {
		out = append(out, l.rec)
	}
	return out
}

func (p *looped) loops() (out []time.Duration) {
	for _, l := range p.all {
		out = append(out, l.cpu())
	}
	return out
}

func (p *looped) flows() (out []*flow) {
	for _, l := range p.all {
		for _, s := range l.sessions {
			out = append(out, &s.flow)
		}
	}
	return out
}
