package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// driven is the party of the general driver: a goroutine for each session.
type driven struct {
	*crew
	sessions []*session
	recs     []*recorder
	work     chan due      // from the queue, when there is one
	kick     chan struct{} // the queue has something new
}

// due is an operation that a queue handed out.
type due struct {
	t  *terminal // nil: the session's own
	at time.Duration
}

// mostRecorders bounds the memory that histograms take: many sessions share them.
const mostRecorders = 16

func newDriven(cr *crew) *driven {
	cr.timing = cr.config.Statements
	return &driven{crew: cr, work: make(chan due), kick: make(chan struct{}, 1)}
}

func (d *driven) connect(ctx context.Context) error {
	d.recs = newRecorders(d.crew, min(d.config.Threads, mostRecorders))
	d.sessions = make([]*session, d.config.Threads)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(dialers)
	for i := range d.sessions {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			conn, err := d.dial(d.hard)
			if err != nil {
				return fmt.Errorf("connect session %d of %d: %w", i+1, len(d.sessions), d.server.Explain(err, d.plan))
			}
			s := &session{driven: d, conn: conn, rec: d.recs[i%len(d.recs)]}
			s.flow.crew = d.crew
			if d.config.Terminals <= d.config.Threads {
				s.own = d.newTerminal(i)
			}
			d.sessions[i] = s
			return nil
		})
	}
	err := g.Wait()
	if err != nil {
		d.close()
	}
	return err
}

// dial opens a connection that breaks when ctx ends, also later.
func (d *driven) dial(ctx context.Context) (Session, error) {
	return d.server.Dial(ctx, d.plan, d.config.PSMode)
}

func newRecorders(cr *crew, n int) []*recorder {
	out := make([]*recorder, n)
	for i := range out {
		out[i] = newRecorder(len(cr.plan.Operations), len(cr.naming.names))
	}
	return out
}

// close ends the connections of a run that has not begun.
func (d *driven) close() {
	for _, s := range d.sessions {
		if s != nil {
			s.conn.Close()
		}
	}
}

func (d *driven) run() {
	var all sync.WaitGroup
	if d.queue != nil {
		all.Go(d.dispatch)
	}
	for _, s := range d.sessions {
		all.Go(s.run)
	}
	all.Wait()
}

// dispatch hands what is due to free sessions.
func (d *driven) dispatch() {
	defer close(d.work)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for !d.queue.ended() {
		if t, at, ok := d.queue.take(d.now()); ok {
			select {
			case d.work <- due{t, at}:
				continue
			case <-d.stop:
				d.queue.untake()
				return
			}
		}
		if d.queue.ended() {
			return
		}
		timer.Reset(min(d.queue.next()-d.now(), time.Hour))
		select {
		case <-timer.C:
		case <-d.kick:
		case <-d.stop:
			return
		}
	}
}

func (d *driven) wake() {}

func (d *driven) busyIDs() (ids []uint64) {
	for _, s := range d.sessions {
		if id := s.busyID.Load(); id != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func (d *driven) recorders() []*recorder { return d.recs }

func (d *driven) loops() []time.Duration { return nil }

func (d *driven) flows() (out []*flow) {
	for _, s := range d.sessions {
		out = append(out, &s.flow)
	}
	return out
}

// session is one connection that runs operations one after the other.
type session struct {
	*driven
	flow   flow
	conn   Session   // nil while it is lost
	own    *terminal // nil where terminals share sessions
	rec    *recorder
	timer  *time.Timer
	busyID atomic.Uint64 // the server's id of the connection while an operation is under way, else 0
}

// errStopped says that the run ends before an operation came to its end.
var errStopped = errors.New("stopped")

// run performs operations until the run ends.
func (s *session) run() {
	defer func() {
		if s.conn != nil {
			s.conn.Close()
		}
	}()
	free := time.Duration(0)
	for {
		t, at, ok := s.next()
		if !ok {
			return
		}
		s.busy.Add(1)
		step := s.perform(t, at, free)
		free = s.now()
		if step != stepHalted {
			s.busy.Add(-1)
		}
		if t != s.own {
			s.queue.give(t, free)
			select {
			case s.kick <- struct{}{}:
			default:
			}
		}
		if step == stepFailed {
			s.fail(s.flow.err)
		}
		if step == stepFailed || step == stepHalted {
			return
		}
	}
}

// next waits for an operation. It is not ok when the run ends.
func (s *session) next() (t *terminal, at time.Duration, ok bool) {
	if s.queue != nil {
		select {
		case d, open := <-s.work:
			if !open {
				return nil, 0, false
			}
			if s.stopped.Load() {
				s.queue.untake()
				return nil, 0, false
			}
			if d.t == nil {
				s.own.draw(s.now())
				d.t = s.own
			}
			return d.t, d.at, true
		case <-s.stop:
			return nil, 0, false
		}
	}
	if !s.may() {
		return nil, 0, false
	}
	s.own.draw(s.now())
	if think := s.own.op.Think; think > 0 && !s.sleep(think) {
		return nil, 0, false
	}
	return s.own, 0, true
}

// sleep waits and reports whether the run goes on.
func (s *session) sleep(d time.Duration) bool {
	if s.timer == nil {
		s.timer = time.NewTimer(d)
	} else {
		s.timer.Reset(d)
	}
	select {
	case <-s.timer.C:
		return !s.stopped.Load()
	case <-s.stop:
		s.timer.Stop()
		return false
	}
}

// perform carries out one operation, again from its beginning as often as it takes.
func (s *session) perform(t *terminal, at, free time.Duration) step {
	s.busyID.Store(s.conn.ID())
	defer s.busyID.Store(0)
	f := &s.flow
	now := s.now()
	c := s.rec.hold()
	if s.queue != nil {
		c.begins(now - max(at, free))
	}
	step := f.begin(c, t, at, now, s.queue != nil)
	s.rec.release()
	for !step.over() {
		var err error
		switch step {
		case stepSend:
			err = s.conn.Call(s.hard, &f.call, f.t.gen.Row)
		case stepRollback:
			err = s.conn.Send(s.hard, "ROLLBACK")
		case stepReconnect:
			s.busyID.Store(0)
			err = s.reconnect(f.err)
			if err == nil {
				s.busyID.Store(s.conn.ID())
			}
		case stepDone, stepDropped, stepHalted, stepFailed: // over
		}
		now := s.now()
		c := s.rec.hold()
		if step == stepReconnect {
			step = f.reconnected(c, err, now)
		} else {
			step = f.answered(c, err, now)
		}
		s.rec.release()
	}
	return step
}

const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// reconnect replaces a broken connection, with growing pauses for as long as Config.Reconnect allows.
func (s *session) reconnect(cause error) error {
	s.conn.Close()
	s.conn = nil
	s.up.Add(-1)
	conn, err := again(s.crew, cause, s.sleep, s.dial)
	if err == nil {
		s.conn = conn
		s.up.Add(1)
	}
	return err
}

// again dials until there is a connection, the run ends or it is no use.
func again[C any](
	cr *crew, cause error, sleep func(time.Duration) bool, dial func(context.Context) (C, error),
) (C, error) {
	var none C
	begin := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if !sleep(pause) {
			return none, errStopped
		}
		conn, err := dial(cr.hard)
		switch {
		case err == nil:
			return conn, nil
		case cr.stopped.Load():
			return none, errStopped
		case time.Since(begin) > cr.config.Reconnect || cr.server.Trouble(err).Hopeless:
			return none, fmt.Errorf("connection lost (%w), and no other in %v: %w", cause,
				time.Since(begin).Round(time.Second), err)
		}
	}
}
