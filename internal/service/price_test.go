package service

import (
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/store/series"
)

func each(all ...metric.Series) func(func(metric.Series)) error {
	return func(f func(metric.Series)) error {
		for _, s := range all {
			f(s)
		}
		return nil
	}
}

// TestPriceHoldsOneSeriesAtATime: what a price is made of may be gigabytes, whoever asks for it.
func TestPriceHoldsOneSeriesAtATime(t *testing.T) {
	st, err := series.Open(filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := wired(&Service{Series: st, app: &app.App{Home: t.TempDir()}})
	t.Cleanup(func() { st.Close() })
	const sources, readings = 60, 1500
	now := time.Now().Truncate(time.Second)
	for i := range readings {
		at := now.Add(time.Duration(i-readings) * time.Second).UnixMilli()
		var all []metric.Sample
		for n := range sources {
			all = append(all, metric.Sample{
				Name: "dyno_source_seconds_total", Labels: metric.L("source", fmt.Sprint("s", n)), Kind: metric.Counter,
				At: at, Value: float64(i) * 0.002,
			})
		}
		if err := st.Append(all, metric.L("target", "shop")); err != nil {
			t.Fatal(err)
		}
	}
	least := uint64(math.MaxUint64) // other tests may leave something that allocates
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := s.Metrics.Price(t.Context(), "shop", time.Hour)
		runtime.ReadMemStats(&after)
		if v, _ := p.Server.Get(); err != nil || len(p.Sources) != sources || math.Abs(v-sources*0.002) > 1e-6 {
			t.Fatalf("%d sources, %v, %v", len(p.Sources), p.Server, err)
		}
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	const points = sources * readings * 16 // bytes
	if least > points/2 {
		t.Errorf("it took %d bytes, and all points are %d", least, points)
	}
}
