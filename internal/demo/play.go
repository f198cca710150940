package demo

import (
	"context"
	"fmt"
	"sync"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// play is everything that goes on at the server of a demo: a load for each fault, and its actors.
type play struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// play begins. An error before its end ends the demo. With cured the application and the actors are those after a cure
// that asks the application to change, or the actors to go.
func (d *demo) play(ctx context.Context, cured bool) *play {
	ctx, cancel := context.WithCancel(ctx)
	p := &play{cancel: cancel}
	for i, x := range d.parts {
		w, actors := x.f.Workload, x.f.Actors
		if cured {
			switch x.f.Cure.Kind {
			case fault.CureActors:
				actors = nil
			case fault.CureWorkload:
				actors = x.f.Cure.Actors
				if x.f.Cure.Workload != nil {
					w = x.f.Cure.Workload
				}
			case fault.CureAction, fault.CureRestart:
			}
		}
		seed := d.o.Seed + uint64(i)
		p.wg.Go(func() {
			c := load.Config{
				Workload: w, Options: fault.Options(x.names), Threads: x.f.Threads,
				Seed: seed, PSMode: load.Disable,
			}
			r, err := d.t.load.Run(ctx, c, func(t loadresult.Tick) { d.tick(i, t) })
			if err != nil && ctx.Err() == nil {
				d.fail(fmt.Errorf("load: %w", err))
			}
			keepRun(ctx, d, r)
		})
		stage, err := x.f.Stage(d.t.Server, x.names)
		if err != nil {
			d.fail(err)
			continue
		}
		for _, a := range actors {
			p.wg.Go(func() {
				if err := a.Run(ctx, stage); err != nil && ctx.Err() == nil {
					d.fail(fmt.Errorf("%s: %w", a.Name, err))
				}
			})
		}
	}
	return p
}

// end stops the play and returns when nobody of it is left. There may be none, where a new start of the server failed.
func (p *play) end() {
	if p == nil {
		return
	}
	p.cancel()
	p.wg.Wait()
}

// keepRun puts a run on record.
func keepRun(ctx context.Context, d *demo, r loadresult.Run) {
	if r.ID != "" {
		return
	}
	ctx = context.WithoutCancel(ctx)
	id, err := d.ledger.NewID(ctx, ledger.RunID)
	if err == nil {
		r.ID = id
		err = d.ledger.PutRun(ctx, r)
	}
	if err != nil {
		d.mu.Lock()
		d.storeErr = err
		d.mu.Unlock()
	}
}
