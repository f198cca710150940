package scrape

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// hostDetail reads more of the machine of a local server, under node_exporter's names: paging (node_vmstat_…), more
// kinds of memory, networks, TCP, files, NUMA nodes where there are several, and the room left where the server keeps
// its data. Transparent huge pages are dyno_host_thp{mode}, 1 for the mode that is on.
type hostDetail struct {
	place   *place
	datadir string
	names   map[string]string
	labels  map[string]metric.Labels
}

func (s *hostDetail) Name() source.Name { return source.HostDetail }

func (s *hostDetail) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	f, err := s.place.machine(ctx, at, theMachine)
	if x := s.place.instead(err); x != nil {
		return x.err // hostSource gives these figures too
	}
	if err != nil {
		return err
	}
	d := f.ReadDetail()
	if s.names == nil {
		s.names, s.labels = map[string]string{}, map[string]metric.Labels{}
	}
	put := func(name string, kind metric.Kind, ls metric.Labels, v uint64) {
		emit(metric.Sample{Name: name, Labels: ls, Kind: kind, At: at, Value: float64(v)})
	}
	for _, c := range d.VM {
		put(s.name("node_vmstat_", c.Name, ""), metric.Counter, nil, c.Value)
	}
	for _, c := range d.Memory {
		unit := "_bytes"
		if strings.HasPrefix(c.Name, "HugePages_") {
			unit = ""
		}
		put(s.name("node_memory_", c.Name, unit), metric.Gauge, nil, c.Value)
	}
	for _, c := range d.TCP {
		kind := metric.Counter
		if c.Name == "Tcp_CurrEstab" {
			kind = metric.Gauge
		}
		put(s.name("node_netstat_", c.Name, ""), kind, nil, c.Value)
	}
	for _, n := range d.Networks {
		ls := s.label("device", n.Device)
		put("node_network_receive_bytes_total", metric.Counter, ls, n.RxBytes)
		put("node_network_receive_packets_total", metric.Counter, ls, n.RxPackets)
		put("node_network_receive_errs_total", metric.Counter, ls, n.RxErrors)
		put("node_network_receive_drop_total", metric.Counter, ls, n.RxDropped)
		put("node_network_transmit_bytes_total", metric.Counter, ls, n.TxBytes)
		put("node_network_transmit_packets_total", metric.Counter, ls, n.TxPackets)
		put("node_network_transmit_errs_total", metric.Counter, ls, n.TxErrors)
		put("node_network_transmit_drop_total", metric.Counter, ls, n.TxDropped)
	}
	tellKnown(at, emit, ofKernel{"node_filefd_allocated", metric.Gauge, d.FilesOpen}, ofKernel{
		"node_filefd_maximum",
		metric.Gauge, d.FilesMax,
	})
	if len(d.Nodes) > 1 {
		for _, n := range d.Nodes {
			ls := s.label("node", strconv.Itoa(n.ID))
			put("node_memory_numa_MemTotal", metric.Gauge, ls, n.Total)
			put("node_memory_numa_MemFree", metric.Gauge, ls, n.Free)
			put("node_memory_numa_numa_hit_total", metric.Counter, ls, n.Hit)
			put("node_memory_numa_numa_miss_total", metric.Counter, ls, n.Miss)
			put("node_memory_numa_numa_foreign_total", metric.Counter, ls, n.Foreign)
		}
	}
	if d.THP != "" {
		for _, m := range []string{"always", "madvise", "never"} {
			on := uint64(0)
			if m == d.THP {
				on = 1
			}
			put("dyno_host_thp", metric.Gauge, s.label("mode", m), on)
		}
	}
	s.room(f, put)
	if len(d.Problems) > 0 {
		p := d.Problems[0]
		return &Problem{
			State: source.Failed, Reason: fmt.Sprintf("no figures of %s: %v", p.Part, p.Err),
			Partial: true, Err: p.Err,
		}
	}
	return nil
}

// room tells what is left on the filesystem of the data. A server in a container has folders of its own, seen through
// its process.
func (s *hostDetail) room(f host.FS, put func(string, metric.Kind, metric.Labels, uint64)) {
	if s.datadir == "" {
		return
	}
	total, avail := known.None[uint64](), known.None[uint64]()
	if t, a, err := host.RoomOf(f, s.place.pid, s.datadir); err == nil {
		total, avail = known.Of(t), known.Of(a)
	} else if t, a, err := host.Room(s.datadir); err == nil && host.Here(f) {
		total, avail = known.Of(t), known.Of(a)
	}
	ls := s.label("mountpoint", s.datadir)
	if t, ok := total.Get(); ok {
		put("node_filesystem_size_bytes", metric.Gauge, ls, t)
		put("node_filesystem_avail_bytes", metric.Gauge, ls, avail.Or(0))
	}
}

func (s *hostDetail) name(prefix, name, unit string) string {
	n, ok := s.names[name]
	if !ok {
		n = prefix + name + unit
		s.names[name] = n
	}
	return n
}

func (s *hostDetail) label(name, value string) metric.Labels {
	ls, ok := s.labels[value]
	if !ok {
		ls = metric.L(name, value)
		if len(s.labels) < 500 {
			s.labels[value] = ls
		}
	}
	return ls
}

// hostCPUs reads each CPU: dyno_cpu_seconds_total{cpu,mode}, where node_cpu_seconds_total is their sum.
type hostCPUs struct {
	place  *place
	labels map[int]*[8]metric.Labels
	last   map[int]*[8]float64 // seconds by mode
}

func (s *hostCPUs) Name() source.Name { return source.HostCPUs }

func (s *hostCPUs) Scrape(ctx context.Context, at int64, emit func(metric.Sample)) error {
	f, err := s.place.machine(ctx, at, theMachine)
	if err != nil {
		return err
	}
	all, err := host.CPUsOf(f)
	if err != nil {
		return err
	}
	if s.labels == nil {
		s.labels, s.last = map[int]*[8]metric.Labels{}, map[int]*[8]float64{}
	}
	for n, c := range all {
		ls := s.labels[n]
		if ls == nil {
			ls = new([8]metric.Labels)
			for i, m := range modes {
				ls[i] = metric.L("cpu", strconv.Itoa(n), "mode", m.Get("mode"))
			}
			s.labels[n], s.last[n] = ls, new([8]float64)
		}
		for i, v := range [...]float64{c.User, c.Nice, c.System, c.Idle, c.IOWait, c.IRQ, c.SoftIRQ, c.Steal} {
			emit(metric.Sample{
				Name: "dyno_cpu_seconds_total", Labels: ls[i], Kind: metric.Counter, At: at,
				Value: notBack(&s.last[n][i], v, 1),
			})
		}
	}
	return nil
}
