package load

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"dyno/internal/pace"
)

func TestMomentsComeInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var m moments[int]
	if m.next() != pace.Never {
		t.Errorf("an empty heap has %v next", m.next())
	}
	var want, got []time.Duration
	for range 1000 {
		if len(want) > 0 && rng.IntN(3) == 0 {
			at, v := m.pop()
			if at != slices.Min(want) || time.Duration(v) != at {
				t.Fatalf("%v with %d comes first, want %v", at, v, slices.Min(want))
			}
			want = slices.Delete(want, slices.Index(want, at), slices.Index(want, at)+1)
			continue
		}
		at := time.Duration(rng.IntN(100))
		m.push(at, int(at))
		want = append(want, at)
	}
	slices.Sort(want)
	for m.next() != pace.Never {
		at, _ := m.pop()
		got = append(got, at)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := testing.AllocsPerRun(100, func() { m.push(1, 1); m.pop() }); n > 0 {
		t.Errorf("a moment allocates %v times", n)
	}
}
