package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// shared is a simulated one whose CPUs share their cores with strangers: the logarithm of their speed is AR(1) from
// second to second, with the figures seen on a real one.
type shared struct {
	*rand.Rand
	speed float64
}

const (
	machineSpread = 0.13
	machineKeep   = 0.6
)

func (m *shared) second() float64 {
	m.speed = machineKeep*m.speed + machineSpread*math.Sqrt(1-machineKeep*machineKeep)*m.NormFloat64()
	return m.speed
}

// trial runs one trial of 20 s. follows is the slope by which the rate follows the speed, slower what the variant does
// to the CPUs.
func (m *shared) trial(seq, round int, variant string, control bool, effect, follows, slower float64) trial.Trial {
	t := trial.Trial{Seq: seq, Round: round, Variant: variant, Control: control, Values: map[string]float64{}}
	own := 0.01 * m.NormFloat64() // what trials differ by beside the CPUs
	ops, mean := 0.0, 0.0
	for range 3 { // set-up
		m.second()
	}
	for range 20 {
		x := m.second() + slower
		n := math.Round(1000 * effect * math.Exp(follows*x+own+0.03*m.NormFloat64()))
		speed := 1e4 * math.Exp(x+0.02*m.NormFloat64())
		t.Seconds = append(t.Seconds, trial.Second{Length: 1, Ops: uint64(n), Speed: speed})
		ops += n
		mean += speed / 20
	}
	t.Values["tps"], t.Values[speedValue] = ops/20, mean
	return t
}

func simulated(seed uint64, rounds int, raw bool, effect, follows, slower float64) (Outcome, plan.Plan) {
	p, vs, ts := simulate(seed, rounds, raw, effect, follows, slower)
	return Judge(p, vs, ts), p
}

