package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/experiment"
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/progress"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// margin is what counts as no difference in the demo: its windows are short, and the fault's effect is many times
// larger.
const margin = 0.25

// slowPairs is how many pairs of windows there are when a turn of the remedy takes long.
const slowPairs = 4

// figures are what each window of the proof measures, the one that decides first.
func figures(parts []part) []string {
	main := "qps"
	switch c := parts[0].f.Cure; {
	case c.Figure == "latency":
		main = "p95_ms"
	case c.Kind == fault.CureWorkload && c.Workload != nil && sameOperations(parts, c):
		main = "tps"
	}
	all := []string{main}
	for _, n := range []string{"qps", "p95_ms", "server_cpu_cores", "rows_read_per_s"} {
		if n != main {
			all = append(all, n)
		}
	}
	return all
}

// sameOperations reports whether a cure's workload counts its work in the same operations, so that these can be
// compared. Else it is the statements that are.
func sameOperations(parts []part, c fault.Cure) bool {
	p := parts[0]
	a, err1 := p.f.Workload.Build(fault.Options(p.names))
	b, err2 := c.Workload.Build(fault.Options(p.names))
	return err1 == nil && err2 == nil && slices.Equal(a.Operations, b.Operations)
}

// prove alternates between the state before and the cured one under the running load. In each round the cured one is
// measured twice, so that the load is also compared with itself: of the two it is the one with enough operations in a
// window for that. To the experiment it is the baseline; what the user is told is the other way round, what the cure
// has brought.
func (d *demo) prove(ctx context.Context, res *Result, r *remedy) (x trial.Result, err error) {
	pairs := d.o.Pairs
	if pairs <= 0 {
		pairs = demoPairs
		if r.slow {
			pairs = slowPairs
		}
	}
	main := figures(d.parts)[0]
	// whatever happened, the cure stays in force
	defer func() { err = errors.Join(err, d.leaveCured(context.WithoutCancel(ctx), r)) }()
	if r.once {
		d.say("Proof: %s, %d of %s each, under the same load.", r.how, pairs, unit.Seconds(demoWindow.Seconds()))
		x, err = d.apart(ctx, r, pairs)
	} else {
		d.say("Proof: %s in turn, %d times each in random order, %s a window, under the same load. As a control the "+
			"fixed state is also compared with itself.",
			r.how, pairs, unit.Seconds(demoWindow.Seconds()))
		x, err = d.inTurn(ctx, r, pairs)
	}
	if err != nil {
		return x, err
	}
	for _, c := range x.Cells {
		if c.Verdict != nil {
			v := c.Verdict.Swapped()
			res.Verdict = &v
		}
	}
	if res.Verdict == nil {
		return x, fmt.Errorf("prove the gain: no pair of windows could be compared: %s", x.Sentence)
	}
	res.Control = x.Control
	res.Before, res.After = map[string]stat.Interval{}, map[string]stat.Interval{}
	for _, name := range figures(d.parts) {
		for key, into := range map[string]map[string]stat.Interval{uncured: res.Before, cured: res.After} {
			var vals []float64
			for _, t := range x.Trials {
				if val, ok := t.Values[name]; ok && t.Variant == key && !t.Control && t.Invalid == "" {
					vals = append(vals, val)
				}
			}
			if len(vals) > 0 {
				into[name] = stat.Center(vals, 0.95)
			}
		}
	}
	what := "Throughput"
	if main == "p95_ms" {
		what = "p95 latency, before ÷ after,"
	}
	if i := res.Verdict.Ratio; i.N > 0 {
		d.say("Verdict: %s. %s is %s (95 %% interval %s to %s, %d pairs of windows).", res.Verdict.Result, what,
			unit.Ratio(i.Center), unit.Ratio(i.Lo), unit.Ratio(i.Hi), i.N)
	} else {
		d.say("Verdict: %s: %s", res.Verdict.Result, x.Sentence)
	}
	if c := x.Control; c != nil {
		d.say("Control: the fixed state compared with itself is %s: %s (%s to %s, %d pairs); within ±%s counts as "+
			"the same.", c.Result, unit.Ratio(c.Ratio.Center),
			unit.Ratio(c.Ratio.Lo), unit.Ratio(c.Ratio.Hi), c.Ratio.N, unit.Percent(c.Margin))
	}
	return x, nil
}

// The variants of a proof, by the keys that the plan gives them.
const (
	uncured = "cure=off"
	cured   = "cure=on"
)

func proofPlan(o Options, parts []part, r *remedy, pairs int) plan.Plan {
	return plan.Plan{
		Name: "demo", Title: titleOf(parts), Baseline: map[string]string{"cure": "on"},
		Axes:  []plan.Axis{{Name: "cure", Levels: []plan.Level{{Name: "off"}, {Name: "on"}}}},
		Table: plan.Table{Rows: []string{"cure"}, Show: figures(parts)},
		Trials: plan.Trials{
			Time: plan.Duration(demoWindow), WarmMin: plan.Duration(r.settle), WarmMax: plan.Duration(r.settle),
			Min: pairs, Max: pairs, Margin: margin, Conf: 0.95, Seed: o.Seed, Fresh: plan.FreshNone,
		},
	}
}

// inTurn is an experiment of windows in random order.
func (d *demo) inTurn(ctx context.Context, r *remedy, pairs int) (trial.Result, error) {
	p := proofPlan(d.o, d.parts, r, pairs)
	vs, err := p.Variants()
	if err != nil {
		return trial.Result{}, err
	}
	return experiment.Compare(ctx, p, vs, nil, &switcher{d, r}, nil,
		experiment.Observer{Progress: d.o.Voice.Progress()})
}

