package testbed

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestLoom counts operations whose moments are known by hand: in milliseconds, a turn of one strand from 100 to 200 and
// one of another from 205 to 300, each with a guard of 20.
func TestLoom(t *testing.T) {
	const forever = 1e6
	f := func(began, ended float64, want, cut [2]float64, latencies [2]uint64) {
		t.Helper()
		for _, late := range []bool{false, true} { // told of at once, or when all is over
			l := newLoom()
			at := func(ms float64) time.Time { return l.base.Add(time.Duration(ms * 1e6)) }
			told := false
			tell := func(now float64) {
				if !told && !(late && now < forever) && ended <= now {
					told = true
					l.add(at(began), at(ended), 10)
				}
			}
			l.begin(2)
			tell(100)
			l.take(0, 0, at(100), at(120))
			tell(200)
			l.leave(at(200))
			l.take(1, 2, at(205), at(225))
			tell(300)
			l.leave(at(300))
			tell(forever)
			if n := l.operations(); n != 1 {
				t.Errorf("%v to %v: %d operations", began, ended, n)
			}
			turns, strands := l.end()
			for i := range want {
				x := turns[i]
				n := uint64(0)
				for _, h := range strands[i].seconds {
					n += h.Count()
				}
				if math.Abs(x.ops-want[i]) > 1e-9 || math.Abs(x.queries-10*want[i]) > 1e-9 ||
					math.Abs(x.cut-cut[i]) > 1e-9 || n != latencies[i] {
					t.Errorf("%v to %v, late %v: turn %d has %v operations, %v queries, %v cut, %d latencies; want "+
						"%v, %v cut, %d",
						began, ended, late, i, x.ops, x.queries, x.cut, n, want[i], cut[i], latencies[i])
				}
			}
			if len(strands[1].seconds) != 3 {
				t.Errorf("%d seconds", len(strands[1].seconds))
			}
		}
	}
	none, zero := [2]float64{}, [2]uint64{}
	f(10, 90, none, none, zero)
	f(90, 110, none, none, zero)                                       // ended while the guard held
	f(105, 115, none, none, zero)                                      // likewise
	f(130, 140, [2]float64{1, 0}, none, [2]uint64{1, 0})               // whole
	f(110, 130, [2]float64{0.5, 0}, none, [2]uint64{1, 0})             // half of it counts, and no switch was in it
	f(130, 130, [2]float64{1, 0}, none, [2]uint64{1, 0})               // of no length
	f(90, 140, [2]float64{0.4, 0}, [2]float64{0.4, 0}, zero)           // a switch was in it
	f(190, 210, [2]float64{0.5, 0}, [2]float64{0.5, 0}, zero)          // it ends in the next guard
	f(190, 290, [2]float64{0.1, 0.65}, [2]float64{0.1, 0.65}, zero)    // two turns
	f(0, 1000, [2]float64{0.08, 0.075}, [2]float64{0.08, 0.075}, zero) // all of it
	f(201, 204, none, none, zero)                                      // during the switch
	f(290, 310, [2]float64{0, 0.5}, [2]float64{0, 0.5}, zero)          // after the last turn
	f(310, 320, none, none, zero)                                      //
	f(225, 300, [2]float64{0, 1}, none, [2]uint64{0, 1})               // edge to edge
	f(205, 225, none, none, zero)                                      // the guard itself
	f(160, 200, [2]float64{1, 0}, none, [2]uint64{1, 0})               // up to the switch
}

// TestLoomMisses: of a turn in which the client stood still no latency is told, whenever its operations are told of.
func TestLoomMisses(t *testing.T) {
	for now := range 6 { // the turn after whose beginning they are told of; 5: when all is over
		l := newLoom()
		at := func(ms int) time.Time { return l.base.Add(time.Duration(ms) * time.Millisecond) }
		tell := func(turn int) {
			if turn == now {
				for i := range min(turn+1, 5) { // one operation of i+1 ms in each turn so far
					l.add(at(100*i+50), at(100*i+51+i), 1)
				}
			}
			if turn > now && turn < 5 {
				l.add(at(100*turn+50), at(100*turn+51+turn), 1)
			}
		}
		l.begin(1)
		for i := range 5 {
			l.leave(at(100 * i))
			l.take(0, i/2, at(100*i), at(100*i+10))
			if i%2 == 1 {
				l.miss()
			}
			tell(i)
		}
		l.leave(at(500))
		tell(5)
		turns, strands := l.end()
		var late []bool
		for _, x := range turns {
			late = append(late, x.late)
		}
		var got []time.Duration
		for _, h := range strands[0].seconds {
			if h.Count() != 1 {
				t.Errorf("told at %d: a second has %d latencies", now, h.Count())
			}
			got = append(got, h.Max())
		}
		if want := []time.Duration{time.Millisecond, 3 * time.Millisecond, 5 * time.Millisecond}; !slices.Equal(got,
			want) || !slices.Equal(late, []bool{false, true, false, true, false}) {
			t.Errorf("told at %d: %v, late %v", now, got, late)
		}
	}
}

// TestLoomBetweenRounds takes operations while no round is under way.
func TestLoomBetweenRounds(t *testing.T) {
	l := newLoom()
	l.add(time.Now(), time.Now(), 1)
	l.leave(time.Now())
	if turns, _ := l.end(); len(turns) != 0 || l.operations() != 1 {
		t.Errorf("%v", turns)
	}
}

// TestLoomOfManySessions is told by several goroutines while turns change, as the race detector sees it too: nothing is
// lost or counted twice. Between two turns an operation is nobody's; how many fell there is for the scheduler to say,
// so only those that surely did not are asked for.
func TestLoomOfManySessions(t *testing.T) {
	l := newLoom()
	l.begin(2)
	l.take(0, 0, time.Now(), time.Now())
	const sessions, each = 4, 2000
	var all sync.WaitGroup
	var switches atomic.Int64 // odd while one is under way
	var within atomic.Int64   // operations that no switch touched
	stop := make(chan struct{})
	switched := make(chan struct{})
	go func() {
		defer close(switched)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				switches.Add(1)
				now := time.Now()
				l.leave(now)
				l.take(i%2, 0, now, now)
				switches.Add(1)
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	for range sessions {
		all.Go(func() {
			for range each {
				before := switches.Load()
				began := time.Now()
				l.add(began, time.Now(), 1)
				if before%2 == 0 && switches.Load() == before {
					within.Add(1)
				}
			}
		})
	}
	all.Wait()
	close(stop)
	<-switched
	turns, _ := l.end()
	ops := 0.0
	for _, x := range turns {
		ops += x.ops
	}
	if l.operations() != sessions*each || ops < float64(within.Load())-1e-6 || ops > sessions*each+1e-6 {
		t.Errorf("%d operations, %v in turns, %d within one", l.operations(), ops, within.Load())
	}
	if within.Load() == 0 {
		t.Error("no operation lay within a turn")
	}
}

func BenchmarkLoom(b *testing.B) {
	l := newLoom()
	l.begin(2)
	now := time.Now()
	for i := range 100 {
		l.take(i%2, 0, now, now)
		now = now.Add(time.Millisecond)
		l.leave(now)
	}
	l.take(0, 0, now, now)
	end := now.Add(500 * time.Microsecond)
	b.ReportAllocs()
	for b.Loop() {
		l.add(now, end, 14)
	}
}
