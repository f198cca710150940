package service

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/reading"
)

// rare is a counter that is not read in each round.
const rare = "x_rare_total"

// deltasOf stores n rounds of counters, step seconds apart, of a server with the uptime of each round, and returns what
// compares two seconds of them.
func deltasOf(
	t *testing.T, s *Service, target string, n, step int64, at func(i int64) (up float64, counters map[string]float64),
) func(from, to int64) (Deltas, map[string]Delta, error) {
	t.Helper()
	for i := range n {
		ms := (graphStart + i*step) * 1000
		r := reading.Reading{At: time.UnixMilli(ms), Target: target}
		up, counters := at(i)
		r.Samples = append(r.Samples, metric.Sample{Name: "x_uptime", Kind: metric.Gauge, At: ms, Value: up})
		for name, v := range counters {
			r.Samples = append(r.Samples, metric.Sample{
				Name: name, Labels: metric.L("command", "select", "mode", "user"), Kind: metric.Counter, At: ms,
				Value: v,
			})
		}
		often := slices.IndexFunc(r.Samples, func(x metric.Sample) bool { return x.Name == rare })
		if r.Parts = []reading.Part{{Source: "x", Samples: len(r.Samples)}}; often >= 0 {
			last := len(r.Samples) - 1
			r.Samples[often], r.Samples[last] = r.Samples[last], r.Samples[often]
			r.Parts = []reading.Part{{Source: "x", Samples: last}, {Source: "rare", Samples: 1}}
		}
		if err := s.Series.AppendRound(r); err != nil {
			t.Fatal(err)
		}
	}
	return func(from, to int64) (Deltas, map[string]Delta, error) {
		d, err := s.Metrics.Deltas(t.Context(), target, time.Unix(graphStart+from, 0), time.Unix(graphStart+to, 0))
		by := map[string]Delta{}
		for _, x := range d.Counters {
			by[x.Name] = x
		}
		return d, by, err
	}
}

// TestDeltas compares seconds: over a reset of one counter, and over a restart of the server, after which its counters
// are greater than before: those that began again with it and one that did not.
func TestDeltas(t *testing.T) {
	s := graphService(t)
	const restart = 100 // seconds
	of := deltasOf(t, s, "shop", 200, 1, func(i int64) (float64, map[string]float64) {
		up, counts := float64(1000+i), float64(50*i)
		if i >= restart {
			up, counts = float64(i-restart), float64(900*(i-restart))
		}
		return up, map[string]float64{
			"x_total": counts, "x_flushed_total": float64(i % 50), "x_kept_total": float64(10 * i),
			"node_x_total": float64(7 * i), "dyno_x_total": float64(i),
		}
	})
	get := func(from, to int64) (Deltas, map[string]Delta) {
		t.Helper()
		d, by, err := of(from, to)
		if err != nil {
			t.Fatal(err)
		}
		return d, by
	}
	d, by := get(10, 20)
	if x := by["x_total"]; x.Grown.Or(-1) != 500 || x.Seconds != 10 || x.Labels["command"] != "select" ||
		len(x.Labels) != 2 || d.Restarted.OK() || len(by) != 4 {
		t.Errorf("10 s: %+v", d)
	}
	for _, to := range []int64{60, 70} { // where it is lower, and where it is higher again
		if _, by = get(40-to/2, to); by["x_flushed_total"].Grown.OK() || by["x_total"].Grown.Or(-1) <= 1000 {
			t.Errorf("a counter that was reset: %+v", by)
		}
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

// TestDeltasOfOneServer: counters of two servers, or of a machine before and after it was started again, have no
// difference.
func TestDeltasOfOneServer(t *testing.T) {
	s := graphService(t)
	swap := func(i int64) (float64, map[string]float64) { // to one that has been up for longer
		up, counts := float64(1000+i), float64(i)
		if i >= 100 {
			up, counts = float64(500_000+i), float64(1_000_000+i)
		}
		all := map[string]float64{"x_total": counts}
		if i%40 == 15 {
			all[rare] = counts
		}
		return up, all
	}
	seen := deltasOf(t, s, "seen", 200, 1, swap)
	if err := s.ledger.Events.Put(t.Context(), event.Event{
		At: time.Unix(graphStart+108, 0), Target: "seen", Kind: event.Restart,
		Text: event.AnotherServer + " answers: b",
	}); err != nil {
		t.Fatal(err)
	}
	refused := func(name, want string, _ Deltas, _ map[string]Delta, err error) {
		t.Helper()
		if w := (*WindowError)(nil); !errors.As(err, &w) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f := func(from, to int64) (string, string, Deltas, map[string]Delta, error) {
		d, by, err := seen(from, to)
		return "it was seen", event.AnotherServer + " answers: b", d, by, err
	}
	refused(f(90, 120))
	refused(f(90, 104)) // it is seen some seconds later
	if _, by, err := seen(110, 120); err != nil || by["x_total"].Grown.Or(-1) != 10 {
		t.Errorf("after it: %+v, %v", by, err)
	}
	if _, by, err := seen(112, 150); err != nil || by[rare].Grown.OK() || len(by) != 1 {
		t.Errorf("a sample of the one before is compared: %+v, %v", by, err)
	}
	unseen := deltasOf(t, s, "unseen", 200, 1, swap)
	d, by, err := unseen(90, 120)
	refused("no one saw it", "a clock was set", d, by, err)

	// Two hours, of a minute each: the machine is up again after an hour, with more of some counters than before.
	box := deltasOf(t, s, "box", 120, 60, func(i int64) (float64, map[string]float64) {
		up, busy := float64(60*i+500), 1.0
		if i >= 60 {
			up, busy = float64(60*(i-60)+30), 50
		}
		return up, map[string]float64{
			"x_total": busy * up, "node_cpu_seconds_total": 4 * up, "node_x_total": busy * busy * up,
		}
	})
	d, by, err = box(600, 7000)
	if x := by["node_x_total"]; err != nil || !d.Restarted.OK() || x.Name == "" || x.Grown.OK() {
		t.Errorf("the machine was started again: %+v, %v", x, err)
	}
	if x := by["x_total"]; x.Grown.Or(-1) != 50*(60*56+30) || x.Seconds != 60*56+30 {
		t.Errorf("since the restart: %+v", x)
	}
}
