package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/metric"
)

// TestTrailOfARareMachine: figures of the machine that come every five seconds are rates over these, and hold between.
func TestTrailOfARareMachine(t *testing.T) {
	var x Trail
	begin := time.Unix(1_000_000, 0)
	f := func(sec int, busy float64, want string) {
		t.Helper()
		all := []metric.Sample{{
			Name: "dyno_scrape_server_seconds_total", Kind: metric.Counter, Value: float64(sec) / 10,
		}}
		if busy >= 0 {
			for mode, v := range map[string]float64{"user": busy, "idle": float64(sec) - busy} {
				all = append(all, metric.Sample{
					Name: "node_cpu_seconds_total", Labels: metric.L("mode", mode), Kind: metric.Counter, Value: v,
				})
			}
		}
		var n *Names
		got := ""
		for _, v := range x.Next(n.Take(all), begin.Add(time.Duration(sec)*time.Second)) {
			if v.Name == HostCPUBusy || v.Name == ScrapeServer {
				got += fmt.Sprintf("%s=%v ", v.Name, v.Value)
			}
		}
		if got != want {
			t.Errorf("second %d: %q, want %q", sec, got, want)
		}
	}
	const cost, busy = "dyno_server_seconds_per_second=0.1 ", "host_cpu_busy_ratio="
	f(0, 0, "")
	f(1, -1, cost)
	f(4, -1, cost)
	f(5, 1, cost+busy+"0.2 ")
	f(6, -1, cost+busy+"0.2 ")
	f(10, 3, cost+busy+"0.4 ")
	f(20, -1, cost+busy+"0.4 ")
	f(21, -1, cost) // too old
	f(30, 5, cost)  // a gap
	f(31, 5.5, busy+"0.5 "+cost)
	f(32, -1, cost) // it came each second: a missing one is missing
	x.Break()
	f(33, 6, "")
}
