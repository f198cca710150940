package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/dyno-perf/dyno/internal/known"
)

// Machine is what does not change while a server runs on it, seen by one process.
type Machine struct {
	Online int // CPUs that the kernel schedules on
	// CPUs is how many the process may use at once: those of its affinity mask (which holds its cpuset), or less when a
	// cgroup limits its time. 1.5 is one and a half CPUs.
	CPUs     known.Value[float64]
	Allowed  known.Value[int]     // CPUs in the affinity mask
	CPUQuota known.Value[float64] // the tightest cgroup limit, CPUs; unknown when there is none
	// MemBytes is the memory of the machine, or less when a cgroup limits the process.
	MemBytes    known.Value[uint64]
	MemTotal    known.Value[uint64] // of the machine
	MemLimit    known.Value[uint64] // the tightest cgroup limit; unknown when there is none
	Kernel      string              // "6.1.0-21-amd64"
	Arch        string              // "x86_64"
	Model       string              // of the CPU, "" when the kernel does not tell
	Governor    string              // of the first CPU's frequency, "" when there is none
	CgroupModes string              // "v2", "v1" or "v1+v2": what limits could come from
}

// FactsOf returns what the process with the pid may use of this machine.
func FactsOf(pid int) (Machine, error) { return FS{}.FactsOf(pid) }

// FactsOf returns what the process with the pid may use. Parts that cannot be read stay unknown and are named in the
// error, which then comes together with the other parts.
func (f FS) FactsOf(pid int) (m Machine, err error) {
	var errs []error
	if n, err := affinityOf(f, pid); err != nil {
		errs = append(errs, fmt.Errorf("read affinity of process %d: %w", pid, gone(err)))
	} else {
		m.Allowed, m.CPUs = known.Of(n), known.Of(float64(n))
	}
	if b, err := readOf(f, f.path("sys/devices/system/cpu/online")); err != nil {
		errs = append(errs, fmt.Errorf("read online cpus: %w", err))
	} else {
		m.Online = countList(string(bytes.TrimSpace(b)))
	}
	if b, err := readOf(f, f.path("proc/meminfo")); err != nil {
		errs = append(errs, fmt.Errorf("read memory: %w", err))
	} else {
		m.MemTotal = parseMeminfo(b).Total
		m.MemBytes = m.MemTotal
	}
	lim, err := f.limits(pid)
	if err != nil {
		errs = append(errs, err)
	}
	m.CPUQuota, m.MemLimit, m.CgroupModes = lim.cpus, lim.mem, lim.modes
	if q, ok := lim.cpus.Get(); ok {
		if c, ok := m.CPUs.Get(); ok {
			m.CPUs = known.Of(min(c, q))
		}
	}
	if l, ok := lim.mem.Get(); ok {
		if t, ok := m.MemTotal.Get(); ok {
			m.MemBytes = known.Of(min(t, l))
		}
		if m.MemLimit.Or(0) >= m.MemTotal.Or(0) { // cgroup v1 writes "no limit" as a number beyond any machine
			m.MemLimit = known.None[uint64]()
		}
	}
	if Here(f) {
		m.Kernel, m.Arch, _ = uname()
	} else {
		m.Kernel, _ = wordOf(f, f.path("proc/sys/kernel/osrelease"))
	}
	if b, err := readOf(f, f.path("proc/cpuinfo")); err == nil {
		m.Model = cpuModel(string(b))
	}
	if b, err := readOf(f, f.path("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")); err == nil {
		m.Governor = string(bytes.TrimSpace(b))
	}
	return m, errors.Join(errs...)
}

// affinityOf returns how many CPUs a process may use.
func affinityOf(f FS, pid int) (int, error) {
	if Here(f) {
		var set cpuSet
		err := getAffinity(pid, &set)
		return set.Count(), err
	}
	w := statusField(f, pid, "Cpus_allowed_list")
	if len(w) != 1 {
		return 0, os.ErrNotExist
	}
	return countList(w[0]), nil
}

// countList counts the members of a kernel's list of numbers: "0-3,8".
func countList(s string) (n int) {
	for part := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(part, "-")
		a, ok := number([]byte(lo))
		if !ok {
			continue
		}
		b := a
		if isRange {
			if b, ok = number([]byte(hi)); !ok || b < a {
				continue
			}
		}
		n += int(b-a) + 1
	}
	return n
}

// cpuModel finds the name of the CPU; each architecture has its own key for it.
func cpuModel(s string) string {
	for line := range strings.SplitSeq(s, "\n") {
		k, v, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		switch strings.TrimSpace(k) {
		case "model name", "Model Name", "cpu model", "Processor", "uarch":
			return strings.TrimSpace(v)
		}
	}
	return ""
}
