package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// bench measures variants whose true rates are known.
type bench struct {
	p     plan.Plan
	vs    []plan.Variant
	truth map[string]float64 // by key
	noise float64
	r     *rand.Rand
	// spoil may change a trial.
	spoil  func(*trial.Trial)
	trials []trial.Trial
}

func newBench(seed uint64, truth map[string]float64) *bench {
	b := &bench{truth: truth, noise: 0.007, r: rand.New(rand.NewPCG(seed, 9))}
	b.p.Trials = plan.Trials{Min: 3, Max: 10, Margin: 0.02, Conf: 0.95}
	b.p.Table.Show = []string{"tps", "p95_ms"}
	axis := plan.Axis{Name: "server"}
	for _, level := range slices.Sorted(func(yield func(string) bool) {
		for k := range truth {
			if !yield(k) {
				return
			}
		}
	}) {
		axis.Levels = append(axis.Levels, plan.Level{Name: level})
		b.vs = append(b.vs, plan.Variant{
			Key: "server=" + level, Levels: map[string]string{"server": level},
			Baseline: "server=a",
		})
	}
	b.p.Axes = []plan.Axis{axis}
	return b
}

func (b *bench) trial(round int, v plan.Variant, control bool) {
	x := b.truth[v.Levels["server"]] * math.Exp(b.noise*b.r.NormFloat64())
	t := trial.Trial{
		Seq: len(b.trials) + 1, Round: round, Variant: v.Key, Control: control,
		Values: map[string]float64{"tps": x, "p95_ms": 8000 / x}, Texts: map[string]string{"version": "1.0"},
	}
	for range 10 {
		t.Seconds = append(t.Seconds, trial.Second{Length: 1, Ops: uint64(x)})
	}
	if b.spoil != nil {
		b.spoil(&t)
	}
	b.trials = append(b.trials, t)
}

// TestNotInForce: a limit that could not be had makes no difference, whatever the figures are. One that nobody had is
// no difference either.
func TestNotInForce(t *testing.T) {
	f := func(a, b map[string]string, want stat.Result, reason, warning string) {
		t.Helper()
		x := newBench(3, map[string]float64{"a": 1000, "b": 1000})
		x.spoil = func(t *trial.Trial) {
			t.NotInForce = a
			if t.Variant == "server=b" {
				t.NotInForce = b
			}
			for name, wanted := range t.NotInForce {
				t.Warnings = append(t.Warnings, fmt.Sprintf("the limit %s of %s is not in effect: no cgroup", name,
					wanted))
			}
		}
		o := x.run(t)
		v := o.Cells[1].Verdict
		if v.Result != want || !strings.Contains(strings.Join(v.Reasons, "; "), reason) ||
			!strings.Contains(strings.Join(o.Warnings, "; "), warning) {
			t.Errorf("%v and %v: %s, %q, %q", a, b, v.Result, v.Reasons, o.Warnings)
		}
		if rs := o.Cells[1].Ratios; (rs["p95_ms"].N > 0) != (want != stat.Invalid) {
			t.Errorf("%v and %v: %s, yet the other values are compared: %v", a, b, want, rs)
		}
	}
	f(nil, nil, stat.Same, "", "")
	f(nil, map[string]string{"write_iops": "50"}, stat.Invalid, "the limit write_iops of 50 was not in effect",
		"is not in effect: no cgroup (in ")
	f(map[string]string{"write_iops": "50"}, nil, stat.Invalid,
		"baseline: the limit write_iops of 50 was not in effect", "")
	f(map[string]string{"cpu": "1"}, map[string]string{"cpu": "0.5"}, stat.Invalid,
		"the limit cpu of 0.5 was not in effect", "")
	f(map[string]string{"cpu": "1"}, map[string]string{"cpu": "1"}, stat.Same, "",
		"the limit cpu of 1 is not in effect")
}

