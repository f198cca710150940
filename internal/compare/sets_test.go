package compare

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// machine makes a result of the same plan, on a machine so many times as fast.
func machine(t *testing.T, id string, seed uint64, speed float64) trial.Result {
	t.Helper()
	b := newBench(seed, map[string]float64{"a": 1000 * speed, "b": 1500 * speed})
	b.p.Trials.Time, b.p.Trials.Fresh = plan.Duration(20*time.Second), plan.FreshServer
	b.p.Base.Run.Threads = 4
	for i := range b.vs {
		b.vs[i].Config = b.p.Base
	}
	b.run(t)
	r := trial.Result{
		Format: trial.Format, ID: id, Plan: b.p, Variants: b.vs, Trials: b.trials, Dyno: "1.0",
		Started: time.Date(2030, 1, int(seed), 0, 0, 0, 0, time.UTC),
		Ended:   time.Date(2030, 1, int(seed), 1, 0, 0, 0, time.UTC),
		Env:     trial.Environment{Facts: map[string]map[string]string{"machine": {"cpu": "model " + id, "cpus": "2"}}},
	}
	Fill(&r)
	return r
}

func TestSets(t *testing.T) {
	a, b := machine(t, "x1", 1, 1), machine(t, "x2", 2, 1.25)
	before, _ := json.Marshal(a)
	r, err := Sets(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if after, _ := json.Marshal(a); string(after) != string(before) {
		t.Error("the first result was changed")
	}
	var keys []string
	for i, c := range r.Cells {
		keys = append(keys, c.Variant)
		if r.Variants[i].Key != c.Variant {
			t.Errorf("cell %d is of %s, variant %s", i, c.Variant, r.Variants[i].Key)
		}
		if isB := i%2 == 1; isB {
			if c.Verdict == nil || c.Verdict.Result != stat.Better || !near(c.Verdict.Ratio.Center, 1.25, 0.02) ||
				!near(c.Ratios["p95_ms"].Center, 0.8, 0.02) || r.Variants[i].Baseline != r.Variants[i-1].Key {
				t.Errorf("%+v", c)
			}
		} else if c.Verdict != nil || c.Ratios != nil || r.Variants[i].Baseline != c.Variant {
			t.Errorf("%+v", c)
		}
		if c.Valid == 0 || !near(c.Values["tps"].Center/[]float64{1000, 1250, 1500, 1875}[i], 1, 0.02) {
			t.Errorf("%+v", c)
		}
	}
	if want := []string{
		"server=a,result=x1", "server=a,result=x2", "server=b,result=x1",
		"server=b,result=x2",
	}; !slices.Equal(keys, want) {
		t.Errorf("%q, want %q", keys, want)
	}
	if r.Sentence != "2 of 2 differ (all better)" || r.Verdict != "" || !r.Started.Equal(a.Started) ||
		!r.Ended.Equal(b.Ended) {
		t.Errorf("%s %s %v %v", r.Sentence, r.Verdict, r.Started, r.Ended)
	}
	if len(r.AlsoDiffers) != 1 || r.AlsoDiffers[0].Name != "cpu" || r.AlsoDiffers[0].Values["x2"] != "model x2" ||
		r.Env.Facts["machine"]["cpus"] != "2" {
		t.Errorf("%+v %+v", r.AlsoDiffers, r.Env)
	}
	if len(r.Warnings) != 1+len(a.Warnings)+len(b.Warnings) || !strings.Contains(r.Warnings[0], "not interleaved") {
		t.Errorf("%q", r.Warnings)
	}
	if !r.Unpaired || r.Dyno != "1.0" {
		t.Errorf("unpaired %v, measured by %s", r.Unpaired, r.Dyno)
	}
	if vs, err := r.Plan.Variants(); err != nil || len(vs) != 4 {
		t.Errorf("the plan has %d variants, %v", len(vs), err)
	} else {
		for i, v := range vs {
			if v.Key != r.Variants[i].Key || v.Baseline != r.Variants[i].Baseline {
				t.Errorf("the plan has %s over %s, the result %s over %s", v.Key, v.Baseline, r.Variants[i].Key,
					r.Variants[i].Baseline)
			}
		}
	}
	for i, x := range r.Trials {
		if x.Seq != i+1 || x.Control || !slices.Contains(keys, x.Variant) {
			t.Errorf("%+v", x)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestSetsOfOneVariant(t *testing.T) {
	only := func(r trial.Result) trial.Result {
		r.Plan.Axes = nil
		var ts []trial.Trial
		for _, x := range r.Trials {
			if x.Variant == "server=a" {
				x.Variant = "base"
				ts = append(ts, x)
			}
		}
		r.Trials, r.Variants = ts, []plan.Variant{{Key: "base", Config: r.Plan.Base, Baseline: "base"}}
		return r
	}
	r, err := Sets(only(machine(t, "", 1, 1)), only(machine(t, "", 2, 1)))
	if err != nil || r.Verdict != stat.Same || len(r.Cells) != 2 || r.Cells[1].Variant != "result=B" ||
		!strings.HasPrefix(r.Sentence, "No difference: ×") || !strings.Contains(r.Sentence, " trials)") {
		t.Errorf("%v %s %s %+v", err, r.Verdict, r.Sentence, r.Variants)
	}
	r, err = Sets(only(machine(t, "", 1, 1)), only(machine(t, "", 2, 0.9)))
	if err != nil || r.Verdict != stat.Worse || !strings.HasPrefix(r.Sentence, "B is slower than A: ×0.9") &&
		!strings.HasPrefix(r.Sentence, "B is slower than A: ×0.8") {
		t.Errorf("%v %s %s", err, r.Verdict, r.Sentence)
	}
}

func TestSetsRefuses(t *testing.T) {
	f := func(want string, change func(*trial.Result)) {
		t.Helper()
		a, b := machine(t, "x1", 1, 1), machine(t, "x2", 2, 1)
		change(&b)
		r, err := Sets(a, b)
		if want == "" {
			if err != nil {
				t.Error(err)
			}
			return
		}
		if !errors.Is(err, ErrSets) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q (%s)", err, want, r.Sentence)
		}
	}
	threads := func(n, variants int) func(*trial.Result) {
		return func(r *trial.Result) {
			r.Variants = slices.Clone(r.Variants)
			for i := range variants {
				r.Variants[i].Config.Run.Threads = n
			}
		}
	}
	f("run.threads: 4, 8", threads(8, 2))
	f("run.threads: 4, 8 (server=a)", threads(8, 1))
	f("settings.sync_binlog: nothing, 1", func(r *trial.Result) {
		r.Variants = slices.Clone(r.Variants)
		for i := range r.Variants {
			r.Variants[i].Config.Settings = map[string]string{"sync_binlog": "1"}
		}
	})
	f("trials.time: 20s, 10s", func(r *trial.Result) { r.Plan.Trials.Time = plan.Duration(10 * time.Second) })
	f("trials.turns: 0s, 200ms", func(r *trial.Result) { r.Plan.Trials.Turns = plan.Duration(200 * time.Millisecond) })
	f("trials.fresh: server, data", func(r *trial.Result) { r.Plan.Trials.Fresh = plan.FreshData })
	f("value: tps, qps", func(r *trial.Result) { r.Plan.Table.Show = []string{"qps"} })
	f("placement: split, free", func(r *trial.Result) { r.Plan.Placement.Mode = plan.Free })
	f("no variant is in both: the first has server=a, server=b, the second server=z", func(r *trial.Result) {
		r.Variants = []plan.Variant{{Key: "server=z"}}
	})
	f("is of format 99", func(r *trial.Result) { r.Format = 99 })
	f("both are x1", func(r *trial.Result) { r.ID, r.Started = "x1", time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) })
	// These do not decide figures.
	f("", func(r *trial.Result) {
		r.Plan.Trials.Max, r.Plan.Trials.Seed, r.Plan.Trials.Margin, r.Plan.Title = 20, 77, 0.05, "other"
	})
	f("", func(r *trial.Result) { r.Plan.Placement = plan.Placement{Mode: plan.Split, Server: "4-7"} })
}

func TestSetsDoubts(t *testing.T) {
	a, b := machine(t, "x1", 1, 1), machine(t, "x2", 2, 1.5)
	b.Variants = b.Variants[:1]
	b.Plan.Trials.WarmMax = plan.Duration(time.Minute)
	for i := range b.Trials {
		if b.Trials[i].Control {
			b.Trials[i].Values["tps"] *= 2
		}
	}
	r, err := Sets(a, b)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(r.Warnings, "\n")
	for _, want := range []string{
		"x2 is invalid by its own control: the control", "only in x1, and left out: server=b",
		"the plans differ in trials.warm_max: 0s, 1m",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in %s", want, all)
		}
	}
	if r.Verdict != stat.Invalid || !strings.HasPrefix(r.Sentence, "Invalid: x2 is invalid") {
		t.Errorf("%s %s", r.Verdict, r.Sentence)
	}
}

// TestSetsOfLimits has a limit that was not in force: what it was to do is no difference between machines. One that
// neither had is none either.
func TestSetsOfLimits(t *testing.T) {
	f := func(a, b map[string]string, want string) {
		t.Helper()
		x, y := machine(t, "x1", 1, 1), machine(t, "x2", 2, 1.5)
		for _, side := range []struct {
			r    trial.Result
			lack map[string]string
		}{{x, a}, {y, b}} {
			for i := range side.r.Trials {
				if side.r.Trials[i].Variant == "server=b" {
					side.r.Trials[i].NotInForce = side.lack
				}
			}
		}
		r, err := Sets(x, y)
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Cells[1]; c.Verdict.Result != stat.Better || len(c.Ratios) == 0 {
			t.Errorf("%v, %v: the other variant: %+v", a, b, c)
		}
		c := r.Cells[3]
		if want == "" {
			if c.Verdict.Result != stat.Better || len(c.Ratios) == 0 {
				t.Errorf("%v, %v: %+v", a, b, c)
			}
			return
		}
		if c.Verdict.Result != stat.Invalid || !slices.Equal(c.Verdict.Reasons, []string{want}) || c.Ratios != nil ||
			c.Verdict.Ratio.N != 0 || c.Values["tps"].N == 0 {
			t.Errorf("%v, %v: %+v %+v", a, b, c, c.Verdict)
		}
		if r.Sentence != "1 of 2 differs (all better), 1 invalid" {
			t.Error(r.Sentence)
		}
	}
	cpu := func(n string) map[string]string { return map[string]string{"cpu": n} }
	f(nil, cpu("2"), "in x2 the limit cpu of 2 was not in effect")
	f(cpu("2"), nil, "in x1 the limit cpu of 2 was not in effect")
	f(cpu("2"), map[string]string{"cpu": "2", "memory": "1G"}, "in x2 the limit memory of 1G was not in effect")
	f(cpu("2"), cpu("2"), "")
	f(nil, nil, "")
}

// TestSetsTellsOfBoth: what was to be told of either result is told of the two.
func TestSetsTellsOfBoth(t *testing.T) {
	a, b := machine(t, "x1", 1, 1), machine(t, "x2", 2, 1)
	a.Warnings, b.Warnings = []string{"the placement was free"}, []string{"the hypervisor took 5 %"}
	b.Stopped, b.Dyno = "the budget of 10 min was spent", "1.1"
	r, err := Sets(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"x1: the placement was free", "x2: the hypervisor took 5 %", "x2 ended early: the budget of 10 min was spent",
		"they were measured by different versions of Dyno: x1 by 1.0, x2 by 1.1",
	} {
		if !slices.Contains(r.Warnings, want) {
			t.Errorf("%q is not in %q", want, r.Warnings)
		}
	}
	if r.Dyno != "1.0 and 1.1" || r.Stopped != "" { // it is not one that could go on
		t.Errorf("%s, %s", r.Dyno, r.Stopped)
	}
}

// TestSetsOfServers has a version and a variable that differ between the variants of each result, and a fact that was
// not the same in all trials of one.
func TestSetsOfServers(t *testing.T) {
	with := func(r trial.Result, version, governor string) trial.Result {
		by := func(group, name, why, a, b string) trial.Difference {
			return trial.Difference{
				Group: group, Name: name, Why: why,
				Values: map[string]string{"server=a": a, "server=b": b},
			}
		}
		r.Explained = []trial.Difference{
			by("server", "version", "comes with the server", version, "10.11.6"),
			by("variable", "redo", "comes with the server", "1", "(none)"),
		}
		r.Env.Facts["machine"]["governor"] = governor
		if governor == "" {
			delete(r.Env.Facts["machine"], "governor")
			d := by("machine", "governor", "", "powersave | performance", "performance")
			d.Varied = true
			r.AlsoDiffers = []trial.Difference{d}
		}
		return r
	}
	r, err := Sets(with(machine(t, "x1", 1, 1), "8.0.36", ""), with(machine(t, "x2", 2, 1), "8.0.42", "performance"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range r.AlsoDiffers {
		for _, k := range slices.Sorted(maps.Keys(d.Values)) {
			got = append(got, d.Name+" "+k+" "+d.Values[k])
		}
	}
	if want := []string{
		"cpu x1 model x1", "cpu x2 model x2",
		"governor server=a,result=x1 powersave | performance", "governor server=a,result=x2 performance",
		"governor server=b,result=x1 performance", "governor server=b,result=x2 performance",
		"version server=a,result=x1 8.0.36", "version server=a,result=x2 8.0.42", "version server=b,result=x1 10.11.6",
		"version server=b,result=x2 10.11.6",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(r.AlsoDiffers) > 1 && !r.AlsoDiffers[1].Varied || r.Env.Facts["server"]["version"] != "" ||
		r.Env.Facts["machine"]["governor"] != "" || r.Env.Facts["machine"]["cpus"] != "2" {
		t.Errorf("%+v %+v", r.AlsoDiffers, r.Env)
	}
}

// TestSetsOfLevels has trials of one side on two levels: nothing is asserted of the difference, however far the
// interval is from 1.
func TestSetsOfLevels(t *testing.T) {
	a, b := machine(t, "x1", 1, 1), machine(t, "x2", 2, 1.5)
	a.Variants, b.Variants = a.Variants[:1], b.Variants[:1]
	n := 0
	for i := range b.Trials {
		if x := &b.Trials[i]; x.Variant == "server=a" && !x.Control {
			x.Values["tps"] = []float64{1500, 1650}[n%2] + float64(n%3)
			n++
		}
	}
	r, err := Sets(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != stat.Unstable || r.Cells[1].Verdict.Ratio.Lo < 1.02 ||
		!strings.HasPrefix(r.Sentence, "No answer: the trials of the variant fall into groups far apart: ") {
		t.Errorf("%d trials: %s %s %+v", n, r.Verdict, r.Sentence, r.Cells[1].Verdict)
	}
}

// TestSetsPromise: two machines that are alike come out different in at most 5 %.
func TestSetsPromise(t *testing.T) {
	wrong := 0
	const times = 100
	for seed := range uint64(times) {
		r, err := Sets(machine(t, "x1", 1+2*seed, 1), machine(t, "x2", 2+2*seed, 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Cells {
			if c.Verdict != nil && (c.Verdict.Result == stat.Better || c.Verdict.Result == stat.Worse) {
				wrong++
				break
			}
		}
	}
	if most := times*0.05 + 3*math.Sqrt(times*0.05*0.95); float64(wrong) > most {
		t.Errorf("different in %d of %d", wrong, times)
	}
}
