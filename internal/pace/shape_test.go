package pace

import (
	"math"
	"testing"
	"time"
)

func parse(t *testing.T, text string) Shape {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRateAndExpected(t *testing.T) {
	f := func(text string, at time.Duration, rate, expected float64) {
		t.Helper()
		s := parse(t, text)
		if r, n := s.Rate(at), s.Expected(at); math.Abs(r-rate) > 1e-9 || math.Abs(n-expected) > 1e-6 {
			t.Errorf("%s at %v: rate %v, expected %v; want %v, %v", text, at, r, n, rate, expected)
		}
	}
	const s = time.Second
	f("0", 5*s, 0, 0)
	f("500", 0, 500, 0)
	f("500", 2500*time.Millisecond, 500, 1250)
	f("100..2000@10s", 0, 100, 0)
	f("100..2000@10s", 5*s, 1050, 2875)
	f("100..2000@10s", 10*s, 2000, 10500)
	f("100..2000@10s", 12*s, 2000, 14500)
	f("10@2s,20@3s", 2*s-1, 10, 20)
	f("10@2s,20@3s", 2*s, 20, 20)
	f("10@2s,20@3s", 60*s, 20, 20+58*20)
	f("10@2s,0@1s,30", 2500*time.Millisecond, 0, 20)
	f("10@2s,0", 60*s, 0, 20)
	f("500,+2000@10s/1s", 9*s, 500, 4500) // the first burst is at 10 s, not at 0
	f("500,+2000@10s/1s", 10*s, 2500, 5000)
	f("500,+2000@10s/1s", 11*s, 500, 7500)
	f("500,+2000@10s/1s", 20*s+500*time.Millisecond, 2500, 13250)
	f("+10@2s/1s,+10@3s/1s", 3*s, 10, 10)
	f("+10@2s/1s,+10@3s/2s", 4*s, 20, 20)
}

func TestConstant(t *testing.T) {
	f := func(rate float64, zero bool) {
		t.Helper()
		if s := Constant(rate); s.IsZero() != zero || !zero && s.Rate(time.Hour) != rate {
			t.Errorf("Constant(%v) is %v", rate, s)
		}
	}
	f(0.5, false)
	f(MaxRate, false)
	f(0, true)
	f(-1, true)
	f(MaxRate+1, true)
	f(math.NaN(), true)
	f(math.Inf(1), true)
}
