package scrape

import (
	"context"
	"fmt"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// hostSource reads the machine of a local server under node_exporter's names, CPU times summed over the CPUs.
type hostSource struct {
	place  *place
	disks  map[string]metric.Labels
	cpus   int // of the machine, when it was last counted
	cpusAt int64
	last   [8]float64 // seconds by mode
}

// fallsBack is how many seconds of a CPU the kernel may take back of what it counted as idle or as waiting for I/O,
// which "may decrease in certain conditions" (proc_stat(5)). Of a counter any fall reads as a start from 0.
const fallsBack = 3.0

// notBack returns what a CPU time is said to be: the one of before where the kernel took a little back.
func notBack(last *float64, v float64, cpus int) float64 {
	if v < *last && *last-v < fallsBack*float64(max(1, cpus)) {
		return *last
	}
	*last = v
	return v
}

var modes = func() (ls [8]metric.Labels) {
	for i, m := range [...]string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"} {
		ls[i] = metric.L("mode", m)
	}
	return ls
}()

func (s *hostSource) Name() source.Name { return source.Host }

func (s *hostSource) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	f, err := s.place.machine(ctx, at, theMachine)
	if x := s.place.instead(err); x != nil {
		return x.scrape(ctx, at, emit)
	}
	if err != nil {
		return err
	}
	r, err := f.Read()
	if err != nil {
		return s.place.gone(err)
	}
	put := func(name string, kind metric.Kind, ls metric.Labels, v float64) {
		emit(metric.Sample{Name: name, Labels: ls, Kind: kind, At: at, Value: v})
	}
	whole := func(name string, kind metric.Kind, ls metric.Labels, v known.Value[uint64]) {
		if n, ok := v.Get(); ok {
			put(name, kind, ls, float64(n))
		}
	}
	c := r.CPU
	for i, v := range [...]float64{c.User, c.Nice, c.System, c.Idle, c.IOWait, c.IRQ, c.SoftIRQ, c.Steal} {
		put("node_cpu_seconds_total", metric.Counter, modes[i], notBack(&s.last[i], v, s.cpus))
	}
	if at-s.cpusAt >= 60_000 || at < s.cpusAt { // CPUs are seldom added
		if all, err := host.CPUsOf(f); err == nil {
			s.cpus, s.cpusAt = len(all), at
		}
	}
	if s.cpus > 0 {
		put("dyno_host_cpus", metric.Gauge, nil, float64(s.cpus))
	}
	whole("node_context_switches_total", metric.Counter, nil, r.ContextSwitches)
	whole("node_procs_running", metric.Gauge, nil, r.Runnable)
	whole("node_procs_blocked", metric.Gauge, nil, r.Blocked)
	if l, ok := r.Load.Get(); ok {
		put("node_load1", metric.Gauge, nil, l[0])
		put("node_load5", metric.Gauge, nil, l[1])
		put("node_load15", metric.Gauge, nil, l[2])
	}
	m := r.Memory
	whole("node_memory_MemTotal_bytes", metric.Gauge, nil, m.Total)
	whole("node_memory_MemFree_bytes", metric.Gauge, nil, m.Free)
	whole("node_memory_MemAvailable_bytes", metric.Gauge, nil, m.Available)
	whole("node_memory_Buffers_bytes", metric.Gauge, nil, m.Buffers)
	whole("node_memory_Cached_bytes", metric.Gauge, nil, m.Cached)
	whole("node_memory_Dirty_bytes", metric.Gauge, nil, m.Dirty)
	whole("node_memory_Writeback_bytes", metric.Gauge, nil, m.Writeback)
	whole("node_memory_SwapTotal_bytes", metric.Gauge, nil, m.SwapTotal)
	whole("node_memory_SwapFree_bytes", metric.Gauge, nil, m.SwapFree)
	whole("node_memory_Committed_AS_bytes", metric.Gauge, nil, m.CommittedAS)
	for _, d := range r.Disks {
		ls, ok := s.disks[d.Device]
		if !ok {
			if s.disks == nil {
				s.disks = map[string]metric.Labels{}
			}
			ls = metric.L("device", d.Device)
			s.disks[d.Device] = ls
		}
		put("node_disk_reads_completed_total", metric.Counter, ls, float64(d.Reads))
		put("node_disk_writes_completed_total", metric.Counter, ls, float64(d.Writes))
		put("node_disk_read_bytes_total", metric.Counter, ls, float64(d.ReadBytes))
		put("node_disk_written_bytes_total", metric.Counter, ls, float64(d.WriteBytes))
		put("node_disk_read_time_seconds_total", metric.Counter, ls, d.ReadSec)
		put("node_disk_write_time_seconds_total", metric.Counter, ls, d.WriteSec)
		put("node_disk_io_time_seconds_total", metric.Counter, ls, d.BusySec)
		put("node_disk_io_time_weighted_seconds_total", metric.Counter, ls, d.WeightedSec)
		put("node_disk_io_now", metric.Gauge, ls, float64(d.InFlight))
		whole("node_disk_flush_requests_total", metric.Counter, ls, d.Flushes)
		if v, ok := d.FlushSec.Get(); ok {
			put("node_disk_flush_requests_time_seconds_total", metric.Counter, ls, v)
		}
	}
	for _, p := range r.Pressure {
		put(pressureSome[p.Resource], metric.Counter, nil, p.Some)
		if v, ok := p.Full.Get(); ok && pressureFull[p.Resource] != "" {
			put(pressureFull[p.Resource], metric.Counter, nil, v)
		}
	}
	if len(r.Problems) > 0 {
		p := r.Problems[0]
		return &Problem{
			State: source.Failed, Reason: fmt.Sprintf("no figures of %s: %v", p.Part, p.Err),
			Partial: true, Err: p.Err,
		}
	}
	return nil
}

// theMachine names what is looked for.
const theMachine = "the machine"

var (
	pressureSome = map[string]string{
		"cpu":    "node_pressure_cpu_waiting_seconds_total",
		"memory": "node_pressure_memory_waiting_seconds_total", "io": "node_pressure_io_waiting_seconds_total",
	}
	pressureFull = map[string]string{
		"memory": "node_pressure_memory_stalled_seconds_total",
		"io":     "node_pressure_io_stalled_seconds_total",
	}
)

func remote(what string) error {
	fix := "run dyno on the server's machine to see it"
	if what == theMachine {
		fix = "run dyno on the server's machine to see it, or name its node_exporter in the target's URL: " +
			"node-exporter=http://HOST:9100/metrics"
	}
	return &Problem{
		State: source.Missing, Reason: what + " of the server is not visible: the server runs on another machine " +
			"or in another container",
		Fix: fix,
	}
}

// Remark says by which way the machine is read.
func (s *hostSource) Remark() string {
	if x := s.place.inUse(); x != nil {
		return x.remark()
	}
	if s.place.where.Remote == nil {
		return ""
	}
	return "through ssh"
}
