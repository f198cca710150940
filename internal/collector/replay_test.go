package collector

import (
	"context"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/state"
)

func TestReplay(t *testing.T) {
	old := time.Unix(1000, 0)
	rec := []reading.Reading{
		{At: old, Samples: []metric.Sample{{Name: "a", At: 1_000_000, Value: 1}}, State: &state.State{
			At: old,
			Up: true,
		}, Events: []event.Event{{Text: "once"}}},
		{At: old, Samples: []metric.Sample{{Name: "a", At: 1_001_000, Value: 2}, {Name: "b", At: 1_001_000, Value: 3}}},
		{At: old, Samples: []metric.Sample{{Name: "a", At: 1_002_000, Value: 4}}},
	}
	r, err := NewReplay(rec, 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []float64
	var last time.Time
	err = r.Run(ctx, 10*time.Millisecond, func(x reading.Reading) {
		got = append(got, x.Samples[0].Value)
		if !x.At.After(last) || time.Since(x.At) > time.Minute || len(x.Events) != 0 || x.State != nil &&
			!x.State.At.Equal(x.At) {
			t.Errorf("%+v after %v", x, last)
		}
		for _, s := range x.Samples {
			if s.At != x.At.UnixMilli() {
				t.Errorf("%+v at %v", s, x.At)
			}
		}
		last = x.At
		if len(got) == 5 {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{2, 4, 1, 2, 4} {
		if got[i] != want {
			t.Fatalf("got %v", got)
		}
	}
	if rec[0].Samples[0].At != 1_000_000 || !rec[0].State.At.Equal(old) {
		t.Error("the recording was changed")
	}
	if _, err := NewReplay(nil, 0); err == nil {
		t.Error("nothing was accepted as a recording")
	}
}
