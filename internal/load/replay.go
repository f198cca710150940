package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/workload"
)

// ReplayName is what results call a replay.
const ReplayName = "replay"

// ReplayConfig says how a log is run again.
type ReplayConfig struct {
	// Speed is how many seconds of the log pass in a second: 1 keeps its think times, 10 has a tenth of them. 0 means
	// 1. math.Inf(1) keeps the order within each session alone: every session sends its next statement as soon as the
	// last one is answered.
	Speed float64
	// Writes sends what is not proven to read alone, too. Without it the sessions are read-only as well, so that the
	// server refuses what hides in functions and views. Statements that would change the server itself, accounts or
	// other sessions are never sent.
	Writes bool
	// Threads is how many connections there are at most; 0 means 100. When the log has more sessions at the same time,
	// those that wait give theirs to others and connect again later.
	Threads int
	Time    time.Duration // ends the replay; 0 for no limit
	// Reconnect is how long a session that lost its connection tries for another before the replay fails; 0 means 60 s.
	Reconnect time.Duration
	Logs      []string // names of what is replayed, for Run.Options
	Database  string   // that connections are in after the login; "" for none
}

func (c ReplayConfig) settle() (ReplayConfig, error) {
	switch {
	case c.Speed == 0:
		c.Speed = 1
	case !(c.Speed > 0):
		return c, fmt.Errorf("start replay: speed=%v: takes a number above 0", c.Speed)
	}
	switch {
	case c.Threads == 0:
		c.Threads = 100
	case c.Threads < 0 || c.Threads > MaxThreads:
		return c, fmt.Errorf("start replay: threads=%d: takes 1 to %d", c.Threads, MaxThreads)
	}
	if c.Time < 0 {
		return c, fmt.Errorf("start replay: time=%v: takes a time of 0 (no limit) or more", c.Time)
	}
	if c.Reconnect <= 0 {
		c.Reconnect = time.Minute
	}
	return c, nil
}

// paced reports whether statements have a moment at which they are due.
func (c *ReplayConfig) paced() bool { return !math.IsInf(c.Speed, 1) }

func (c *ReplayConfig) options() map[string]string {
	speed := "max"
	if c.paced() {
		speed = strconv.FormatFloat(c.Speed, 'g', -1, 64)
	}
	return map[string]string{
		"speed": speed, "writes": strconv.FormatBool(c.Writes), "connections": strconv.Itoa(c.Threads),
		"logs": strings.Join(c.Logs, " "),
		"time": strconv.FormatFloat(c.Time.Seconds(), 'f', -1, 64),
	}
}

// Replayed tells what became of a log's entries. Entries = Sent + Skipped + Failed + Left.
type Replayed struct {
	Entries uint64 `json:"entries"` // read from the log
	// statements that went to the server and were answered, an error included, or whose connection broke
	Sent uint64 `json:"sent"`
	// Failed were not sent because their database could not be used.
	Failed uint64 `json:"failed,omitzero"`
	// Left were read ahead but not sent when the replay was stopped.
	Left    uint64            `json:"left,omitzero"`
	Skipped map[string]uint64 `json:"skipped,omitempty"` // by reason, as people read it
	// Late counts statements that were sent more than 50 ms after they were due, because the one before took longer
	// than it did, the server let nobody in, or the client had no connection or no CPU. MaxLag is the longest such
	// time.
	Late   uint64        `json:"late"`
	MaxLag time.Duration `json:"max_lag_ns"`
	// Connections counts log-ins; Sessions those of the log. Cut counts connections that were given to others in the
	// middle of a transaction or with settings of their own, because the log has more sessions at a time than Threads.
	Connections uint64 `json:"connections"`
	Sessions    uint64 `json:"sessions"`
	Cut         uint64 `json:"cut,omitzero"`
	// Logged is the sum of the Query_time of statements that were sent, Took that of their answers in this replay.
	Logged time.Duration `json:"logged_ns"`
	Took   time.Duration `json:"took_ns"`
	// of the log's time between the first and the last statement that was read
	Span time.Duration `json:"span_ns"`
	Back uint64        `json:"back,omitzero"` // how often the log's clock was set back
	// the log has one of so many statements at worst; 0 = nothing tells of a limit
	Rate uint32 `json:"rate,omitzero"`
}