func simulate(
	seed uint64, rounds int, raw bool, effect, follows, slower float64,
) (plan.Plan, []plan.Variant, []trial.Trial) {
	m := &shared{Rand: rand.New(rand.NewPCG(seed, 7))}
	p := plan.Plan{Name: "x", Table: plan.Table{Show: []string{"tps"}}, Trials: plan.Trials{
		Min: 5, Max: 10,
		Margin: 0.02, Conf: 0.95, Raw: raw,
	}}
	vs := []plan.Variant{{Key: "a", Baseline: "a"}, {Key: "b", Baseline: "a"}}
	var ts []trial.Trial
	for r := 1; r <= rounds; r++ {
		kinds := []int{0, 1, 2}
		m.Shuffle(3, func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
		for _, k := range kinds {
			seq := len(ts) + 1
			switch k {
			case 0:
				ts = append(ts, m.trial(seq, r, "a", false, 1, follows, 0))
			case 1:
				ts = append(ts, m.trial(seq, r, "a", true, 1, follows, 0))
			default:
				ts = append(ts, m.trial(seq, r, "b", false, effect, follows, slower))
			}
		}
	}
	return p, vs, ts
}

// TestCorrectionLookByLook judges an experiment after each of its rounds, as it does itself, with a load that follows
// the speed of the CPUs so little that now it is corrected for and now not: what was decided at a look stays as it was,
// and nothing is decided between two looks.
func TestCorrectionLookByLook(t *testing.T) {
	closed, changed := 0, 0
	for seed := range uint64(200) {
		p, vs, ts := simulate(seed+1, 10, false, 1.04, 0.07, 0)
		p.Trials.NoControl = true // which may take back what was decided
		var decided *stat.Verdict
		used := map[bool]bool{}
		for round := 1; round <= 10; round++ {
			n := slices.IndexFunc(ts, func(x trial.Trial) bool { return x.Round > round })
			if n < 0 {
				n = len(ts)
			}
			o := Judge(p, vs, ts[:n])
			v := *o.Cells[1].Verdict
			if round >= 5 {
				used[o.Correction != nil && o.Correction.Used] = true
			}
			if v.Closed == 0 {
				if decided != nil {
					t.Fatalf("seed %d: it was closed after round %d and is open after round %d",
						seed, decided.Closed, round)
				}
				continue
			}
			if decided == nil {
				if v.Closed != round || !slices.Contains(Sequence(p).Looks, round) {
					t.Fatalf("seed %d: closed after round %d, seen after round %d", seed, v.Closed, round)
				}
				closed++
				decided = &v
			}
			if v.Result != decided.Result || v.Ratio != decided.Ratio || v.Closed != decided.Closed {
				t.Fatalf("seed %d: after round %d it is %s %+v; it was decided after round %d as %s %+v", seed, round,
					v.Result, v.Ratio, decided.Closed, decided.Result, decided.Ratio)
			}
		}
		changed += len(used) / 2
	}
	if closed < 150 || changed < 10 {
		t.Errorf("%d of 200 were decided, and in %d the correction came or went", closed, changed)
	}
}

func TestCorrection(t *testing.T) {
	const n = 1000
	count := func(raw bool, effect, follows, slower float64) (got map[stat.Result]int, covered int) {
		got = map[stat.Result]int{}
		for seed := range uint64(n) {
			o, _ := simulated(seed+1, 10, raw, effect, follows, slower)
			v := o.Cells[1].Verdict
			got[v.Result]++
			if v.Ratio.Lo <= effect && effect <= v.Ratio.Hi {
				covered++
			}
		}
		return got, covered
	}
	most := func(what string, got, declared int) {
		t.Helper()
		if tolerance := 3 * math.Sqrt(float64(declared)*(1-float64(declared)/n)); float64(got) > float64(declared)+
			tolerance {
			t.Errorf("%s: %d of %d, declared %d", what, got, n, declared)
		}
	}
	least := func(what string, got, want int) {
		t.Helper()
		if got < want {
			t.Errorf("%s: %d of %d, want %d", what, got, n, want)
		}
	}
	same, covered := count(false, 1, 0.9, 0)
	t.Logf("no difference: %v, covered %d", same, covered)
	most("no difference, yet better or worse", same[stat.Better]+same[stat.Worse], n/20)
	most("no difference, interval misses it", n-covered, n/20)
	least("no difference is the same", same[stat.Same], n*8/10)

	worse, covered := count(false, 0.97, 0.9, 0)
	t.Logf("3 %% less: %v, covered %d", worse, covered)
	least("3 % less is worse", worse[stat.Worse], n*9/10)
	most("3 % less is called the same", worse[stat.Same], n/20)
	most("3 % less, interval misses it", n-covered, n/20)

	raw, _ := count(true, 0.97, 0.9, 0)
	t.Logf("3 %% less, not corrected: %v", raw)
	if raw[stat.Worse] >= worse[stat.Worse]/2 {
		t.Errorf("the correction gains little: %v, without it %v", worse, raw)
	}

	// A load that the speed of the CPUs does not limit is left alone.
	alone, covered := count(false, 1, 0, 0)
	t.Logf("not limited by CPUs: %v, covered %d", alone, covered)
	most("not limited by CPUs, yet better or worse", alone[stat.Better]+alone[stat.Worse], n/20)
	most("not limited by CPUs, interval misses it", n-covered, n/20)
}

// TestCorrectionRefused: a variant that slows the CPUs themselves down by 20 % is slower, and not excused.
func TestCorrectionRefused(t *testing.T) {
	refused, excused := 0, 0
	for seed := range uint64(200) {
		o, _ := simulated(seed+1, 10, false, 1, 0.9, math.Log(0.8))
		v := o.Cells[1].Verdict
		var except []string
		for _, r := range v.Reasons {
			if strings.Contains(r, "not corrected") {
				refused++
				except = []string{"b"}
			}
		}
		if o.Correction == nil || !slices.Equal(o.Correction.Except, except) {
			t.Fatalf("seed %d: %+v, yet the verdict says %q", seed+1, o.Correction, v.Reasons)
		}
		if v.Result == stat.Same {
			excused++
		}
	}
	if refused < 190 || excused > 4 {
		t.Errorf("refused %d of 200, excused %d", refused, excused)
	}
}

func TestCorrectionTells(t *testing.T) {
	f := func(raw bool, follows float64, used bool, why string) {
		t.Helper()
		o, _ := simulated(3, 10, raw, 1, follows, 0)
		c := o.Correction
		switch {
		case raw:
			if c != nil {
				t.Errorf("raw: %+v", c)
			}
		case c == nil || c.Used != used || !strings.Contains(c.Why, why):
			t.Errorf("slope %v: %+v", follows, c)
		case used && math.Abs(c.Slope-follows) > 0.1:
			t.Errorf("slope %v: %v", follows, c.Slope)
		}
	}
	f(true, 0.9, false, "")
	f(false, 0.9, true, "")
	f(false, 0, false, "explains little")
	f(false, 5, false, "steeply")
	// Trials without a speed are judged as they are.
	_, p := simulated(1, 5, false, 1, 0.9, 0)
	var ts []trial.Trial
	m := &shared{Rand: rand.New(rand.NewPCG(1, 1))}
	for r := 1; r <= 5; r++ {
		for i, k := range []string{"a", "b"} {
			x := m.trial(2*r+i, r, k, false, 1, 0.9, 0)
			delete(x.Values, speedValue)
			ts = append(ts, x)
		}
	}
	if o := Judge(p, []plan.Variant{{Key: "a", Baseline: "a"}, {Key: "b", Baseline: "a"}}, ts); o.Correction != nil {
		t.Error(fmt.Sprint(o.Correction))
	}
}