// TestRemarks: what is said of single trials is said of the whole, once for each kind.
func TestRemarks(t *testing.T) {
	x := newBench(4, map[string]float64{"a": 1000, "b": 900})
	x.spoil = func(t *trial.Trial) {
		if t.Seq%2 == 0 {
			t.Warnings = []string{fmt.Sprintf("the hypervisor took %d.5 %% of the time", t.Seq), "placement is free"}
		}
		if t.Seq == 1 {
			t.Invalid, t.Warnings = "clock", []string{"of a trial that does not count"}
		}
	}
	o := x.run(t)
	want := []string{
		fmt.Sprintf("the hypervisor took 2.5 %% of the time (this or alike in %d of %d trials)",
			len(x.trials)/2, len(x.trials)-1),
		fmt.Sprintf("placement is free (in %d of %d trials)", len(x.trials)/2, len(x.trials)-1),
	}
	for _, w := range want {
		if !slices.Contains(o.Warnings, w) {
			t.Errorf("%q lacks %q", o.Warnings, w)
		}
	}
	if got := strings.Join(o.Warnings, "\n"); strings.Count(got, "hypervisor") != 1 ||
		strings.Contains(got, "does not count") {
		t.Errorf("%q", o.Warnings)
	}
}

// round runs the open variants once, and the control.
func (b *bench) round(round int, open []string) {
	keys := slices.Clone(open)
	if !b.p.Trials.NoControl {
		keys = append(keys, "")
	}
	b.r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	for _, key := range keys {
		i := max(0, slices.IndexFunc(b.vs, func(v plan.Variant) bool { return v.Key == key }))
		b.trial(round, b.vs[i], key == "")
	}
}

// run goes on until nothing is open.
func (b *bench) run(t *testing.T) Outcome {
	t.Helper()
	o := Judge(b.p, b.vs, nil)
	for round := 1; len(o.Open) > 0; round++ {
		if round > b.p.Trials.Max {
			t.Fatalf("%v open after the last round", o.Open)
		}
		b.round(round, o.Open)
		o = Judge(b.p, b.vs, b.trials)
	}
	return o
}

func verdict(o Outcome, i int) stat.Verdict {
	if v := o.Cells[i].Verdict; v != nil {
		return *v
	}
	return stat.Verdict{}
}

func TestJudge(t *testing.T) {
	b := newBench(1, map[string]float64{"a": 1000, "b": 2000, "c": 1000, "d": 960})
	o := b.run(t)
	if got := []stat.Result{
		verdict(o, 0).Result, verdict(o, 1).Result, verdict(o, 2).Result,
		verdict(o, 3).Result,
	}; !slices.Equal(got, []stat.Result{"", stat.Better, stat.Same, stat.Worse}) {
		t.Fatalf("%v", got)
	}
	if o.Control == nil || o.Control.Result != stat.Same || o.Verdict != "" {
		t.Errorf("control %+v, verdict %s", o.Control, o.Verdict)
	}
	if want := "2 of 3 differ (1 better, 1 worse), 1 the same"; o.Sentence != want {
		t.Errorf("%s, want %s", o.Sentence, want)
	}
	if len(o.Warnings) > 0 {
		t.Error(o.Warnings)
	}
	// What is clear runs fewer rounds than what is not, and its baseline runs on.
	n := map[string]int{}
	for _, x := range b.trials {
		n[x.Variant]++
	}
	if n["server=b"] >= 10 || n["server=b"] != verdict(o, 1).Closed || o.Cells[1].Trials != n["server=b"] ||
		o.Cells[0].Valid != o.Cells[0].Trials {
		t.Errorf("%v, %+v", n, o.Cells[1])
	}
	c := o.Cells[1]
	if x := c.Values["tps"]; !near(x.Center, 2000, 20) || x.N != c.Valid || x.Unit != "1/s" ||
		x.Lo >= x.Center || x.Hi <= x.Center {
		t.Errorf("%+v", x)
	}
	if x := c.Ratios["p95_ms"]; !near(x.Center, 0.5, 0.01) || x.Confidence != 0.95 {
		t.Errorf("%+v", x)
	}
	if c.Texts["version"] != "1.0" || c.Steady == nil || c.Steady.Seconds != 10*c.Valid ||
		!near(c.Steady.Low, 1, 1e-9) {
		t.Errorf("%+v", c)
	}
	if o.Cells[0].Ratios != nil || o.Cells[0].Verdict != nil {
		t.Errorf("%+v", o.Cells[0])
	}
	if _, err := json.Marshal(o); err != nil {
		t.Error(err)
	}
}

