package config

import (
	"fmt"
	"math"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
)

// loadRules are those about concurrency, commits, connections and replication.
func loadRules() []advise.Rule {
	return []advise.Rule{
		{
			Name: "concurrency-limit", Doc: "statements queue before the engine while CPUs are free",
			Find: concurrencyLimit,
		},
		{Name: "commit-flush", Doc: "single-row transactions that wait for the disk at each commit", Find: commitFlush},
		{Name: "query-cache", Doc: "a query cache that costs more than it gives", Find: queryCache},
		{Name: "connection-churn", Doc: "connections that are opened for a statement or two", Find: connectionChurn},
		{Name: "replica-lag", Doc: "a replica that applies more slowly than its source writes", Find: replicaLag},
		{Name: "replica-stopped", Doc: "a replica that does not follow its source, because one of its threads is " +
			"stopped", Find: replicaStopped},
		{Name: "concurrency-unlimited", Doc: "far more statements at a time than CPUs", Find: concurrencyUnlimited},
	}
}

// serverCPU returns the CPUs that the server's process used in the mean; unknown when it could not be seen.
func serverCPU(v *advise.View) known.Value[float64] {
	total, seen := 0.0, false
	for _, x := range v.All("dyno_server_cpu_seconds_total") {
		r, ok := x.Rate()
		if !ok {
			return known.None[float64]()
		}
		total, seen = total+r, true
	}
	if !seen {
		return known.None[float64]()
	}
	return known.Of(total)
}

// changes returns the statements a second that change rows, from the server's own counters.
func changes(v *advise.View) known.Value[float64] {
	total, seen := 0.0, false
	for _, n := range []string{
		"insert", "update", "delete", "replace", "update_multi", "delete_multi", "insert_select", "replace_select",
	} {
		if r, ok := v.Rate(figures.Commands.Of(n)).Get(); ok {
			total, seen = total+r, true
		}
	}
	if !seen {
		return known.None[float64]()
	}
	return known.Of(total)
}

// syncSeconds returns the seconds a second that threads spent in an operation ("read", "write", "misc", where syncs
// are) on a kind of file, as performance_schema counts it.
func syncSeconds(v *advise.View, event, mode string) known.Value[float64] {
	return v.Rate("mysql_perf_schema_file_events_seconds_total", metric.Label{Name: "event_name", Value: event},
		metric.Label{Name: "mode", Value: mode})
}

// phases counts, over all moments, the clients' statements that were running and are of the kind that is asked for, and
// those of them in the phase that is.
func phases(v *advise.View, match func(state.Session) (of, in bool)) (matched, all int) {
	for _, m := range v.Moments {
		for _, s := range m.Sessions {
			if s.Command != "Query" && s.Command != "Execute" {
				continue
			}
			of, in := match(s)
			if of {
				all++
			}
			if of && in {
				matched++
			}
		}
	}
	return matched, all
}

// about writes a figure with two digits that matter.
func about(v float64) string {
	switch {
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	default:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", v), "0"), ".")
	}
}

// blinds returns what could not be seen of the sources, with what would mend it.
func blinds(v *advise.View, sources ...source.Name) (out []string) {
	for _, s := range sources {
		if b := v.Blind(s); b != "" {
			out = append(out, b)
		}
	}
	return out
}
