// Package experiment measures two variants against each other in alternating windows and gives a verdict.
//
// A pair is one window of the baseline and one of the variant next to each other, in random order, so that whatever drifts slower
// than a pair hits both alike. Both orders come equally often. After every switch a settling time passes that belongs to no
// window. Pairs, not seconds, are the samples that package stat judges.
//
// The number of pairs is fixed before the measurement: who looks in between and stops when it looks good finds differences that
// are none. A measurement that was stopped says so.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"dyno/internal/progress"
	"dyno/internal/stat"
)

// Runner switches the target between variants and measures it. Run calls it from one goroutine at a time.
type Runner interface {
	// Switch makes the variant the one in force. It may be called with the one that is in force already.
	Switch(ctx context.Context, variant string) error
	// Measure watches for d and returns the values of that time. A window in which something broke is returned with Invalid
	// set, not as an error. It ends early with ctx's error.
	Measure(ctx context.Context, d time.Duration) (Window, error)
}

// Plan is what is measured. It is decided before and not changed by what comes out.
type Plan struct {
	Baseline      string        `json:"baseline"`
	Variant       string        `json:"variant"`
	Final         string        `json:"final"` // the variant left in force at the end, whatever happens; empty means Baseline
	Pairs         int           `json:"pairs"` // at least 3; below 6 the interval is wide
	Settle        time.Duration `json:"settle_ns"`
	Window        time.Duration `json:"window_ns"`
	Seed          uint64        `json:"seed"` // of the order within the pairs
	Main          string        `json:"main"` // the value that the verdict is about: "qps"
	LowerIsBetter []string      `json:"lower_is_better,omitempty"`
	Margin        float64       `json:"margin,omitzero"` // see stat.Rules; 0 means its default
}

// Validate names everything that is wrong with the plan.
func (p Plan) Validate() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(p.Baseline == "" || p.Variant == "", "baseline and variant need names")
	wrong(p.Baseline == p.Variant && p.Variant != "", "baseline and variant are both %q", p.Variant)
	wrong(p.Final != "" && p.Final != p.Baseline && p.Final != p.Variant, "final is %q, neither the baseline nor the variant", p.Final)
	wrong(p.Pairs < 3, "%d pairs: at least 3 are needed for an interval", p.Pairs)
	wrong(p.Window <= 0, "a window of %v", p.Window)
	wrong(p.Settle < 0, "a settling time of %v", p.Settle)
	wrong(p.Main == "", "no main value is named")
	wrong(p.Margin < 0 || p.Margin >= 1, "a margin of %v: it lies between 0 and 1", p.Margin)
	if len(errs) > 0 {
		return fmt.Errorf("plan an experiment: %w", errors.Join(errs...))
	}
	return nil
}

// Duration is the time that the plan needs without the switches themselves.
func (p Plan) Duration() time.Duration { return time.Duration(2*p.Pairs) * (p.Settle + p.Window) }

// Window is one measured window.
type Window struct {
	Pair    int                `json:"pair"` // from 1; set by Run
	Variant string             `json:"variant"`
	From    time.Time          `json:"from"`
	To      time.Time          `json:"to"`
	Values  map[string]float64 `json:"values,omitempty"`
	Invalid string             `json:"invalid,omitzero"` // why it does not count
}

// Result is what came out.
type Result struct {
	Plan    Plan     `json:"plan"`
	Windows []Window `json:"windows"` // in order of time, the invalid ones included
	Pairs   int      `json:"pairs"`   // complete ones, valid or not
	// Verdict is about Plan.Main, over the complete pairs.
	Verdict stat.Verdict `json:"verdict"`
	// Verdicts are about Plan.Main and Plan.LowerIsBetter by name; each stands for itself, without a correction for their
	// number.
	Verdicts map[string]stat.Verdict `json:"verdicts"`
	// Ratios are variant ÷ baseline of every value that at least three pairs have, whatever is better.
	Ratios map[string]stat.Interval `json:"ratios"`
	// Stopped says why fewer pairs than planned were measured; empty when all were.
	Stopped string `json:"stopped,omitzero"`
}

// ErrFailing is the end of an experiment whose windows fail one after the other.
var ErrFailing = errors.New("windows fail one after the other")

const (
	maxFailures  = 3                // in a row; then something is broken that will not heal by itself
	finalTries   = 3                // to put the final variant in force
	finalTimeout = 30 * time.Second // for each of them
)

