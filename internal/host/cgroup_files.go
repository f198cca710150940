package host

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/limit"
)

// A write is one file of a control group and what goes there for the limits of these names.
type write struct {
	file, text string
	names      []string
}

// bandwidth returns quota and period, in microseconds, that give a process so many CPUs. Within a period it runs at
// full speed and then waits, so the shorter the period the evener every second is; quotas below 1 ms are not granted.
func bandwidth(cpus float64) (quota, period int) {
	for _, period = range []int{20_000, 100_000, 1_000_000} {
		if quota = int(math.Round(cpus * float64(period))); quota >= 1000 {
			break
		}
	}
	return quota, period
}

// writes returns what to write for limits. Formats: Documentation/admin-guide/cgroup-v2.rst (cpu.max, memory.max,
// io.max), cgroup-v1/memory.rst and blkio-controller.rst, scheduler/sched-bwc.rst.
func (g Group) writes(l limit.Limits, device string) (ws []write) {
	has := func(c string) bool { return slices.Contains(g.Controllers, c) }
	quota, period := bandwidth(l.CPU)
	if g.Version == 2 {
		orMax := func(v uint64) string {
			if v == 0 {
				return "max"
			}
			return strconv.FormatUint(v, 10)
		}
		if has("cpu") {
			text := fmt.Sprintf("%d %d", quota, period)
			if l.CPU == 0 {
				text = "max 100000"
			}
			ws = append(ws, write{"cpu.max", text, []string{limit.CPU}})
		}
		if has("memory") {
			ws = append(ws, write{"memory.max", orMax(l.Memory), []string{limit.Memory}})
		}
		if has("io") && device != "" {
			text := fmt.Sprintf("%s rbps=%s wbps=%s riops=%s wiops=%s", device, orMax(l.ReadBPS), orMax(l.WriteBPS),
				orMax(l.ReadIOPS), orMax(l.WriteIOPS))
			ws = append(ws, write{"io.max", text, []string{
				limit.ReadIOPS, limit.WriteIOPS,
				limit.ReadBPS, limit.WriteBPS,
			}})
		}
		return ws
	}
	if has("cpu") {
		// The old quota goes first: with the new period it could be more than the group above grants, and be refused.
		ws = append(ws, write{"cpu.cfs_quota_us", "-1", []string{limit.CPU}})
		if l.CPU != 0 {
			ws = append(ws, write{"cpu.cfs_period_us", strconv.Itoa(period), []string{limit.CPU}},
				write{"cpu.cfs_quota_us", strconv.Itoa(quota), []string{limit.CPU}})
		}
	}
	if has("memory") {
		text := "-1"
		if l.Memory != 0 {
			text = strconv.FormatUint(l.Memory, 10)
		}
		ws = append(ws, write{"memory.limit_in_bytes", text, []string{limit.Memory}})
	}
	if has("io") && device != "" {
		for _, t := range throttles {
			// 0 takes the rule away
			ws = append(ws, write{t.file, fmt.Sprintf("%s %d", device, *t.of(&l)), []string{t.name}})
		}
	}
	return ws
}

// throttles are the files of cgroup v1's blkio, and the keys of cgroup v2's io.max.
var throttles = []struct {
	name, file, key string
	of              func(*limit.Limits) *uint64
}{
	{limit.ReadIOPS, "blkio.throttle.read_iops_device", "riops", func(l *limit.Limits) *uint64 { return &l.ReadIOPS }},
	{limit.WriteIOPS, "blkio.throttle.write_iops_device", "wiops", func(l *limit.Limits) *uint64 {
		return &l.WriteIOPS
	}},
	{limit.ReadBPS, "blkio.throttle.read_bps_device", "rbps", func(l *limit.Limits) *uint64 { return &l.ReadBPS }},
	{limit.WriteBPS, "blkio.throttle.write_bps_device", "wbps", func(l *limit.Limits) *uint64 { return &l.WriteBPS }},
}

// read is the inverse of writes: what the files say. Values that are no limit ("max", -1, or beyond any machine) are 0.
func (g Group) read(file func(name string) string, device string) (l limit.Limits) {
	has := func(c string) bool { return slices.Contains(g.Controllers, c) }
	num := func(s string) uint64 { n, _ := number([]byte(s)); return n }
	cpu := func(quota, period string) {
		if p := num(period); p > 0 {
			l.CPU = float64(num(quota)) / float64(p)
		}
	}
	if has("cpu") {
		if g.Version == 2 {
			quota, period, _ := strings.Cut(file("cpu.max"), " ")
			cpu(quota, period)
		} else {
			cpu(file("cpu.cfs_quota_us"), file("cpu.cfs_period_us"))
		}
	}
	if has("memory") {
		name := "memory.max"
		if g.Version == 1 {
			name = "memory.limit_in_bytes"
		}
		if l.Memory = num(file(name)); l.Memory > math.MaxInt64-uint64(os.Getpagesize()) {
			l.Memory = 0
		}
	}
	if has("io") && device != "" {
		if g.Version == 2 {
			for line := range strings.Lines(file("io.max")) {
				f := strings.Fields(line)
				if len(f) == 0 || f[0] != device {
					continue
				}
				for _, kv := range f[1:] {
					k, v, _ := strings.Cut(kv, "=")
					for _, t := range throttles {
						if t.key == k {
							*t.of(&l) = num(v)
						}
					}
				}
			}
			return l
		}
		for _, t := range throttles {
			for line := range strings.Lines(file(t.file)) {
				if f := strings.Fields(line); len(f) == 2 && f[0] == device {
					*t.of(&l) = num(f[1])
				}
			}
		}
	}
	return l
}

// Equal reports whether a limit, by its name, that was read back is the one wanted: the kernel counts memory in whole
// pages and time in whole microseconds.
func Equal(name string, wanted, got limit.Limits) bool {
	switch name {
	case limit.CPU:
		return got.CPU != 0 && math.Abs(wanted.CPU-got.CPU) <= 0.0005*wanted.CPU+0.000001
	case limit.Memory:
		return got.Memory != 0 && got.Memory <= wanted.Memory && wanted.Memory-got.Memory < uint64(os.Getpagesize())
	}
	for _, t := range throttles {
		if t.name == name {
			return *t.of(&wanted) == *t.of(&got)
		}
	}
	return false
}

// File names the file of a group that holds a limit, for people.
func (g Group) File(name string) string {
	files := map[string]string{limit.CPU: "cpu.max", limit.Memory: "memory.max"}
	if g.Version == 1 {
		files = map[string]string{limit.CPU: "cpu.cfs_quota_us", limit.Memory: "memory.limit_in_bytes"}
	}
	if f := files[name]; f != "" {
		return f
	}
	for _, t := range throttles {
		if t.name == name && g.Version == 1 {
			return t.file
		}
	}
	return "io.max"
}