func near(a, b, eps float64) bool { return math.Abs(a-b) <= eps }

// TestInterrupted shows that the answer depends on what was measured alone, and that an interrupted round changes
// nothing.
func TestInterrupted(t *testing.T) {
	b := newBench(2, map[string]float64{"a": 1000, "b": 970, "c": 1000})
	whole := b.run(t)
	again := slices.Clone(b.trials)
	slices.Reverse(again)
	if o := Judge(b.p, b.vs, again); o.Sentence != whole.Sentence || verdict(o, 1).Ratio != verdict(whole, 1).Ratio {
		t.Errorf("%s, %s", o.Sentence, whole.Sentence)
	}
	for n := range b.trials {
		o := Judge(b.p, b.vs, b.trials[:n])
		if len(o.Open) == 0 {
			t.Fatalf("after %d of %d trials nothing is open", n, len(b.trials))
		}
		// A look comes when its round is complete, and not before.
		complete := b.trials[n].Round - 1
		if n+1 < len(b.trials) && !slices.ContainsFunc(b.trials[n:], func(x trial.Trial) bool {
			return x.Round == complete+1 && !x.Control
		}) {
			complete++
		}
		if v := verdict(o, 1); v.Closed > complete {
			t.Errorf("after %d trials, %d rounds: %+v", n, complete, v)
		}
	}
}

func TestInvalidTrials(t *testing.T) {
	b := newBench(3, map[string]float64{"a": 1000, "b": 900})
	b.spoil = func(x *trial.Trial) {
		if x.Round == 2 && x.Variant == "server=b" || x.Round == 4 && x.Variant == "server=a" && !x.Control {
			x.Invalid = fmt.Sprintf("the client was saturated in trial %d", x.Seq)
		}
	}
	o := b.run(t)
	v := verdict(o, 1)
	if all := strings.Join(v.Reasons, "\n"); v.Result != stat.Worse ||
		!strings.Contains(all, "pair 2 does not count: the client was saturated") ||
		!strings.Contains(all, "pair 4 does not count: baseline: the client was saturated") {
		t.Errorf("%+v", v)
	}
	if v.Ratio.N != v.Closed-2 || o.Cells[1].Valid != o.Cells[1].Trials-1 {
		t.Errorf("%+v, %d of %d", v, o.Cells[1].Valid, o.Cells[1].Trials)
	}
	if o.Verdict != stat.Worse || !strings.HasPrefix(o.Sentence, "B is slower than a: ×0.89") ||
		!strings.Contains(o.Sentence, "rounds)") {
		t.Errorf("%s: %s", o.Verdict, o.Sentence)
	}

	// A trial that was repeated within its round counts.
	c := newBench(3, map[string]float64{"a": 1000, "b": 900})
	for round := 1; round <= 10; round++ {
		c.round(round, []string{"server=a", "server=b"})
		if round == 2 {
			for i := range c.trials {
				if x := &c.trials[i]; x.Round == 2 && x.Variant == "server=b" {
					x.Invalid = "errors"
				}
			}
			c.trial(2, c.vs[1], false)
		}
	}
	if o := Judge(c.p, c.vs, c.trials); len(verdict(o, 1).Reasons) > 0 || o.Cells[1].Trials != 11 ||
		o.Cells[1].Valid != 10 {
		t.Errorf("%+v", o.Cells[1])
	}
}

