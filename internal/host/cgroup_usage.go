package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/known"
)

// GroupUsage is what the control groups of a process have taken, all processes in them together, and what they may
// take. Counts are since the group was made. What a kernel, or the group at the top, does not keep is unknown.
type GroupUsage struct {
	CPUSec             known.Value[float64]
	Periods, Throttled known.Value[uint64] // periods of the quota, and those in which it was used up
	ThrottledSec       known.Value[float64]
	CPULimit           known.Value[float64] // CPUs, the tightest on the way up; unknown when there is none
	Memory, Swap       known.Value[uint64]  // bytes, page cache included
	MemoryLimit        known.Value[uint64]  // bytes, the tightest on the way up
	// times that memory had to be reclaimed for the limit; processes killed for it
	LimitHits, OOMKills   known.Value[uint64]
	ReadBytes, WriteBytes known.Value[uint64]
	Reads, Writes         known.Value[uint64]
	Pressure              []Pressure // version 2 only
}

// ErrNoGroup says that a process is in no control group but the one at the top.
var ErrNoGroup = errors.New("the process has no separate control group")

// Groups reads the usage of a process's control groups again and again: where they are is found once.
type Groups struct {
	fs   FS
	pid  int
	v2   string            // folder
	v1   map[string]string // controller → folder
	buf  []byte
	lim  limits
	turn int
}

// FindGroups finds the control groups of a process. The error wraps os.ErrNotExist when there is no such process, and
// is ErrNoGroup when it is in none.
func FindGroups(pid int) (*Groups, error) { return FS{}.FindGroups(pid) }

// FindGroups is the function of that name, reading f.
func (f FS) FindGroups(pid int) (*Groups, error) {
	groups, mounts, err := cgroupsOf(f, pid)
	if err != nil {
		return nil, err
	}
	x := &Groups{fs: f, pid: pid, v1: map[string]string{}}
	for _, g := range groups {
		isV2 := g.HierarchyID == 0 && len(g.Controllers) == 0
		dirs := groupDirs(g, isV2, mounts)
		if len(dirs) == 0 {
			continue
		}
		dir := f.path(dirs[0])
		switch {
		case isV2:
			if isGroup(f, dir) { // the top has none
				x.v2 = dir
			}
		case g.Path != "/":
			for _, c := range g.Controllers {
				x.v1[c] = dir
			}
		}
	}
	if x.v2 == "" && len(x.v1) == 0 {
		return nil, ErrNoGroup
	}
	return x, nil
}

// isGroup reports whether a directory is that of a group of version 2 below the top, which has no such file.
func isGroup(f FS, dir string) bool {
	_, ok := wordOf(f, dir+"/cgroup.type")
	return ok
}

// On has the files of f read from now on, which must be of the same machine.
func (x *Groups) On(f FS) *Groups {
	x.fs = f
	return x
}

// limitTurns is how many readings the limits are kept for: finding the tightest means to look at every group on the way
// up.
const limitTurns = 6

// Read returns the usage now. The error wraps os.ErrNotExist when the group is gone.
func (x *Groups) Read() (u GroupUsage, err error) {
	if x.turn%limitTurns == 0 {
		if x.lim, err = x.fs.limits(x.pid); err != nil {
			return u, err
		}
	}
	x.turn++
	u.CPULimit = x.lim.cpus
	if n, ok := x.lim.mem.Get(); ok && n < 1<<62 { // version 1 writes "no limit" as a number beyond any machine
		u.MemoryLimit = known.Of(n)
	}
	if x.v2 != "" {
		x.readV2(&u)
	}
	for c, dir := range x.v1 {
		x.readV1(&u, c, dir)
	}
	if x.v2 != "" && !isGroup(x.fs, x.v2) {
		return u, fmt.Errorf("read control group %s: %w", x.v2, os.ErrNotExist)
	}
	return u, nil
}

// flat reads the wanted words of a file of "name value" lines; what is missing is not in the map.
func (x *Groups) flat(path string, names ...string) map[string]uint64 {
	b, err := slurpOf(x.fs, &x.buf, path)
	if err != nil {
		return nil
	}
	m := map[string]uint64{}
	for _, c := range pick(b, names) {
		m[c.Name] = c.Value
	}
	return m
}

func (x *Groups) one(path string) (v known.Value[uint64]) {
	b, err := slurpOf(x.fs, &x.buf, path)
	if err != nil {
		return v
	}
	return value(bytes.TrimSpace(b))
}

func of(m map[string]uint64, name string) (v known.Value[uint64]) {
	if n, ok := m[name]; ok {
		return known.Of(n)
	}
	return v
}

