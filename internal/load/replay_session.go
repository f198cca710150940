package load

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"
)

const (
	// connectEarly is how long before its next statement is due a session connects.
	connectEarly = 500 * time.Millisecond
	// generous is the pause from which on a session gives its connection to one that waits.
	generous = 100 * time.Millisecond
	// patience is how long a session waits for a connection before it takes one from a session in a transaction.
	patience = time.Second
	// clientError stands in Tick.Errors for what the driver refuses to send.
	clientError = "2000"
)

// replaySession is one session of the log.
type replaySession struct {
	*replay
	key    sessionKey
	rec    *recorder
	wakes  chan struct{}
	busyID atomic.Uint64

	// Of the replay's lock.
	queue  itemQueue
	logged int64 // when its latest statement ended, by the log
	lastDB string

	// Of its own goroutine.
	conn   ReplaySession // nil while there is none
	cause  error         // why the one before was lost
	db     string        // of conn
	open   bool          // a transaction is
	pinned bool          // conn has settings or locks of its own
	free   time.Duration // when the latest answer came
	timer  *time.Timer
}

// newSession adds a session. The lock is held.
func (r *replay) newSession(key sessionKey) *replaySession {
	s := &replaySession{replay: r, key: key, rec: r.recs[r.numbered%len(r.recs)], wakes: make(chan struct{}, 1)}
	r.numbered++
	r.count.Sessions++
	r.sessions[key] = s
	r.all[s] = struct{}{}
	return s
}

// news tells the session that there is something to do, or nothing any more.
func (s *replaySession) news() {
	select {
	case s.wakes <- struct{}{}:
	default:
	}
}

// run sends the session's statements until there are no more, or the replay is stopped.
func (s *replaySession) run() {
	defer func() { s.drop(s.slots) }()
	for !s.stopped.Load() {
		due, state := s.look()
		switch state {
		case sessionOver:
			return
		case sessionIdle:
			if !s.idle() {
				return
			}
			continue
		case sessionHas:
		}
		if s.conn == nil {
			// Early where there is room; nobody is asked for a connection before it is needed.
			if !s.waitFor(due - connectEarly) {
				continue
			}
			select {
			case <-s.slots:
			default:
				if !s.waitFor(due) {
					continue
				}
				if !s.place() {
					return
				}
			}
			if !s.connect() {
				return
			}
		}
		if s.waitFor(due) && !s.next(due) {
			return
		}
	}
}

// sessionState says what is in a session's queue.
type sessionState uint8

const (
	sessionHas sessionState = iota
	sessionIdle
	sessionOver
)

// look returns when the next statement is due.
func (s *replaySession) look() (due time.Duration, state sessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.queue.peek()
	switch {
	case i != nil:
		return s.due(i.start), sessionHas
	case s.eof || s.sessions[s.key] != s: // it has quit, or the log has ended
		return 0, sessionOver
	case s.conn == nil: // it keeps nothing that would be worth to wait for
		s.forget(s)
		return 0, sessionOver
	}
	return 0, sessionIdle
}

// idle waits for news. It is false when the session gave its connection away and has nothing to do, or the replay ends.
func (s *replaySession) idle() bool {
	want, must := s.offers()
	var to chan<- struct{}
	select {
	case <-s.wakes:
		return true
	case to = <-want:
	case to = <-must:
	case <-s.stop:
		return false
	}
	s.drop(to)
	return true // look tells whether something came in the meantime
}

// offers returns the channels by which the connection may be asked for.
func (s *replaySession) offers() (want, must <-chan chan<- struct{}) {
	if s.conn == nil {
		return nil, nil
	}
	if s.open || s.pinned {
		return nil, s.must
	}
	return s.want, s.must
}

// waitFor waits until a moment. It is false when the replay ends or the connection was given away in the meantime.
func (s *replaySession) waitFor(due time.Duration) bool {
	for {
		pause := due - s.now()
		if pause <= 0 {
			return !s.stopped.Load()
		}
		var want, must <-chan chan<- struct{}
		if pause > generous {
			want, must = s.offers()
			if s.open || s.pinned {
				must = nil // it goes on by itself
			}
		}
		if s.timer == nil {
			s.timer = time.NewTimer(pause)
		} else {
			s.timer.Reset(pause)
		}
		var to chan<- struct{}
		select {
		case <-s.timer.C:
			continue
		case to = <-want:
		case to = <-must:
		case <-s.stop:
			return false
		}
		s.drop(to)
		return false
	}
}

// sleep waits and reports whether the replay goes on.
func (s *replaySession) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return !s.stopped.Load()
	case <-s.stop:
		return false
	}
}

// drop closes the connection and gives its slot away.
func (s *replaySession) drop(to chan<- struct{}) {
	if s.conn == nil {
		return
	}
	if s.open || s.pinned {
		s.mu.Lock()
		if !s.eof && !s.stopped.Load() && s.sessions[s.key] == s {
			s.replay.count.Cut++
		}
		s.mu.Unlock()
	}
	s.conn.Close()
	s.conn, s.db, s.open, s.pinned = nil, "", false, false
	s.up.Add(-1)
	to <- struct{}{}
}

