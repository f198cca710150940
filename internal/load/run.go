package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"dyno/internal/hist"
	"dyno/internal/run"
	"dyno/internal/sqltext"
	"dyno/internal/target"
	"dyno/internal/workload"

	"golang.org/x/sync/errgroup"
)

// Run runs a workload on a target and returns its figures. All sessions connect and prepare their statements before the clock
// starts. sink, which may be nil, gets every tick, in order, from the goroutine that called Run; it returns quickly, for the next
// tick waits for it.
//
// The end of ctx stops the run: operations under way may end, for one second, then their connections are closed. That is no error;
// the figures hold for the time the run ran and its State is Stopped. An error that ends the run is returned together with the
// figures so far, whose State is Failed.
func Run(ctx context.Context, t *target.Target, c Config, sink func(run.Tick)) (run.Run, error) {
	c, plan, err := c.settle()
	if err != nil {
		return run.Run{State: run.Failed, Error: err.Error()}, err
	}
	r := runner{
		dial: func(ctx context.Context) (connection, error) {
			l, err := dial(ctx, t, plan, c.PSMode)
			if err != nil {
				return nil, err // never a nil *link in the interface
			}
			return l, nil
		},
		kill: func(ctx context.Context, id uint64) { kill(ctx, t, id) },
	}
	warnings := shortTables(ctx, t, plan)
	out, err := r.run(ctx, c, plan, sink)
	out.Target = t.String()
	out.Warnings = append(out.Warnings, warnings...)
	return out, err
}

// runner is a run without the knowledge of what it runs on.
type runner struct {
	dial func(ctx context.Context) (connection, error)
	kill func(ctx context.Context, id uint64)
}

func (r runner) run(ctx context.Context, c Config, plan *workload.Plan, sink func(run.Tick)) (run.Run, error) {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()>>1 | 1 // within what an int64 holds, and never 0 again
	}
	out := run.Run{Workload: plan.Workload, Options: c.options(plan), Warnings: append([]string(nil), plan.Notes...), State: run.Failed}

	hard, breakAll := context.WithCancel(context.WithoutCancel(ctx))
	defer breakAll()
	cr := &crew{config: c, plan: plan, dial: r.dial, hard: hard, stop: make(chan struct{})}
	failed := make(chan error, c.Threads) // one each at most: nobody waits
	cr.fail = func(err error) { failed <- err }
	cr.left.Store(int64(min(c.Events, 1<<62)))

	sessions, err := cr.connect(ctx, breakAll)
	if err != nil {
		if ctx.Err() != nil {
			out.State = run.Stopped
			return out, nil
		}
		out.Error = err.Error()
		return out, err
	}

	var all sync.WaitGroup
	finished := make(chan struct{})
	start := time.Now()
	for _, s := range sessions {
		all.Go(s.run)
	}
	go func() { all.Wait(); close(finished) }()

	k := &clock{start: start, last: start, names: plan.Operations, crew: cr, sessions: sessions, cpu: processCPU(), sink: sink}
	err = k.watch(ctx, c.Time, finished, failed, func() {
		r.killBusy(sessions)
		breakAll()
	})
	out.Started, out.Elapsed, out.Total = start, k.last.Sub(start), k.total
	switch {
	case err != nil:
		out.Error = err.Error()
		return out, err
	case ctx.Err() != nil && !k.complete:
		out.State = run.Stopped
	default:
		out.State = run.Done
	}
	if w := saturation(k.total.ClientCPU, out.Elapsed, runtime.GOMAXPROCS(0)); w != "" {
		out.Warnings = append(out.Warnings, w)
	}
	return out, nil
}

// dialers bounds how many sessions log in at the same time.
const dialers = 16

// connect opens all sessions, or none. A connection lives as long as the context it was opened with: that of the run, which
// breakAll ends when the user does not want to wait any longer.
func (cr *crew) connect(ctx context.Context, breakAll func()) ([]*session, error) {
	unhook := context.AfterFunc(ctx, breakAll)
	sessions := make([]*session, cr.config.Threads)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(dialers)
	for i := range sessions {
		g.Go(func() error {
			if err := gctx.Err(); err != nil {
				return err
			}
			conn, err := cr.dial(cr.hard)
			if err != nil {
				return fmt.Errorf("connect session %d of %d: %w", i+1, len(sessions), explain(err, cr.plan))
			}
			sessions[i] = &session{crew: cr, conn: conn, gen: cr.plan.Generator(cr.config.Seed, i), rec: newRecorder(len(cr.plan.Operations))}
			return nil
		})
	}
	err := g.Wait()
	if !unhook() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		for _, s := range sessions {
			if s != nil {
				s.conn.close()
			}
		}
		return nil, err
	}
	cr.up.Store(int64(len(sessions)))
	return sessions, nil
}