func scaled(v known.Value[uint64], unit float64) (s known.Value[float64]) {
	if n, ok := v.Get(); ok {
		return known.Of(float64(n) * unit)
	}
	return s
}

// readV2 reads the files of Documentation/admin-guide/cgroup-v2.rst.
func (x *Groups) readV2(u *GroupUsage) {
	for _, file := range []string{
		"cpu.stat", "memory.current", "memory.swap.current", "memory.events", "io.stat", "cpu.pressure",
		"memory.pressure", "io.pressure", "cgroup.type",
	} {
		want(x.fs, x.v2+"/"+file)
	}
	if m := x.flat(x.v2+"/cpu.stat", "usage_usec", "nr_periods", "nr_throttled", "throttled_usec"); m != nil {
		u.CPUSec, u.Periods, u.Throttled = scaled(of(m, "usage_usec"), 1e-6), of(m, "nr_periods"), of(m, "nr_throttled")
		u.ThrottledSec = scaled(of(m, "throttled_usec"), 1e-6)
	}
	u.Memory, u.Swap = x.one(x.v2+"/memory.current"), x.one(x.v2+"/memory.swap.current")
	if m := x.flat(x.v2+"/memory.events", "max", "oom_kill"); m != nil {
		u.LimitHits, u.OOMKills = of(m, "max"), of(m, "oom_kill")
	}
	if b, err := slurpOf(x.fs, &x.buf, x.v2+"/io.stat"); err == nil {
		// "254:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0"
		var sum [4]uint64
		keys := [4]string{"rbytes=", "wbytes=", "rios=", "wios="}
		lines(b, func(w [][]byte) bool {
			for _, kv := range w[1:] {
				for i, k := range keys {
					if rest, ok := bytes.CutPrefix(kv, []byte(k)); ok {
						n, _ := number(rest)
						sum[i] += n
					}
				}
			}
			return true
		})
		u.ReadBytes, u.WriteBytes, u.Reads, u.Writes = known.Of(sum[0]), known.Of(sum[1]),
			known.Of(sum[2]), known.Of(sum[3])
	}
	for _, res := range []string{"cpu", "memory", "io"} {
		if b, err := slurpOf(x.fs, &x.buf, x.v2+"/"+res+".pressure"); err == nil {
			if p, ok := parsePressure(res, b); ok {
				u.Pressure = append(u.Pressure, p)
			}
		}
	}
}

// readV1 reads the files of Documentation/admin-guide/cgroup-v1/ and scheduler/sched-bwc.rst.
func (x *Groups) readV1(u *GroupUsage, controller, dir string) {
	switch controller {
	case "cpuacct":
		u.CPUSec = scaled(x.one(dir+"/cpuacct.usage"), 1e-9)
	case "cpu":
		if m := x.flat(dir+"/cpu.stat", "nr_periods", "nr_throttled", "throttled_time"); m != nil {
			u.Periods, u.Throttled, u.ThrottledSec = of(m, "nr_periods"), of(m, "nr_throttled"),
				scaled(of(m, "throttled_time"), 1e-9)
		}
	case "memory":
		u.Memory, u.LimitHits = x.one(dir+"/memory.usage_in_bytes"), x.one(dir+"/memory.failcnt")
		u.Swap = of(x.flat(dir+"/memory.stat", "swap"), "swap")
		u.OOMKills = of(x.flat(dir+"/memory.oom_control", "oom_kill"), "oom_kill")
	case "blkio":
		if rd, wr, ok := x.blkio(dir + "/blkio.throttle.io_service_bytes"); ok {
			u.ReadBytes, u.WriteBytes = known.Of(rd), known.Of(wr)
		}
		if rd, wr, ok := x.blkio(dir + "/blkio.throttle.io_serviced"); ok {
			u.Reads, u.Writes = known.Of(rd), known.Of(wr)
		}
	}
}

// blkio sums the lines "254:0 Read 123" over the devices.
func (x *Groups) blkio(path string) (rd, wr uint64, ok bool) {
	b, err := slurpOf(x.fs, &x.buf, path)
	if err != nil {
		return 0, 0, false
	}
	lines(b, func(w [][]byte) bool {
		if len(w) != 3 {
			return true
		}
		n, _ := number(w[2])
		switch string(w[1]) {
		case "Read":
			rd += n
		case "Write":
			wr += n
		}
		return true
	})
	return rd, wr, true
}

// Paths returns the folders of the groups that are read, for people.
func (x *Groups) Paths() string {
	all := map[string]bool{}
	for _, d := range x.v1 {
		all[d] = true
	}
	if x.v2 != "" {
		all[x.v2] = true
	}
	var out []string
	for d := range all {
		out = append(out, d)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
