package pace

import (
	"math"
	"testing"
	"time"
)

// counts returns how many arrivals fall into each of n stretches of a given length.
func counts(t *testing.T, a *Arrivals, stretch time.Duration, n int) []float64 {
	t.Helper()
	c := make([]float64, n)
	for last := time.Duration(0); ; {
		at := a.Next()
		if at < last {
			t.Fatalf("%v comes after %v", at, last)
		}
		last = at
		if at >= stretch*time.Duration(n) {
			return c
		}
		c[at/stretch]++
	}
}

func TestUniformArrivalsAreWhatTheRateSays(t *testing.T) {
	f := func(text string, stretch time.Duration, n int) {
		t.Helper()
		s := parse(t, text)
		for i, c := range counts(t, s.Arrivals(Uniform, 1), stretch, n) {
			want := s.Expected(stretch*time.Duration(i+1)) - s.Expected(stretch*time.Duration(i))
			if math.Abs(c-want) > 1.001 {
				t.Errorf("%s, stretch %d: %v arrivals, want %v", text, i, c, want)
			}
		}
	}
	f("10", time.Second, 1000)
	f("0.3", 10*time.Second, 100)
	f("333333", time.Second, 3)
	f("100..2000@10s", time.Second, 20)
	f("2000..0@10s", time.Second, 10)
	f("0..2000@10s,0@2s,7", time.Second, 20)
	f("500@3s,1000@2s,20", 500*time.Millisecond, 20)
	f("500,+2000@10s/1s", 500*time.Millisecond, 100)
	f("+50@3s/1s", 500*time.Millisecond, 100)
}

func TestUniformArrivalsLieEvenly(t *testing.T) {
	a := Constant(4).Arrivals(Uniform, 0)
	for i := range 100 {
		want := 125*time.Millisecond + time.Duration(i)*250*time.Millisecond
		if at := a.Next(); (at - want).Abs() > time.Microsecond {
			t.Fatalf("arrival %d at %v, want %v", i, at, want)
		}
	}
}

// TestPoisson holds the counts of a stretch against the distribution: mean and variance are both the integral of the
// rate.
func TestPoisson(t *testing.T) {
	f := func(text string, stretch time.Duration, n int) {
		t.Helper()
		s := parse(t, text)
		var chi float64
		degrees := 0.0
		for i, c := range counts(t, s.Arrivals(Poisson, 42), stretch, n) {
			want := s.Expected(stretch*time.Duration(i+1)) - s.Expected(stretch*time.Duration(i))
			if want < 1e-9 {
				if c != 0 {
					t.Errorf("%s, stretch %d: %v arrivals where the rate is 0", text, i, c)
				}
				continue
			}
			chi += (c - want) * (c - want) / want
			degrees++
		}
		if z := (chi - degrees) / math.Sqrt(2*degrees); math.Abs(z) > 4 {
			t.Errorf("%s: the counts spread by %.1f standard errors too much or too little", text, z)
		}
	}
	f("100", time.Second, 2000)
	f("100..2000@1000s", time.Second, 2000)
	f("500..20@100s,0@50s,40", 100*time.Millisecond, 3000)
	f("50,+200@10s/1s", 500*time.Millisecond, 2000)
}

func TestArrivalsAreTheSameAgain(t *testing.T) {
	s := parse(t, "100..2000@1s,+50@300ms/20ms")
	a, b, c := s.Arrivals(Poisson, 7), s.Arrivals(Poisson, 7), s.Arrivals(Poisson, 8)
	differ := false
	for range 10000 {
		x, y, z := a.Next(), b.Next(), c.Next()
		if x != y {
			t.Fatalf("%v and %v from the same seed", x, y)
		}
		differ = differ || x != z
	}
	if !differ {
		t.Fatal("another seed gives the same arrivals")
	}
}

func TestNever(t *testing.T) {
	f := func(s Shape, before int) {
		t.Helper()
		a := s.Arrivals(Uniform, 1)
		for range before {
			if a.Next() == Never {
				t.Fatalf("%v: ends early", s)
			}
		}
		for range 3 {
			if at := a.Next(); at != Never {
				t.Fatalf("%v: still an arrival at %v", s, at)
			}
		}
	}
	f(Shape{}, 0)
	f(parse(t, "10@2s,0"), 20)
	f(parse(t, "10..0@2s"), 10)
}

// TestLongRuns looks whether sums of small steps drift.
func TestLongRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("draws millions of numbers")
	}
	a := Constant(3e6).Arrivals(Uniform, 1)
	var at time.Duration
	for range 3_000_000 {
		at = a.Next()
	}
	if (at - time.Second).Abs() > time.Microsecond {
		t.Fatalf("3 million arrivals at 3 million a second took %v", at)
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	a := parse(t, "100..2000@1s,500,+2000@100ms/10ms").Arrivals(Poisson, 1)
	if n := testing.AllocsPerRun(10000, func() { a.Next() }); n != 0 {
		t.Fatalf("%v allocations per arrival", n)
	}
}

func TestParseKind(t *testing.T) {
	f := func(in string, want Kind, bad bool) {
		t.Helper()
		if k, err := ParseKind(in); k != want || (err != nil) != bad {
			t.Errorf("%q: %v, %v", in, k, err)
		}
	}
	f("", Poisson, false)
	f("poisson", Poisson, false)
	f("uniform", Uniform, false)
	f("normal", "", true)
}
