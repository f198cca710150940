package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// telling are the CPU's abilities that change what a server's figures mean: whether it is virtual, whether its clock
// can be read without a call to the kernel, and what checksums, compression and encryption use (proc(5),
// /proc/cpuinfo).
var telling = []string{
	"aes", "asimd", "atomics", "avx2", "avx512f", "constant_tsc", "crc32", "hypervisor",
	"nonstop_tsc", "pclmulqdq", "pmull",
	"sha2", "sha_ni", "sse4_2", "tsc_known_freq", "vpclmulqdq",
}

func (e *facts) machine() {
	const g = "machine"
	if _, arch, ok := uname(); ok {
		e.set(g, "arch", arch)
	}
	virtual := ""
	if b, err := os.ReadFile(e.path("proc/cpuinfo")); err != nil {
		e.miss(g, "cpu_model", why(err))
	} else {
		info := parseCPUInfo(string(b))
		e.orMiss(g, "cpu_model", cpuModel(string(b)), "the kernel names none")
		e.orMiss(g, "microcode", info["microcode"], "the kernel does not report it")
		e.orMiss(g, "cpu_cache", info["cache size"], "the kernel does not report it")
		flags := strings.Fields(info["flags"] + " " + info["Features"])
		e.set(g, "cpu_flags", strings.Join(slices.DeleteFunc(slices.Clone(telling), func(s string) bool {
			return !slices.Contains(flags, s)
		}), " "))
		if slices.Contains(flags, "hypervisor") {
			virtual = "virtual, by the CPU's flag"
		}
	}
	e.topology()
	e.virtualisation(virtual)
	e.frequency()
	e.file(g, "clock_source", "sys/devices/system/clocksource/clocksource0/current_clocksource")
	e.file(g, "clock_sources", "sys/devices/system/clocksource/clocksource0/available_clocksource")
	if b, err := os.ReadFile(e.path("proc/meminfo")); err != nil {
		e.miss(g, "memory_bytes", why(err))
	} else {
		m := parseMeminfo(b)
		if n, ok := m.Total.Get(); ok {
			e.set(g, "memory_bytes", strconv.FormatUint(n, 10))
		}
		if n, ok := m.SwapTotal.Get(); ok {
			e.set(g, "swap_bytes", strconv.FormatUint(n, 10))
		}
	}
}

// topology counts what the CPUs are made of, from sysfs (Documentation/admin-guide/cputopology.rst).
func (e *facts) topology() {
	const g = "machine"
	dir := e.path("sys/devices/system/cpu")
	b, err := os.ReadFile(dir + "/online")
	if err != nil {
		e.miss(g, "cpus", why(err))
		return
	}
	cpus := expand(strings.TrimSpace(string(b)))
	e.set(g, "cpus", strconv.Itoa(len(cpus)))
	sockets, cores := map[string]bool{}, map[string]bool{}
	for _, c := range cpus {
		at := fmt.Sprintf("%s/cpu%d/topology/", dir, c)
		socket, ok1 := word(at + "physical_package_id")
		core, ok2 := word(at + "core_id")
		die, _ := word(at + "die_id")
		if !ok1 || !ok2 {
			e.miss(g, "cores", "the kernel shows no topology of CPU "+strconv.Itoa(c))
			e.miss(g, "sockets", "the kernel shows no topology of CPU "+strconv.Itoa(c))
			cores = nil
			break
		}
		sockets[socket], cores[socket+"/"+die+"/"+core] = true, true
	}
	if len(cores) > 0 {
		e.set(g, "cores", strconv.Itoa(len(cores)))
		e.set(g, "sockets", strconv.Itoa(len(sockets)))
	}
	e.file(g, "smt", "sys/devices/system/cpu/smt/control")
	nodes, _ := filepath.Glob(e.path("sys/devices/system/node/node[0-9]*"))
	if len(nodes) == 0 {
		e.miss(g, "numa_nodes", "the kernel shows none")
	} else {
		e.set(g, "numa_nodes", strconv.Itoa(len(nodes)))
	}
}

