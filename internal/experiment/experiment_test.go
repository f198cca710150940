package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dyno/internal/progress"
	"dyno/internal/stat"
)

// machine is a target of our own making: a level, a factor per variant, noise and faults. It lives in the time of a test bubble.
type machine struct {
	t        *testing.T
	rnd      *rand.Rand
	variant  string
	switched time.Time
	began    time.Time
	factor   map[string]float64 // of qps
	noise    func(r *rand.Rand) float64
	drift    float64                    // of the logarithm, per minute
	switches []string                   // in order
	windows  int                        // measured so far
	failOn   func(window int) error     // of Measure, counted from 1
	spoil    func(window int) string    // reason why a window is invalid
	refuse   func(variant string) error // of Switch
}

func newMachine(t *testing.T, seed uint64, ratio float64) *machine {
	return &machine{
		t: t, rnd: rand.New(rand.NewPCG(seed, 9)), began: time.Now(),
		factor: map[string]float64{"off": 1, "on": ratio},
		noise:  func(r *rand.Rand) float64 { return 0.02 * r.NormFloat64() },
	}
}

func (m *machine) Switch(ctx context.Context, variant string) error {
	m.switches = append(m.switches, variant)
	if m.refuse != nil {
		if err := m.refuse(variant); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond)
	m.variant, m.switched = variant, time.Now()
	return nil
}

func (m *machine) Measure(ctx context.Context, d time.Duration) (Window, error) {
	m.windows++
	w := Window{From: time.Now()}
	if since := time.Since(m.switched); since < plan().Settle {
		m.t.Errorf("window %d begins %v after the switch", m.windows, since)
	}
	if m.failOn != nil {
		if err := m.failOn(m.windows); err != nil {
			return w, err
		}
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return w, ctx.Err()
	}
	w.To = time.Now()
	level := math.Exp(m.drift*time.Since(m.began).Minutes() + m.noise(m.rnd))
	qps := 1000 * level * m.factor[m.variant]
	w.Values = map[string]float64{"qps": qps, "p95_ms": 1e4 / qps, "rows": 5 * m.factor[m.variant]}
	if m.spoil != nil {
		w.Invalid = m.spoil(m.windows)
	}
	return w, nil
}

func plan() Plan {
	return Plan{
		Baseline: "off", Variant: "on", Final: "on", Pairs: 8, Settle: 3 * time.Second, Window: 10 * time.Second, Seed: 1,
		Main: "qps", LowerIsBetter: []string{"p95_ms"},
	}
}

