package scrape

import (
	"context"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/reading"
)

func TestWindowStopsEarly(t *testing.T) {
	sc := &Scraper{errs: plainErrors{}, link: idle{}, timeout: time.Second, meter: NewMeter()}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	began := time.Now()
	if err := sc.Window(ctx, time.Second, time.Hour, func(reading.Reading) {}); err != nil ||
		time.Since(began) > 10*time.Second {
		t.Fatalf("after %v: %v", time.Since(began), err)
	}
	if err := sc.Window(t.Context(), time.Millisecond, time.Second, nil); err == nil {
		t.Fatal("an interval of a millisecond was accepted")
	}
}
