package logdigest

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestMinutesKeepToTheLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, span := range []int64{1, 50, 64, 65, 1000, 1e6} {
		var m minutes
		want := map[int64]uint64{}
		for range 500 {
			at := 1_700_000_000_000_000 + r.Int64N(span*minute)
			m.add(at, step{2, 10}, manySteps)
			want[at/minute] += 2
		}
		if len(m.steps) > manySteps || span > 130 && len(m.steps) < manySteps/2-1 || span <= 60 && m.shift > 0 {
			t.Errorf("%d minutes have %d steps of 2^%d", span, len(m.steps), m.shift)
		}
		sums := map[int64]uint64{}
		for at, n := range want {
			sums[at>>m.shift] += n
		}
		for i, s := range m.steps {
			if k := m.start + int64(i); s.n != sums[k] || s.time != 5*s.n {
				t.Errorf("%d minutes: step %d has %+v, want %d", span, k, s, sums[k])
			}
		}
	}
}

func TestMinutesMergeInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for range 200 {
		var whole minutes
		parts := make([]minutes, 3)
		span := int64(1) << r.IntN(14)
		for range r.IntN(40) {
			at := (r.Int64N(span) - span/2) * minute // before 1970, too
			whole.add(at, step{1, 7}, 16)
			parts[r.IntN(3)].add(at, step{1, 7}, 16)
		}
		var merged minutes
		for _, i := range r.Perm(3) {
			merged.merge(&parts[i], 16)
		}
		if len(whole.steps) > 0 && (merged.shift != whole.shift || merged.start != whole.start) ||
			!slices.Equal(merged.steps, whole.steps) {
			t.Fatalf("got %+v, want %+v", merged, whole)
		}
	}
}

func TestMinutesOfNothing(t *testing.T) {
	var m minutes
	m.merge(&minutes{}, 10)
	m.keep(1)
	if r := m.report(); r.Counts != nil || !r.Start.IsZero() {
		t.Errorf("got %+v", r)
	}
}
