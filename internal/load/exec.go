package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/pace"
	"github.com/dyno-perf/dyno/internal/platform"
)

// ExecName is what results call a load of commands.
const ExecName = "exec"

// ExecConfig says which command to run, how often and for how long. A run without Time and Events ends with its
// context.
type ExecConfig struct {
	// Command is a line for /bin/sh. Every operation is one execution of it; an exit status other than 0 is an error.
	Command string
	// Server is where the command finds its server. It is told by the environment: DYNO_HOST and DYNO_PORT, or
	// DYNO_SOCKET, DYNO_USER, DYNO_DATABASE, and DYNO_DEFAULTS_FILE, the name of a file of Programs that has the
	// password too. What is not known is the empty text. DYNO_SESSION is the number of the session, from 0.
	Server   endpoint.Spec
	Programs Programs      // of the server's family
	Threads  int           // executions at the same time; 0 means 1
	Time     time.Duration // 0 for no limit; it begins after Warmup
	Warmup   time.Duration // its ticks are marked, and no part of Run.Total
	Events   uint64        // executions in all, those of the warm-up apart; 0 for no limit
	// Rate makes executions begin when they are due, not when the one before has ended, as Config.Rate does.
	Rate     pace.Shape
	RateKind pace.Kind
	Seed     uint64 // of the arrivals; 0 means 1
	// Ignore lists exit statuses that end an operation but not the run, IgnoreAll means all of them, and signals. 126
	// and 127, with which the shell says that it cannot run the command, always end the run.
	Ignore    []int
	IgnoreAll bool
}

func (c ExecConfig) settle() (ExecConfig, error) {
	switch {
	case strings.TrimSpace(c.Command) == "":
		return c, errors.New("start exec: no command given; say it with --command")
	case strings.Contains(c.Command, "\x00"):
		return c, errors.New("start exec: the command has a NUL byte")
	case c.Threads == 0:
		c.Threads = 1
	case c.Threads < 0 || c.Threads > MaxThreads:
		return c, fmt.Errorf("start exec: threads=%d: takes 1 to %d", c.Threads, MaxThreads)
	}
	if c.Time < 0 || c.Warmup < 0 {
		return c, fmt.Errorf("start exec: time=%v, warm-up %v: takes 0 or more", c.Time, c.Warmup)
	}
	for _, n := range c.Ignore {
		if n < 1 || n > 255 {
			return c, fmt.Errorf("start exec: exit status %d cannot be ignored: takes 1 to 255", n)
		}
	}
	if c.RateKind == "" {
		c.RateKind = pace.Poisson
	}
	if c.Seed == 0 {
		c.Seed = 1
	}
	return c, nil
}

func (c ExecConfig) options() map[string]string {
	m := map[string]string{
		"command": withoutSecrets(c.Command), "threads": strconv.Itoa(c.Threads),
		"events":      strconv.FormatUint(c.Events, 10),
		"time":        strconv.FormatFloat(c.Time.Seconds(), 'f', -1, 64),
		"warmup-time": strconv.FormatFloat(c.Warmup.Seconds(), 'f', -1, 64),
	}
	if !c.Rate.IsZero() {
		m["rate"], m["rate-kind"], m["rand-seed"] = c.Rate.String(), string(c.RateKind), strconv.FormatUint(c.Seed, 10)
	}
	switch {
	case c.IgnoreAll:
		m["ignore-errors"] = "all"
	case len(c.Ignore) > 0:
		m["ignore-errors"] = strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Ignore), " ", ","), "[]")
	}
	return m
}

