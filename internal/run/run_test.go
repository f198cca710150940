package run

import (
	"testing"
	"time"

	"dyno/internal/hist"
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
	a := Tick{At: t0, Length: time.Second, Threads: 4, Ops: []Op{op("read", 3, 1e6, 2e6)}, Errors: map[string]uint64{"1213": 1}}
	b := Tick{At: t0.Add(time.Second), Length: time.Second, Threads: 3, Ops: []Op{op("write", 1, 5e6), op("read", 2, 3e6)}, Errors: map[string]uint64{"1213": 2}}
	m := Merged([]Tick{a, b})
	if m.At != t0 || m.Length != 2*time.Second || m.Threads != 3 || m.Operations() != 4 || m.Queries() != 6 || m.ErrorCount() != 3 {
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
