package digestsource

import (
	"context"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/source"
)

// LiveOptions say how long to look at a server and what to show.
type LiveOptions struct {
	Options
	ReportOptions
	Window   time.Duration // at least digest.MinWindow
	Progress progress.Sink
}

// Live looks at a target for a window and returns the report of the statements that completed within it, with what each
// source gave. It only reads. When ctx ends early, the report is of the time until then and says so; an error means
// that there is none.
func Live(ctx context.Context, t *target.Target, o LiveOptions) (digest.Report, []source.Source, error) {
	if o.Window < digest.MinWindow {
		return digest.Report{}, nil, fmt.Errorf("observe %s: a window of %v is too short, the minimum is %v",
			t.Spec().Name, o.Window, digest.MinWindow)
	}
	o.Detail = true
	r, err := Open(ctx, t, o.Options)
	if err != nil {
		return digest.Report{}, nil, err
	}
	defer r.Close()
	if err := r.Begin(ctx); err != nil {
		return digest.Report{}, nil, fmt.Errorf("observe %s: stopped before the window began: %w", t.Spec().Name, err)
	}
	began := time.Now()
	report := func(end bool) {
		o.Progress.Report(progress.Progress{
			Step: "observing " + t.Spec().Name, Unit: "s", Started: began, At: time.Now(),
			Done: min(time.Since(began), o.Window).Seconds(), Total: o.Window.Seconds(), End: end,
		})
	}
	look, cancel := context.WithTimeout(ctx, o.Window)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.Run(look) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for running := true; running; {
		select {
		case err = <-done:
			running = false
		case <-tick.C:
			report(false)
		}
	}
	if err != nil && look.Err() == nil {
		return digest.Report{}, nil, fmt.Errorf("look at %s: %w", t.Spec().Name, err)
	}
	saw := time.Since(began)
	rep, sources, err := r.Report(context.WithoutCancel(ctx), o.ReportOptions)
	if err != nil {
		return digest.Report{}, nil, fmt.Errorf("look at %s: %w", t.Spec().Name, err)
	}
	if ctx.Err() != nil {
		rep.Global.Notes = append(rep.Global.Notes, fmt.Sprintf("stopped after %v of %v",
			saw.Round(time.Second/10), o.Window))
	}
	report(true)
	return rep, sources, nil
}
