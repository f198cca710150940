package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// noise draws the logarithm of the disturbance of one window.
type noise struct {
	name string
	draw func(*rand.Rand) float64
}

func noises() []noise {
	return []noise{
		{"normal", func(r *rand.Rand) float64 { return 0.03 * r.NormFloat64() }},
		{"heavy tails (Student, 2 degrees)", func(r *rand.Rand) float64 {
			return 0.02 * r.NormFloat64() / math.Sqrt(r.ExpFloat64())
		}},
		{"outliers (one window in ten, ten times the noise)", func(r *rand.Rand) float64 {
			s := 0.02
			if r.Float64() < 0.1 {
				s = 0.2
			}
			return s * r.NormFloat64()
		}},
		{"skewed (stalls, exponential)", func(r *rand.Rand) float64 { return -0.05 * r.ExpFloat64() }},
		{"strongly skewed (log-normal)", func(r *rand.Rand) float64 { return -0.03 * math.Exp(r.NormFloat64()) }},
		{"bimodal (a third of the windows 20 % slower)", func(r *rand.Rand) float64 {
			x := 0.01 * r.NormFloat64()
			if r.Float64() < 1.0/3 {
				x -= 0.2
			}
			return x
		}},
	}
}

// draw makes n pairs with that true ratio, each pair on a level of its own as a drifting machine has it.
func draw(r *rand.Rand, n int, ratio float64, base, variant noise) []Pair {
	ps := make([]Pair, n)
	for i := range ps {
		level := 8 + 0.1*float64(i)
		ps[i] = Pair{
			Baseline:     math.Exp(level + base.draw(r)),
			Variant:      ratio * math.Exp(level+variant.draw(r)),
			VariantFirst: i%2 == 1,
		}
	}
	return ps
}

const trials = 2000 // the standard error of a coverage of 95 % is then 0.5 %

// chance is how far the share found in n simulations may lie above the true p: three standard errors.
func chance(p float64, n int) float64 { return 3 * math.Sqrt(p*(1-p)/float64(n)) }

// TestCoverage proves the declared confidence: the interval of 95 % holds the true ratio in at least 93 % of
// measurements.
func TestCoverage(t *testing.T) {
	for _, noise := range noises() {
		for n := 4; n <= 12; n++ {
			r := rand.New(rand.NewPCG(uint64(n), 42))
			held := 0
			for range trials {
				x, err := PairedRatio(draw(r, n, 1.3, noise, noise), 0.95)
				if err != nil {
					t.Fatal(err)
				}
				if x.Lo <= 1.3 && 1.3 <= x.Hi {
					held++
				}
			}
			c := float64(held) / trials
			if testing.Verbose() {
				t.Logf("%s, %d pairs: %.1f %%", noise.name, n, 100*c)
			}
			if c < 0.93 {
				t.Errorf("%s, %d pairs: the interval of 95 %% holds the truth in %.1f %%", noise.name, n, 100*c)
			}
		}
	}
}

// TestNoDifferenceIsNotFound compares a thing with itself.
func TestNoDifferenceIsNotFound(t *testing.T) {
	for _, noise := range noises() {
		for _, n := range []int{3, 5, 6, 8} {
			r := rand.New(rand.NewPCG(uint64(n), 43))
			wrong := 0
			for range trials {
				if v := Judge(draw(r, n, 1, noise, noise), Rules{}).Result; v == Better || v == Worse {
					wrong++
				} else if v == Invalid {
					t.Fatal("invalid")
				}
			}
			if p := float64(wrong) / trials; p > 0.05+chance(0.05, trials) {
				t.Errorf("%s, %d pairs: better or worse in %.1f %% of comparisons of a thing with itself", noise.name,
					n, 100*p)
			}
		}
	}
}