// late is from when on a statement counts as late.
const late = 50 * time.Millisecond

// Replay sends the statements of a log again and returns its figures, as Run does: sink, which may be nil, gets every
// tick in order from the goroutine that called Replay.
//
// Each session of the log has a connection of its own, and sends its statements in the order of the log. A statement is
// due when it began, and never before the end of the one before it in its session. Where a log has whole seconds alone,
// the pauses within one are lost. Sessions are told apart by the thread id, and where the log has none by user and
// host, with as many connections as had statements under way at the same time. Statements that a log does not have,
// because they were quicker than its limit, are missing here as well.
//
// Statements are sent at most once: nothing is tried again, and errors are counted by their number. Every session uses
// the account of the target, and the database that the log names.
//
// The log is read ahead by at most 32 MiB of statements. A statement that took longer than what the log tells in so
// much is sent late. Run.Target is for the caller to fill in.
func Replay(
	ctx context.Context, s Sessions, x Replayer, c ReplayConfig, sink func(loadresult.Tick),
) (loadresult.Run, Replayed, error) {
	out := loadresult.Run{Workload: ReplayName, State: loadresult.Failed}
	fail := func(err error) (loadresult.Run, Replayed, error) {
		out.Error = err.Error()
		return out, Replayed{}, err
	}
	c, err := c.settle()
	if err != nil {
		return fail(err)
	}
	out.Options = c.options()
	hard, breakAll := context.WithCancel(context.WithoutCancel(ctx))
	defer breakAll()
	r := newReplay(s, x, c, hard)
	if err := r.connect(ctx); err != nil {
		if ctx.Err() != nil {
			out.State = loadresult.Stopped
			return out, Replayed{}, nil
		}
		return fail(err)
	}
	fed := make(chan struct{})
	go func() { defer close(fed); r.feed() }()
	defer func() { // a Source that waits for input may take until the end of its context
		r.stopped.Store(true)
		r.wake()
		select {
		case <-fed:
		case <-time.After(grace):
		}
	}()
	select {
	case <-r.ready:
	case err := <-r.failed:
		return fail(err)
	case <-ctx.Done():
		out.State = loadresult.Stopped
		return out, Replayed{}, nil
	}
	if r.empty() {
		return fail(errors.New("start replay: the log has no statements"))
	}

	finished := make(chan struct{})
	r.start = time.Now()
	k := newClock(r.crew, r, sink)
	go func() { r.run(); close(finished) }()
	err = k.watch(ctx, finished, r.failed, r.wake, func() {
		runner{server: s}.killBusy(r.busyIDs())
		breakAll()
	})
	out.Started, out.Total, out.Path = k.start, k.total, "driver"
	if k.total.Length > 0 {
		out.Elapsed = k.last.Sub(k.start)
	}
	told := r.told()
	out.Warnings = told.warnings(c)
	switch {
	case err != nil:
		out.Error = err.Error()
		return out, told, err
	case ctx.Err() != nil && !k.complete:
		out.State = loadresult.Stopped
	default:
		out.State = loadresult.Done
	}
	k.client.used, k.client.elapsed, k.client.cpus = k.total.ClientCPU, out.Elapsed, runtime.GOMAXPROCS(0)
	var warning string
	if out.Invalid, warning = k.client.judge(); warning != "" {
		out.Warnings = append(out.Warnings, warning)
	}
	return out, told, nil
}

// Preview reads a log to its end, as Replay would, and tells what that would do: Sent is what would be sent. No server
// is asked, so Failed, Late and what depends on answers is 0.
func Preview(x Replayer, c ReplayConfig) (Replayed, error) {
	c, err := c.settle()
	if err != nil {
		return Replayed{}, err
	}
	r := newReplay(nil, x, c, context.Background())
	empty := func() {
		for s := range r.all {
			r.count.Sent += s.queue.left()
			s.queue = itemQueue{}
		}
		r.bytes = 0
	}
	var e Logged
	for {
		err := x.Next(r.hard, &e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Replayed{}, fmt.Errorf("read the log: %w", err)
		}
		if r.add(&e); r.bytes > aheadBytes {
			empty()
		}
	}
	empty()
	return r.told(), nil
}