// connect logs in; there is room for it. It is false when the replay ends.
func (s *replaySession) connect() bool {
	var conn ReplaySession
	var err error
	if s.cause == nil {
		conn, err = s.dial(s.hard)
		s.cause = err
	}
	if s.cause != nil && s.hard.Err() == nil {
		if s.server.Trouble(s.cause).Hopeless {
			err = s.cause
		} else {
			conn, err = again(s.crew, s.cause, s.sleep, s.dial)
		}
	}
	if err != nil {
		s.slots <- struct{}{}
		if !errors.Is(err, errStopped) && s.hard.Err() == nil {
			s.fail(err)
		}
		return false
	}
	if s.cause != nil {
		c := s.rec.hold()
		c.reconnects++
		s.rec.release()
	}
	s.conn, s.cause = conn, nil
	s.db = s.config.Database
	s.up.Add(1)
	s.free = s.now()
	return true
}

// place waits for a slot.
func (s *replaySession) place() bool {
	t := time.NewTimer(patience)
	defer t.Stop()
	given := make(chan struct{}, 1)
	var must chan<- chan<- struct{}
	for {
		select {
		case <-s.slots:
			return true
		case s.want <- given:
		case must <- given:
		case <-t.C:
			must = s.must
			continue
		case <-s.stop:
			return false
		}
		<-given // it closes its connection, which takes a second at most
		return true
	}
}

// next takes the next statement out of the queue and sends it. It is false when the session ends.
func (s *replaySession) next(due time.Duration) bool {
	s.mu.Lock()
	i := s.queue.pop()
	s.bytes -= i.size()
	s.taken++
	s.room.Signal()
	s.mu.Unlock()
	if i.quit {
		return false
	}
	s.busy.Add(1)
	ok := s.send(&i, due)
	s.busy.Add(-1)
	return ok
}

// send runs one statement. It is false when the replay ends.
func (s *replaySession) send(i *replayItem, due time.Duration) bool {
	s.busyID.Store(s.conn.ID())
	defer s.busyID.Store(0)
	began := s.now()
	kind := int(i.what.Kind)
	var n statements
	if i.db != "" && i.db != s.db && i.what.Use == "" {
		if err := s.conn.Use(s.hard, i.db); err != nil {
			ok := s.trouble(err, kind, statements{others: 1})
			s.tell(func(x *Replayed) { x.Failed++ })
			return ok
		}
		s.db = i.db
		n.others++
	}
	lag := began - due
	c := s.rec.hold()
	if s.config.paced() {
		c.begins(began - max(due, s.free))
	}
	s.rec.release()
	sending := s.now()
	err := s.conn.Send(s.hard, i.sql)
	s.free = s.now()
	s.tell(func(x *Replayed) {
		x.Sent++
		x.Logged += logTime(i.logged)
		x.Took += s.free - sending
		if s.config.paced() {
			if lag > late {
				x.Late++
			}
			x.MaxLag = max(x.MaxLag, lag)
		}
	})
	if err != nil {
		if s.server.Trouble(err).Code != "" {
			n.count(i.what.Kind)
		}
		return s.trouble(err, kind, n)
	}
	s.steer(&i.what)
	n.count(i.what.Kind)
	response := noResponse
	if s.config.paced() {
		response = s.free - min(due, began)
	}
	c = s.rec.hold()
	c.done(kind, s.free-sending, response, n)
	s.rec.release()
	return true
}

// steer keeps in mind what a statement did to the session.
func (s *replaySession) steer(x *Meaning) {
	switch {
	case x.Begins:
		s.open = true
	case x.Ends:
		s.open = false
	}
	s.pinned = s.pinned || x.Pins
	if x.Use != "" {
		s.db = x.Use
	}
}

// trouble counts an error. It is false when the replay ends.
func (s *replaySession) trouble(err error, kind int, n statements) bool {
	c := s.rec.hold()
	defer s.rec.release()
	if s.hard.Err() != nil {
		c.unfinished(kind, n)
		return false
	}
	c.failed(kind, n)
	tr := s.server.Trouble(err)
	if tr.Gone {
		c.lost++
		s.lose(err)
		return true
	}
	c.errors[cmp.Or(tr.Code, clientError)]++
	return true
}

// lose gives up a connection that broke; the next statement opens another.
func (s *replaySession) lose(err error) {
	s.conn.Close()
	s.conn, s.db, s.open, s.pinned, s.cause = nil, "", false, false, err
	s.up.Add(-1)
	s.slots <- struct{}{}
}

func (s *replaySession) tell(f func(*Replayed)) {
	s.mu.Lock()
	f(&s.replay.count)
	s.mu.Unlock()
}
