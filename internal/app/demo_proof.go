package app

import (
	"context"
	"fmt"
	"time"

	"dyno/internal/act"
	"dyno/internal/event"
	"dyno/internal/experiment"
	"dyno/internal/known"
	"dyno/internal/metric"
	"dyno/internal/proof"
	"dyno/internal/run"
	"dyno/internal/stat"
	"dyno/internal/unit"
)

const (
	hidden  = "index hidden"
	visible = "index visible"
)

// figures are what each window of the proof measures, the one that decides first.
func figures() []string { return []string{"qps", "p95_ms", "server_cpu_cores", "rows_read_per_s"} }

// prove alternates the index between hidden and visible under the running load.
func (d *demo) prove(ctx context.Context, res *DemoResult) (experiment.Result, error) {
	pairs := d.o.Pairs
	if pairs <= 0 {
		pairs = demoPairs
	}
	d.say("Proof: the index is hidden and shown in turn, %d times each in random order, %s a window, under the same load.", pairs, unit.Seconds(demoWindow.Seconds()))
	x, err := experiment.Run(ctx, experiment.Plan{
		Baseline: hidden, Variant: visible, Final: visible, Pairs: pairs, Settle: demoSettle, Window: demoWindow, Seed: d.o.Seed,
		Main: figures()[0], LowerIsBetter: figures()[1:],
	}, (*switcher)(d), d.o.Voice.Progress())
	d.setNote("")
	if err != nil {
		return x, err
	}
	res.Verdict = &x.Verdict
	res.Before, res.After = map[string]stat.Interval{}, map[string]stat.Interval{}
	for _, name := range figures() {
		for v, into := range map[string]map[string]stat.Interval{hidden: res.Before, visible: res.After} {
			var vals []float64
			for _, w := range x.Windows {
				if val, ok := w.Values[name]; ok && w.Variant == v && w.Invalid == "" {
					vals = append(vals, val)
				}
			}
			if len(vals) > 0 {
				into[name] = stat.Center(vals, 0.95)
			}
		}
	}
	r := x.Verdict.Ratio
	d.say("Verdict: %s. Throughput is %s (95 %% interval %s to %s, %d pairs of windows).", x.Verdict.Result, unit.Ratio(r.Center), unit.Ratio(r.Lo), unit.Ratio(r.Hi), r.N)
	return x, nil
}

// switcher is the demo as the experiment sees it.
type switcher demo

func (s *switcher) Switch(ctx context.Context, variant string) error {
	d := (*demo)(s)
	turn := act.Show
	if variant == hidden {
		turn = act.Hide
	}
	if err := turn(ctx, d.t, d.action.Table, d.action.Index.Name); err != nil {
		return err
	}
	d.setNote(variant)
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := len(d.events) - 1; i >= 0; i-- {
		if d.events[i].Kind == event.Variant && d.events[i].Until.IsZero() {
			d.events[i].Until = now
		}
	}
	d.events = append(d.events, event.Event{At: now, Target: d.t.Spec().Name, Kind: event.Variant, Text: variant})
	return nil
}

func (s *switcher) Measure(ctx context.Context, length time.Duration) (experiment.Window, error) {
	d := (*demo)(s)
	from := time.Now()
	if err := sleep(ctx, length); err != nil {
		return experiment.Window{}, err
	}
	// The collector reads at whole seconds and the load ticks once a second: what lies wholly within the window counts.
	to := time.Now()
	return d.window(from, to), nil
}

// window sums up the load's ticks and the server's counters that lie wholly between from and to.
func (d *demo) window(from, to time.Time) experiment.Window {
	w := experiment.Window{From: from, To: to, Values: map[string]float64{}}
	d.mu.Lock()
	var in []run.Tick
	for _, t := range d.ticks {
		if !t.At.Before(from) && !t.At.Add(t.Length).After(to) {
			in = append(in, t)
		}
	}
	d.mu.Unlock()
	sum := run.Merged(in)
	if len(in) == 0 || sum.Operations() == 0 {
		w.Invalid = "the load completed no operation in the window"
		return w
	}
	w.Values["qps"] = sum.QPS()
	w.Values["p95_ms"] = float64(sum.Latency().Quantile(0.95)) / 1e6
	a, b := from.UnixMilli(), to.UnixMilli()
	if v, ok := d.rowsRead(a, b).Get(); ok {
		w.Values["rows_read_per_s"] = v
	}
	if v, ok := d.cpu(a, b).Get(); ok {
		w.Values["server_cpu_cores"] = v
	}
	if n := sum.ErrorCount(); n > 0 {
		w.Invalid = fmt.Sprintf("%d statements failed", n)
	}
	return w
}

func (d *demo) rowsRead(from, to int64) known.Value[float64] {
	return proof.RowReads(func(name string) (metric.Series, bool) { return d.buf.Find(name, nil, from, to) })
}

func (d *demo) cpu(from, to int64) known.Value[float64] {
	return proof.ServerCPU(func(name, mode string) (metric.Series, bool) {
		return d.buf.Find(name, metric.L("mode", mode), from, to)
	})
}
