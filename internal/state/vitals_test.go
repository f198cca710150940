package state

import (
	"maps"
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
)

func named(vs []Vital) map[string]float64 {
	m := map[string]float64{}
	for _, v := range vs {
		m[v.Name] = v.Value
	}
	return m
}

func TestVitals(t *testing.T) {
	f := func(name string, prev, cur []metric.Sample, seconds float64, want map[string]float64) {
		t.Helper()
		vs := Between((*Names)(nil).Take(prev), (*Names)(nil).Take(cur), seconds)
		got := named(vs)
		if len(got) != len(vs) {
			t.Errorf("%s: a name stands twice: %v", name, vs)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	type m = map[string]float64
	cpu := func(mode, id string, v float64) metric.Sample {
		x := metric.Sample{Name: "node_cpu_seconds_total", Labels: metric.L("mode", mode), Value: v}
		if id != "" {
			x.Labels = metric.L("mode", mode, "cpu", id)
		}
		return x
	}
	before := []metric.Sample{
		cpu("user", "", 10), cpu("system", "", 10), cpu("idle", "", 10), cpu("iowait", "", 10), cpu("steal", "", 0),
	}
	after := []metric.Sample{
		cpu("user", "", 10.5), cpu("system", "", 10.25), cpu("idle", "", 11), cpu("iowait", "", 10.25),
		cpu("steal", "", 0),
	}
	cores := m{HostCPUBusy: 0.375, HostCPUSystem: 0.125, HostIOWait: 0.125, HostSteal: 0}
	f("CPU", before, after, 1, cores)
	for i := range 5 { // by CPU as well: counted once
		before = append(before, cpu([]string{"user", "system", "idle", "iowait", "steal"}[i], "0", before[i].Value/2))
		after = append(after, cpu([]string{"user", "system", "idle", "iowait", "steal"}[i], "0", after[i].Value/2))
	}
	cores[HostCPUs] = 1
	f("CPU twice", before, after, 1, cores)
	f("CPU by CPU alone", before[5:], after[5:], 1, cores)

	disk := func(dev string, reads, busy float64) []metric.Sample {
		l := metric.L("device", dev)
		return []metric.Sample{
			{Name: "node_disk_reads_completed_total", Labels: l, Value: reads},
			{Name: "node_disk_io_time_seconds_total", Labels: l, Value: busy},
		}
	}
	io := m{DiskReads: 5, DiskWrites: 0, DiskReadBytes: 0, DiskWriteBytes: 0, DiskBusy: 0.5}
	f("disks", append(disk("sda", 1, 1), disk("sdb", 0, 0)...), append(disk("sda", 5, 1.25), disk("sdb", 1, 0.5)...), 1,
		io)
	f("a disk that came and one that stands on another", append(disk("sda", 1, 1), disk("dm-0", 1, 0)...),
		append(disk("sda", 6, 1.5), append(disk("dm-0", 50, 0.1), disk("sdc", 1e6, 1e6)...)...), 1, io)
	f("stacked ones alone", disk("dm-0", 1, 1), disk("dm-0", 6, 1.5), 1, io)
}
