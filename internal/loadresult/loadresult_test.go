package loadresult

import (
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/hist"
)

func op(name string, reads uint64, ds ...time.Duration) Op {
	h := hist.New()
	for _, d := range ds {
		h.Record(d)
	}
	return Op{Name: name, Reads: reads, Latency: h}
}

func TestMergedSumsWithoutTouchingItsParts(t *testing.T) {
	t0 := time.Unix(100, 0)
	a := Tick{
		At: t0, Length: time.Second, Threads: 4, Ops: []Op{op("read", 3, 1e6, 2e6)},
		Errors: map[string]uint64{"1213": 1},
	}
	b := Tick{At: t0.Add(time.Second), Length: time.Second, Threads: 3, Ops: []Op{
		op("write", 1, 5e6),
		op("read", 2, 3e6),
	}, Errors: map[string]uint64{"1213": 2}}
	m := Merged([]Tick{a, b})
	if m.At != t0 || m.Length != 2*time.Second || m.Threads != 3 || m.Operations() != 4 ||
		m.Queries() != 6 || m.ErrorCount() != 3 {
		t.Fatalf("got %+v", m)
	}
	if m.TPS() != 2 || m.QPS() != 3 || m.Latency().Max() != 5*time.Millisecond {
		t.Fatalf("tps %v qps %v max %v", m.TPS(), m.QPS(), m.Latency().Max())
	}
	if a.Ops[0].Latency.Count() != 2 || a.Errors["1213"] != 1 {
		t.Fatal("merging changed a part")
	}
	if (Tick{}).TPS() != 0 {
		t.Fatal("an empty tick has a rate")
	}
}

func TestMergedArrivals(t *testing.T) {
	r := func(ds ...time.Duration) *hist.Histogram { return op("", 0, ds...).Latency }
	a := Tick{
		Length: 1, Delay: 3, Open: &Open{Due: 10, Queue: 7, Busy: 2},
		Ops: []Op{{Name: "x", Latency: r(1e6), Response: r(2e6), Failed: 1}}, Statements: []Statement{{"s", r(1e6)}},
	}
	b := Tick{
		Length: 1, Delay: 2, Open: &Open{Due: 5, Queue: 4, Busy: 1, Dropped: 4},
		Ops:        []Op{{Name: "x", Latency: r(), Response: r(9e6), Failed: 2}},
		Statements: []Statement{{"s", r(3e6)}, {"t", r(1e6)}},
	}
	m := Merged([]Tick{a, b})
	if *m.Open != (Open{Due: 15, Queue: 4, Busy: 1, Dropped: 4}) || m.Delay != 3 || m.Ops[0].Failed != 3 ||
		m.Response().Count() != 2 || m.Response().Max() != 9*time.Millisecond {
		t.Errorf("%+v, response %+v", m.Open, m.Response())
	}
	if len(m.Statements) != 2 || m.Statements[0].Latency.Count() != 2 {
		t.Errorf("statements %+v", m.Statements)
	}
	if *a.Open != (Open{Due: 10, Queue: 7, Busy: 2}) || a.Statements[0].Latency.Count() != 1 ||
		a.Ops[0].Response.Count() != 1 {
		t.Error("merging changed a part")
	}
	if (Tick{Ops: []Op{op("y", 1)}}).Response() != nil {
		t.Error("a closed loop has response times")
	}
}