// in runs f in a bubble of its own time.
func in(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

func TestRun(t *testing.T) {
	in(t, func(t *testing.T) {
		m := newMachine(t, 1, 1.5)
		start := time.Now()
		res, err := Run(t.Context(), plan(), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict.Result != stat.Better || res.Verdict.Metric != "qps" || res.Verdict.Ratio.N != 8 || res.Verdict.Ratio.Lo < 1.4 || res.Verdict.Ratio.Hi > 1.6 {
			t.Errorf("%+v", res.Verdict)
		}
		if v := res.Verdicts["p95_ms"]; v.Result != stat.Better || v.Ratio.Lo < 1.4 {
			t.Errorf("lower is better: %+v", v)
		}
		if r := res.Ratios["p95_ms"]; r.Hi > 1/1.4 || r.N != 8 { // variant ÷ baseline
			t.Errorf("ratio of p95: %+v", r)
		}
		if r := res.Ratios["rows"]; math.Abs(r.Center-1.5) > 1e-9 {
			t.Errorf("ratio of rows: %+v", r)
		}
		if len(res.Verdicts) != 2 || len(res.Ratios) != 3 || res.Stopped != "" || res.Pairs != 8 || len(res.Windows) != 16 {
			t.Errorf("%+v", res)
		}
		var last time.Time
		count := map[string]int{}
		for i, w := range res.Windows {
			if w.Pair != i/2+1 || w.From.Before(last) || w.To.Sub(w.From) != 10*time.Second || w.Invalid != "" {
				t.Errorf("window %d: %+v", i, w)
			}
			if i > 0 && w.From.Sub(last) < 3*time.Second {
				t.Errorf("window %d begins %v after the last one", i, w.From.Sub(last))
			}
			last = w.To
			count[w.Variant]++
		}
		if count["on"] != 8 || count["off"] != 8 {
			t.Errorf("windows: %v", count)
		}
		// Switches take 100 ms each here.
		if took := time.Since(start) - plan().Duration(); took < 0 || took > 2*time.Second {
			t.Errorf("took %v more than planned", took)
		}
		if m.variant != "on" {
			t.Errorf("left in %s", m.variant)
		}
		b, err := json.Marshal(res)
		var back Result
		if err != nil || json.Unmarshal(b, &back) != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(res, back); d != "" {
			t.Error(d)
		}
	})
}

func TestOrders(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(50) {
		for n := 3; n <= 9; n++ {
			o := Orders(n, seed)
			first := 0
			for _, x := range o {
				if x {
					first++
				}
			}
			if len(o) != n || first < n/2 || first > (n+1)/2 {
				t.Errorf("%d pairs, seed %d: %v", n, seed, o)
			}
			if !slices.Equal(o, Orders(n, seed)) {
				t.Error("the same seed gives another order")
			}
			if n == 6 {
				seen[fmt.Sprint(o)] = true
			}
		}
	}
	if len(seen) < 15 { // of 20
		t.Errorf("50 seeds give %d orders", len(seen))
	}
}

// TestTruth shows over many seeds what is found, under what circumstances.
func TestTruth(t *testing.T) {
	f := func(name string, ratio float64, want stat.Result, least, most float64, change func(*machine)) {
		t.Helper()
		const seeds = 200
		n := 0
		for seed := range uint64(seeds) {
			in(t, func(t *testing.T) {
				m := newMachine(t, seed, ratio)
				change(m)
				p := plan()
				p.Seed = seed
				res, err := Run(t.Context(), p, m, nil)
				if err != nil {
					t.Fatal(err)
				}
				if res.Verdict.Result == want {
					n++
				}
			})
		}
		if got := float64(n) / seeds; got < least || got > most {
			t.Errorf("%s: %s in %.0f %%, want %.0f to %.0f %%", name, want, 100*got, 100*least, 100*most)
		}
	}
	drift := func(m *machine) { m.drift = -0.1 } // a tenth each minute, over five minutes
	bimodal := func(m *machine) {
		m.noise = func(r *rand.Rand) float64 { return 0.01*r.NormFloat64() - 0.2*float64(r.IntN(2)) }
	}
	none := func(*machine) {}
	bad := func(m *machine) {
		m.spoil = func(w int) string {
			if w == 5 {
				return "the load had died"
			}
			return ""
		}
	}
	f("no difference", 1, stat.Better, 0, 0.04, none) // half of the 5 %
	f("no difference", 1, stat.Worse, 0, 0.04, none)
	f("no difference, drift", 1, stat.Better, 0, 0.04, drift)
	f("no difference, drift", 1, stat.Worse, 0, 0.04, drift)
	f("no difference, bimodal", 1, stat.Better, 0, 0.05, bimodal)
	f("no difference, bimodal", 1, stat.Worse, 0, 0.05, bimodal)
	f("no difference, quiet", 1, stat.Same, 0.95, 1, func(m *machine) { m.noise = func(r *rand.Rand) float64 { return 0.004 * r.NormFloat64() } })
	f("+10 %", 1.1, stat.Better, 0.95, 1, none)
	f("+10 %, drift", 1.1, stat.Better, 0.95, 1, drift)
	f("+10 %, one bad window", 1.1, stat.Better, 0.95, 1, bad)
	f("-10 %", 0.9, stat.Worse, 0.95, 1, none)
	f("×2, bimodal", 2, stat.Better, 0.95, 1, bimodal)
}

func TestBadWindowDoesNotCount(t *testing.T) {
	f := func(name, reason string, change func(*machine)) {
		t.Helper()
		in(t, func(t *testing.T) {
			m := newMachine(t, 3, 1.5)
			change(m)
			res, err := Run(t.Context(), plan(), m, nil)
			if err != nil || res.Stopped != "" || res.Pairs != 8 {
				t.Fatalf("%s: %v, %s", name, err, res.Stopped)
			}
			if res.Verdict.Result != stat.Better || res.Verdict.Ratio.N != 7 || !strings.Contains(strings.Join(res.Verdict.Reasons, "\n"), reason) {
				t.Errorf("%s: %+v", name, res.Verdict)
			}
			bad := 0
			for _, w := range res.Windows {
				if w.Invalid != "" {
					bad++
					if !strings.Contains(w.Invalid, reason) || w.Variant == "" || w.From.IsZero() || w.To.IsZero() {
						t.Errorf("%s: %+v", name, w)
					}
				}
			}
			if bad != 1 || len(res.Windows) != 16 {
				t.Errorf("%s: %d of %d windows are invalid", name, bad, len(res.Windows))
			}
			if m.variant != "on" {
				t.Errorf("%s: left in %q", name, m.variant)
			}
		})
	}
	f("measure fails", "connection lost", func(m *machine) {
		m.failOn = func(w int) error {
			if w == 4 {
				return errors.New("connection lost")
			}
			return nil
		}
	})
	f("invalid", "deadlocks", func(m *machine) {
		m.spoil = func(w int) string {
			if w == 7 {
				return "deadlocks"
			}
			return ""
		}
	})
	f("switch fails", "metadata lock", func(m *machine) {
		n := 0
		m.refuse = func(string) error {
			if n++; n == 4 {
				return errors.New("metadata lock")
			}
			return nil
		}
	})
	f("not a number", "qps is NaN", func(m *machine) { silent(m, 6) })
}

// silent makes a machine whose n-th window has no value that counts.
func silent(m *machine, n int) *machine {
	noise, seen := m.noise, 0
	m.noise = func(r *rand.Rand) float64 {
		if seen++; seen == n {
			return math.NaN()
		}
		return noise(r)
	}
	return m
}

func TestNaNIsInvalid(t *testing.T) {
	in(t, func(t *testing.T) {
		res, err := Run(t.Context(), plan(), silent(newMachine(t, 1, 1.5), 2), nil)
		if err != nil {
			t.Fatal(err)
		}
		w := res.Windows[1]
		if w.Invalid != "qps is NaN" || len(w.Values) != 1 {
			t.Errorf("%+v", w)
		}
		if _, err := json.Marshal(res); err != nil {
			t.Error(err)
		}
		if _, ok := res.Ratios["rows"]; !ok || res.Ratios["rows"].N != 7 {
			t.Errorf("%+v", res.Ratios)
		}
	})
	in(t, func(t *testing.T) {
		p := plan()
		p.Main = "tps" // which this runner does not know
		res, err := Run(t.Context(), p, newMachine(t, 1, 1.5), nil)
		if !errors.Is(err, ErrFailing) || res.Windows[0].Invalid != "it has no value for tps" || res.Verdict.Result != stat.Invalid {
			t.Errorf("%v, %+v", err, res.Verdict)
		}
	})
}

func TestFailingEnds(t *testing.T) {
	in(t, func(t *testing.T) {
		m := newMachine(t, 1, 1.5)
		broken := errors.New("server gone")
		m.failOn = func(w int) error {
			if w > 10 {
				return broken
			}
			return nil
		}
		res, err := Run(t.Context(), plan(), m, nil)
		if !errors.Is(err, ErrFailing) || !strings.Contains(err.Error(), "server gone") {
			t.Errorf("%v", err)
		}
		if m.windows != 13 || res.Pairs != 6 || len(res.Windows) != 13 {
			t.Errorf("%d windows measured, %d kept, %d pairs", m.windows, len(res.Windows), res.Pairs)
		}
		// Five good pairs of six.
		if res.Verdict.Result != stat.Better || res.Verdict.Ratio.N != 5 || !strings.HasPrefix(res.Verdict.Reasons[0], "stopped after 6 of 8 pairs") {
			t.Errorf("%+v", res.Verdict)
		}
		if m.variant != "on" {
			t.Errorf("left in %q", m.variant)
		}
	})
	in(t, func(t *testing.T) {
		m := newMachine(t, 1, 1.5)
		m.refuse = func(v string) error { return errors.New("denied") }
		res, err := Run(t.Context(), plan(), m, nil)
		if !errors.Is(err, ErrFailing) || !strings.Contains(err.Error(), `NOT back in variant "on"`) || m.windows != 0 {
			t.Errorf("%v", err)
		}
		if res.Verdict.Result != stat.Invalid || len(res.Windows) != 3 {
			t.Errorf("%+v", res)
		}
	})
}

func TestCancel(t *testing.T) {
	for seconds := 0; seconds < 208; seconds += 7 {
		in(t, func(t *testing.T) {
			m := newMachine(t, 1, 1.5)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Duration(seconds)*time.Second, cancel)
			start := time.Now()
			res, err := Run(ctx, plan(), m, func(progress.Progress) {})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("after %d s: %v", seconds, err)
			}
			if late := time.Since(start) - time.Duration(seconds)*time.Second; late > 2*time.Second {
				t.Errorf("after %d s: it took %v more to stop", seconds, late)
			}
			if m.variant != "on" {
				t.Errorf("after %d s: left in %q after %v", seconds, m.variant, m.switches)
			}
			if !strings.HasPrefix(res.Stopped, fmt.Sprintf("stopped after %d of 8 pairs", res.Pairs)) || !slices.Contains(res.Verdict.Reasons, res.Stopped) {
				t.Errorf("after %d s: %q, %+v", seconds, res.Stopped, res.Verdict)
			}
			if want := seconds / 26; res.Pairs > want || res.Pairs < want-1 {
				t.Errorf("after %d s: %d pairs", seconds, res.Pairs)
			}
			if res.Pairs >= 3 && (res.Verdict.Result != stat.Better || res.Verdict.Ratio.N != res.Pairs) || res.Pairs < 3 && res.Verdict.Result != stat.Invalid {
				t.Errorf("after %d s: %+v", seconds, res.Verdict)
			}
			for _, w := range res.Windows {
				if w.To.Sub(w.From) != 10*time.Second {
					t.Errorf("after %d s: a window that was cut short counts: %+v", seconds, w)
				}
			}
		})
	}
}

