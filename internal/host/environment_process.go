package host

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// process describes where a process stands: its control group, its CPUs, its rank.
func (e *facts) process(g string, pid int) {
	dir := e.path("proc", strconv.Itoa(pid))
	if !exists(dir) {
		e.miss(g, "process", fmt.Sprintf("there is no process %d", pid))
		return
	}
	e.cgroupFacts(g, pid)
	status := map[string]string{}
	if b, err := os.ReadFile(dir + "/status"); err == nil {
		for line := range strings.SplitSeq(string(b), "\n") {
			k, v, _ := strings.Cut(line, ":")
			status[k] = strings.TrimSpace(v)
		}
	}
	e.orMiss(g, "affinity", status["Cpus_allowed_list"], "the kernel does not show it")
	e.orMiss(g, "numa_mems", status["Mems_allowed_list"], "the kernel does not show it")
	if s, ok := status["THP_enabled"]; ok {
		e.set(g, "thp_enabled", s)
	}
	if b, err := os.ReadFile(dir + "/stat"); err != nil {
		e.miss(g, "nice", why(err))
	} else if i := strings.LastIndexByte(string(b), ')'); i > 0 {
		if fields := strings.Fields(string(b[i+1:])); len(fields) > 38 { // fields[0] is field 3 of proc_pid_stat(5)
			e.set(g, "nice", fields[16])
			policy := map[string]string{
				"0": "other", "1": "fifo", "2": "rr", "3": "batch", "5": "idle",
				"6": "deadline", "7": "ext",
			}[fields[38]]
			e.orMiss(g, "sched_policy", policy, "the kernel's policy "+fields[38]+" has no name here")
		}
	}
	e.file(g, "oom_score_adj", "proc/"+strconv.Itoa(pid)+"/oom_score_adj")
	if b, err := os.ReadFile(dir + "/limits"); err != nil {
		e.miss(g, "open_files", why(err))
	} else {
		for line := range strings.SplitSeq(string(b), "\n") {
			for prefix, name := range map[string]string{
				"Max open files":    "open_files",
				"Max locked memory": "locked_memory", "Max processes": "processes",
			} {
				if rest, ok := strings.CutPrefix(line, prefix); ok {
					if v := strings.Fields(rest); len(v) >= 2 {
						e.set(g, name, v[0]+" (hard "+v[1]+")")
					}
				}
			}
		}
	}
	e.allocator(g, pid)
}

// allocator names the library that hands out the process's memory, by what it has mapped.
func (e *facts) allocator(g string, pid int) {
	b, err := os.ReadFile(e.path("proc", strconv.Itoa(pid), "maps"))
	if err != nil {
		e.miss(g, "allocator", why(err))
		return
	}
	found := ""
	for line := range strings.SplitSeq(string(b), "\n") {
		i := strings.LastIndexByte(line, '/')
		if i < 0 {
			continue
		}
		file := line[i+1:]
		for _, lib := range []string{"libjemalloc", "libtcmalloc", "libmimalloc", "libsnmalloc"} {
			if strings.HasPrefix(file, lib) {
				e.set(g, "allocator", file)
				return
			}
		}
		if strings.HasPrefix(file, "libc.so") || strings.HasPrefix(file, "libc-") ||
			strings.HasPrefix(file, "ld-musl") {
			found = "the C library's"
		}
	}
	e.orMiss(g, "allocator", found, "the program is linked statically")
}

