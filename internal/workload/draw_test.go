package workload

import (
	"math/rand/v2"
	"testing"
)

func TestDrawOverAnotherNumber(t *testing.T) {
	for _, kind := range []string{randUniform, randSpecial, randGaussian, randPareto, randZipfian} {
		fresh, err := NewDraw(kind, 1000, nil)
		if err != nil {
			t.Fatal(err)
		}
		moved, err := NewDraw(kind, 7, nil)
		if err != nil {
			t.Fatal(err)
		}
		moved.Over(1000)
		a, b := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			if x, y := fresh.Next(a), moved.Next(b); x != y || x < 1 || x > 1000 {
				t.Fatalf("%s: %d and %d", kind, x, y)
			}
		}
		if n := testing.AllocsPerRun(100, func() { moved.Over(1 + a.IntN(50)); moved.Next(a) }); n > 0 {
			t.Errorf("%s: %v allocations a draw", kind, n)
		}
	}
	f := func(kind string, n int, options map[string]string) {
		t.Helper()
		if _, err := NewDraw(kind, n, options); err == nil {
			t.Errorf("%s over %d with %v is accepted", kind, n, options)
		}
	}
	f("zipf", 10, nil)
	f(randZipfian, 0, nil)
	f(randZipfian, 10, map[string]string{"rand-zipfian-exp": "-1"})
	f(randPareto, 10, map[string]string{"rand-parety-h": "0.5"})
}
