package sketch

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// distributions are made to be nasty: wide, narrow, with atoms, signs and zeros.
func distributions() map[string][]float64 {
	r := rand.New(rand.NewPCG(1, 2))
	make := func(n int, f func(i int) float64) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = f(i)
		}
		return xs
	}
	return map[string][]float64{
		"one":        {0.0125},
		"two":        {1, 1000},
		"zeros":      make(100, func(int) float64 { return 0 }),
		"list":       make(60, func(int) float64 { return r.ExpFloat64() }),
		"uniform":    make(5000, func(int) float64 { return r.Float64() }),
		"log normal": make(20000, func(int) float64 { return math.Exp(3 * r.NormFloat64()) }),
		"pareto":     make(20000, func(int) float64 { return math.Pow(1-r.Float64(), -2) }),
		"atoms":      make(9000, func(i int) float64 { return []float64{1, 1.001, 3, 700, 1e9}[i%5] }),
		"small":      make(3000, func(i int) float64 { return float64(i % 130) }),
		"signs":      make(7000, func(i int) float64 { return r.NormFloat64() * math.Pow(10, float64(i%7)) }),
		"few zeros":  make(3000, func(i int) float64 { return max(0, r.NormFloat64()) }),
		"bimodal":    make(3001, func(i int) float64 { return []float64{1e-6, 1e6}[i%2] * (1 + r.Float64()) }),
		"rising":     make(4000, func(i int) float64 { return math.Ldexp(1, i/50-30) }),
		"falling":    make(4000, func(i int) float64 { return math.Ldexp(1, 50-i/50) }),
		"popular":    make(200_000, func(i int) float64 { return float64(1 + i%2) }),
	}
}

func check(t *testing.T, name string, s *Sketch, xs []float64) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(xs))
	if s.Count() != uint64(len(xs)) || s.Min() != sorted[0] || s.Max() != sorted[len(sorted)-1] {
		t.Fatalf("%s: count %d, from %v to %v; want %d, %v, %v", name, s.Count(), s.Min(), s.Max(), len(xs),
			sorted[0], sorted[len(sorted)-1])
	}
	for _, q := range []float64{0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1} {
		got, want := s.Quantile(q), sorted[Rank(q, uint64(len(xs)))-1]
		if math.Abs(got-want) > 0.01*math.Abs(want) {
			t.Errorf("%s: quantile %v is %v, want %v", name, q, got, want)
		}
	}
}

func TestQuantilesAreWithinOnePercent(t *testing.T) {
	for name, xs := range distributions() {
		var s Sketch
		for _, x := range xs {
			s.Add(x, 1)
		}
		check(t, name, &s, xs)
	}
}

// TestMergeOfPartsIsTheWhole compares the written form, which holds everything that a sketch knows.
func TestMergeOfPartsIsTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, xs := range distributions() {
		var whole Sketch
		parts := make([]Sketch, 1+r.IntN(5))
		for _, x := range xs {
			whole.Add(x, 1)
			parts[r.IntN(len(parts))].Add(x, 1)
		}
		var merged Sketch
		for _, i := range r.Perm(len(parts)) {
			merged.Merge(&parts[i])
		}
		if !bytes.Equal(merged.AppendBinary(nil), whole.AppendBinary(nil)) {
			t.Errorf("%s: merging %d parts does not give the whole", name, len(parts))
		}
		check(t, name, &merged, xs)
	}
}

func TestWeights(t *testing.T) {
	var many, one Sketch
	for _, x := range []float64{-2, 0, 0.5, 3, 3, 800} {
		many.Add(x, 70_000)
		for range 70_000 {
			one.Add(x, 1)
		}
	}
	many.Add(1, 0)
	if !bytes.Equal(many.AppendBinary(nil), one.AppendBinary(nil)) {
		t.Error("adding n times is not adding n")
	}
	var huge Sketch
	huge.Add(5, math.MaxUint64-10)
	huge.Add(7, 5)
	if got := huge.Quantile(0.5); math.Abs(got-5) > 0.05 {
		t.Errorf("median of very many fives: %v", got)
	}
}

func TestWhatIsNoFiniteNumber(t *testing.T) {
	var s Sketch
	s.Add(math.NaN(), 1)
	if s.Count() != 0 {
		t.Error("something that is not a number was counted")
	}
	s.Add(math.Inf(1), 1)
	s.Add(math.Inf(-1), 1)
	s.Add(math.SmallestNonzeroFloat64, 1)
	if s.Count() != 3 || s.Max() != math.MaxFloat64 || s.Min() != -math.MaxFloat64 || s.Value(2) > 1e-15 {
		t.Errorf("got %d values from %v to %v, the second %v", s.Count(), s.Min(), s.Max(), s.Value(2))
	}
}

func TestRank(t *testing.T) {
	f := func(q float64, n, want uint64) {
		t.Helper()
		if got := Rank(q, n); got != want {
			t.Errorf("rank of %v among %d is %d, want %d", q, n, got, want)
		}
	}
	f(0.5, 0, 0)
	f(0, 10, 1)
	f(0.5, 10, 5)
	f(0.95, 10, 10)
	f(0.95, 100, 95)
	f(1, 10, 10)
	f(2, 10, 10)
	f(math.NaN(), 10, 1)
}

func TestReadGivesWhatWasWritten(t *testing.T) {
	for name, xs := range distributions() {
		var s Sketch
		for _, x := range xs {
			s.Add(x, 1)
		}
		b := s.AppendBinary(nil)
		got, rest, err := Read(append(bytes.Clone(b), "rest"...))
		if err != nil || string(rest) != "rest" {
			t.Fatalf("%s: %q %v", name, rest, err)
		}
		check(t, name, &got, xs)
		if !bytes.Equal(got.AppendBinary(nil), b) {
			t.Errorf("%s: writes other bytes than it was read from", name)
		}
		for i := range min(len(b), 40) {
			if _, _, err := Read(b[:i]); err == nil {
				t.Errorf("%s: %d of %d bytes were enough", name, i, len(b))
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	var s Sketch
	for _, x := range []float64{-1, 0, 1, 2, 3, 4e9} {
		s.Add(x, 3)
	}
	f.Add(s.AppendBinary(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		s, _, err := Read(b)
		if err != nil {
			return
		}
		for _, q := range []float64{0, 0.5, 1} {
			if v := s.Quantile(q); s.Count() > 0 && (v < s.Min() || v > s.Max()) {
				t.Errorf("quantile %v is %v, outside %v to %v", q, v, s.Min(), s.Max())
			}
		}
	})
}
