package service

import (
	"errors"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

// TestDeltas compares seconds: over a reset of one counter, and over a restart of the server, after which its counters
// are greater than before: those that began again with it and one that did not.
func TestDeltas(t *testing.T) {
	s := graphService(t)
	const restart = 100 // seconds
	for i := range int64(200) {
		up, counts := float64(1000+i), float64(50*i)
		if i >= restart {
			up, counts = float64(i-restart), float64(900*(i-restart))
		}
		at := (graphStart + i) * 1000
		r := reading.Reading{At: time.UnixMilli(at), Target: "shop"}
		add := func(name string, kind metric.Kind, v float64, kv ...string) {
			r.Samples = append(r.Samples, metric.Sample{
				Name: name, Labels: metric.L(kv...), Kind: kind, At: at, Value: v,
			})
		}
		add("x_uptime", metric.Gauge, up)
		add("x_total", metric.Counter, counts, "command", "select")
		add("x_flushed_total", metric.Counter, float64(i%50))
		add("x_kept_total", metric.Counter, float64(10*i))
		add("node_x_total", metric.Counter, float64(7*i))
		add("dyno_x_total", metric.Counter, float64(i))
		r.Parts = []reading.Part{{Source: "x", Samples: len(r.Samples)}}
		if err := s.Series.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	get := func(from, to int64) (Deltas, map[string]Delta) {
		t.Helper()
		d, err := s.Metrics.Deltas(t.Context(), "shop", time.Unix(graphStart+from, 0), time.Unix(graphStart+to, 0))
		if err != nil {
			t.Fatal(err)
		}
		by := map[string]Delta{}
		for _, x := range d.Counters {
			by[x.Name] = x
		}
		return d, by
	}
	d, by := get(10, 20)
	if x := by["x_total"]; x.Grown.Or(-1) != 500 || x.Seconds != 10 || x.Labels["command"] != "select" ||
		len(x.Labels) != 1 || d.Restarted.OK() || len(by) != 4 {
		t.Errorf("10 s: %+v", d)
	}
	if _, by = get(40, 60); by["x_flushed_total"].Grown.OK() || by["x_total"].Grown.Or(-1) != 1000 {
		t.Errorf("a counter that was reset: %+v", by)
	}
	d, by = get(90, 190)
	if at, ok := d.Restarted.Get(); !ok || at.Unix() != graphStart+restart {
		t.Errorf("the restart: %+v", d.Restarted)
	}
	if x := by["x_total"]; x.Grown.Or(-1) != 900*90 || x.Seconds != 90 {
		t.Errorf("what it grew since the restart: %+v", x)
	}
	if x := by["x_kept_total"]; x.Grown.Or(-1) != 1000 || x.Seconds != 100 {
		t.Errorf("what went on over the restart: %+v", x)
	}
	if x := by["node_x_total"]; x.Grown.Or(-1) != 700 || x.Seconds != 100 {
		t.Errorf("the machine did not restart: %+v", x)
	}
	early := time.Unix(graphStart-500, 0)
	if _, err := s.Metrics.Deltas(t.Context(), "shop", early, early.Add(time.Hour)); !errors.Is(err, ErrNoSamples) {
		t.Errorf("before the first sample: %v", err)
	}
}