func TestUnusable(t *testing.T) {
	b := newBench(4, map[string]float64{"a": 1000, "b": 900, "c": 1})
	b.spoil = func(x *trial.Trial) {
		if x.Variant == "server=c" {
			x.Unusable, x.Invalid = true, "the server does not start: unknown variable 'fo'"
		}
	}
	o := b.run(t)
	if c := o.Cells[2]; c.Failed == "" || c.Valid != 0 || c.Verdict.Result != stat.Invalid ||
		!slices.Equal(c.Verdict.Reasons, []string{"the server does not start: unknown variable 'fo'"}) {
		t.Errorf("%+v", c)
	}
	if verdict(o, 1).Result != stat.Worse {
		t.Errorf("%+v", verdict(o, 1))
	}
	if o.Sentence != "1 of 2 differs (all worse), 1 could not be measured" || len(o.Warnings) != 1 ||
		!strings.Contains(o.Warnings[0], "unknown variable") {
		t.Errorf("%s %q", o.Sentence, o.Warnings)
	}
	n := 0
	for _, x := range b.trials {
		if x.Variant == "server=c" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("it was tried %d times", n)
	}

	d := newBench(4, map[string]float64{"a": 1000, "b": 900})
	d.spoil = func(x *trial.Trial) {
		if x.Variant == "server=a" {
			x.Unusable, x.Invalid = true, "no space left"
		}
	}
	if o := d.run(t); o.Verdict != stat.Invalid || !strings.Contains(o.Sentence, "its baseline cannot be measured: "+
		"no space left") {
		t.Errorf("%s: %s", o.Verdict, o.Sentence)
	}
}

func TestControl(t *testing.T) {
	b := newBench(5, map[string]float64{"a": 1000, "b": 1200})
	b.spoil = func(x *trial.Trial) { // whatever comes second in its round is slower
		if x.Control {
			x.Values["tps"] *= 0.9
		}
	}
	o := b.run(t)
	if o.Verdict != stat.Invalid || o.Control.Result != stat.Invalid ||
		!strings.Contains(o.Sentence, "the control, the baseline measured against itself, differs by more than ±2 %: "+
			"×0.89") {
		t.Errorf("%s: %s", o.Verdict, o.Sentence)
	}
	if v := verdict(o, 1); v.Result != stat.Invalid || !strings.Contains(v.Reasons[0], "the control") ||
		v.Ratio.N == 0 {
		t.Errorf("%+v", v)
	}

	w := newBench(5, map[string]float64{"a": 1000, "b": 2000})
	w.noise = 0.05
	o = w.run(t)
	if o.Verdict != stat.Better || len(o.Warnings) == 0 ||
		!strings.Contains(o.Warnings[0], "is not known to be the same within ±2 %") {
		t.Errorf("%s %q", o.Verdict, o.Warnings)
	}

	n := newBench(5, map[string]float64{"a": 1000, "b": 2000})
	n.p.Trials.NoControl = true
	if o := n.run(t); o.Control != nil || o.Verdict != stat.Better {
		t.Errorf("%+v", o)
	}
}

// TestControlGoesOn: a control that was the same for some rounds is heard in all that follow.
func TestControlGoesOn(t *testing.T) {
	b := newBench(5, map[string]float64{"a": 1000, "b": 1050})
	b.noise = 0.002
	b.p.Trials.Min = 5
	b.spoil = func(x *trial.Trial) {
		switch {
		case x.Variant == "server=b": // open to the end
			x.Values["tps"] *= 1 + 0.08*float64(x.Round%2*2-1)
		case x.Control && x.Round > 5:
			x.Values["tps"] *= 1.25 + 0.01*float64(x.Round%2)
		}
	}
	o := b.run(t)
	if o.Control.Result == stat.Same || o.Control.Ratio.N != 10 {
		t.Errorf("control %s of %d rounds: %+v", o.Control.Result, o.Control.Ratio.N, o.Control.Ratio)
	}
	if o.Verdict != stat.Invalid && len(o.Warnings) == 0 {
		t.Errorf("%s without a warning", o.Verdict)
	}
}

