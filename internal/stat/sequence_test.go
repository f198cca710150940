package stat

import (
	"slices"
	"testing"
)

func TestSchedule(t *testing.T) {
	f := func(min, max int, confidence float64, looks ...int) {
		t.Helper()
		s := Schedule(min, max, confidence)
		if !slices.Equal(s.Looks, looks) || len(s.Alpha) != len(s.Looks) {
			t.Errorf("%d to %d: %v, want %v", min, max, s, looks)
		}
		sum := 0.0
		for i, a := range s.Alpha {
			sum += a
			if a <= 0 || i > 0 && a < s.Alpha[i-1] {
				t.Errorf("%d to %d: %v", min, max, s.Alpha)
			}
		}
		if confidence == 0 {
			confidence = DefaultConfidence
		}
		if sum > 1-confidence+1e-12 || sum < 1-confidence-1e-12 {
			t.Errorf("%d to %d: %v in sum", min, max, sum)
		}
	}
	f(3, 10, 0.95, 3, 6, 10)
	f(3, 10, 0, 3, 6, 10)
	f(3, 20, 0.99, 3, 6, 11, 20)
	f(5, 10, 0.95, 5, 10)
	f(3, 5, 0.95, 3, 5)
	f(3, 3, 0.95, 3)
	f(3, 4, 0.95, 3, 4)
	f(10, 3, 0.95, 10)
	f(0, 0, 0.95, 3)
	f(1, 2, 0.95, 3)
	for max := 3; max < 200; max++ {
		s := Schedule(3, max, 0)
		if !slices.IsSorted(s.Looks) || len(slices.Compact(slices.Clone(s.Looks))) != len(s.Looks) ||
			s.Looks[0] != 3 || last(s) != max {
			t.Errorf("3 to %d: %v", max, s)
		}
	}
}

func TestSequence(t *testing.T) {
	s := Sequence{Looks: []int{3, 6}, Alpha: []float64{0.01, 0.04}}
	if n, ok := s.Next(3); !ok || n != 6 {
		t.Error(n, ok)
	}
	if n, ok := s.Next(0); !ok || n != 3 {
		t.Error(n, ok)
	}
	if n, ok := s.Next(6); ok {
		t.Error(n)
	}
}
