package progress

import (
	"math"
	"testing"
	"time"
)

func TestRemaining(t *testing.T) {
	t0 := time.Unix(0, 0)
	f := func(p Progress, want time.Duration, wantOK bool) {
		t.Helper()
		p.Started, p.At = t0, t0.Add(10*time.Second)
		if got, ok := p.Remaining(); got != want || ok != wantOK {
			t.Fatalf("%+v: got %v %v, want %v %v", p, got, ok, want, wantOK)
		}
	}
	f(Progress{Done: 25, Total: 100}, 30*time.Second, true)
	f(Progress{Done: 200, Total: 100}, 0, true) // an underestimated total
	f(Progress{Done: 5}, 0, false)
	f(Progress{Done: 0, Total: 100}, 0, false)
	f(Progress{Done: 3, End: true}, 0, true)
	f(Progress{Done: math.NaN(), Total: 100}, 0, false) // a server's word
	f(Progress{Done: 1, Total: math.NaN()}, 0, false)
	f(Progress{Done: math.Inf(1), Total: math.Inf(1)}, 0, false)
	Sink(nil).Report(Progress{}) // must not panic
}