// virtualisation names what the machine runs under: by what its firmware, a Xen kernel or a device tree says, else by
// the CPU's flag.
func (e *facts) virtualisation(flag string) {
	const g = "machine"
	vendor, _ := word(e.path("sys/class/dmi/id/sys_vendor"))
	product, ok := word(e.path("sys/class/dmi/id/product_name"))
	if ok {
		e.set(g, "product", strings.TrimSpace(vendor+" "+product))
	} else {
		e.miss(g, "product", "the firmware shows no DMI table here")
	}
	kind := flag
	low := strings.ToLower(vendor + " " + product)
	for _, k := range [][2]string{
		{"kvm", "KVM"},
		{"qemu", "KVM or QEMU"},
		{"vmware", "VMware"},
		{"virtualbox", "VirtualBox"},
		{"microsoft corporation virtual", "Hyper-V"},
		{"xen", "Xen"},
		{"google", "Google Compute Engine"},
		{"amazon ec2", "Amazon EC2"},
		{"openstack", "OpenStack"},
		{"digitalocean", "DigitalOcean"},
		{"hetzner", "Hetzner"},
		{"alibaba", "Alibaba Cloud"},
		{"parallels", "Parallels"},
		{"bhyve", "bhyve"},
	} {
		if strings.Contains(low, k[0]) && (flag != "" || runtime.GOARCH != "amd64") {
			// Amazon and Google name bare machines alike
			kind = k[1]
			break
		}
	}
	if clocks, _ := word(e.path("sys/devices/system/clocksource/clocksource0/available_clocksource")); kind == flag &&
		flag != "" {
		switch { // a hypervisor offers its guests a clock
		case strings.Contains(clocks, "kvm-clock"):
			kind = "KVM, by its clock"
		case strings.Contains(clocks, "hyperv"):
			kind = "Hyper-V, by its clock"
		case strings.Contains(clocks, "xen"):
			kind = "Xen, by its clock"
		}
	}
	if t, ok := word(e.path("sys/hypervisor/type")); ok && t != "" {
		kind = t
	}
	if t, ok := word(e.path("proc/device-tree/hypervisor/compatible")); ok {
		kind = strings.Trim(t, "\x00")
	}
	if kind == "" {
		kind = "none seen"
	}
	e.set(g, "hypervisor", kind)
	container := "none seen"
	if t, ok := word(e.path("run/systemd/container")); ok && t != "" {
		container = t
	} else if exists(e.path(".dockerenv")) {
		container = "docker"
	} else if exists(e.path("run/.containerenv")) {
		container = "podman"
	}
	e.set(g, "container", container)
}

// frequency reads how CPUs are clocked (Documentation/admin-guide/pm/cpufreq.rst, intel_pstate.rst, cpuidle.rst).
func (e *facts) frequency() {
	const g = "machine"
	for name, file := range map[string]string{
		"governor": "scaling_governor", "frequency_driver": "scaling_driver",
		"energy_preference": "energy_performance_preference",
		"frequency_max_khz": "scaling_max_freq", "frequency_min_khz": "scaling_min_freq",
	} {
		paths, _ := filepath.Glob(e.path("sys/devices/system/cpu/cpu[0-9]*/cpufreq", file))
		count := map[string]int{}
		for _, p := range paths {
			if s, ok := word(p); ok {
				count[s]++
			}
		}
		if len(count) == 0 {
			e.miss(g, name, "the kernel does not show it: a hypervisor or the firmware sets the frequency")
			continue
		}
		e.set(g, name, tally(count))
	}
	if s, ok := word(e.path("sys/devices/system/cpu/intel_pstate/no_turbo")); ok {
		e.set(g, "turbo", map[string]string{"0": "on", "1": "off"}[s])
	} else if s, ok := word(e.path("sys/devices/system/cpu/cpufreq/boost")); ok {
		e.set(g, "turbo", map[string]string{"1": "on", "0": "off"}[s])
	} else {
		e.miss(g, "turbo", "the kernel does not show it: a hypervisor or the firmware decides")
	}
	e.file(g, "idle_driver", "sys/devices/system/cpu/cpuidle/current_driver")
	e.file(g, "idle_governor", "sys/devices/system/cpu/cpuidle/current_governor")
}

// tally writes a value that all share as it is, and several with their numbers: "performance ×3, powersave ×1".
func tally(count map[string]int) string {
	var s []string
	for k, n := range count {
		if len(count) == 1 {
			return k
		}
		s = append(s, fmt.Sprintf("%s ×%d", k, n))
	}
	slices.Sort(s)
	return strings.Join(s, ", ")
}

// parseCPUInfo returns the keys of the first CPU.
func parseCPUInfo(s string) map[string]string {
	m := map[string]string{}
	for line := range strings.SplitSeq(s, "\n") {
		k, v, ok := strings.Cut(line, ":")
		if k = strings.TrimSpace(k); ok && m[k] == "" {
			m[k] = strings.TrimSpace(v)
		}
	}
	return m
}

// expand lists the members of a kernel's list of numbers: "0-3,8".
func expand(s string) (out []int) {
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		if err != nil {
			continue
		}
		b := a
		if isRange {
			if b, err = strconv.Atoi(hi); err != nil || b-a > 1<<16 {
				continue
			}
		}
		for ; a <= b; a++ {
			out = append(out, a)
		}
	}
	return out
}

// file takes one file's text as a fact.
func (e *facts) file(group, name, path string) {
	b, err := os.ReadFile(e.path(path))
	if err != nil {
		e.miss(group, name, why(err))
		return
	}
	e.set(group, name, strings.Join(strings.Fields(string(b)), " "))
}

func (e *facts) orMiss(group, name, value, reason string) {
	if value == "" {
		e.miss(group, name, reason)
		return
	}
	e.set(group, name, value)
}

// why tells a reader why a file gave nothing.
func why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "this kernel does not show it"
	case errors.Is(err, fs.ErrPermission):
		return "not permitted for this user"
	}
	return err.Error()
}