// warnings are what a reader of the figures must know.
func (x *Replayed) warnings(c ReplayConfig) (out []string) {
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	for reason := NoSkip + 1; reason < skips; reason++ {
		if n := x.Skipped[skipTexts[reason]]; n > 0 {
			say("%d of %d entries were not sent: %s", n, x.Entries, skipTexts[reason])
		}
	}
	if x.Failed > 0 {
		say("%d statements were not sent because their database cannot be used", x.Failed)
	}
	if x.Late > 0 {
		say("%d statements were sent more than %v late, by up to %v", x.Late, late, x.MaxLag.Round(time.Millisecond))
	}
	if x.Cut > 0 {
		say("%d connections were taken from sessions in a transaction or with their own settings, because the log "+
			"has more than %d sessions at a time: use more threads", x.Cut, c.Threads)
	}
	if x.Rate > 1 {
		say("the log has one of %d statements in places, because log_slow_rate_limit was set: the others are missing "+
			"here", x.Rate)
	}
	if x.Back > 0 {
		say("the log's clock went back %d times; the replay continued from its position", x.Back)
	}
	return out
}

// replayKinds name the kinds of operation, by workload.Kind.
var replayKinds = []string{workload.Read: "read", workload.Write: "write", workload.Other: "other"}

// replay is one replay. The lock guards the sessions' queues and what is counted.
type replay struct {
	*crew
	config ReplayConfig
	from   Replayer
	failed chan error
	recs   []*recorder
	slots  chan struct{} // connections that may still be opened
	// By want a session that waits for a slot asks for that of another, which closes its connection when it can do
	// without and answers by the channel that came. By must it asks when it has waited for so long that transactions do
	// not count any more.
	want, must chan chan<- struct{}
	ready      chan struct{} // enough of the log has been read to begin
	done       chan struct{}

	mu       sync.Mutex
	room     *sync.Cond                    // of mu: bytes fell, or it is stopped
	sessions map[sessionKey]*replaySession // that further entries may belong to
	all      map[*replaySession]struct{}   // these, and those whose last statement is in their queue
	lanes    map[string]int                // sessions that have no id, by user and host
	live     int                           // sessions that run
	numbered int
	running  bool
	eof      bool
	over     bool
	base     int64 // the log's time when the replay begins: of the earliest statement that is known then
	bytes    int   // that were read ahead
	taken    uint64
	count    Replayed
	skipped  [skips]uint64

	clock logClock
}

func newReplay(s Sessions, x Replayer, c ReplayConfig, hard context.Context) *replay {
	plan := &workload.Plan{Workload: ReplayName, Operations: replayKinds}
	r := &replay{
		crew: &crew{
			config: Config{Threads: c.Threads, Time: c.Time, Reconnect: c.Reconnect}, plan: plan,
			naming: namesOf(plan), hard: hard, stop: make(chan struct{}), server: s,
		},
		config: c, from: x, failed: make(chan error, 1), slots: make(chan struct{}, c.Threads),
		want: make(chan chan<- struct{}),
		must: make(chan chan<- struct{}), ready: make(chan struct{}), done: make(chan struct{}),
		sessions: map[sessionKey]*replaySession{}, all: map[*replaySession]struct{}{}, lanes: map[string]int{},
	}
	r.room = sync.NewCond(&r.mu)
	r.recs = newRecorders(r.crew, min(c.Threads, mostRecorders))
	r.fail = func(err error) {
		select {
		case r.failed <- err:
		default: // one is enough
		}
	}
	for range c.Threads {
		r.slots <- struct{}{}
	}
	if c.paced() {
		r.queue = replayQueue{r}
	}
	return r
}

// connect fails before anything is read.
func (r *replay) connect(ctx context.Context) error { return r.from.Check(ctx) }

// dial opens a connection.
func (r *replay) dial(ctx context.Context) (ReplaySession, error) {
	s, err := r.from.Dial(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.count.Connections++
	r.mu.Unlock()
	return s, nil
}

// empty reports whether the log had no entry at all.
func (r *replay) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count.Entries == 0
}