// TestRepeatedWovenRound: a round of turns that was run twice gives no pair of one trial from each, and no trial counts
// twice.
func TestRepeatedWovenRound(t *testing.T) {
	b := newBench(6, map[string]float64{"a": 1000, "b": 1000})
	b.p.Trials.NoControl = true
	b.p.Trials.Min, b.p.Trials.Max = 3, 3
	base := time.Unix(1_000_000, 0)
	for round := 1; round <= 3; round++ {
		for again := range 2 {
			for i, v := range b.vs {
				b.trial(round, v, false)
				x := &b.trials[len(b.trials)-1]
				x.Woven, x.From = &trial.Woven{Of: 2}, base.Add(time.Duration(10*round+again)*time.Minute)
				switch {
				case round == 1 && again == i: // in the first run one of them fails, in the second the other
					x.Invalid = "half of the operations are cut"
				case round == 2 && again == 0 && i == 1: // the first run is lost for one alone
					x.Invalid = "half of the operations are cut"
				}
			}
			if round == 3 {
				break
			}
		}
	}
	o := Judge(b.p, b.vs, b.trials)
	v := o.Cells[1].Verdict
	if v.Result != stat.Invalid || !strings.Contains(strings.Join(v.Reasons, "; "),
		"pair 1 does not count: the two did not take turns with each other") {
		t.Errorf("%s %q", v.Result, v.Reasons)
	}
	for i, want := range []int{3, 3} {
		if n := len(newJudgement(b.p, b.vs, b.trials).valid(b.vs[i].Key)); n != want {
			// as results side by side take them
			t.Errorf("%s: %d trials count, want %d", b.vs[i].Key, n, want)
		}
		if c := o.Cells[i]; c.Valid != want || c.Values["tps"].N != want {
			t.Errorf("%s: %d valid, n %d, want %d", c.Variant, c.Valid, c.Values["tps"].N, want)
		}
	}
}

// TestAlone compares a server with itself.
func TestAlone(t *testing.T) {
	b := newBench(6, map[string]float64{"a": 1000})
	b.p.Axes, b.vs = nil, []plan.Variant{{Key: "base", Levels: map[string]string{"server": "a"}, Baseline: "base"}}
	o := b.run(t)
	if o.Verdict != stat.Same || !strings.HasPrefix(o.Sentence, "Against itself: no difference: ×") ||
		!strings.HasSuffix(o.Sentence, ", within ±2 %") {
		t.Errorf("%s: %s", o.Verdict, o.Sentence)
	}
	if len(o.Warnings) > 0 {
		t.Error(o.Warnings)
	}
	b.trials, b.p.Trials.NoControl = nil, true
	if o := b.run(t); o.Verdict != "" || o.Sentence != "Nothing is compared." || len(b.trials) != 3 {
		t.Errorf("%+v, %d trials", o, len(b.trials))
	}
}

func TestLowerIsBetter(t *testing.T) {
	b := newBench(7, map[string]float64{"a": 1000, "b": 800})
	b.p.Table.Show = []string{"p95_ms"}
	o := b.run(t)
	if o.Verdict != stat.Worse || verdict(o, 1).Ratio.Hi >= 1 ||
		!strings.HasPrefix(o.Sentence, "B is slower than a: p95 ×1.2") {
		t.Errorf("%s: %s", o.Verdict, o.Sentence)
	}
	if x := o.Cells[1].Ratios["p95_ms"]; !near(x.Center, 1.25, 0.02) {
		t.Errorf("%+v", x)
	}
	b.trials = nil
	b.p.Table.Show = []string{"data_bytes"}
	b.spoil = func(x *trial.Trial) {
		x.Values["data_bytes"] = 1e6 * float64(1+len(x.Variant)%2)
		x.Values["data_bytes"] = map[string]float64{"server=a": 3e6, "server=b": 2e6}[x.Variant]
	}
	o = b.run(t)
	if o.Verdict != stat.Better || !strings.HasPrefix(o.Sentence, "B is lower than a: size on disk ×0.667 (×0.667 to "+
		"×0.667, 3 rounds)") {
		t.Errorf("%s: %s", o.Verdict, o.Sentence)
	}
	b.trials, b.spoil = nil, func(x *trial.Trial) { delete(x.Values, "data_bytes") }
	if o = b.run(t); o.Verdict != stat.Invalid || !strings.Contains(strings.Join(verdict(o, 1).Reasons, "\n"),
		"data_bytes was not measured") {
		t.Errorf("%s: %s", o.Verdict, o.Sentence)
	}
}