// Exec runs a command again and again and returns the figures, as Run does for statements: sink, which may be nil, gets
// every tick in order, from the goroutine that called Exec.
//
// Each execution has a process group of its own. What is left of the group when the command has ended is killed:
// nothing goes on behind a measurement. At the end of Time executions under way may finish. When ctx ends, or an
// execution fails and that is not ignored, they get a SIGTERM and one second later a SIGKILL, and are counted nowhere.
//
// Tick.Errors has "exit 3" for an exit status, "signal 11" for a signal. Tick.ClientCPU is that of this process and of
// the commands that have ended.
func Exec(ctx context.Context, c ExecConfig, sink func(loadresult.Tick)) (loadresult.Run, error) {
	c, err := c.settle()
	if err != nil {
		return loadresult.Run{Workload: ExecName, State: loadresult.Failed, Error: err.Error()}, err
	}
	out := loadresult.Run{Workload: ExecName, Options: c.options(), State: loadresult.Failed}
	if c.Server != (endpoint.Spec{}) {
		out.Target = c.Server.String()
	}
	fail := func(err error) (loadresult.Run, error) {
		err = fmt.Errorf("exec: %w", err)
		out.Error = err.Error()
		return out, err
	}
	env, remove, err := execEnvironment(c.Server, c.Programs, os.Environ())
	if err != nil {
		return fail(err)
	}
	defer remove()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail(err)
	}
	defer null.Close()

	x := &execution{
		config: c, env: env, null: null, stop: make(chan struct{}), turn: make(chan struct{}, 1),
		left: c.Events, warm: c.Warmup > 0, failed: make(chan error, c.Threads),
	}
	x.reset()
	sessions := make([]*execSession, c.Threads)
	for i := range sessions {
		s, err := x.session(i)
		if err != nil {
			for _, s := range sessions[:i] {
				s.tail.close()
			}
			return fail(fmt.Errorf("start session %d of %d: %w", i+1, c.Threads, err))
		}
		sessions[i] = s
	}
	if !c.Rate.IsZero() {
		x.arrivals = newArrivals(&Config{
			Rate: c.Rate, RateKind: c.RateKind, Seed: c.Seed, Warmup: c.Warmup,
			Time: c.Time, Events: c.Events,
		})
	}
	x.start = time.Now()
	var all sync.WaitGroup
	for _, s := range sessions {
		all.Go(s.run)
	}
	finished := make(chan struct{})
	go func() { all.Wait(); close(finished) }()

	k := execClock{
		execution: x, last: x.start, cpu: platform.OwnCPU() + platform.ChildrenCPU(),
		sink: sink, sessions: sessions,
	}
	err = k.watch(ctx, finished)
	out.Started, out.Elapsed, out.Total = x.start.Add(k.warmed), k.last.Sub(x.start)-k.warmed, k.total
	switch {
	case err != nil:
		return fail(err)
	case ctx.Err() != nil && !k.complete:
		out.State = loadresult.Stopped
	default:
		out.State = loadresult.Done
	}
	return out, nil
}

// execution is what the sessions of one run share.
type execution struct {
	config ExecConfig
	env    []string
	null   *os.File
	start  time.Time
	stop   chan struct{} // closed: no further execution begins
	failed chan error

	arrivals *arrivals     // nil in a closed loop
	turn     chan struct{} // held by the session that waits for the next arrival, so that one alone wakes for it

	mu      sync.Mutex
	stopped bool
	warm    bool // the ticks are those of the warm-up
	killed  bool // the groups get signals: what ends now was cut off
	left    uint64
	busy    int
	refused uint64 // arrivals that were taken, but came to no execution
	due     uint64 // at the latest tick
	cur     execCounts
}

// execCounts are the figures of one tick.
type execCounts struct {
	latency, response *hist.Histogram
	failed            uint64
	errors            map[string]uint64
}

func (x *execution) reset() {
	x.cur = execCounts{latency: hist.New()}
	if !x.config.Rate.IsZero() {
		x.cur.response = hist.New()
	}
}

// end is when no further operation is due, 0 for never.
func (x *execution) end() time.Duration {
	if x.config.Time == 0 {
		return 0
	}
	return x.config.Warmup + x.config.Time
}

// execSession runs one command after the other.
type execSession struct {
	*execution
	env  []string
	tail *tail
	pid  int // under mu: of the group under way, 0 for none
}

func (x *execution) session(n int) (*execSession, error) {
	t, err := newTail()
	if err != nil {
		return nil, err
	}
	return &execSession{execution: x, env: append(slices.Clone(x.env), "DYNO_SESSION="+strconv.Itoa(n)), tail: t}, nil
}

