package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/workload"
)

// RunOn runs a workload on a server of any family and returns its figures. All sessions connect and prepare their
// statements before the clock starts. sink, which may be nil, gets every tick, in order, from the goroutine that called
// RunOn; it returns quickly, for the next tick waits for it. Run.Target is for the caller to fill in.
//
// The end of ctx stops the run: operations under way may end, for half a second, then their statements are killed and
// their connections closed. That is no error; the figures hold for the time the run ran and its State is Stopped. An
// error that ends the run is returned together with the figures so far, whose State is Failed.
func RunOn(ctx context.Context, s Sessions, c Config, sink func(loadresult.Tick)) (loadresult.Run, error) {
	c, plan, err := c.Settle()
	if err != nil {
		return loadresult.Run{State: loadresult.Failed, Error: err.Error()}, err
	}
	r := runner{server: s}
	if !c.Driver {
		r.parties = loopWay(s)
	}
	return r.run(ctx, c, plan, sink)
}

// way is one way to drive sessions.
type way struct {
	name string // as Run.Path calls it
	make func(*crew) party
}

// general drives every session with a goroutine.
var general = way{"driver", func(cr *crew) party { return newDriven(cr) }}

// runner is a run without the knowledge of what it runs on.
type runner struct {
	server  Sessions
	parties []way // to be tried before the general one
}

func (r runner) run(
	ctx context.Context, c Config, plan *workload.Plan, sink func(loadresult.Tick),
) (loadresult.Run, error) {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()>>1 | 1 // within what an int64 holds, and never 0 again
	}
	out := loadresult.Run{
		Workload: plan.Workload, Options: c.options(plan, r.server), Warnings: append([]string(nil), plan.Notes...),
		State: loadresult.Failed,
	}

	hard, breakAll := context.WithCancel(context.WithoutCancel(ctx))
	defer breakAll()
	cr := &crew{config: c, plan: plan, naming: namesOf(plan), hard: hard, stop: make(chan struct{}), server: r.server}
	failed := make(chan error, c.Threads) // one each at most: nobody waits
	cr.fail = func(err error) { failed <- err }
	cr.queue = cr.newQueue()

	p, err := r.connect(ctx, cr, breakAll, &out)
	if err != nil {
		if ctx.Err() != nil {
			out.State = loadresult.Stopped
			return out, nil
		}
		out.Error = err.Error()
		return out, err
	}
	cr.up.Store(int64(c.Threads))

	finished := make(chan struct{})
	cr.start = time.Now()
	k := newClock(cr, p, sink)
	go func() { p.run(); close(finished) }()

	err = k.watch(ctx, finished, failed, p.wake, func() {
		r.killBusy(p.busyIDs())
		breakAll()
	})
	out.Started, out.Total, out.Fairness = k.start, k.total, fairness(p.flows())
	if k.total.Length > 0 { // else it was stopped while it warmed up
		out.Elapsed = k.last.Sub(k.start)
	}
	switch {
	case err != nil:
		out.Error = err.Error()
		return out, err
	case ctx.Err() != nil && !k.complete:
		out.State = loadresult.Stopped
	default:
		out.State = loadresult.Done
	}
	k.client.used, k.client.elapsed, k.client.cpus = k.total.ClientCPU, out.Elapsed, runtime.GOMAXPROCS(0)
	k.client.loops = since(p.loops(), k.client.loopsBefore)
	out.Loop = k.client.busiest()
	var warning string
	if out.Invalid, warning = k.client.judge(); warning != "" {
		out.Warnings = append(out.Warnings, warning)
	}
	if c.Steady && !k.settled && !k.steady() {
		out.Warnings = append(out.Warnings,
			"the rate did not become stationary: run longer, or find what still changes")
	}
	return out, nil
}

// connect opens all sessions in the first of the ways that is able to. A connection lives as long as the context it was
// opened with: that of the run, which breakAll ends when the user does not want to wait any longer.
func (r runner) connect(ctx context.Context, cr *crew, breakAll func(), out *loadresult.Run) (party, error) {
	unhook := context.AfterFunc(ctx, breakAll)
	var p party
	var err error
	for _, w := range append(slices.Clone(r.parties), general) {
		p = w.make(cr)
		out.Path = w.name
		if err = p.connect(ctx); !errors.Is(err, ErrOtherWay) {
			break
		}
	}
	if !unhook() && err == nil {
		p.close()
		err = context.Cause(ctx)
	}
	return p, err
}

// ErrOtherWay says that event loops cannot talk to this server, and the general driver can.
var ErrOtherWay = errors.New("needs the general driver")

// killBusy asks the server to end the statements whose connections are about to be closed: it would go on with them
// otherwise.
func (r runner) killBusy(ids []uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	for _, id := range ids {
		if ctx.Err() == nil {
			r.server.Kill(ctx, id)
		}
	}
}