// cgroupFacts names the control groups that hold a process, and the slice and unit of systemd that they stand for.
func (e *facts) cgroupFacts(g string, pid int) {
	b, err := os.ReadFile(e.path("proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		e.miss(g, "cgroup", why(err))
		return
	}
	v1, v2 := map[string][]string{}, ""
	systemd := ""
	for line := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n") { // "4:memory:/a/b" or "0::/a/b"
		p := strings.SplitN(line, ":", 3)
		if len(p) != 3 {
			continue
		}
		switch {
		case p[0] == "0" && p[1] == "":
			v2 = p[2]
		case p[1] == "name=systemd":
			systemd = p[2]
		default:
			v1[p[2]] = append(v1[p[2]], p[1])
		}
	}
	var parts []string
	for path, ctl := range v1 {
		slices.Sort(ctl)
		parts = append(parts, strings.Join(ctl, ",")+":"+path)
	}
	slices.Sort(parts)
	version := "v2"
	switch {
	case len(v1) > 0 && v2 != "":
		version = "v1+v2"
		parts = append(parts, "v2:"+v2)
	case len(v1) > 0:
		version = "v1"
	default:
		parts = []string{v2}
	}
	e.set(g, "cgroup_version", version)
	e.set(g, "cgroup", strings.Join(parts, " "))
	if systemd == "" || systemd == "/" {
		systemd = v2
	}
	slice, unit := "-.slice", "none"
	for part := range strings.SplitSeq(systemd, "/") {
		switch {
		case strings.HasSuffix(part, ".slice"):
			slice = part
		case strings.HasSuffix(part, ".service"), strings.HasSuffix(part, ".scope"):
			unit = part
		}
	}
	e.set(g, "slice", slice)
	e.set(g, "unit", unit)
}

// limitFacts reads what control groups allow a process, the tightest on the way up: CPUs, memory, and requests and
// bytes a second to any of the devices ("major:minor"). miss is the prefix under which what cannot be read is noted.
// Sources: Documentation/admin-guide/cgroup-v2.rst (io.max) and cgroup-v1/blkio-controller.rst of the kernel.
func (e *facts) limitFacts(miss string, pid int, devices []string) map[string]string {
	out := map[string]string{}
	lim, err := e.limits(pid)
	if err != nil {
		e.unknown[miss+"all"] = why(err)
		return out
	}
	out["cpu"], out["memory"] = "none", "none"
	if q, ok := lim.cpus.Get(); ok {
		out["cpu"] = strconv.FormatFloat(q, 'f', -1, 64)
	}
	if n, ok := lim.mem.Get(); ok && n < 1<<62 { // v1 writes "no limit" as a number beyond any machine
		out["memory"] = strconv.FormatUint(n, 10)
	}
	if len(devices) == 0 {
		e.unknown[miss+"io"] = "the data are on no block device of this machine"
		return out
	}
	for k, n := range e.ioLimits(pid, devices) {
		out[k] = "none"
		if n > 0 {
			out[k] = strconv.FormatUint(n, 10)
		}
	}
	return out
}

// ioLimits returns the tightest limits by name, 0 for none.
func (f FS) ioLimits(pid int, devices []string) map[string]uint64 {
	best := map[string]uint64{"read_iops": 0, "write_iops": 0, "read_bps": 0, "write_bps": 0}
	tighten := func(name, text string) {
		if n, ok := number([]byte(text)); ok && n > 0 && (best[name] == 0 || n < best[name]) {
			best[name] = n
		}
	}
	groups, mounts, err := cgroupsOf(f, pid)
	if err != nil {
		return best
	}
	for _, g := range groups {
		isV2 := g.HierarchyID == 0 && len(g.Controllers) == 0
		if !isV2 && !slices.Contains(g.Controllers, "blkio") {
			continue
		}
		for _, dir := range groupDirs(g, isV2, mounts) {
			dir = f.path(dir)
			if isV2 {
				b, _ := os.ReadFile(dir + "/io.max")
				lines(b, func(w [][]byte) bool { // "254:0 rbps=max wbps=1048576 riops=500 wiops=max"
					if slices.Contains(devices, string(w[0])) {
						for _, kv := range w[1:] {
							k, v, _ := strings.Cut(string(kv), "=")
							if name := map[string]string{
								"rbps": "read_bps", "wbps": "write_bps", "riops": "read_iops",
								"wiops": "write_iops",
							}[k]; name != "" {
								tighten(name, v)
							}
						}
					}
					return true
				})
				continue
			}
			for name, file := range map[string]string{
				"read_bps": "read_bps_device", "write_bps": "write_bps_device", "read_iops": "read_iops_device",
				"write_iops": "write_iops_device",
			} {
				b, _ := os.ReadFile(dir + "/blkio.throttle." + file)
				lines(b, func(w [][]byte) bool { // "254:0 500"
					if len(w) >= 2 && slices.Contains(devices, string(w[0])) {
						tighten(name, string(w[1]))
					}
					return true
				})
			}
		}
	}
	return best
}