// run executes commands until the run ends.
func (s *execSession) run() {
	// Where the kernel kills the command when its parent dies, the parent is the thread that has started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer s.tail.close()
	for {
		due, ok := s.next()
		if !ok {
			return
		}
		begin := time.Now()
		status, err := s.execute()
		end := time.Now()
		if err != nil {
			if !errors.Is(err, errStopped) {
				s.failed <- err
			}
			return
		}
		if err := s.count(status, end.Sub(begin), end.Sub(s.start)-due); err != nil {
			s.failed <- err
			return
		}
	}
}

// next waits for the next operation and returns when it was due. It reports false when there is none.
func (s *execSession) next() (due time.Duration, ok bool) {
	if s.arrivals != nil {
		return s.arrival()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return 0, false
	}
	if s.config.Events > 0 && !s.warm {
		if s.left == 0 {
			return 0, false
		}
		s.left--
	}
	return 0, true
}

// arrival waits for the next arrival that no other session takes.
func (s *execSession) arrival() (due time.Duration, ok bool) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-s.stop:
		return 0, false
	}
	for {
		if _, due, ok := s.arrivals.take(time.Since(s.start)); ok {
			return due, true
		}
		at := s.arrivals.next()
		if at == pace.Never {
			if !s.arrivals.ended() {
				<-s.stop // the run goes on to its end all the same
			}
			return 0, false
		}
		t := time.NewTimer(time.Until(s.start.Add(at)))
		select {
		case <-t.C:
		case <-s.stop:
			t.Stop()
			return 0, false
		}
	}
}

// execute runs the command once.
func (s *execSession) execute() (status syscall.WaitStatus, err error) {
	s.mu.Lock()
	if s.stopped {
		s.refused++
		s.mu.Unlock()
		return status, errStopped
	}
	s.tail.reset()
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", s.config.Command}, &os.ProcAttr{
		Env: s.env, Files: []*os.File{s.null, s.null, s.tail.w}, Sys: execGroup(),
	})
	if err != nil {
		s.mu.Unlock()
		return status, fmt.Errorf("start the shell: %w", err)
	}
	s.pid = p.Pid
	s.busy++
	s.mu.Unlock()

	var st *os.ProcessState
	// Where the command has ended, but its number is not free yet, the group is its own and nobody else's.
	held := waitable(p.Pid)
	if !held {
		st, err = p.Wait()
	}
	s.mu.Lock()
	if held {
		_ = platform.SignalGroup(p.Pid, syscall.SIGKILL)
	}
	s.pid = 0
	s.busy--
	killed := s.killed
	s.mu.Unlock()
	if held {
		st, err = p.Wait()
	}
	if err != nil {
		return status, fmt.Errorf("wait for the command: %w", err)
	}
	if killed {
		return status, errStopped
	}
	status, _ = st.Sys().(syscall.WaitStatus)
	return status, nil
}

// count adds an execution to the figures. The error is that of a status that ends the run.
func (s *execSession) count(status syscall.WaitStatus, service, response time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if status.Exited() && status.ExitStatus() == 0 {
		s.cur.latency.Record(service)
		if s.cur.response != nil {
			s.cur.response.Record(response)
		}
		return nil
	}
	key, ignored := "signal "+strconv.Itoa(int(status.Signal())), s.config.IgnoreAll
	what := "was ended by signal " + strconv.Itoa(int(status.Signal())) + " (" + status.Signal().String() + ")"
	if n := status.ExitStatus(); status.Exited() {
		key, what = "exit "+strconv.Itoa(n), "ended with status "+strconv.Itoa(n)
		ignored = (ignored || slices.Contains(s.config.Ignore, n)) && n != 126 && n != 127
	}
	if s.cur.errors == nil {
		s.cur.errors = map[string]uint64{}
	}
	s.cur.errors[key]++
	s.cur.failed++
	if ignored {
		return nil
	}
	said := s.tail.text()
	if p := s.config.Server.Password; !p.Empty() {
		said = strings.ReplaceAll(said, p.Reveal(), p.String())
	}
	if said != "" {
		what += ": " + said
	}
	return fmt.Errorf("the command %s", what)
}

