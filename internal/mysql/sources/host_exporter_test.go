package sources

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/reading"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/nodeexporter"
	"github.com/dyno-perf/dyno/test/program"
	"github.com/dyno-perf/dyno/test/servers"
)

// exported reads a server that is reached through a program which is not it, so that its machine is not seen, once.
func exported(t *testing.T, s *servers.Server, exporter string, names ...string) reading.Reading {
	t.Helper()
	x, err := target.Open(t.Context(), must1(endpoint.ParseURL(endpoint.WithExporter(servers.Balance(t, s).URL("root"),
		exporter))))
	must(t, err)
	defer x.Close()
	sc, err := New(x, scrape.Options{Sources: names, Timeout: 20 * time.Second})
	must(t, err)
	defer sc.Close()
	return sc.Once(t.Context())
}

func stateOf(r reading.Reading, name source.Name) source.Source {
	i := slices.IndexFunc(r.Sources, func(s source.Source) bool { return s.Name == name })
	if i < 0 {
		return source.Source{}
	}
	return r.Sources[i]
}

// notExported are names of which node_exporter shows a part only unless it is told, or none.
var notExported = regexp.MustCompile(`^(node_vmstat_|node_netstat_|node_memory_numa_|node_memory_FileHugePages|dyno_host_thp)|^node_disk_.*\{device (loop|z?ram|fd)`)

// TestHostByNodeExporter: the figures of a real node_exporter are those that are read here.
func TestHostByNodeExporter(t *testing.T) {
	s := servers.Start(t, "mysql")
	url := nodeexporter.Start(t)
	here := must1(target.Open(t.Context(), must1(endpoint.ParseURL("unix://"+s.Socket+"?user=root"))))
	defer here.Close()
	a := onceOf(t, here)
	b := exported(t, s, url, ofMachine...)
	c := onceOf(t, here)
	if x := stateOf(b, source.Host); x.State != source.OK || !strings.HasPrefix(x.Reason, "from node_exporter at ") ||
		strings.Contains(x.Reason, "verified") {
		t.Fatalf("%+v", x)
	}
	if x := stateOf(b, source.Process); x.State != source.Missing {
		t.Errorf("the process is not seen: %+v", x)
	}
	id := func(x metric.Sample) string { return fmt.Sprint(x.Name, x.Labels) }
	values := func(r reading.Reading) map[string]float64 {
		m := map[string]float64{}
		for _, x := range r.Samples {
			m[id(x)] = x.Value
		}
		return m
	}
	got, later, compared := values(b), values(c), map[string]int{}
	for _, x := range a.Samples {
		v, ok := got[id(x)]
		if !strings.HasPrefix(x.Name, "node_") && x.Name != "dyno_host_cpus" {
			continue
		}
		if !ok {
			if !notExported.MatchString(id(x)) {
				t.Errorf("node_exporter gives no %s", id(x))
			}
			continue
		}
		part, _, _ := strings.Cut(strings.TrimPrefix(x.Name, "node_"), "_")
		compared[part]++
		if strings.Contains(x.Name, "_Writeback_") || strings.Contains(x.Name, "_Dirty_") ||
			strings.Contains(x.Name, "_io_now") || strings.HasPrefix(x.Name, "node_procs_") {
			continue // from one moment to the next it is anything
		}
		lo, hi := min(x.Value, later[id(x)]), max(x.Value, later[id(x)])
		spread := 3.0 // CPU times may fall back a little, and are rounded
		if x.Kind == metric.Gauge {
			spread = max(hi-lo, 0.3*math.Abs(hi), 20)
		}
		if strings.HasPrefix(x.Name, "node_memory_") && !strings.Contains(x.Name, "Total") {
			spread = max(spread, 4<<30) // other tests' servers start and end meanwhile
		}
		if v < lo-spread || v > hi+spread {
			t.Errorf("%s is %v by node_exporter, and between %v and %v here", id(x), v, lo, hi)
		}
	}
	for _, part := range []string{"cpu", "memory", "network", "load1", "vmstat", "netstat", "filesystem"} {
		if compared[part] == 0 {
			t.Errorf("nothing of %s was compared: %v", part, compared)
		}
	}
	cpus := 0.0
	for _, x := range b.Samples {
		if x.Name == "node_cpu_seconds_total" && x.Labels.Get("cpu") != "" {
			cpus++
		}
	}
	if cpus > 0 || compared["cpu"] != 8 {
		t.Errorf("CPU times are not summed over CPUs: %v", compared)
	}
}

// TestNodeExporterIsNotUsed: figures of another machine, and those that do not come, are unknown and say why; the
// server is read all the same.
func TestNodeExporterIsNotUsed(t *testing.T) {
	s := servers.Start(t, "mariadb")
	url := nodeexporter.Start(t)
	f := func(exporter string, state source.State, why string) {
		t.Helper()
		r := exported(t, s, exporter, "host", "host_detail", "global_status")
		for _, name := range []source.Name{source.Host, source.HostDetail} {
			if x := stateOf(r, name); x.State != state || !strings.Contains(x.Reason, why) || x.Fix == "" {
				t.Errorf("%+v, want %s %q", x, state, why)
			}
		}
		if slices.ContainsFunc(r.Samples, func(m metric.Sample) bool { return strings.HasPrefix(m.Name, "node_") }) {
			t.Errorf("%s: it has figures all the same", why)
		}
		if x := stateOf(r, source.GlobalStatus); x.State != source.OK {
			t.Errorf("the server is not read: %+v", x)
		}
	}
	node := regexp.MustCompile(`nodename="[^"]*"`)
	f(nodeexporter.Changed(t, url, func(page []byte) []byte {
		return node.ReplaceAll(page, []byte(`nodename="another"`))
	}), source.Missing, `calls its machine "another"`)
	f(nodeexporter.Changed(t, url, func(page []byte) []byte {
		return bytes.ReplaceAll(page, []byte("\nnode_boot_time_seconds "), []byte("\nnode_boot_time "))
	}), source.Failed, "boot time")
	f("http://"+program.Address(t)+"/metrics", source.Failed, "refused")
}

// TestSeenMachineWins: what is read here is not replaced by what a node_exporter says.
func TestSeenMachineWins(t *testing.T) {
	s := servers.Start(t, "mysql")
	url := "http://" + program.Address(t) + "/metrics"
	x := must1(target.Open(t.Context(), must1(endpoint.ParseURL(endpoint.WithExporter("unix://"+s.Socket+"?user=root",
		url)))))
	defer x.Close()
	r := onceOf(t, x)
	if h := stateOf(r, source.Host); h.State != source.OK || h.Reason != "" {
		t.Errorf("%+v", h)
	}
	if p := stateOf(r, source.Process); p.State != source.OK {
		t.Errorf("%+v", p)
	}
}
