package collector

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

// steps is a scraper that gives n readings and then does what end says.
type steps struct {
	n   int
	end func(ctx context.Context) error
}

func (s steps) Run(ctx context.Context, _ time.Duration, sink func(reading.Reading)) error {
	for i := range s.n {
		sink(reading.Reading{
			At:      time.Unix(int64(i), 0),
			Samples: []metric.Sample{{Name: "x", At: int64(i), Value: float64(i)}},
		})
	}
	return s.end(ctx)
}

func untilDone(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func TestEveryBatchReachesEverySink(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	got := map[string]int{}
	count := func(name string) Sink {
		return func(b reading.Reading) {
			mu.Lock()
			defer mu.Unlock()
			got[name+b.Target]++
			if got["1a"]+got["1b"]+got["2a"]+got["2b"] == 10 {
				cancel()
			}
		}
	}
	if err := Run(ctx, time.Second, map[string]Scraper{"a": steps{2, untilDone}, "b": steps{3, untilDone}}, count("1"),
		count("2")); err != nil {
		t.Fatal(err)
	}
	if got["1a"] != 2 || got["2a"] != 2 || got["1b"] != 3 || got["2b"] != 3 {
		t.Fatalf("got %v", got)
	}
}

func TestATargetThatCannotGoOnEndsAllAndIsNamed(t *testing.T) {
	broken := errors.New("no such thing")
	err := Run(context.Background(), time.Second, map[string]Scraper{
		"good": steps{0, untilDone},
		"bad":  steps{1, func(context.Context) error { return broken }},
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "bad") {
		t.Fatalf("got %v", err)
	}
}
