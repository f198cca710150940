package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dyno/internal/fault"
	"dyno/internal/load"
	"dyno/internal/report"
	"dyno/internal/run"
	"dyno/internal/store/ledger"
	"dyno/internal/target"
	"dyno/internal/workload"
)

// Workloads returns everything that `load` can run: sysbench's family and the workloads of the faults.
func (a *App) Workloads() []workload.Workload {
	return slices.Concat(workload.All(), fault.Workloads())
}

// Workload returns the one of that name; the error of an unknown one names the nearest.
func (a *App) Workload(name string) (workload.Workload, error) {
	return workload.Find(a.Workloads(), name)
}

// Load runs a workload and keeps the run, also one that was stopped. The ticks come back as well as through the sink.
func (a *App) Load(ctx context.Context, t *target.Target, cfg load.Config, sink func(run.Tick)) (run.Run, []run.Tick, error) {
	var ticks []run.Tick
	r, err := load.Run(ctx, t, cfg, func(x run.Tick) {
		ticks = append(ticks, x)
		sink(x)
	})
	if r.Started.IsZero() || (r.Elapsed == 0 && err != nil) {
		return r, ticks, err
	}
	keep := context.WithoutCancel(ctx)
	l, lerr := a.Ledger(keep)
	if lerr == nil {
		if r.ID, lerr = l.NewID(keep, ledger.RunID); lerr == nil {
			lerr = errors.Join(l.PutRun(keep, r), a.keepRun(keep, l, r, ticks))
		}
	}
	if lerr != nil {
		r.ID = ""
		err = errors.Join(err, fmt.Errorf("the run was not kept: %w", lerr))
	}
	return r, ticks, err
}

// keepRun stores the report of a run, which has its seconds too.
func (a *App) keepRun(ctx context.Context, l *ledger.Ledger, r run.Run, ticks []run.Tick) error {
	doc := RunDocument(r, ticks, a.Version)
	b, err := report.Encode(&doc)
	if err != nil {
		return err
	}
	return l.PutDocument(ctx, string(doc.Kind), r.ID, r.Target, b)
}
