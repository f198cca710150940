package testbed

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/plan"
)

func ticks(rates ...uint64) (out []loadresult.Tick) {
	for i, r := range rates {
		h := hist.New()
		for range r {
			h.Record(time.Millisecond)
		}
		ops := []loadresult.Op{{Name: "x", Reads: r, Latency: h}}
		out = append(out, loadresult.Tick{Seq: i, Length: time.Second, Ops: ops})
	}
	return out
}

func TestWindow(t *testing.T) {
	f := func(p plan.Trials, rates []uint64, begin, end int) {
		t.Helper()
		w := newWindow(p)
		gotBegin, gotEnd := -1, -1
		for i, x := range ticks(rates...) {
			b, e := w.add(x)
			if b {
				gotBegin = i
			}
			if e {
				gotEnd = i
				break
			}
		}
		if gotBegin != begin || gotEnd != end {
			t.Errorf("%+v %v: begins after %d, ends with %d; want %d, %d", p, rates, gotBegin, gotEnd, begin, end)
		}
		if end >= 0 && span(w.in) != time.Duration(p.Time) {
			t.Errorf("%+v: measured %v", p, span(w.in))
		}
	}
	s := func(n int) plan.Duration { return plan.Duration(time.Duration(n) * time.Second) }
	level := []uint64{100, 100, 101, 100, 99, 100, 100, 101, 100, 100, 100, 99, 100}
	f(plan.Trials{WarmMin: s(2), WarmMax: s(2), Time: s(3)}, level, 1, 4)
	f(plan.Trials{WarmMin: s(1), WarmMax: s(1), Time: s(1)}, level, 0, 1)
	// A rate that climbs is waited for, as long as the plan allows.
	climbing := []uint64{10, 30, 50, 70, 90, 110, 130, 150, 170, 190, 210, 230, 250, 270}
	f(plan.Trials{WarmMin: s(2), WarmMax: s(8), Time: s(2)}, climbing, 7, 9)
	// A load that broke off leaves the window incomplete.
	f(plan.Trials{WarmMin: s(2), WarmMax: s(2), Time: s(60)}, level, 1, -1)
}
