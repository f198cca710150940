package exposition

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Helps are sentences on metrics.
type Helps struct {
	Names  map[string]string // by the whole name
	Groups []Prefixed        // of the others, tried in this order
}

// Prefixed is one sentence on all metrics whose names begin alike; % stands for the rest of the name.
type Prefixed struct{ Prefix, Text string }

// Of returns one sentence on a metric of that name, "" when there is none to say.
func (h *Helps) Of(name string) string {
	if text, ok := h.Names[name]; ok {
		return text
	}
	for _, g := range h.Groups {
		if rest, ok := strings.CutPrefix(name, g.Prefix); ok && rest != "" {
			return strings.ReplaceAll(g.Text, "%", strings.TrimSuffix(rest, "_total"))
		}
	}
	return ""
}

// Everywhere are those on metrics that servers of every family have.
var Everywhere = Helps{
	Names: map[string]string{
		metric.ClientStatusTotal: "Status variables without what Dyno's own sessions made the server " +
			"count.",
		metric.ClientStatus:              "Sessions other than Dyno's own, as status variables.",
		"dyno_statement_latency_seconds": "Percentiles of the times of statements, since the previous scrape.",
	},
	Groups: []Prefixed{
		{"node_", "The machine's %, as node_exporter names it."},
		{"dyno_server_", "The server's own process: %."},
		{"dyno_remote_write_", "Samples sent to other stores: %."},
		{"dyno_", "Dyno's own: %."},
	},
}
