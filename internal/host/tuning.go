package host

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/known"
)

// Tuning is how the kernel and the server's process are set up, in the kernel's own words. What could not be read is
// absent.
type Tuning struct {
	Settings map[string]string // sysctls by name, files of /sys by their path below it
	// Limits are the soft limits of the process, "max_open_files"; -1 is unlimited. Units are those of
	// /proc/PID/limits: bytes, files…
	Limits    map[string]int64
	Process   map[string]uint64 // memory of the process in bytes, names of /proc/PID/status in lower case
	NUMANodes known.Value[int]
	// Where the data lie: the filesystem, and the whole device at the bottom, "" when there is none such as for memory
	// or a network.
	Device, Filesystem, MountOptions string
}

// sysctls that databases feel. Sources: Documentation/admin-guide/sysctl/{vm,fs,kernel,net}.rst and
// networking/ip-sysctl.rst of the kernel.
var sysctls = []string{
	"vm.swappiness", "vm.dirty_ratio", "vm.dirty_background_ratio", "vm.dirty_bytes", "vm.dirty_background_bytes",
	"vm.dirty_expire_centisecs",
	"vm.dirty_writeback_centisecs", "vm.overcommit_memory", "vm.overcommit_ratio", "vm.overcommit_kbytes",
	"vm.nr_hugepages", "vm.hugetlb_shm_group",
	"vm.max_map_count", "vm.zone_reclaim_mode", "vm.min_free_kbytes", "vm.vfs_cache_pressure",
	"fs.file-max", "fs.nr_open", "fs.aio-max-nr", "fs.aio-nr",
	"kernel.numa_balancing", "kernel.pid_max", "kernel.threads-max", "kernel.shmmax", "kernel.shmall",
	"kernel.sched_autogroup_enabled",
	"kernel.io_uring_disabled",
	"net.core.somaxconn", "net.core.netdev_max_backlog", "net.ipv4.tcp_max_syn_backlog", "net.ipv4.tcp_fin_timeout",
	"net.ipv4.tcp_tw_reuse",
	"net.ipv4.ip_local_port_range",
}

// sysFiles are the files of /sys that databases feel and that stand for the machine.
var sysFiles = []string{
	"kernel/mm/transparent_hugepage/enabled", "kernel/mm/transparent_hugepage/defrag",
	"kernel/mm/transparent_hugepage/khugepaged/defrag",
	"devices/system/clocksource/clocksource0/current_clocksource",
	"devices/system/clocksource/clocksource0/available_clocksource",
	"devices/system/cpu/cpu0/cpufreq/scaling_governor", "devices/system/cpu/smt/control",
}

// queueSettings are files of a disk's queue (Documentation/ABI/stable/sysfs-block).
var queueSettings = []string{
	"scheduler", "rotational", "read_ahead_kb", "nr_requests", "write_cache", "nomerges",
	"rq_affinity", "max_sectors_kb",
}

// ReadTuning looks at the kernel's settings, at the process with the pid (0 for none) and at what the path lies on (""
// for none).
func ReadTuning(pid int, path string) Tuning { return FS{}.ReadTuning(pid, path) }

// ReadTuning is the function of that name, reading f.
func (f FS) ReadTuning(pid int, path string) Tuning {
	t := Tuning{Settings: map[string]string{}}
	for _, name := range sysctls {
		want(f, f.path("proc/sys", strings.ReplaceAll(name, ".", "/")))
	}
	for _, name := range sysFiles {
		want(f, f.path("sys", name))
	}
	for _, name := range sysctls {
		if s, ok := wordOf(f, f.path("proc/sys", strings.ReplaceAll(name, ".", "/"))); ok {
			t.Settings[name] = strings.Join(strings.Fields(s), " ")
		}
	}
	for _, name := range sysFiles {
		if s, ok := wordOf(f, f.path("sys", name)); ok {
			t.Settings[name] = s
		}
	}
	if b, err := readOf(f, f.path("proc/meminfo")); err == nil {
		for _, c := range pick(b, []string{"HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "Hugepagesize"}) {
			t.Settings["meminfo/"+c.Name] = strconv.FormatUint(c.Value, 10)
		}
	}
	if nodes := nodeDirs(f); len(nodes) > 0 {
		t.NUMANodes = known.Of(len(nodes))
	}
	placeOf(f, &t, path)
	if pid > 0 {
		tuningOf(f, &t, pid)
	}
	return t
}

// placeOf fills in what a path lies on.
func placeOf(f FS, t *Tuning, path string) {
	if path == "" {
		return
	}
	real, err := realOf(f, path)
	if err != nil {
		return
	}
	if ms, err := mountsOf(f); err == nil {
		if m := mountOf(ms, real); m != nil {
			t.Filesystem, t.MountOptions = m.FSType, mountOptions(m)
		}
	}
	p, err := f.DiskOf(real)
	if err != nil {
		return
	}
	for _, dev := range f.bottom(p.Device, 0) {
		if t.Device == "" {
			t.Device = dev
		}
		for _, q := range queueSettings {
			want(f, f.path("sys", "block", strings.ReplaceAll(dev, "/", "!"), "queue", q))
		}
		for _, q := range queueSettings {
			name := filepath.Join("block", strings.ReplaceAll(dev, "/", "!"), "queue", q)
			if s, ok := wordOf(f, f.path("sys", name)); ok {
				t.Settings[name] = s
			}
		}
	}
}

// tuningOf fills in the limits and the memory of a process.
func tuningOf(f FS, t *Tuning, pid int) {
	dir := f.path("proc", strconv.Itoa(pid))
	if b, err := readOf(f, dir+"/limits"); err == nil {
		t.Limits = parseLimits(b)
	}
	if b, err := readOf(f, dir+"/status"); err == nil {
		t.Process = map[string]uint64{}
		for _, c := range pick(b, []string{
			"VmPeak", "VmSize", "VmLck", "VmHWM", "VmRSS", "RssAnon", "RssFile",
			"RssShmem", "VmData", "VmPTE", "VmSwap", "HugetlbPages", "Threads",
		}) {
			t.Process[strings.ToLower(c.Name)] = c.Value
		}
	}
}

// parseLimits reads proc_pid_limits(5): names of several words, two or more blanks, then the soft limit.
func parseLimits(b []byte) map[string]int64 {
	out := map[string]int64{}
	first := true
	for line := range bytes.Lines(b) {
		name, rest, ok := bytes.Cut(line, []byte("  "))
		w := bytes.Fields(rest)
		if first || !ok || len(w) == 0 {
			first = false
			continue
		}
		v := int64(-1)
		if string(w[0]) != "unlimited" {
			n, ok := number(w[0])
			if !ok {
				continue
			}
			v = int64(min(n, 1<<63-1))
		}
		out[strings.ReplaceAll(strings.ToLower(string(name)), " ", "_")] = v
	}
	return out
}
