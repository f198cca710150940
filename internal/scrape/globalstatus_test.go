package scrape

import (
	"slices"
	"testing"
)

// TestKeptCounters: a counter of which the server forgets a part goes on from where it was; one that starts anew falls.
func TestKeptCounters(t *testing.T) {
	k := series{past: new(past)}
	var got []float64
	for _, v := range []float64{1000, 1200, 1190, 1195, 1250, 20, 30, 15, 40} {
		got = append(got, k.keep(v))
	}
	if want := []float64{1000, 1200, 1200, 1205, 1260, 20, 30, 30, 55}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if v := (series{}).keep(-3); v != -3 {
		t.Errorf("a state becomes %v", v)
	}
}