// Run carries out the plan and returns what was measured, also together with an error: ctx's when it ended, ErrFailing after
// three bad windows in a row. The result then covers the pairs that were complete, and says that it was stopped. A failing
// Switch or Measure makes its window invalid and the plan goes on.
//
// In the end the variant plan.Final is in force; when that cannot be reached after several tries, or after ctx has ended, the error
// says so and names what must be done by hand.
func Run(ctx context.Context, p Plan, r Runner, sink progress.Sink) (res Result, err error) {
	if err := p.Validate(); err != nil {
		return Result{Plan: p}, err
	}
	if p.Final == "" {
		p.Final = p.Baseline
	}
	x := &run{Plan: p, Runner: r, sink: sink, started: time.Now()}
	orders := Orders(p.Pairs, p.Seed)
	err = x.pairs(ctx, orders)
	err = errors.Join(err, x.finish(ctx))
	x.report("done", x.Duration(), true)
	return x.result(orders, err), err
}

// Orders returns for each pair whether the variant comes first: as often as not, in an order drawn by seed. Of an odd number the
// last is drawn, too.
func Orders(pairs int, seed uint64) []bool {
	rnd := rand.New(rand.NewPCG(seed, 0x6479_6e6f))
	first := make([]bool, pairs)
	for i := range first {
		first[i] = i%2 == 1
	}
	if pairs%2 == 1 {
		first[pairs-1] = rnd.IntN(2) == 1
	}
	rnd.Shuffle(pairs, func(i, j int) { first[i], first[j] = first[j], first[i] })
	return first
}

// run is a plan being carried out.
type run struct {
	Plan
	Runner
	sink     progress.Sink
	started  time.Time
	windows  []Window
	inForce  string        // the variant in force, "" when it is not known
	elapsed  time.Duration // of the plan's duration
	complete int           // pairs of which both windows were measured
}

func (x *run) pairs(ctx context.Context, variantFirst []bool) error {
	failures := 0
	for i, first := range variantFirst {
		both := []string{x.Baseline, x.Variant}
		if first {
			slices.Reverse(both)
		}
		for _, variant := range both {
			w, err := x.window(ctx, i+1, variant)
			if ctx.Err() != nil { // the window was cut short
				return context.Cause(ctx)
			}
			if err != nil {
				w.Invalid = err.Error()
			}
			x.windows = append(x.windows, w)
			x.elapsed += x.Settle + x.Window
			if failures++; w.Invalid == "" {
				failures = 0
			}
			if failures == maxFailures {
				return fmt.Errorf("%w: the last of %d, %s of pair %d: %s", ErrFailing, failures, w.Variant, w.Pair, w.Invalid)
			}
		}
		x.complete++
	}
	return nil
}

// window switches, lets settle and measures.
func (x *run) window(ctx context.Context, pair int, variant string) (Window, error) {
	w := Window{Pair: pair, Variant: variant, From: time.Now()}
	step := fmt.Sprintf("pair %d of %d, %s", pair, x.Pairs, variant)
	x.report(step+": switching", x.elapsed, false)
	if x.inForce != variant {
		x.inForce = ""
		if err := x.Switch(ctx, variant); err != nil {
			w.To = time.Now()
			return w, fmt.Errorf("switch to %s: %w", variant, err)
		}
		x.inForce = variant
	}
	// Without a switch, too, the window settles: all windows are treated alike.
	if err := x.wait(ctx, step+": settling", x.elapsed, x.Settle, func(ctx context.Context) error { return sleep(ctx, x.Settle) }); err != nil {
		w.To = time.Now()
		return w, err
	}
	var got Window
	from := time.Now()
	err := x.wait(ctx, step+": measuring", x.elapsed+x.Settle, x.Window, func(ctx context.Context) (err error) {
		got, err = x.Measure(ctx, x.Window)
		return err
	})
	got.Pair, got.Variant = pair, variant
	if got.From.IsZero() {
		got.From = from
	}
	if got.To.IsZero() {
		got.To = time.Now()
	}
	if err != nil {
		return got, fmt.Errorf("measure: %w", err)
	}
	if got.Invalid == "" {
		got.Invalid = flaw(got, x.Main)
	}
	for name, v := range got.Values { // JSON has no such numbers
		if math.IsNaN(v) || math.IsInf(v, 0) {
			got.Values = maps.Clone(got.Values)
			delete(got.Values, name)
		}
	}
	return got, nil
}

