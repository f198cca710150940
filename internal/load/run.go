package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/target"
	"github.com/dyno-perf/dyno/internal/workload"
)

// Run runs a workload on a target and returns its figures. All sessions connect and prepare their statements before the
// clock starts. sink, which may be nil, gets every tick, in order, from the goroutine that called Run; it returns
// quickly, for the next tick waits for it.
//
// The end of ctx stops the run: operations under way may end, for half a second, then their statements are killed and
// their connections closed. That is no error; the figures hold for the time the run ran and its State is Stopped. An
// error that ends the run is returned together with the figures so far, whose State is Failed.
func Run(ctx context.Context, t *target.Target, c Config, sink func(loadresult.Tick)) (loadresult.Run, error) {
	c, plan, err := c.settle()
	if err != nil {
		return loadresult.Run{State: loadresult.Failed, Error: err.Error()}, err
	}
	r := runner{
		parties: parties(t, c),
		kill:    func(ctx context.Context, id uint64) { kill(ctx, t, id) },
	}
	warnings := shortTables(ctx, t, plan)
	out, err := r.run(ctx, c, plan, sink)
	out.Target = t.String()
	out.Warnings = append(out.Warnings, warnings...)
	return out, err
}

// way is one way to drive sessions.
type way struct {
	name string // as Run.Path calls it
	make func(*crew) party
}

// parties lists the ways to drive the sessions, the first that is able to is taken.
func parties(t *target.Target, c Config) []way {
	driver := way{"driver", func(cr *crew) party {
		return newDriven(cr, func(ctx context.Context) (connection, error) {
			l, err := dial(ctx, t, cr.plan, cr.config.PSMode)
			if err != nil {
				return nil, err // never a nil *link in the interface
			}
			return l, nil
		})
	}}
	if c.Driver {
		return []way{driver}
	}
	return append(loopWay(t), driver)
}

// runner is a run without the knowledge of what it runs on.
type runner struct {
	parties []way
	kill    func(ctx context.Context, id uint64)
}

func (r runner) run(
	ctx context.Context, c Config, plan *workload.Plan, sink func(loadresult.Tick),
) (loadresult.Run, error) {
	if c.Seed == 0 {
		c.Seed = rand.Uint64()>>1 | 1 // within what an int64 holds, and never 0 again
	}
	out := loadresult.Run{
		Workload: plan.Workload, Options: c.options(plan), Warnings: append([]string(nil), plan.Notes...),
		State: loadresult.Failed,
	}

	hard, breakAll := context.WithCancel(context.WithoutCancel(ctx))
	defer breakAll()
	cr := &crew{config: c, plan: plan, naming: namesOf(plan), hard: hard, stop: make(chan struct{})}
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
	for _, w := range r.parties {
		p = w.make(cr)
		out.Path = w.name
		if err = p.connect(ctx); !errors.Is(err, errOtherWay) {
			break
		}
	}
	if !unhook() && err == nil {
		p.close()
		err = context.Cause(ctx)
	}
	return p, err
}

// errOtherWay says that a party cannot talk to this server, and another can.
var errOtherWay = errors.New("needs the general driver")

// explain adds what to do about data that is not there.
func explain(err error, plan *workload.Plan) error {
	n, ok := target.ServerErrorNumber(err)
	if target.KindOf(err) == endpoint.NoSuchDatabase || ok && n == noSuchTable {
		return fmt.Errorf("%w (the data of %s does not exist: prepare it first)", err, plan.Workload)
	}
	if ok && n == tooManyPrepared {
		return fmt.Errorf("%w (every session prepares %d statements: raise max_prepared_stmt_count, or use "+
			"db-ps-mode=disable)", err, len(plan.Statements))
	}
	return err
}

// killBusy asks the server to end the statements whose connections are about to be closed: it would go on with them
// otherwise.
func (r runner) killBusy(ids []uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	for _, id := range ids {
		if ctx.Err() == nil {
			r.kill(ctx, id)
		}
	}
}

// kill ends a connection of a load. A failure is no news: the connection may be gone already.
func kill(ctx context.Context, t *target.Target, id uint64) {
	_, _ = t.Kill(ctx, id)
}
