package testbed

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// quota changes how much CPU a running server may use, by one write into the file of its control group.
type quota struct {
	file   *os.File
	v2     bool
	period time.Duration
}

// The kernel grants a quota anew in each period, from 1 ms to 1 s, and none below 1 ms
// (Documentation/scheduler/sched-bwc.rst). Many periods must fit into a turn, so the shortest is taken of which every
// quota is at least that.
var periods = []time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 500 * time.Millisecond, time.Second,
}

const leastQuota = time.Millisecond

// periodFor returns the period for quotas of so many CPUs each; 0 stands for none.
func periodFor(cpus []float64) time.Duration {
	for _, p := range periods {
		if !slices.ContainsFunc(cpus, func(c float64) bool { return c > 0 && c*float64(p) < float64(leastQuota) }) {
			return p
		}
	}
	return periods[len(periods)-1]
}

// openQuota finds the control group that holds the process to a quota already, and opens it for quotas of this period.
func openQuota(pid int, period time.Duration) (*quota, error) {
	const op = "change the CPU quota of the running server"
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	dir, v2, err := cpuGroup(string(groups), string(mounts))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	q := &quota{v2: v2, period: period}
	name := "cpu.max"
	if !v2 {
		name = "cpu.cfs_quota_us"
		// Without a quota any period will do; with the new period the old quota might be more than the group above
		// grants.
		for _, w := range [][2]string{{name, "-1"}, {
			"cpu.cfs_period_us",
			strconv.FormatInt(period.Microseconds(), 10),
		}} {
			if err := os.WriteFile(filepath.Join(dir, w[0]), []byte(w[1]), 0o600); err != nil {
				return nil, fmt.Errorf("%s: %w", op, err)
			}
		}
	}
	if q.file, err = os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	return q, nil
}

// cpuGroup returns the directory of a process's control group for CPU, from /proc/PID/cgroup and a mountinfo; v2 is its
// version (cgroups(7), proc_pid_mountinfo(5)). Where both versions are mounted the controller belongs to one of them.
func cpuGroup(groups, mounts string) (dir string, v2 bool, err error) {
	var v1Path, v2Path string
	for line := range strings.Lines(groups) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		switch {
		case f[1] == "" && f[0] == "0":
			v2Path = f[2]
		case slices.Contains(strings.Split(f[1], ","), "cpu"):
			v1Path = f[2]
		}
	}
	for line := range strings.Lines(mounts) {
		left, right, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		var path string
		switch {
		case v1Path != "" && g[0] == "cgroup" && slices.Contains(strings.Split(g[2], ","), "cpu"):
			path = v1Path
		case v1Path == "" && v2Path != "" && g[0] == "cgroup2":
			path, v2 = v2Path, true
		default:
			continue
		}
		if root := f[3]; root != "/" { // inside a container the mount may show a part of the tree only
			rel, ok := strings.CutPrefix(path, root)
			if !ok {
				continue
			}
			path = rel
		}
		return filepath.Join(f[4], filepath.Clean("/"+path)), v2, nil
	}
	return "", false, errors.New("its control group for CPU is not visible here")
}

// set puts a quota in force, 0 for none, and reads it back.
func (q *quota) set(cpus float64) error {
	us := int64(math.Round(cpus * float64(q.period.Microseconds())))
	text := strconv.FormatInt(us, 10)
	if cpus == 0 {
		text = "-1"
	}
	if q.v2 {
		if cpus == 0 {
			text = "max"
		}
		text += " " + strconv.FormatInt(q.period.Microseconds(), 10)
	}
	if _, err := q.file.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("change the CPU quota of the running server to %s: %w", text, err)
	}
	var b [64]byte
	n, err := q.file.ReadAt(b[:], 0)
	if got := strings.TrimSpace(string(b[:n])); got != text {
		if n == 0 && err != nil {
			return fmt.Errorf("read back the CPU quota of the running server: %w", err)
		}
		return fmt.Errorf("change the CPU quota of the running server to %s: %s reads %s", text, q.file.Name(), got)
	}
	return nil
}

func (q *quota) close() {
	if q != nil {
		q.file.Close()
	}
}
