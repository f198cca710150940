package diagnose

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/snapshot"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// saturated is the share of the usable CPUs from which waiting for a CPU shows in response times: at 80 % use a queue
// with random arrivals holds about as much waiting as service (M/M/c with few servers).
const saturated = 0.8

// CPU looks at the CPUs that the server uses, or at those of the machine where its process cannot be seen.
func CPU(s *snapshot.Snapshot) []finding.Symptom {
	cpus, ok := s.Host.CPUs.Get()
	if !ok || cpus <= 0 {
		return nil
	}
	used := sum(s.Rate("dyno_server_cpu_seconds_total", metric.Label{Name: "mode", Value: "user"}),
		s.Rate("dyno_server_cpu_seconds_total", metric.Label{Name: "mode", Value: "system"}))
	if v, ok := used.Get(); ok {
		if v < saturated*cpus {
			return nil
		}
		return []finding.Symptom{{
			ID: finding.CPUSaturated.ID(), Kind: finding.CPUSaturated, Subject: "cpu",
			Title: fmt.Sprintf("the server uses %.2g of %.3g CPUs", v, cpus),
			Evidence: []finding.Evidence{{
				What: "CPU used by the server", Value: used, Unit: "CPUs", Source: source.Process,
				Expected: fmt.Sprintf("< %.2g", saturated*cpus),
				Text: fmt.Sprintf("The server's process used %.2g of the %.3g CPUs that it may use, %s.", v,
					cpus, unit.Percent(v/cpus)),
			}},
		}}
	}
	// Without sight of the process the machine's own figures stand in: they hold other programs as well.
	busy, ok := hostShare(s, func(mode string) bool { return mode != "idle" && mode != "iowait" && mode != "steal" }).
		Get()
	if !ok || busy < saturated {
		return nil
	}
	return []finding.Symptom{{
		ID: finding.CPUSaturated.ID(), Kind: finding.CPUSaturated, Subject: "cpu",
		Title: fmt.Sprintf("the machine's CPUs are %s busy", unit.Percent(busy)),
		Evidence: []finding.Evidence{{
			What: "CPU used on the machine", Value: known.Of(busy * 100), Unit: "%", Source: source.Host,
			Expected: fmt.Sprintf("< %.0f", saturated*100),
			Text: fmt.Sprintf("The machine's CPUs were %s busy; the server's part of it is unknown.",
				unit.Percent(busy)),
		}},
	}}
}

// hostShare returns which part of the machine's CPU time was spent in the modes that in selects, 0 to 1.
func hostShare(s *snapshot.Snapshot, in func(mode string) bool) known.Value[float64] {
	var part, all float64
	for _, x := range s.Series {
		if x.Name != "node_cpu_seconds_total" {
			continue
		}
		by, _, ok := x.Increase()
		if !ok {
			return known.None[float64]()
		}
		// guest time is counted in user already.
		switch mode := x.Labels.Get("mode"); {
		case mode == "guest" || mode == "guest_nice":
		default:
			all += by
			if in(mode) {
				part += by
			}
		}
	}
	if all <= 0 {
		return known.None[float64]()
	}
	return known.Of(part / all)
}
