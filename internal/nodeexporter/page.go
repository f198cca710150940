package nodeexporter

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/exposition"
	"github.com/dyno-perf/dyno/internal/metric"
)

// Page is what one page says of a machine.
type Page struct {
	Samples  []metric.Sample        // without CPU; their times are not set
	CPUs     map[string]*[8]float64 // seconds since boot by CPU, in the order of Modes
	Boot     time.Time              // when the machine was started, by its own clock
	Age      time.Duration          // since then
	Nodename string                 // "" where the page does not say it
	Kernel   string                 // "6.1.0-21-amd64"
	mounts   []mount
	settings map[string]string
	disks    map[string]bool
}

// Modes are the modes of a CPU that Dyno stores, in its order.
var Modes = [8]string{"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"}

// mount is one filesystem.
type mount struct {
	point, kind, device string
	size, avail         float64
	hasSize, hasAvail   bool
}

const (
	maxCPUs     = 10_000
	maxNetworks = 64
	maxMounts   = 1000
	maxSamples  = 20_000
)

// kinds are the names that Dyno stores of a machine, see docs/sources.md. Their only label is the one in labels.
var kinds, labels = func() (map[string]metric.Kind, map[string]string) {
	kinds, labels := map[string]metric.Kind{}, map[string]string{}
	add := func(kind metric.Kind, label, prefix, suffix, names string) {
		for n := range strings.FieldsSeq(names) {
			kinds[prefix+n+suffix] = kind
			if label != "" {
				labels[prefix+n+suffix] = label
			}
		}
	}
	add(metric.Counter, "", "node_", "_total", "context_switches")
	add(metric.Gauge, "", "node_", "", "procs_running procs_blocked load1 load5 load15 filefd_allocated filefd_maximum")
	add(metric.Gauge, "", "node_memory_", "_bytes", `MemTotal MemFree MemAvailable Buffers Cached Dirty Writeback
		SwapTotal SwapFree Committed_AS SwapCached Active Inactive Mlocked AnonPages Mapped Shmem Slab SReclaimable
		SUnreclaim KernelStack PageTables CommitLimit AnonHugePages FileHugePages Hugepagesize`)
	add(metric.Gauge, "", "node_memory_", "", "HugePages_Total HugePages_Free HugePages_Rsvd")
	add(metric.Counter, "", "node_pressure_", "_seconds_total",
		"cpu_waiting memory_waiting memory_stalled io_waiting io_stalled")
	add(metric.Counter, "device", "node_disk_", "_total", `reads_completed writes_completed read_bytes written_bytes
		read_time_seconds write_time_seconds io_time_seconds io_time_weighted_seconds flush_requests
		flush_requests_time_seconds`)
	add(metric.Gauge, "device", "node_disk_", "", "io_now")
	add(metric.Counter, "device", "node_network_", "_total", `receive_bytes receive_packets receive_errs receive_drop
		transmit_bytes transmit_packets transmit_errs transmit_drop`)
	add(metric.Counter, "", "node_vmstat_", "", `pgpgin pgpgout pswpin pswpout pgfault pgmajfault oom_kill
		pgscan_direct pgscan_kswapd pgsteal_direct pgsteal_kswapd allocstall_normal allocstall_movable compact_stall
		compact_fail thp_fault_alloc thp_fault_fallback thp_collapse_alloc thp_split_page numa_hit numa_miss
		numa_foreign numa_hint_faults numa_pages_migrated workingset_refault_file workingset_refault_anon nr_dirtied
		nr_written`)
	add(metric.Counter, "", "node_netstat_", "", `Tcp_ActiveOpens Tcp_PassiveOpens Tcp_InSegs Tcp_OutSegs
		Tcp_RetransSegs Tcp_InErrs Tcp_OutRsts TcpExt_ListenOverflows TcpExt_ListenDrops TcpExt_TCPTimeouts
		TcpExt_TCPSynRetrans TcpExt_SyncookiesSent`)
	add(metric.Gauge, "", "node_netstat_", "", "Tcp_CurrEstab")
	add(metric.Counter, "node", "node_memory_numa_", "_total", "numa_hit numa_miss numa_foreign")
	add(metric.Gauge, "node", "node_memory_numa_", "", "MemTotal MemFree")
	return kinds, labels
}()

// settings are the kernel's settings that rules know, by the names that node_exporter gives them when its collector
// sysctl is told to read them.
var settings = func() map[string]string {
	m := map[string]string{}
	for _, n := range []string{
		"vm.swappiness", "vm.dirty_ratio", "vm.dirty_background_ratio", "vm.dirty_bytes", "vm.dirty_background_bytes",
		"vm.overcommit_memory", "vm.overcommit_ratio", "vm.nr_hugepages", "vm.zone_reclaim_mode",
		"kernel.numa_balancing",
	} {
		m["node_sysctl_"+strings.ReplaceAll(n, ".", "_")] = n
	}
	return m
}()

