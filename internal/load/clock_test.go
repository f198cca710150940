package load

import (
	"testing"
	"time"
)

func TestTicksAreAlignedToWhatCounts(t *testing.T) {
	begin := time.Now()
	f := func(c Config, now time.Duration, stopping bool, want time.Duration) {
		t.Helper()
		k := &clock{crew: &crew{config: c}, start: begin.Add(c.Warmup)}
		if got := k.next(begin.Add(now), stopping).Sub(begin); got != want {
			t.Errorf("%v: the tick after %v ends at %v, want %v", c.Warmup, now, got, want)
		}
	}
	const s, ms = time.Second, time.Millisecond
	f(Config{}, 0, false, s)
	f(Config{}, 1003*ms, false, 2*s)
	f(Config{Time: 1500 * ms}, 1003*ms, false, 1500*ms)
	f(Config{Time: 1500 * ms}, 1600*ms, true, 2*s)
	f(Config{Warmup: 1500 * ms}, 0, false, 500*ms)
	f(Config{Warmup: 1500 * ms}, 500*ms, false, 1500*ms)
	f(Config{Warmup: 1500 * ms}, 501*ms, false, 1500*ms)
	f(Config{Warmup: 1500 * ms}, 1500*ms, false, 2500*ms)
	f(Config{Warmup: 1500 * ms, Time: s / 2}, 1600*ms, false, 2*s)
}
