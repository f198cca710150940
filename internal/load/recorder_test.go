package load

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
)

func emptyTick(kinds int) loadresult.Tick {
	t := loadresult.Tick{Ops: make([]loadresult.Op, kinds)}
	for i := range t.Ops {
		t.Ops[i] = loadresult.Op{Name: fmt.Sprint(i), Latency: hist.New(), Response: hist.New()}
	}
	t.Statements = []loadresult.Statement{{Name: "s", Latency: hist.New()}}
	return t
}

// TestNothingIsLostBetweenTicks takes figures as fast as it can while sessions record, and counts what came out.
func TestNothingIsLostBetweenTicks(t *testing.T) {
	const sessions, each = 4, 20_000
	var recs []*recorder
	var wg sync.WaitGroup
	for range sessions {
		r := newRecorder(2, 1)
		recs = append(recs, r)
		wg.Go(func() {
			for i := range each {
				c := r.hold()
				c.done(i%2, time.Duration(i)*time.Microsecond, time.Duration(2*i)*time.Microsecond, statements{1, 2, 3})
				c.statement(0, time.Duration(i)*time.Microsecond)
				if i%10 == 0 {
					c.errors["1213"]++
					c.unfinished(0, statements{reads: 1})
				}
				if i%100 == 0 {
					c.lost++
					c.reconnects++
					c.failed(1, statements{})
					c.begins(lateStart + 1)
				}
				r.release()
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	sum := emptyTick(2)
	var own ownFigures
	for last := false; !last; {
		select {
		case <-done:
			last = true
		default:
		}
		x := emptyTick(2)
		for _, r := range recs {
			own.add(r.take(&x).own())
		}
		sum.Add(x)
	}
	const n = sessions * each
	eq := func(what string, got, want uint64) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	eq("operations", sum.Operations(), n)
	eq("operations of the first kind", sum.Ops[0].Latency.Count(), n/2)
	eq("queries", sum.Queries(), 6*n+n/10)
	eq("deadlocks", sum.Errors["1213"], n/10)
	eq("lost connections", sum.Errors[lost], n/100)
	eq("reconnects", sum.Reconnects, n/100)
	eq("failed operations", sum.Ops[1].Failed, n/100)
	eq("late operations", own.late, n/100)
	eq("statements timed", sum.Statements[0].Latency.Count(), n)
	eq("response times", sum.Response().Count(), n)
	eq("longest response", uint64(sum.Response().Max()), uint64(2*(each-1)*time.Microsecond))
	eq("longest", uint64(sum.Latency().Max()), uint64((each-1)*time.Microsecond))
	var nanoseconds time.Duration
	for i := range each {
		nanoseconds += time.Duration(i) * time.Microsecond
	}
	eq("sum of latencies", uint64(sum.Latency().Sum()), uint64(sessions*nanoseconds))
}

func TestRecordingAllocatesNothing(t *testing.T) {
	r := newRecorder(1, 1)
	x := emptyTick(1)
	one := func() {
		c := r.hold()
		c.statement(0, time.Millisecond)
		c.done(0, time.Millisecond, time.Millisecond, statements{reads: 1})
		r.release()
	}
	for range 2 { // both buffers have seen the kind
		one()
		r.take(&x)
	}
	if n := testing.AllocsPerRun(1000, one); n > 0 {
		t.Errorf("recording an operation allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { one(); r.take(&x) }); n > 0 {
		t.Errorf("taking the figures of a session allocates %v times", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	r := newRecorder(1, 1)
	b.ReportAllocs()
	for b.Loop() {
		c := r.hold()
		c.done(0, 123*time.Microsecond, noResponse, statements{reads: 1})
		r.release()
	}
}
