package hist

import (
	"testing"
	"time"
)

func TestBars(t *testing.T) {
	h := New()
	if b := h.Bars(); len(b) != 0 {
		t.Fatalf("an empty histogram has bars: %v", b)
	}
	for _, d := range []time.Duration{ms, ms, time.Second, 2 * Highest} {
		h.Record(d)
	}
	b := h.Bars()
	if len(b) != 2 || b[0].Count != 2 || b[1].Count != 1 {
		t.Fatalf("got %v", b)
	}
	for i, d := range []time.Duration{ms, time.Second} {
		if b[i].From > d || b[i].To < d {
			t.Errorf("%v is not within %v to %v", d, b[i].From, b[i].To)
		}
	}
}
