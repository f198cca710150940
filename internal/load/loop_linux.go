package load

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dyno-perf/dyno/internal/pace"
)

// loop carries out the operations of its sessions in one thread.
type loop struct {
	*looped
	poll     *poller
	rec      *recorder
	c        *counts // of rec, while it is held
	sessions []*looper
	alive    int  // sessions that have not ended
	free     line // sessions that wait for the queue
	thinking moments[*looper]
	buf      []byte

	sleepsUntil atomic.Int64 // when a loop with free sessions wakes by itself; 0 while it is awake or has none
	tid         atomic.Int64
	before      atomic.Int64 // CPU time of the thread when the loop began
	used        atomic.Int64 // that of the loop, when it has ended

	mu     sync.Mutex
	posted []redialled
}

// redialled is what came of dialling for a session that lost its connection.
type redialled struct {
	s    *looper
	link *rawLink
	err  error
}

const (
	// idle is how long a loop sleeps at most: an event that the kernel or this program forgot would cost no more.
	idle = 100 * time.Millisecond
	// slack is how inexactly the kernel may wake a loop; 50 µs is its own choice.
	slack = time.Microsecond
)

// run works until all sessions have ended. The thread is the loop's own and ends with it, so that what is set for it
// holds for nobody else.
func (l *loop) run() {
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack.Nanoseconds()), 0, 0, 0) //nolint:errcheck // it would wake a little later
	defer l.take()()
	l.alive = len(l.sessions)
	l.free = make(line, 0, len(l.sessions))
	l.c = l.rec.hold()
	now := l.now()
	for _, s := range l.sessions {
		s.rest(now)
	}
	l.begin(l.now())
	l.rec.release()
	for l.alive > 0 {
		l.pass()
	}
}

// take begins to count the CPU time of this thread, which may have done other work before, until leave is called.
func (l *loop) take() (leave func()) {
	before, _ := threadCPU(unix.Gettid())
	l.before.Store(int64(before))
	l.tid.Store(int64(unix.Gettid()))
	return func() {
		l.used.Store(int64(l.cpu()))
		l.tid.Store(0)
	}
}

// pass waits for events and acts on them.
func (l *loop) pass() {
	n := l.wait()
	l.c = l.rec.hold()
	defer l.rec.release()
	start := l.now()
	for _, e := range l.poll.events[:n] {
		if e.Fd == wakeToken {
			l.poll.woken()
			l.redialled()
			continue
		}
		if s := l.sessions[e.Fd]; s.era == e.Pad {
			s.event(e.Events, start)
		}
	}
	now := l.now()
	if l.stopped.Load() {
		l.end(now)
	} else {
		l.begin(now)
	}
	if n > 0 {
		l.c.delay = max(l.c.delay, l.now()-start)
	}
}

// wait returns the number of events. It sleeps until something is due at most.
func (l *loop) wait() int {
	if l.queue == nil || len(l.free) == 0 {
		return l.poll.block(min(idle, l.thinking.next()-l.now()), l.politely)
	}
	// From here on whoever adds to the queue wakes this loop, so that what is there has to be asked for after that.
	l.sleepsUntil.Store(int64(pace.Never))
	at := l.queue.next()
	l.sleepsUntil.Store(int64(at))
	n := l.poll.block(min(idle, at-l.now()), l.politely)
	l.sleepsUntil.Store(0)
	return n
}

// begin starts what is due.
func (l *loop) begin(now time.Duration) {
	for l.thinking.next() <= now {
		_, s := l.thinking.pop()
		if s.state == thinking && s.own.due <= now {
			s.begin(s.own, 0, now)
		}
	}
	if l.queue == nil || len(l.free) == 0 {
		return
	}
	for len(l.free) > 0 {
		t, at, ok := l.queue.take(now)
		if !ok {
			if l.queue.ended() {
				l.end(now)
			}
			return
		}
		s := l.free.pop()
		s.begin(t, at, now)
		now = l.now()
	}
}

// end ends the sessions that have nothing under way, and all of them when the run does not want to wait any longer.
func (l *loop) end(now time.Duration) {
	hard := l.hard.Err() != nil
	for _, s := range l.sessions {
		switch s.state {
		case free, thinking:
			s.end()
		case busy:
			if hard {
				s.flow.halt(l.c)
				s.end()
			}
		case dialling, over: // whoever dials sees the end of the run
		}
	}
	l.free = l.free[:0]
}

// given wakes a loop that has a free session, when this one has none for what is due earlier than that loop would wake.
func (l *loop) given() {
	if len(l.all) == 1 {
		return
	}
	next := int64(l.queue.next())
	for _, o := range l.all {
		if o != l && o.sleepsUntil.Load() > next {
			o.poll.wake()
			return
		}
	}
}

// post hands over what came of dialling. It may be called by anybody.
func (l *loop) post(r redialled) {
	l.mu.Lock()
	l.posted = append(l.posted, r)
	l.mu.Unlock()
	l.poll.wake()
}

// redialled takes what was posted.
func (l *loop) redialled() {
	l.mu.Lock()
	list := l.posted
	l.posted = nil
	l.mu.Unlock()
	for _, r := range list {
		r.s.redialled(r.link, r.err)
	}
}

// cpu returns the CPU time that the loop has used so far.
func (l *loop) cpu() time.Duration {
	if tid := l.tid.Load(); tid != 0 {
		if d, ok := threadCPU(int(tid)); ok {
			return d - time.Duration(l.before.Load())
		}
	}
	return time.Duration(l.used.Load())
}

// line is the sessions that wait, the one that has waited least at its end: its connection is the warmest.
type line []*looper

func (l *line) remove(s *looper) {
	*l = slices.DeleteFunc(*l, func(x *looper) bool { return x == s })
}

func (l *line) pop() *looper {
	last := len(*l) - 1
	s := (*l)[last]
	*l = (*l)[:last]
	return s
}
