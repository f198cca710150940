package load

import (
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// looper is a session of a loop: a connection that runs operations one after the other. It belongs to the loop's
// thread.
type looper struct {
	*loop
	flow   flow
	link   *rawLink  // nil while it is lost
	own    *terminal // nil where terminals share sessions
	state  state
	token  int32         // its place in the loop
	era    int32         // number of its connection, to tell late events of an earlier one
	since  time.Duration // when it became free
	idled  bool          // the connection was lost while nothing was under way
	busyID atomic.Uint64 // the server's id of the connection while an operation is under way, else 0
}

type state uint8

const (
	free     state = iota // waits for the queue
	thinking              // waits for its own terminal
	busy                  // an operation is under way
	dialling              // the connection was lost, another goroutine makes a new one
	over                  // has ended
)

// watch lets the loop see what happens to the connection.
func (s *looper) watch() error {
	s.era++
	if err := s.poll.add(s.link.fd, s.token, s.era); err != nil {
		return s.link.wire.Wrap("watch the connection to", err)
	}
	return nil
}

// rest says that the session has nothing under way, and goes on with what there is to do.
func (s *looper) rest(now time.Duration) {
	t, at, ok := s.next(now)
	for ok && !s.start(t, at, now) {
		now = s.now()
		t, at, ok = s.next(now)
	}
}

// next returns the operation that can begin at once. When it is not ok the session waits, or has ended.
func (s *looper) next(now time.Duration) (t *terminal, at time.Duration, ok bool) {
	if s.stopped.Load() {
		s.end()
		return nil, 0, false
	}
	s.since = now
	if s.queue != nil {
		if t, at, ok = s.queue.take(now); ok {
			return t, at, true
		}
		s.idle(free)
		s.free = append(s.free, s)
		return nil, 0, false
	}
	if !s.may() {
		s.end()
		return nil, 0, false
	}
	s.own.draw(now)
	if s.own.due > now {
		s.idle(thinking)
		s.thinking.push(s.own.due, s)
		return nil, 0, false
	}
	return s.own, 0, true
}

func (s *looper) idle(x state) {
	s.state = x
	s.busyID.Store(0)
}

// begin starts an operation and goes on to the next ones, should it be over at once.
func (s *looper) begin(t *terminal, at, now time.Duration) {
	if !s.start(t, at, now) {
		s.rest(s.now())
	}
}

// start starts an operation. It is false when that is over already.
func (s *looper) start(t *terminal, at, now time.Duration) (underWay bool) {
	if t == nil {
		s.own.draw(now)
		t = s.own
	}
	if s.queue != nil {
		s.busy.Add(1)
		s.c.begins(now - max(at, s.since))
	}
	if s.busyID.Load() == 0 {
		s.busyID.Store(s.link.wire.ID())
	}
	s.state = busy
	return s.carry(s.flow.begin(s.c, t, at, now, s.queue != nil))
}

// carry does what the flow says until there is something to wait for. It is false when the operation is over.
func (s *looper) carry(x step) (underWay bool) {
	for {
		var err error
		switch x {
		case stepSend:
			err = s.link.call(&s.flow.call)
		case stepRollback:
			s.link.rollback()
		case stepReconnect:
			s.redial(s.flow.err)
			return true
		case stepDone, stepDropped:
			s.over()
			return false
		case stepHalted:
			s.end()
			return true
		case stepFailed:
			s.over()
			s.crew.fail(s.flow.err)
			s.end()
			return true
		}
		if err == nil {
			if err = s.flush(); err == nil {
				return true
			}
		}
		x = s.flow.answered(s.c, err, s.now())
	}
}

// over gives back what the operation took.
func (s *looper) over() {
	if s.queue == nil {
		return
	}
	s.busy.Add(-1)
	if t := s.flow.t; t != s.own {
		s.queue.give(t, s.now())
		s.given()
	}
}

// flush sends what is left of a command, and asks to be told when it does not go at once.
func (s *looper) flush() error {
	partly := s.link.sent > 0
	all, err := s.link.flush()
	if err != nil || all && !partly {
		return err
	}
	if err := s.poll.writing(s.link.fd, s.token, s.era, !all); err != nil {
		return s.link.wire.Wrap("watch the connection to", err)
	}
	return nil
}

// event acts on what happened to the connection; start is when the loop began with the events.
func (s *looper) event(events uint32, start time.Duration) {
	if s.state == busy && events&unix.EPOLLOUT != 0 && s.link.sent < len(s.link.out) {
		if err := s.flush(); err != nil {
			s.answered(err, start)
			return
		}
	}
	if events&(unix.EPOLLIN|hangup) == 0 {
		return
	}
	if s.state != busy {
		if s.link == nil || s.link.silent(s.buf) {
			return
		}
		// A server has nothing to say then but that it closes the connection.
		if s.state == free {
			s.free.remove(s)
		}
		s.idled = true
		s.c.lost++
		s.redial(errIdle)
		return
	}
	for {
		done, full, err := s.link.read(s.buf, s.flow.t.gen)
		switch {
		case done:
			s.answered(err, start)
			return
		case !full && events&hangup == 0:
			return
		}
		// An edge is told once: where there may be more, it has to be read now. After a hang-up the end of the
		// connection comes last.
	}
}

var errIdle = errors.New("the server closed the connection while nothing was under way")

// answered goes on after an answer.
func (s *looper) answered(err error, start time.Duration) {
	now := s.now()
	s.c.client.waited += now - start
	s.c.client.served += now - s.flow.sent
	if !s.carry(s.flow.answered(s.c, err, now)) {
		s.rest(now)
	}
}

// redial lets another goroutine make a new connection.
func (s *looper) redial(cause error) {
	s.drop()
	s.idle(dialling)
	s.up.Add(-1)
	go func() {
		timer := time.NewTimer(time.Hour)
		defer timer.Stop()
		link, err := again(s.crew, cause, func(d time.Duration) bool {
			timer.Reset(d)
			select {
			case <-timer.C:
				return !s.stopped.Load()
			case <-s.stop:
				return false
			}
		}, s.dial)
		s.post(redialled{s, link, err})
	}()
}

// redialled goes on with the new connection, or without one.
func (s *looper) redialled(link *rawLink, err error) {
	if err == nil {
		s.link = link
		err = s.watch()
	}
	if err == nil {
		s.up.Add(1)
	}
	if !s.idled {
		s.state = busy
		if err == nil {
			s.busyID.Store(link.wire.ID())
		}
		if !s.carry(s.flow.reconnected(s.c, err, s.now())) {
			s.rest(s.now())
		}
		return
	}
	s.idled = false
	switch now := s.now(); {
	case errors.Is(err, errStopped):
		s.end()
	case err != nil:
		s.crew.fail(err)
		s.end()
	default:
		s.c.reconnects++
		s.resume(now)
	}
}

// resume waits again for what the session waited for when its connection was lost.
func (s *looper) resume(now time.Duration) {
	switch {
	case s.queue != nil || s.stopped.Load():
		s.rest(now)
	case s.own.due > now:
		s.state = thinking
		s.thinking.push(s.own.due, s)
	default:
		s.begin(s.own, 0, now)
	}
}

// drop closes the connection.
func (s *looper) drop() {
	if s.link != nil {
		s.link.wire.Close()
		s.link = nil
		s.era++
	}
}

// end ends the session.
func (s *looper) end() {
	if s.state == over {
		return
	}
	s.drop()
	s.idle(over)
	s.alive--
}
