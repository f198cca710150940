package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/unit"
)

// loadRun runs a workload, once with each number of --threads.
func loadRun(e *env, c *cobra.Command, s load.Server, cfg load.Config, o *loadFlags) (err error) {
	var log *hdrLog
	if o.hdrLog != "" {
		if log, err = openHDRLog(o.hdrLog); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, log.close()) }()
	}
	notes, err := preflight(c.Context(), e, s, cfg, o)
	if err != nil {
		return err
	}
	if o.verify {
		if err := verified(c.Context(), e, s, cfg, o, "before"); err != nil {
			return err
		}
	}
	one := func(threads int, sink func(loadresult.Tick)) (loadresult.Run, error) {
		cfg.Threads = threads
		r, _, err := app.Runs{App: e.app}.Load(c.Context(), s, cfg, notes, sink)
		return r, err
	}
	runs, err := loadAll(c.Context(), e, o, one, log)
	if o.verify && len(runs) > 0 {
		if c.Context().Err() != nil {
			e.remark("The conditions were not checked after the run, because it was stopped.")
		} else {
			err = errors.Join(err, verified(c.Context(), e, s, cfg, o, "after"))
		}
	}
	if err != nil {
		return err
	}
	return invalid(runs)
}

// preflight tells what would spoil the run, and returns what its reader must know, too.
func preflight(
	ctx context.Context, e *env, s load.Server, cfg load.Config, o *loadFlags,
) (notes []string, err error) {
	cfg.Threads = slices.Max(o.threads.list)
	remarks, err := s.Preflight(ctx, cfg)
	if err != nil {
		return nil, err
	}
	var refused []string
	for _, r := range remarks {
		if r.Severity == load.Refuse {
			refused = append(refused, r.String())
		}
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("the run cannot succeed: %s", strings.Join(refused, "; "))
	}
	for _, r := range remarks {
		switch r.Severity {
		case load.Refuse: // none is left
		case load.Warn:
			e.remark("Warning: %s", sentence(r.String()))
			notes = append(notes, r.Text)
		case load.Note:
			e.remark("Note: %s", sentence(r.String()))
		}
	}
	return notes, nil
}

// loadAll runs something once with each number of --threads. It returns the runs that have figures.
func loadAll(ctx context.Context, e *env, o *loadFlags,
	one func(threads int, sink func(loadresult.Tick)) (loadresult.Run, error), log *hdrLog,
) (runs []loadresult.Run, err error) {
	sweep := len(o.threads.list) > 1
	for _, n := range o.threads.list {
		suffix := ""
		if sweep {
			suffix = fmt.Sprintf("-%d-threads", n)
		}
		var r loadresult.Run
		r, err = loadOnce(ctx, e, o, n, one, func(x loadresult.Tick) { log.tick(x, suffix) })
		if r.Elapsed > 0 {
			runs = append(runs, r)
		}
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	if sweep && len(runs) > 0 {
		printSweep(e, runs, len(o.threads.list), int(o.percentile))
	}
	return runs, err
}

// invalid makes an exit code of a run whose figures are not the server's.
func invalid(runs []loadresult.Run) error {
	for _, r := range runs {
		if r.Invalid != "" {
			with := ""
			if len(runs) > 1 {
				with = " with " + r.Options["threads"] + " threads"
			}
			return &exitError{exitUndecided, fmt.Errorf("the run%s is invalid, its figures do not describe the "+
				"server: %s", with, r.Invalid)}
		}
	}
	return nil
}

// loadOnce runs a workload and prints its figures.
func loadOnce(ctx context.Context, e *env, o *loadFlags, threads int,
	one func(int, func(loadresult.Tick)) (loadresult.Run, error), sink func(loadresult.Tick),
) (loadresult.Run, error) {
	loadHeader(e, o, threads)
	p := newTickPrinter(e, o)
	r, err := one(threads, func(x loadresult.Tick) {
		p.tick(x)
		sink(x)
	})
	p.end()
	if r.Elapsed == 0 || err != nil && r.Total.Operations() == 0 {
		if err == nil && ctx.Err() != nil {
			e.remark("Stopped before anything was measured.")
		}
		return r, err
	}
	if e.json() {
		return r, errors.Join(e.writeJSON(struct {
			Message string `json:"message"`
			figures
			loadresult.Run
		}{"summary", figuresOf(&r.Total, &r), r}), err)
	}
	e.mu.Lock()
	total := p.rest(r.Total)
	if o.histogram {
		sysbenchHistogram(e.Out, felt(total))
	} else {
		fmt.Fprintln(e.Out)
	}
	sysbenchBlock(e.Out, total, r.Elapsed, r.Fairness, int(o.percentile))
	lineWidth := math.MaxInt // scripts want a text on one line
	if isTerminal(e.Out) {
		lineWidth = e.width()
	}
	ownBlock(e.Out, &r, o.percentiles.list, lineWidth)
	e.mu.Unlock()
	if r.ID != "" {
		e.remark("Stored as %s: `dyno report %[1]s` shows it.", r.ID)
	}
	return r, err
}

// printSweep prints the runs with several numbers of threads beside each other.
func printSweep(e *env, runs []loadresult.Run, asked, pct int) {
	if e.json() {
		return // every summary stands for itself
	}
	if pct == 0 {
		pct = 95
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	fmt.Fprintf(e.Out, "\n%8s %11s %11s %9s %9s %9s %9s %9s  %s\n", "threads", "tps", "qps", "p50 ms",
		fmt.Sprintf("p%d ms", pct), "p99 ms", "errors/s", "CPUs here", "run")
	for _, r := range runs {
		h := felt(r.Total)
		s := r.Total.Length.Seconds()
		note := r.ID
		if r.Invalid != "" {
			note += "  INVALID"
		}
		fmt.Fprintf(e.Out, "%8s %11.2f %11.2f %9.3f %9.3f %9.3f %9.2f %9.2f  %s\n", r.Options["threads"], r.Total.TPS(),
			r.Total.QPS(), ms(h.Quantile(0.5)),
			ms(h.Quantile(float64(pct)/100)), ms(h.Quantile(0.99)), float64(r.Total.ErrorCount())/s,
			r.Total.ClientCPU.Seconds()/s, note)
	}
	best := runs[0]
	for _, r := range runs[1:] {
		if r.Total.TPS() > best.Total.TPS() {
			best = r
		}
	}
	fmt.Fprintln(e.Out)
	if len(runs) > 1 {
		fmt.Fprintf(e.Out, "Highest throughput: %s operations per second with %s threads.\n",
			unit.Count(best.Total.TPS()), best.Options["threads"])
	}
	if len(runs) < asked {
		fmt.Fprintf(e.Out, "Only %d of %d runs have figures.\n", len(runs), asked)
	}
}
