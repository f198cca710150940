package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/known"

	"github.com/prometheus/procfs"
)

// limits are what control groups allow a process, the tightest on the way from the root to its group.
type limits struct {
	cpus  known.Value[float64]
	mem   known.Value[uint64]
	modes string
}

// limits reads cgroup v2 (cpu.max, memory.max) and v1 (cpu.cfs_quota_us over cpu.cfs_period_us, memory.limit_in_bytes).
// A machine can have both at once, each controller then lives in one of them. Source:
// Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of the kernel.
func (f FS) limits(pid int) (l limits, err error) {
	groups, mounts, err := cgroupsOf(f, pid)
	if err != nil {
		return l, err
	}
	v1, v2 := false, false
	for _, g := range groups {
		isV2 := g.HierarchyID == 0 && len(g.Controllers) == 0
		for _, dir := range groupDirs(g, isV2, mounts) {
			dir = f.path(dir)
			if isV2 {
				if s, ok := wordOf(f, dir+"/cpu.max"); ok {
					v2 = true
					quota, period, _ := strings.Cut(s, " ")
					l.tightenCPU(quota, period)
				}
				if s, ok := wordOf(f, dir+"/memory.max"); ok {
					v2 = true
					l.tightenMem(s)
				}
				continue
			}
			if slices.Contains(g.Controllers, "cpu") {
				quota, ok1 := wordOf(f, dir+"/cpu.cfs_quota_us")
				period, ok2 := wordOf(f, dir+"/cpu.cfs_period_us")
				if ok1 && ok2 {
					v1 = true
					l.tightenCPU(quota, period)
				}
			}
			if slices.Contains(g.Controllers, "memory") {
				if s, ok := wordOf(f, dir+"/memory.limit_in_bytes"); ok {
					v1 = true
					l.tightenMem(s)
				}
			}
		}
	}
	switch {
	case v1 && v2:
		l.modes = "v1+v2"
	case v2:
		l.modes = "v2"
	case v1:
		l.modes = "v1"
	}
	return l, nil
}

// groupDirs returns the folders of a group and of all groups above it, as far as they are visible here.
func groupDirs(g procfs.Cgroup, isV2 bool, mounts []*procfs.MountInfo) (dirs []string) {
	for _, m := range mounts {
		if isV2 != (m.FSType == "cgroup2") || !isV2 && m.FSType != "cgroup" {
			continue
		}
		if !isV2 && !slices.ContainsFunc(g.Controllers, func(c string) bool { _, ok := m.SuperOptions[c]; return ok }) {
			continue
		}
		// Inside a container the mount may show a part of the tree only.
		rel := g.Path
		if m.Root != "/" {
			var ok bool
			if rel, ok = strings.CutPrefix(g.Path, m.Root); !ok {
				rel = "/"
			}
		}
		if strings.HasPrefix(rel, "/..") { // outside of what is visible
			rel = "/"
		}
		base := unescape(m.MountPoint)
		for rel = filepath.Clean("/" + rel); ; rel = filepath.Dir(rel) {
			dirs = append(dirs, filepath.Join(base, rel))
			if rel == "/" {
				return dirs
			}
		}
	}
	return nil
}

func word(path string) (string, bool) {
	b, err := os.ReadFile(path)
	return strings.TrimSpace(string(b)), err == nil
}

// tightenCPU takes a quota and its period in microseconds; "max" and -1 are no limit.
func (l *limits) tightenCPU(quota, period string) {
	q, ok1 := number([]byte(quota))
	p, ok2 := number([]byte(period))
	if !ok1 || !ok2 || p == 0 {
		return
	}
	c := float64(q) / float64(p)
	if old, ok := l.cpus.Get(); !ok || c < old {
		l.cpus = known.Of(c)
	}
}

func (l *limits) tightenMem(s string) {
	n, ok := number([]byte(s))
	if !ok {
		return
	}
	if old, ok := l.mem.Get(); !ok || n < old {
		l.mem = known.Of(n)
	}
}