func TestPrices(t *testing.T) {
	b := newBench(8, map[string]float64{"a": 1000, "b": 2000})
	b.p.Prices = []plan.Price{{Month: 100}, {For: map[string]string{"server": "b"}, Month: 300, Currency: "€"}}
	o := b.run(t)
	a, c := o.Cells[0], o.Cells[1]
	// 1000 a second are 2628 million a month of 730 hours.
	if a.Month != 100 || a.Currency != "$" || a.Million == nil || !near(a.Million.Center, 100.0/2628, 0.001) ||
		a.Million.Lo >= a.Million.Hi {
		t.Errorf("%+v %+v", a, a.Million)
	}
	if c.Month != 300 || c.Currency != "€" || c.Million.Unit != "€" || !near(c.Million.Center, 300.0/5256, 0.001) {
		t.Errorf("%+v %+v", c, c.Million)
	}
}

func TestTrendWithinTrials(t *testing.T) {
	b := newBench(9, map[string]float64{"a": 1000, "b": 1100})
	b.spoil = func(x *trial.Trial) {
		if x.Variant == "server=b" {
			for i := range x.Seconds {
				x.Seconds[i].Ops += uint64(20 * i)
			}
		}
	}
	o := b.run(t)
	if len(o.Warnings) != 1 || !strings.HasPrefix(o.Warnings[0], "the rate of server=b still rises by 15 %") {
		t.Errorf("%q", o.Warnings)
	}
}

// TestHostileTrials shows that no trial, however odd, makes a figure that cannot be written.
func TestHostileTrials(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 10))
	odd := []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e-300, 1e300, 5}
	for range 300 {
		b := newBench(11, map[string]float64{"a": 1000, "b": 1100, "c": 1000})
		b.spoil = func(x *trial.Trial) {
			x.Round = r.IntN(6) - 1
			x.Values["tps"] = odd[r.IntN(len(odd))]
			x.Values["p95_ms"] = odd[r.IntN(len(odd))]
			x.Seconds = append(x.Seconds, trial.Second{Length: odd[r.IntN(2)]})
			if r.IntN(5) == 0 {
				x.Variant = "nobody"
			}
			x.Unusable = r.IntN(20) == 0
		}
		for round := 1; round <= 5; round++ {
			b.round(round, []string{"server=a", "server=b", "server=c"})
		}
		res := trial.Result{Plan: b.p, Variants: b.vs, Trials: b.trials}
		Fill(&res)
		for i := range res.Trials {
			res.Trials[i].Values = nil
		}
		if _, err := json.Marshal(res); err != nil {
			t.Fatal(err)
		}
	}
	Fill(&trial.Result{})
}