// signal sends sig to all groups under way.
func (k *execClock) signal(sig syscall.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.killed = true
	for _, s := range k.sessions {
		if s.pid != 0 {
			_ = platform.SignalGroup(s.pid, sig)
		}
	}
}

// execClock cuts a run of commands into ticks.
type execClock struct {
	*execution
	last     time.Time // end of the tick before
	seq      int
	cpu      time.Duration
	warmed   time.Duration // how long the ticks of the warm-up took
	total    loadresult.Tick
	sessions []*execSession
	sink     func(loadresult.Tick)
	halted   bool
	haltedAt time.Duration
	complete bool // the run reached its time or its number of executions
}

// halt lets no further execution begin.
func (k *execClock) halt() {
	if k.halted {
		return
	}
	k.halted, k.haltedAt = true, time.Since(k.start)
	k.mu.Lock()
	k.stopped = true
	k.mu.Unlock()
	close(k.stop)
}

// watch emits ticks until all sessions have finished, and ends the run when it is time. It returns the error that ended
// the run.
func (k *execClock) watch(ctx context.Context, finished <-chan struct{}) (failure error) {
	timer := time.NewTimer(tick)
	defer timer.Stop()
	var forced <-chan time.Time
	done := ctx.Done()
	force := func() {
		k.halt()
		if forced == nil {
			k.signal(syscall.SIGTERM)
			forced = time.After(grace)
		}
	}
	end := k.end()
	for {
		next := k.next(time.Since(k.start), end)
		timer.Reset(time.Until(k.start.Add(next)))
		select {
		case <-finished:
			select {
			case err := <-k.failed:
				if failure == nil {
					failure = err
				}
			default:
			}
			if !k.halted && failure == nil {
				k.complete = true // all events were used up
			}
			k.emit(next, true)
			return failure
		case err := <-k.failed:
			if failure == nil {
				failure = err
			}
			force()
		case <-done:
			done = nil
			force()
		case <-forced:
			k.signal(syscall.SIGKILL)
		case <-timer.C:
			if end > 0 && !k.halted && time.Since(k.start) >= end {
				// The sessions end with the executions they are at: these belong to the tick that closes then.
				k.complete = true
				k.halt()
				continue
			}
			k.emit(next, false)
		}
	}
}

// next returns when the tick that has begun ends: at a whole second since the beginning, or where the warm-up or the
// run ends.
func (k *execClock) next(now, end time.Duration) time.Duration {
	next := now.Truncate(tick) + tick
	if w := k.config.Warmup; w > 0 && k.last.Sub(k.start) < w {
		next = min(next, max(w, now))
	}
	if end > 0 && !k.halted {
		next = min(next, max(end, now))
	}
	return next
}

// emit closes the tick that was to end at planned.
func (k *execClock) emit(planned time.Duration, final bool) {
	now := time.Now()
	at := now.Sub(k.start)
	k.mu.Lock()
	c := k.cur
	k.reset()
	k.warm = at < k.config.Warmup
	busy, refused := k.busy, k.refused
	k.mu.Unlock()
	var open *loadresult.Open
	if k.arrivals != nil {
		limit := at
		if k.halted {
			limit = min(limit, k.haltedAt)
		}
		due, taken := k.arrivals.count(limit)
		open = &loadresult.Open{Due: due - k.due, Queue: due - min(due, taken-refused), Busy: busy}
		k.due = due
		if final {
			open.Dropped = open.Queue
		}
	}
	t := loadresult.Tick{
		Seq: k.seq, At: k.last, Length: now.Sub(k.last), Threads: len(k.sessions),
		Warm:   k.last.Sub(k.start) < k.config.Warmup,
		Ops:    []loadresult.Op{{Name: ExecName, Latency: c.latency, Response: c.response, Failed: c.failed}},
		Errors: maps.Clone(c.errors), Open: open,
	}
	if !final {
		t.Delay = max(0, at-planned)
	}
	cpu := platform.OwnCPU() + platform.ChildrenCPU()
	t.ClientCPU, k.cpu = cpu-k.cpu, cpu
	k.seq++
	k.last = now
	if t.Warm {
		k.warmed = at
	} else {
		k.total.Add(t)
	}
	if k.sink != nil {
		k.sink(t)
	}
}
