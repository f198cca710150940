package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// traffic returns the level of n windows whose mean time of a call is mean and follows a first-order autoregression
// with heavy tails when asked; the calls of windows vary.
func traffic(r *rand.Rand, n int, mean, phi, spread float64, heavy bool) Level {
	time, calls := make([]float64, n), make([]float64, n)
	x := r.NormFloat64()
	var sumTime, sumCalls float64
	for i := range n {
		e := r.NormFloat64()
		if heavy { // Student's t with 3 degrees of freedom, of variance 1
			var q float64
			for range 3 {
				z := r.NormFloat64()
				q += z * z
			}
			e /= math.Sqrt(q)
		}
		if i > 0 {
			x = phi*x + math.Sqrt(1-phi*phi)*e
		}
		calls[i] = 50 + math.Floor(100*r.Float64())
		time[i] = calls[i] * mean * max(1+spread*x, 0.01)
		sumTime, sumCalls = sumTime+time[i], sumCalls+calls[i]
	}
	l := Level{Center: sumTime / sumCalls, Parts: [][]float64{make([]float64, n)}}
	for i := range n {
		l.Parts[0][i] = (time[i] - l.Center*calls[i]) / sumTime
	}
	return l
}

// TestLevelCoverage: of intervals of 95 % at least 93 % hold the truth, however alike neighbours are.
func TestLevelCoverage(t *testing.T) {
	const times = 2000
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range [][2]int{{60, 60}, {60, 30}, {30, 20}, {12, 12}, {240, 60}} {
		for _, phi := range []float64{0, 0.3, 0.6, 0.9} {
			for _, heavy := range []bool{false, true} {
				t.Run(fmt.Sprintf("%dand%d/%v/%v", n[0], n[1], phi, heavy), func(t *testing.T) {
					hit := 0
					for range times {
						x, err := LevelRatio(traffic(r, n[0], 0.02, phi, 0.2, heavy),
							traffic(r, n[1], 0.01, phi, 0.2, heavy), 0.95)
						if err != nil {
							t.Fatal(err)
						}
						if x.Lo <= 2 && 2 <= x.Hi {
							hit++
						}
					}
					if float64(hit)/times < 0.93 {
						t.Errorf("%d of %d intervals hold the truth", hit, times)
					}
				})
			}
		}
	}
}

// TestLevelStretches: a level that stays for a stretch, as a day's does, counts once a stretch.
func TestLevelStretches(t *testing.T) {
	const times = 1000
	r := rand.New(rand.NewPCG(3, 4))
	hit := 0
	for range times {
		var all [2]Level
		for side := range all {
			l := Level{}
			var time, calls [5][20]float64
			var sumTime, sumCalls float64
			for d := range time {
				day := 1 + 0.2*r.NormFloat64()
				for i := range time[d] {
					calls[d][i] = 100
					time[d][i] = 100 * max(day+0.1*r.NormFloat64(), 0.01)
					sumTime, sumCalls = sumTime+time[d][i], sumCalls+calls[d][i]
				}
			}
			l.Center = sumTime / sumCalls
			for d := range time {
				part := make([]float64, len(time[d]))
				for i := range part {
					part[i] = (time[d][i] - l.Center*calls[d][i]) / sumTime
				}
				l.Parts = append(l.Parts, part)
			}
			all[side] = l
		}
		x, err := LevelRatio(all[0], all[1], 0.95)
		if err != nil {
			t.Fatal(err)
		}
		if x.Lo <= 1 && 1 <= x.Hi {
			hit++
		}
	}
	if hit < 930 {
		t.Errorf("%d of %d intervals hold the truth", hit, times)
	}
}

// TestLevelRefuses: too few windows and what is no level have no interval.
func TestLevelRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	good := traffic(r, 20, 0.01, 0, 0.1, false)
	for name, bad := range map[string]Level{
		"four windows": traffic(r, 4, 0.01, 0, 0.1, false), "zero": {Parts: good.Parts}, "nothing": {},
		"not a number": {Center: math.NaN(), Parts: good.Parts},
	} {
		if x, err := LevelRatio(good, bad, 0.95); !errors.Is(err, ErrWindows) {
			t.Errorf("%s: %+v, %v", name, x, err)
		}
	}
}
