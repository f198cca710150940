package capture_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/mysql/capture"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/test/judged"
	"github.com/dyno-perf/dyno/test/nodeexporter"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestHostFindingsByNodeExporter: a server whose machine only a node_exporter shows has its facts, and findings of it:
// the disk of the data, which the page says is full.
func TestHostFindingsByNodeExporter(t *testing.T) {
	s := servers.Start(t, "mysql")
	avail := regexp.MustCompile(`(?m)^(node_filesystem_avail_bytes\{[^}]*\}) .*$`)
	url := nodeexporter.Changed(t, nodeexporter.Start(t), func(page []byte) []byte {
		return avail.ReplaceAll(page, []byte("$1 1e+06"))
	})
	x, err := endpoint.ParseURL(endpoint.WithExporter(servers.Balance(t, s).URL("root"), url))
	if err != nil {
		t.Fatal(err)
	}
	y, err := target.Open(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	snap, err := capture.Take(t.Context(), y, capture.Options{Window: capture.MinWindow})
	if err != nil {
		t.Fatal(err)
	}
	want, err := host.Snapshot(s.PID, y.Facts().Datadir, "")
	if err != nil {
		t.Fatal(err)
	}
	h := snap.Host
	if h.Kernel != want.Kernel || h.MemBytes.Or(0) < want.MemBytes.Or(1) || h.CPUs.Or(0) < want.CPUs.Or(1) ||
		h.DatadirSize != want.DatadirSize || h.DatadirFree.Or(0) != 1e6 || h.DatadirFS != want.DatadirFS ||
		h.Settings["vm.swappiness"] != want.Settings["vm.swappiness"] || snap.Target.Local {
		t.Errorf("by node_exporter\n%+v\nhere\n%+v", h, want)
	}
	if !snap.Rate("node_context_switches_total").OK() {
		t.Error("its counters are not known over the window")
	}
	_, all := judged.Advise(snap, advise.Host)
	if !slices.ContainsFunc(all, func(f finding.Finding) bool { return strings.Contains(f.ID, "disk-full") }) {
		t.Errorf("findings: %+v", all)
	}
}