// apart measures all windows before the change and then all after it.
func (d *demo) apart(ctx context.Context, r *remedy, n int) (x trial.Result, err error) {
	x.Plan = proofPlan(d.o, d.parts, r, n)
	if x.Variants, err = x.Plan.Variants(); err != nil {
		return x, err
	}
	values := map[string]map[string][]float64{}
	for _, v := range []string{uncured, cured} {
		values[v] = map[string][]float64{}
		for i := range n {
			t, err := (&switcher{d, r}).Trial(ctx, plan.Variant{Key: v}, x.Plan, false, d.o.Voice.Progress())
			if err != nil {
				return x, err
			}
			t.Seq, t.Round, t.Variant = len(x.Trials)+1, i+1, v
			x.Trials = append(x.Trials, t)
			if t.Invalid == "" {
				for name, val := range t.Values {
					values[v][name] = append(values[v][name], val)
				}
			}
		}
	}
	main := figures(d.parts)[0]
	// As in turn: the cured state is the baseline.
	verdict := stat.JudgeApart([]stat.Two{{Baseline: values[cured][main], Variant: values[uncured][main]}},
		stat.Rules{
			Metric: main, LowerIsBetter: trial.MetricOf(main, "").Better == trial.Less,
			Margin: margin, Confidence: 0.95,
		})[0]
	c := trial.Cell{Variant: uncured, Verdict: &verdict, Ratios: map[string]stat.Interval{}}
	for _, name := range figures(d.parts) {
		if i, err := stat.Ratio(values[cured][name], values[uncured][name], 0.95); err == nil {
			c.Ratios[name] = i
		}
	}
	x.Cells = []trial.Cell{c}
	return x, nil
}

// switcher is the demo as the experiment sees it.
type switcher struct {
	d *demo
	r *remedy
}

// Trial brings the remedy into the variant's state and watches the load.
func (s *switcher) Trial(
	ctx context.Context, v plan.Variant, p plan.Plan, _ bool, sink progress.Sink,
) (trial.Trial, error) {
	begin := time.Now()
	if err := s.d.switchTo(ctx, s.r, v.Key == cured); err != nil {
		return trial.Trial{}, err
	}
	name := s.r.off
	if v.Key == cured {
		name = s.r.on
	}
	sink.Report(progress.Progress{
		Step: name, Unit: "s", Started: begin, At: time.Now(),
		Total: (time.Duration(p.Trials.WarmMin) + time.Duration(p.Trials.Time)).Seconds(),
	})
	if err := sleep(ctx, time.Duration(p.Trials.WarmMin)); err != nil {
		return trial.Trial{}, err
	}
	from := time.Now()
	if err := sleep(ctx, time.Duration(p.Trials.Time)); err != nil {
		return trial.Trial{}, err
	}
	// The scraper reads at whole seconds and the load ticks once a second: what lies wholly within the window counts.
	t := s.d.window(from, time.Now())
	t.Warm = time.Duration(p.Trials.WarmMin).Seconds()
	return t, nil
}

// window sums up the load's ticks and the server's counters that lie wholly between from and to.
func (d *demo) window(from, to time.Time) trial.Trial {
	w := trial.Trial{From: from, To: to, Values: map[string]float64{}}
	d.mu.Lock()
	var in []loadresult.Tick
	for _, t := range d.ticks {
		if !t.At.Before(from) && !t.At.Add(t.Length).After(to) {
			in = append(in, t)
		}
	}
	d.mu.Unlock()
	sum := loadresult.Merged(in)
	if len(in) == 0 || sum.Operations() == 0 {
		w.Invalid = "the load completed no operation in the window"
		return w
	}
	for _, t := range in {
		w.Seconds = append(w.Seconds, trial.Second{
			At: t.At, Length: t.Length.Seconds(), Ops: t.Operations(),
			Errors: t.ErrorCount(),
		})
	}
	// statements without those that begin and end transactions: how many there are of them is the application's own
	// affair
	var asked uint64
	for _, o := range sum.Ops {
		asked += o.Reads + o.Writes
	}
	w.Values["tps"] = sum.TPS()
	w.Values["qps"] = float64(asked) / sum.Length.Seconds()
	w.Values["p95_ms"] = float64(sum.Latency().Quantile(0.95)) / 1e6
	a, b := from.UnixMilli(), to.UnixMilli()
	if v, ok := rowsRead(d, a, b).Get(); ok {
		w.Values["rows_read_per_s"] = v
	}
	if v, ok := cpuOf(d, a, b).Get(); ok {
		w.Values["server_cpu_cores"] = v
	}
	retried, _ := d.t.load.Retried()
	if n := failures(sum, retried); n > 0 {
		w.Invalid = fmt.Sprintf("%d statements failed", n)
	}
	return w
}

// failures counts errors that are not part of a healthy life: a deadlock or a lock that did not come is tried again,
// and shows in the rate.
func failures(t loadresult.Tick, retried []string) (n uint64) {
	for key, count := range t.Errors {
		if !slices.Contains(retried, key) {
			n += count
		}
	}
	return n
}

func rowsRead(d *demo, from, to int64) known.Value[float64] {
	counters := app.FiguresOf(d.box.Server.Flavor).Names().RowReads
	return proof.RowReads(counters, func(name string, by ...metric.Label) (metric.Series, bool) {
		return d.buf.Find(name, by, from, to)
	})
}

func cpuOf(d *demo, from, to int64) known.Value[float64] {
	return proof.ServerCPU(func(name, mode string) (metric.Series, bool) {
		return d.buf.Find(name, metric.L("mode", mode), from, to)
	})
}
