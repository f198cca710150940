package logdigest

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestTallies(t *testing.T) {
	for _, numbers := range []uint32{1, 3, fewTallies, fewTallies + 1, 2000} {
		r := rand.New(rand.NewPCG(41, uint64(numbers)))
		var x tallies
		want := map[uint32]uint64{}
		for range 5000 {
			id, n := r.Uint32N(numbers), r.Uint64N(4)
			x.add(id, n)
			want[id] += n
		}
		x.each(func(id uint32, n uint64) {
			if want[id] != n {
				t.Errorf("%d numbers: %d has %d, want %d", numbers, id, n, want[id])
			}
			delete(want, id)
		})
		if len(want) > 0 {
			t.Errorf("%d numbers: %d are missing", numbers, len(want))
		}
	}
}

func TestNamesOfSeveralNumbersCountTogether(t *testing.T) {
	var x tallies
	for i := range uint32(10) {
		x.add(i, uint64(1+i%2))
	}
	if got := fmt.Sprint(x.named(func(id uint32) string { return []string{"b", "a", "c", ""}[id%4] })); got != "[{a "+
		"6} {b 3} {c 2}]" {
		t.Error(got)
	}
}