// TestFinal shows that the final variant is put back, also when that does not work at once.
func TestFinal(t *testing.T) {
	f := func(final, want string, fails int, ok bool) {
		t.Helper()
		in(t, func(t *testing.T) {
			m := newMachine(t, 1, 1.5)
			p := plan()
			p.Final, p.Pairs = final, 3
			// The last window is of the other variant, else there is nothing to switch.
			for variantFirst := want == "on"; Orders(3, p.Seed)[2] != variantFirst; {
				p.Seed++
			}
			left := fails
			m.refuse = func(string) error {
				if m.windows == 6 && left > 0 {
					left--
					return errors.New("try again")
				}
				return nil
			}
			res, err := Run(t.Context(), p, m, nil)
			if ok != (err == nil) || ok != (m.variant == want) || res.Pairs != 3 || res.Stopped != "" || left > 0 && ok {
				t.Errorf("final %q, %d failures: left in %q, %v", final, fails, m.variant, err)
			}
		})
	}
	f("on", "on", 0, true)
	f("off", "off", 0, true)
	f("", "off", 0, true)
	f("on", "on", 2, true)
	f("off", "off", 3, false)
}

func TestProgress(t *testing.T) {
	in(t, func(t *testing.T) {
		m := newMachine(t, 1, 1.5)
		var ps []progress.Progress
		if _, err := Run(t.Context(), plan(), m, func(p progress.Progress) { ps = append(ps, p) }); err != nil {
			t.Fatal(err)
		}
		if len(ps) < 16*13 {
			t.Errorf("%d reports", len(ps))
		}
		done := -1.0
		for i, p := range ps {
			if p.Done < done || p.Total != 208 || p.End != (i == len(ps)-1) || i > 0 && p.At.Sub(ps[i-1].At) > 1100*time.Millisecond {
				t.Fatalf("report %d: %+v", i, p)
			}
			done = p.Done
		}
		mid := ps[len(ps)/2]
		left, ok := mid.Remaining()
		if real := ps[len(ps)-1].At.Sub(mid.At); !ok || left < real*9/10 || left > real*11/10 {
			t.Errorf("half-way %v are left, it says %v", real, left)
		}
		if p := ps[3]; !strings.Contains(p.Step, "pair 1 of 8") || !strings.Contains(p.Step, "settling") {
			t.Errorf("%+v", p)
		}
	})
}

func TestValidate(t *testing.T) {
	f := func(reason string, change func(*Plan)) {
		t.Helper()
		p := plan()
		change(&p)
		m := &machine{t: t}
		if _, err := Run(t.Context(), p, m, nil); err == nil || !strings.Contains(err.Error(), reason) || len(m.switches) > 0 {
			t.Errorf("%+v: %v, want %s", p, err, reason)
		}
	}
	f("need names", func(p *Plan) { p.Baseline = "" })
	f("both", func(p *Plan) { p.Baseline = "on" })
	f("final is", func(p *Plan) { p.Final = "other" })
	f("at least 3", func(p *Plan) { p.Pairs = 2 })
	f("window of", func(p *Plan) { p.Window = 0 })
	f("settling", func(p *Plan) { p.Settle = -1 })
	f("main", func(p *Plan) { p.Main = "" })
	f("margin", func(p *Plan) { p.Margin = 1 })
	f("at least 3", func(p *Plan) { *p = Plan{} })
}
