package testbed

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPeriodFor(t *testing.T) {
	f := func(want time.Duration, cpus ...float64) {
		t.Helper()
		if got := periodFor(cpus); got != want {
			t.Errorf("%v: %v, want %v", cpus, got, want)
		}
	}
	f(10*time.Millisecond, 0.6, 0.582)
	f(10*time.Millisecond, 0, 0)
	f(10*time.Millisecond, 0.1)
	f(20*time.Millisecond, 0, 0.05, 2)
	f(100*time.Millisecond, 0.01)
	f(time.Second, 0.0001)
}

func TestCPUGroup(t *testing.T) {
	f := func(groups, mounts, dir string, v2 bool) {
		t.Helper()
		got, isV2, err := cpuGroup(groups, mounts)
		if got != dir || isV2 != v2 || (err == nil) != (dir != "") {
			t.Errorf("%q, version 2 %v, %v; want %q, %v", got, isV2, err, dir, v2)
		}
	}
	const (
		v1    = "30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
		acct  = "29 24 0:25 / /sys/fs/cgroup/cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpuacct\n"
		set   = "31 24 0:27 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
		v2    = "28 24 0:24 / /sys/fs/cgroup/unified rw,relatime shared:8 - cgroup2 cgroup2 rw\n"
		inner = "28 24 0:24 /docker/x /sys/fs/cgroup rw,relatime - cgroup2 cgroup rw\n"
	)
	f("4:cpuacct:/\n3:cpu,foo:/dyno-a\n0::/u\n", set+acct+v2+v1, "/sys/fs/cgroup/cpu,cpuacct/dyno-a", false)
	f("0::/a/dyno-b\n", acct+v2, "/sys/fs/cgroup/unified/a/dyno-b", true)
	f("2:cpuset:/c\n0::/a\n", set+v2, "/sys/fs/cgroup/unified/a", true)
	f("0::/docker/x/dyno-c\n", inner, "/sys/fs/cgroup/dyno-c", true)
	f("0::/elsewhere\n", inner, "", false)
	f("1:cpu:/a\n0::/a\n", v2, "", false) // the controller belongs to version 1, which is not to be seen
	f("", "", "", false)
}

// TestQuotaReadBack holds that a switch that did not take is an error: a plain file stands for the kernel's.
func TestQuotaReadBack(t *testing.T) {
	f := func(v2 bool, cpus float64, want string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "quota")
		file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		q := &quota{file: file, v2: v2, period: 10 * time.Millisecond}
		defer q.close()
		if err := q.set(cpus); err != nil {
			t.Error(err)
		}
		if got, _ := os.ReadFile(name); string(got) != want {
			t.Errorf("wrote %q, want %q", got, want)
		}
		if err := os.WriteFile(name, []byte("123456789 1000000000\n"), 0o600); err != nil {
			// longer than what comes next
			t.Fatal(err)
		}
		if q.set(cpus) == nil {
			t.Error("what is read back is not what was written, and nobody said so")
		}
	}
	f(false, 0.6, "6000")
	f(false, 0.582, "5820")
	f(false, 0, "-1")
	f(true, 0.6, "6000 10000")
	f(true, 2, "20000 10000")
	f(true, 0, "max 10000")
}
