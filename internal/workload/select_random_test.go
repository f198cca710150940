package workload

import (
	"strconv"
	"testing"
)

// segment returns the ends of the values that a session draws.
func segment(t *testing.T, kind string, size, threads, session int) (first, last int64) {
	t.Helper()
	p := build(t, RandomPoints{}, map[string]string{
		"rand-type": kind, "table-size": strconv.Itoa(size),
		"threads": strconv.Itoa(threads),
	})
	g := p.Generator(4, session)
	first, last = 1<<40, -1
	for range 300 {
		for _, a := range calls(t, g)[0].Args {
			first, last = min(first, int64(a.Bits())), max(last, int64(a.Bits()))
		}
	}
	return first, last
}

// TestSegments: each session draws from its own part of the values, and reaches both ends of it.
func TestSegments(t *testing.T) {
	f := func(size, threads, session, wantFirst, wantLast int) {
		t.Helper()
		if first, last := segment(t, randUniform, size, threads, session); first != int64(wantFirst) ||
			last != int64(wantLast) {
			t.Errorf("session %d of %d, %d rows: %d to %d, want %d to %d", session, threads, size, first,
				last, wantFirst, wantLast)
		}
	}
	f(10, 1, 0, 0, 10)
	f(10, 3, 0, 0, 3)
	f(10, 3, 1, 3, 6)
	f(10, 3, 2, 6, 10)
	f(10, 3, 4, 3, 6) // more sessions than were told of begin again at the first part
	f(2, 4, 1, 0, 1)
	f(1, 8, 0, 0, 0)
	for _, kind := range []string{randSpecial, randGaussian, randPareto, randZipfian} {
		if first, last := segment(t, kind, 1000, 4, 2); first < 500 || last > 750 || first == last {
			t.Errorf("%s: %d to %d, want within 500 to 750", kind, first, last)
		}
	}
}
