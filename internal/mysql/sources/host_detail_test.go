package sources

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/test/servers"
)

// TestMachineOfALocalServer reads all that is known of a server's machine and process, and compares with the kernel's
// own files.
func TestMachineOfALocalServer(t *testing.T) {
	s := servers.Start(t, "mariadb")
	sc := scraper(t, open(t, s, "root"), scrape.Options{Sources: []string{
		"host_detail", "process_detail", "process_memory",
		"process_threads", "cgroup", "host_cpus",
	}})
	sc.Once(t.Context())
	// The turns of threads count from their first reading: each of these statements sleeps once at least.
	for range 30 {
		s.Exec(t, "DO SLEEP(0.001)")
	}
	r := sc.Once(t.Context())
	for _, x := range r.Sources {
		if x.State != source.OK && (x.Name != "cgroup" || x.State != source.Missing) { // it may run in none
			t.Errorf("%+v", x)
		}
	}
	value := func(name string, labels ...string) float64 {
		t.Helper()
		x, ok := find(r.Samples, name, labels...)
		if !ok {
			t.Errorf("no %s", name)
		}
		return x.Value
	}
	d, err := host.ProcessDetail(s.PID)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := d.Files.Get(); !ok || value("dyno_server_open_fds") < 10 ||
		value("dyno_server_open_fds") > float64(n)+50 {
		t.Errorf("open files: %v, the kernel says %v", value("dyno_server_open_fds"), d.Files)
	}
	if n, _ := d.FilesMax.Get(); value("dyno_server_max_fds") != float64(n) {
		t.Errorf("at most %v files, the kernel says %v", value("dyno_server_max_fds"), n)
	}
	m, err := host.ProcessMemory(s.PID)
	if err != nil {
		t.Fatal(err)
	}
	if got := value("dyno_server_pss_bytes"); got < float64(m.PSS)/2 || got > float64(m.PSS)*2 {
		t.Errorf("memory %v, the kernel says %d", got, m.PSS)
	}
	if value("dyno_server_context_switches_total") < 30 || value("node_vmstat_pgfault") < 1 ||
		value("node_memory_AnonPages_bytes") < 1<<20 ||
		value("node_filefd_allocated") < 10 || value("node_netstat_Tcp_ActiveOpens") < 0 ||
		value("node_network_receive_bytes_total") < 1 {
		t.Error("figures of the machine are too small")
	}
	total, _, err := host.Room(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := value("node_filesystem_size_bytes"); got != float64(total) {
		t.Errorf("the filesystem has %v bytes, statfs says %d", got, total)
	}
	for _, x := range r.Samples {
		if x.Kind == metric.Gauge && (x.Name == "node_vmstat_pgfault" || x.Name == "dyno_cpu_seconds_total") {
			t.Errorf("%s is a counter", x.Name)
		}
	}
	value("dyno_cpu_seconds_total", "cpu", "0", "mode", "user")
}