var errNotIts = errors.New("its page is not node_exporter's, or its collectors stat and cpu are off: the machine's " +
	"boot time or its CPUs are missing")

// parse reads a page that came at now.
func parse(text []byte, now time.Time) (*Page, error) {
	p := &Page{CPUs: map[string]*[8]float64{}, settings: map[string]string{}, disks: map[string]bool{}}
	boot, clock := 0.0, float64(now.UnixMilli())/1000
	networks, mounts := map[string]bool{}, map[string]int{}
	modes := map[string]int{}
	for i, m := range Modes {
		modes[m] = i
	}
	want := func(name []byte) bool {
		switch string(name) {
		case "node_cpu_seconds_total", "node_boot_time_seconds", "node_time_seconds", "node_uname_info",
			"node_filesystem_size_bytes", "node_filesystem_avail_bytes":
			return true
		}
		_, figure := kinds[string(name)]
		_, setting := settings[string(name)]
		return figure || setting
	}
	err := exposition.Read(text, want, func(name string, ls metric.Labels, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		switch name {
		case "node_cpu_seconds_total":
			if i, ok := modes[ls.Get("mode")]; ok && len(p.CPUs) < maxCPUs {
				id := ls.Get("cpu")
				if p.CPUs[id] == nil {
					p.CPUs[id] = new([8]float64)
				}
				p.CPUs[id][i] = v
			}
			return
		case "node_boot_time_seconds":
			boot = v
			return
		case "node_time_seconds":
			clock = v
			return
		case "node_uname_info":
			p.Nodename, p.Kernel = clip(ls.Get("nodename")), clip(ls.Get("release"))
			return
		case "node_filesystem_size_bytes", "node_filesystem_avail_bytes":
			p.filesystem(name, ls, v, mounts)
			return
		}
		if n, ok := settings[name]; ok {
			p.settings[n] = strconv.FormatFloat(v, 'f', -1, 64) // as the kernel writes it
			return
		}
		p.figure(name, ls, v, networks)
	})
	if err != nil {
		return nil, fmt.Errorf("its page cannot be read: %w", err)
	}
	if boot <= 0 || clock < boot || len(p.CPUs) == 0 {
		return nil, errNotIts
	}
	p.Boot = time.UnixMilli(int64(boot * 1000))
	p.Age = time.Duration((clock - boot) * float64(time.Second))
	p.Samples = slices.DeleteFunc(p.Samples, func(s metric.Sample) bool {
		return strings.HasPrefix(s.Name, "node_disk_") && p.whole(s.Labels.Get("device")) != ""
	})
	return p, nil
}

// CPU sums the seconds since boot by mode.
func (p *Page) CPU() (sum [8]float64) {
	for _, c := range p.CPUs {
		for i, v := range c {
			sum[i] += v
		}
	}
	return sum
}

// figure takes a sample that Dyno stores.
func (p *Page) figure(name string, ls metric.Labels, v float64, networks map[string]bool) {
	var own metric.Labels
	if l := labels[name]; l != "" {
		of := ls.Get(l)
		if of == "" {
			return
		}
		switch {
		case strings.HasPrefix(name, "node_disk_"):
			p.disks[of] = true
		case strings.HasPrefix(name, "node_network_") && !networks[of]:
			if len(networks) >= maxNetworks {
				return
			}
			networks[of] = true
		}
		own = metric.L(l, of)
	}
	if len(p.Samples) < maxSamples {
		p.Samples = append(p.Samples, metric.Sample{Name: name, Labels: own, Kind: kinds[name], Value: v})
	}
}

// filesystem takes a figure of one filesystem.
func (p *Page) filesystem(name string, ls metric.Labels, v float64, at map[string]int) {
	point := ls.Get("mountpoint")
	i, ok := at[point]
	if !ok {
		if point == "" || len(p.mounts) >= maxMounts {
			return
		}
		i = len(p.mounts)
		at[point] = i
		p.mounts = append(p.mounts, mount{point: point})
	}
	m := &p.mounts[i]
	m.kind, m.device = clip(ls.Get("fstype")), ls.Get("device")
	if name == "node_filesystem_size_bytes" {
		m.size, m.hasSize = v, true
	} else {
		m.avail, m.hasAvail = v, true
	}
}

// whole returns the disk of the page that a disk is a part of, as sda of sda1 and nvme0n1 of nvme0n1p2; "" for none.
func (p *Page) whole(disk string) string {
	base := strings.TrimRight(disk, "0123456789")
	if base != disk && p.disks[base] {
		return base
	}
	if base, ok := strings.CutSuffix(base, "p"); ok && p.disks[base] {
		return base
	}
	return ""
}

// clip bounds a name of the page.
func clip(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "")
	}
	return s
}