// explain adds what to do about data that is not there.
func explain(err error, plan *workload.Plan) error {
	n, ok := target.ServerErrorNumber(err)
	if target.KindOf(err) == target.NoSuchDatabase || ok && n == noSuchTable {
		return fmt.Errorf("%w (the data of %s is not there: prepare it first)", err, plan.Workload)
	}
	if ok && n == tooManyPrepared {
		return fmt.Errorf("%w (every session prepares %d statements: raise max_prepared_stmt_count, or use db-ps-mode=disable)", err, len(plan.Statements))
	}
	return err
}

// killBusy asks the server to end the statements whose connections are about to be closed: it would go on with them otherwise.
func (r runner) killBusy(sessions []*session) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	for _, s := range sessions {
		if id := s.busy.Load(); id != 0 && ctx.Err() == nil {
			r.kill(ctx, id)
		}
	}
}

// kill ends a connection of a load. A failure is no news: the connection may be gone already.
func kill(ctx context.Context, t *target.Target, id uint64) {
	_, _ = t.DB().ExecContext(ctx, sqltext.Tagged("load", "", fmt.Sprintf("KILL %d", id)))
}

// clock cuts a run into ticks.
type clock struct {
	start    time.Time
	last     time.Time // end of the tick before
	seq      int
	names    []string
	crew     *crew
	sessions []*session
	cpu      time.Duration
	total    run.Tick
	sink     func(run.Tick)
	complete bool // the run reached its time or its number of events
}

// watch emits ticks until all sessions have finished, and ends the run when it is time. Ticks are aligned to the start of the run;
// the last one is as long as the sessions took to finish. It returns the error that ended the run.
func (k *clock) watch(ctx context.Context, limit time.Duration, finished <-chan struct{}, failed <-chan error, breakAll func()) (failure error) {
	timer := time.NewTimer(tick)
	defer timer.Stop()
	var forced <-chan time.Time
	done := ctx.Done()
	stopping := false
	stop := func() {
		if !stopping {
			stopping = true
			k.crew.stopped.Store(true)
			close(k.crew.stop)
		}
	}
	force := func() {
		stop()
		if forced == nil {
			forced = time.After(grace)
		}
	}
	for {
		now := time.Now()
		next := k.start.Add(now.Sub(k.start).Truncate(tick) + tick)
		if limit > 0 && !stopping {
			if end := k.start.Add(limit); end.Before(next) {
				next = end
			}
		}
		timer.Reset(next.Sub(now))
		select {
		case <-finished:
			select { // the last session may have failed
			case err := <-failed:
				failure = errors.Join(failure, explain(err, k.crew.plan))
			default:
			}
			if !stopping && failure == nil {
				k.complete = true // all events were used up
			}
			k.emit(time.Now())
			return failure
		case err := <-failed:
			if failure == nil {
				failure = explain(err, k.crew.plan)
			}
			force()
		case <-done:
			done = nil
			force()
		case <-forced:
			breakAll()
		case <-timer.C:
			now = time.Now()
			if limit > 0 && !stopping && now.Sub(k.start) >= limit {
				// The sessions end with the operations they are at: these belong to the tick that closes then.
				k.complete = true
				stop()
				continue
			}
			k.emit(now)
		}
	}
}

// emit closes the tick that ends now.
func (k *clock) emit(now time.Time) {
	t := run.Tick{Seq: k.seq, At: k.last, Length: now.Sub(k.last), Threads: int(k.crew.up.Load()), Ops: make([]run.Op, len(k.names))}
	for i, name := range k.names {
		t.Ops[i] = run.Op{Name: name, Latency: hist.New()}
	}
	for _, s := range k.sessions {
		s.rec.take(&t)
	}
	cpu := processCPU()
	t.ClientCPU, k.cpu = cpu-k.cpu, cpu
	k.seq++
	k.last = now
	k.total.Add(t)
	if k.sink != nil {
		k.sink(t)
	}
}
