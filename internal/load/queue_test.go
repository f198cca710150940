package load

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/pace"
)

func uniform(c Config) *arrivals {
	c.RateKind = pace.Uniform
	return newArrivals(&c)
}

func TestArrivalsAreTakenInOrderAndCounted(t *testing.T) {
	a := uniform(Config{Rate: pace.Constant(10), Time: time.Second})
	last := time.Duration(-1)
	for now, taken := time.Duration(0), uint64(0); now <= 3*time.Second; now += 70 * time.Millisecond {
		for range 2 { // two sessions are free now and then: a queue builds up and is worked off
			if _, due, ok := a.take(now); ok {
				if due <= last || due > now {
					t.Fatalf("at %v an arrival of %v after one of %v", now, due, last)
				}
				last = due
				taken++
			}
		}
		due, n := a.count(now)
		if want := min(10, uint64((now+50*time.Millisecond)/(100*time.Millisecond))); due != want || n != taken {
			t.Fatalf("at %v: %d due, %d taken; want %d and %d", now, due, n, want, taken)
		}
	}
	if last.Round(time.Microsecond) != 950*time.Millisecond || a.next() != pace.Never || a.ended() {
		t.Errorf("the last arrival is at %v, next %v, ended %v; want none at or after the end, and the run to last "+
			"until then", last, a.next(), a.ended())
	}
}

func TestArrivalsBesideWarmUpAndEvents(t *testing.T) {
	f := func(c Config, due uint64, ended bool) {
		t.Helper()
		a := uniform(c)
		for {
			if _, _, ok := a.take(time.Hour); !ok {
				break
			}
		}
		if n, taken := a.count(time.Hour); n != due || taken != due || a.ended() != ended {
			t.Errorf("%d due, %d taken, ended %v; want %d and %v", n, taken, a.ended(), due, ended)
		}
	}
	f(Config{Rate: pace.Constant(10), Time: time.Second, Warmup: 2 * time.Second}, 30, false)
	f(Config{Rate: pace.Constant(10), Events: 7, Warmup: 2 * time.Second}, 27, true)
	f(Config{Rate: pace.Constant(10), Events: 7}, 7, true)
	f(Config{Rate: pace.Constant(10), Events: 7, Time: time.Hour}, 7, true)
	shape, err := pace.Parse("10@1s,20@1s")
	if err != nil {
		t.Fatal(err)
	}
	f(Config{Rate: shape, Time: 3 * time.Second, Warmup: time.Second}, 10+10+20+20, false)
}

func TestTakingArrivalsAllocatesNothing(t *testing.T) {
	a := newArrivals(&Config{Rate: pace.Constant(1000)})
	now := time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() { now += time.Millisecond; a.take(now); a.count(now) }); n > 0 {
		t.Errorf("an arrival allocates %v times", n)
	}
}

func TestTerminalsThatAreReadyLongestComeFirst(t *testing.T) {
	left := 6
	p := newPool([]*terminal{{gen: &fixed{think: 30}}, {gen: &fixed{think: 10}}, {gen: &fixed{think: 20}}},
		func() bool { left--; return left >= 0 })
	take := func(now, want time.Duration) *terminal {
		t.Helper()
		x, due, ok := p.take(now)
		if (want >= 0) != ok || ok && due != want {
			t.Fatalf("at %d: due %d, %v; want %d", now, due, ok, want)
		}
		return x
	}
	take(5, -1)
	if p.next() != 10 {
		t.Errorf("next is due at %d, want 10", p.next())
	}
	if due, taken := p.count(25); due != 2 || taken != 0 {
		t.Errorf("%d due and %d taken, want 2 and 0", due, taken)
	}
	a := take(25, 10)
	b := take(25, 20)
	take(25, -1)
	p.give(b, 26) // ready at 46
	p.give(a, 27) // ready at 37
	take(50, 30)
	take(50, 37)
	c := take(50, 46)
	take(50, -1)
	if due, taken := p.count(50); due != 5 || taken != 5 || p.ended() {
		t.Errorf("%d due, %d taken, ended %v", due, taken, p.ended())
	}
	p.give(c, 50)
	take(100, 70)
	p.give(c, 100)
	take(200, -1)
	if !p.ended() || p.next() != pace.Never {
		t.Error("the pool goes on after its last operation")
	}
}
