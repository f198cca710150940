package hist

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestQuantilesOfAKnownDistribution(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	h, all := New(), make([]time.Duration, 0, 50000)
	for range cap(all) {
		d := time.Duration(20e3 * (1 + rng.ExpFloat64()*50)) // 20 µs and a long tail
		h.Record(d)
		all = append(all, d)
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.95, 0.99, 0.999} {
		want := all[int(q*float64(len(all)))-1]
		if got := h.Quantile(q); got < want*99/100 || got > want*101/100 {
			t.Errorf("q %v: got %v, want %v ±1 %%", q, got, want)
		}
	}
	if h.Min() != all[0] || h.Max() != all[len(all)-1] || h.Quantile(1) != h.Max() {
		t.Errorf("min %v max %v, want %v %v", h.Min(), h.Max(), all[0], all[len(all)-1])
	}
}

func TestMergeEqualsRecordingEverythingInOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	one, parts := New(), []*Histogram{New(), New(), New()}
	for i := range 10000 {
		d := time.Duration(rng.Int64N(int64(2 * Highest)))
		one.Record(d)
		parts[i%3].Record(d)
	}
	sum := New()
	for _, p := range parts {
		sum.Merge(p)
	}
	a, _ := json.Marshal(one)
	b, _ := json.Marshal(sum)
	if string(a) != string(b) {
		t.Fatalf("merged differs:\n%s\n%s", a, b)
	}
	var back Histogram
	if err := json.Unmarshal(a, &back); err != nil {
		t.Fatal(err)
	}
	if c, _ := json.Marshal(&back); string(c) != string(a) {
		t.Fatalf("round trip differs:\n%s\n%s", a, c)
	}
}

func TestOutOfRangeIsCounted(t *testing.T) {
	h := New()
	h.Record(-time.Second)
	h.Record(Highest)
	h.Record(Highest + 1)
	h.Record(5 * Highest)
	if h.Count() != 4 || h.Over() != 2 || h.Min() != 0 || h.Max() != 5*Highest || h.Sum() != Highest {
		t.Fatalf("count %d over %d min %v max %v sum %v", h.Count(), h.Over(), h.Min(), h.Max(), h.Sum())
	}
	if got := h.Quantile(0.99); got != 5*Highest {
		t.Fatalf("p99 %v lies among those above the range", got)
	}
	if got := h.Quantile(0.25); got > Lowest {
		t.Fatalf("p25 %v, want at most the finest difference", got)
	}
}

func TestDamagedJSON(t *testing.T) {
	good, _ := json.Marshal(New())
	f := func(in string) {
		t.Helper()
		h := New()
		h.Record(time.Millisecond)
		if err := json.Unmarshal([]byte(in), h); err == nil || h.Count() != 1 {
			t.Errorf("%s: error %v, count %d", in, err, h.Count())
		}
	}
	f(`{"hdr":"!"}`)
	f(`{"hdr":""}`)
	f(`{"hdr":"AAAA"}`)
	f(string(good[:len(good)/2]))
}

func TestRecordAllocatesNothing(t *testing.T) {
	h, d := New(), time.Duration(0)
	if n := testing.AllocsPerRun(1000, func() { h.Record(d); d += 12345 }); n != 0 {
		t.Fatalf("%v allocations per Record", n)
	}
}
