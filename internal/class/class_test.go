package class

import (
	"testing"

	"dyno/internal/known"
)

func TestPerCallKeepsTheUnknownUnknown(t *testing.T) {
	f := func(count uint64, v known.Value[uint64], want known.Value[float64]) {
		t.Helper()
		if got := (Class{Count: count}).PerCall(v); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	f(4, known.Of(uint64(10)), known.Of(2.5))
	f(4, known.None[uint64](), known.None[float64]())
	f(0, known.Of(uint64(10)), known.None[float64]())
}

func TestSampledClassHasNoMean(t *testing.T) {
	c := Class{Count: 2, TimeSec: 3}
	if v, ok := c.MeanSec().Get(); !ok || v != 1.5 {
		t.Fatalf("got %v %v", v, ok)
	}
	c.Sampled = true
	if c.MeanSec().OK() {
		t.Fatal("a sampled class told a mean")
	}
}