// run starts the sessions that are known so far, and waits until all have finished.
func (r *replay) run() {
	r.mu.Lock()
	r.running, r.base = true, r.clock.first
	for s := range r.all {
		r.launch(s)
	}
	r.finish()
	r.mu.Unlock()
	<-r.done
}

// launch starts a session. The lock is held.
func (r *replay) launch(s *replaySession) {
	r.live++
	go func() {
		s.run()
		r.mu.Lock()
		r.live--
		r.count.Left += s.queue.left()
		r.forget(s)
		r.finish()
		r.mu.Unlock()
	}()
}

// forget takes a session out that does not go on. The lock is held.
func (r *replay) forget(s *replaySession) {
	delete(r.all, s)
	if r.sessions[s.key] == s {
		delete(r.sessions, s.key)
	}
}

// finish ends the replay when nothing more can come. The lock is held.
func (r *replay) finish() {
	if !r.over && r.running && r.live == 0 && (r.eof || r.stopped.Load()) {
		r.over = true
		close(r.done)
	}
}

// wake tells that stop or hard has come to its end.
func (r *replay) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.room.Broadcast()
	r.finish()
}

func (r *replay) busyIDs() (ids []uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for s := range r.all {
		if id := s.busyID.Load(); id != 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

func (r *replay) close() {}

func (r *replay) recorders() []*recorder { return r.recs }

func (r *replay) flows() []*flow { return nil }

func (r *replay) loops() []time.Duration { return nil }

// told returns what became of the log.
func (r *replay) told() Replayed {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.count
	for reason, n := range r.skipped {
		if n > 0 {
			if x.Skipped == nil {
				x.Skipped = map[string]uint64{}
			}
			x.Skipped[skipTexts[reason]] = n
		}
	}
	x.Span = logTime(r.clock.latest - r.clock.first)
	return x
}

// replayQueue tells the clock what is due.
type replayQueue struct{ *replay }

func (q replayQueue) count(now time.Duration) (due, taken uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	due = q.taken
	for s := range q.all {
		due += uint64(s.queue.until(func(i *replayItem) bool { return q.due(i.start) <= now }))
	}
	return due, q.taken
}

// The rest of a queue is for sessions that wait for a common one.
func (replayQueue) take(time.Duration) (*terminal, time.Duration, bool) { return nil, 0, false }
func (replayQueue) untake()                                             {}
func (replayQueue) give(*terminal, time.Duration)                       {}
func (replayQueue) next() time.Duration                                 { return math.MaxInt64 }
func (replayQueue) ended() bool                                         { return false }

// leadIn is the time before the first statement, in which sessions connect.
const leadIn = 250 * time.Millisecond

// due returns when a statement that began at that time of the log is due.
func (r *replay) due(start int64) time.Duration {
	if !r.config.paced() {
		return 0
	}
	at := float64(start-r.base) * 1e3 / r.config.Speed
	return leadIn + time.Duration(min(max(at, 0), float64(math.MaxInt64/4)))
}

// feed reads the log into the queues of its sessions until its end.
func (r *replay) feed() {
	defer r.from.Close()
	ready := sync.OnceFunc(func() { close(r.ready) })
	var e Logged
	for !r.stopped.Load() {
		err := r.from.Next(r.hard, &e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if !r.stopped.Load() {
				r.fail(fmt.Errorf("read the log: %w", err))
			}
			return
		}
		if r.add(&e) {
			ready()
		}
		r.wait(ready)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.eof = true
	for s := range r.all {
		s.news()
	}
	ready()
	r.finish()
}

const (
	// aheadBytes bounds what is read ahead, with what an item takes itself; a longer statement goes alone.
	aheadBytes = 32 << 20
	itemBytes  = 128
	// firstEntries or firstTime of the log are read before the replay begins, so that what ended later but began
	// earlier is known.
	firstEntries = 2000
	firstTime    = 10_000_000
)

// wait waits until there is room to read on.
func (r *replay) wait(ready func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.bytes > aheadBytes && !r.stopped.Load() {
		ready()
		r.room.Wait()
	}
}
