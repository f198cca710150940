package sketch

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

func TestEveryBinIsNarrow(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100_000 {
		v := math.Exp2(r.Float64()*1000 - 60)
		var b Bins
		b.Add(v, 1)
		if got := b.Value(1); math.Abs(got-v) > v/128 {
			t.Fatalf("%v became %v", v, got)
		}
	}
}

func TestWholeNumbers(t *testing.T) {
	for v := uint64(1); v < 1<<45; v += 1 + v/100 {
		var b Bins
		b.Add(float64(v), 1)
		got := b.Whole(1)
		if got != math.Trunc(got) || v < 128 && got != float64(v) || math.Abs(got-float64(v)) > float64(v)/100 {
			t.Fatalf("%d became %v", v, got)
		}
	}
}

func TestEmpty(t *testing.T) {
	var b Bins
	if b.Value(1) != 0 || b.Whole(1) != 0 || b.Count() != 0 {
		t.Error("nothing has a value")
	}
}

// TestCountsAreExactInEveryForm adds until lists have become counters and these carry over.
func TestCountsAreExactInEveryForm(t *testing.T) {
	var b Bins
	want := uint64(0)
	for i := range 300_000 {
		b.Add(float64(1+i%3), 1)
		if want++; i < 300 && b.Count() != want {
			t.Fatalf("%d values, counted %d", want, b.Count())
		}
	}
	if b.Count() != want || len(b.carried) != 3 {
		t.Errorf("counted %d of %d, carried %v", b.Count(), want, b.carried)
	}
	f := func(rank uint64, want float64) {
		t.Helper()
		if got := b.Whole(rank); got != want {
			t.Errorf("rank %d is %v, want %v", rank, got, want)
		}
	}
	f(1, 1)
	f(100_000, 1)
	f(100_001, 2)
	f(200_001, 3)
	f(300_000, 3)
	f(400_000, 3)
}

func TestAddAllocatesNothingWhenWarm(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	xs := make([]float64, 4096)
	for i := range xs {
		xs[i] = math.Exp(r.NormFloat64())
	}
	var b Bins
	for _, x := range xs {
		b.Add(x, 1)
	}
	if n := testing.AllocsPerRun(10, func() {
		for _, x := range xs {
			b.Add(x, 1)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSizeIsBounded(t *testing.T) {
	var b Bins
	for e := -1070; e < 1024; e++ {
		for m := range 64 {
			b.Add(math.Ldexp(1+float64(m)/64, e), math.MaxUint32)
		}
	}
	if b.Size() > 40*bins {
		t.Errorf("%d bytes", b.Size())
	}
}

func BenchmarkAdd(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	xs := make([]float64, 4096)
	for i := range xs {
		xs[i] = math.Exp(r.NormFloat64()) * 1e6
	}
	var s Bins
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Add(xs[i&4095], 1)
	}
}

func TestAddAllIsAddOfEach(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	var one, all Bins
	for range 50 {
		values := make([]uint64, r.IntN(200))
		for i := range values {
			values[i] = 1 + r.Uint64N(1+1<<r.IntN(48))
		}
		for _, v := range values {
			one.Add(float64(v), 1)
		}
		all.AddAll(values)
	}
	if !bytes.Equal(one.AppendBinary(nil), all.AppendBinary(nil)) {
		t.Error("they differ")
	}
}