func TestSentences(t *testing.T) {
	f := func(want string, truth map[string]float64, noise float64) {
		t.Helper()
		b := newBench(12, truth)
		b.noise = noise
		if o := b.run(t); !strings.HasPrefix(o.Sentence, want) {
			t.Errorf("%q, want %q", o.Sentence, want)
		}
	}
	f("B is faster than a: ×1.097 (×1.085 to ×1.110, 10 rounds)", map[string]float64{"a": 1000, "b": 1100}, 0.01)
	f("No difference: ×", map[string]float64{"a": 1000, "b": 1000}, 0.005)
	f("No answer: ×", map[string]float64{"a": 1000, "b": 1000}, 0.08)
	f("There is a difference, but whether it is more than ±2 % is open: ×1.019 (",
		map[string]float64{"a": 1000, "b": 1020}, 0.006)
	f("Of 2 comparisons 2 the same", map[string]float64{"a": 1000, "b": 1000, "c": 1000}, 0.003)
	f("2 of 2 differ (all better)", map[string]float64{"a": 1000, "b": 1500, "c": 1400}, 0.003)

	// What was taken back is no difference, wherever its interval lies.
	b := newBench(12, map[string]float64{"a": 1000, "b": 1300})
	b.noise = 0.002
	b.spoil = func(x *trial.Trial) {
		if x.Variant == "server=b" && x.Round%3 == 0 {
			x.Values["tps"] /= 1.3
		}
	}
	if o := b.run(t); o.Verdict != stat.Unstable || !strings.HasPrefix(o.Sentence,
		"No answer: the pairs fall into groups far apart: 3 near ×") {
		t.Errorf("%s: %s", o.Verdict, o.Sentence)
	}
}

// TestReadOnce is about plans whose values are not measured but read: one round is enough to show them, and too few to
// compare.
func TestReadOnce(t *testing.T) {
	b := newBench(13, map[string]float64{"a": 1000, "b": 2000})
	b.p.Trials.Min, b.p.Trials.Max, b.p.Trials.NoControl = 1, 1, true
	o := b.run(t)
	if len(b.trials) != 2 || o.Cells[1].Verdict != nil || o.Verdict != "" ||
		o.Sentence != "Values of 1 round: a comparison takes at least 3." || o.Cells[1].Values["tps"].N != 1 {
		t.Errorf("%d trials: %s %+v", len(b.trials), o.Sentence, o.Cells[1])
	}
	for i := range b.vs {
		b.vs[i].Baseline = b.vs[i].Key
	}
	if o := Judge(b.p, b.vs, b.trials); o.Sentence != "Values that were read; nothing is compared." {
		t.Errorf("without a baseline: %s", o.Sentence)
	}
}

// TestSeveralBaselines has controls of more than one of them.
func TestSeveralBaselines(t *testing.T) {
	b := newBench(14, map[string]float64{"a": 1000, "b": 1200, "c": 500, "d": 400})
	for i := range b.vs[2:] {
		b.vs[2+i].Baseline = "server=c"
	}
	b.p.Trials.NoControl = true // the bench knows of the first one only
	for round := 1; round <= 10; round++ {
		b.round(round, []string{"server=a", "server=b", "server=c", "server=d"})
		b.trial(round, b.vs[2*(round%2)], true)
	}
	b.p.Trials.NoControl = false
	o := Judge(b.p, b.vs, b.trials)
	if o.Control == nil || o.Control.Ratio.N != 10 || o.Control.Result != stat.Same ||
		verdict(o, 1).Result != stat.Better || verdict(o, 3).Result != stat.Worse || len(o.Open) > 0 {
		t.Errorf("%+v %+v", o.Control, o)
	}
}

// TestAgainstItself runs whole experiments of two equal variants: the promise made to a newcomer.
func TestAgainstItself(t *testing.T) {
	same, wrong := 0, 0
	const times = 200
	for seed := range uint64(times) {
		b := newBench(100+seed, map[string]float64{"a": 1000, "b": 1000})
		b.noise = 0.01 // pairs ±1.4 %
		switch b.run(t).Verdict {
		case stat.Same:
			same++
		case stat.Unstable:
		default:
			wrong++
		}
	}
	if same < times*38/40 || wrong > times*5/100 {
		t.Errorf("the same in %d, something else in %d of %d", same, wrong, times)
	}
}