// flaw tells why a window cannot count even though its runner says nothing against it.
func flaw(w Window, main string) string {
	v, ok := w.Values[main]
	switch {
	case !ok:
		return "it has no value for " + main
	case math.IsNaN(v) || math.IsInf(v, 0):
		return fmt.Sprintf("%s is %v", main, v)
	}
	return ""
}

// wait runs f, which takes about length, and reports progress each second while it runs.
func (x *run) wait(ctx context.Context, step string, done, length time.Duration, f func(context.Context) error) error {
	if x.sink == nil {
		return f(ctx)
	}
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	start := time.Now()
	for {
		x.report(step, done+min(time.Since(start), length), false)
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
	}
}

func (x *run) report(step string, done time.Duration, end bool) {
	x.sink.Report(progress.Progress{
		Step: step, Done: done.Seconds(), Total: x.Duration().Seconds(), Unit: "s", Started: x.started, At: time.Now(), End: end,
	})
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// finish puts the final variant in force, also when ctx has ended: nobody leaves a target in a state that was meant for a window.
func (x *run) finish(ctx context.Context) error {
	if x.inForce == x.Final {
		return nil
	}
	x.report("back to "+x.Final, x.elapsed, false)
	var err error
	for i := range finalTries {
		if i > 0 {
			time.Sleep(time.Second) // at most twice, and not for ctx to cut short
		}
		c, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalTimeout)
		err = x.Switch(c, x.Final)
		cancel()
		if err == nil {
			x.inForce = x.Final
			return nil
		}
	}
	return fmt.Errorf("the target is NOT back in variant %q, put it there by hand: %w", x.Final, err)
}

// result judges the complete pairs.
func (x *run) result(variantFirst []bool, err error) Result {
	res := Result{Plan: x.Plan, Windows: x.windows, Pairs: x.complete, Verdicts: map[string]stat.Verdict{}, Ratios: map[string]stat.Interval{}}
	if x.complete < x.Plan.Pairs {
		res.Stopped = fmt.Sprintf("stopped after %d of %d pairs", x.complete, x.Plan.Pairs)
		if err != nil {
			res.Stopped += ": " + err.Error()
		}
	}
	byPair := make([]struct{ baseline, variant Window }, x.complete)
	names := map[string]bool{x.Main: true}
	for _, name := range x.LowerIsBetter {
		names[name] = true
	}
	all := maps.Clone(names)
	for _, w := range x.windows {
		if w.Pair > x.complete {
			continue
		}
		if w.Variant == x.Variant {
			byPair[w.Pair-1].variant = w
		} else {
			byPair[w.Pair-1].baseline = w
		}
		for name := range w.Values {
			all[name] = true
		}
	}
	for name := range all {
		pairs := make([]stat.Pair, x.complete)
		var good []stat.Pair
		for i, b := range byPair {
			pairs[i] = pair(b.baseline, b.variant, name)
			pairs[i].VariantFirst = variantFirst[i]
			if pairs[i].Invalid == "" {
				good = append(good, pairs[i])
			}
		}
		if ratio, err := stat.PairedRatio(good, stat.DefaultConfidence); err == nil {
			res.Ratios[name] = ratio
		}
		if names[name] {
			v := stat.Judge(pairs, stat.Rules{Metric: name, LowerIsBetter: slices.Contains(x.LowerIsBetter, name), Margin: x.Margin})
			if res.Stopped != "" {
				v.Reasons = append([]string{res.Stopped}, v.Reasons...)
			}
			res.Verdicts[name] = v
		}
	}
	res.Verdict = res.Verdicts[x.Main]
	return res
}

// pair joins two windows for one value.
func pair(baseline, variant Window, name string) stat.Pair {
	var p stat.Pair
	for _, s := range []struct {
		w    Window
		into *float64
	}{{baseline, &p.Baseline}, {variant, &p.Variant}} {
		v, ok := s.w.Values[name]
		switch {
		case s.w.Invalid != "":
			p.Invalid = fmt.Sprintf("window of %s: %s", s.w.Variant, s.w.Invalid)
		case !ok:
			p.Invalid = fmt.Sprintf("window of %s: it has no value for %s", s.w.Variant, name)
		}
		*s.into = v
	}
	return p
}
