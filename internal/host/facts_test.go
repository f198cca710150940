package host

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/known"

	"golang.org/x/sys/unix"
)

func TestFactsOfThisProcess(t *testing.T) {
	m, err := FactsOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Allowed.Or(0); got != runtime.NumCPU() {
		t.Errorf("%d CPUs in the affinity mask, the runtime has %d", got, runtime.NumCPU())
	}
	if c := m.CPUs.Or(0); c <= 0 || c > float64(m.Online) {
		t.Errorf("%v usable CPUs of %d", c, m.Online)
	}
	if m.Kernel == "" || m.Arch == "" || m.MemBytes.Or(0) < 1<<20 || m.MemBytes.Or(0) > m.MemTotal.Or(0) {
		t.Errorf("got %+v", m)
	}
}

func TestLimitsOfCgroups(t *testing.T) {
	const v2 = "27 1 254:0 / / rw - ext4 /dev/vda rw\n41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	const v1 = "27 1 254:0 / / rw - ext4 /dev/vda rw\n32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup " +
		"rw,cpu,cpuacct\n35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	f := func(mounts, group string, files map[string]string, cpus known.Value[float64],
		mem known.Value[uint64], modes string,
	) {
		t.Helper()
		all := map[string]string{"proc/self/mountinfo": mounts, "proc/7/cgroup": group}
		for k, v := range files {
			all["sys/fs/cgroup/"+k] = v
		}
		l, err := tree(t, all).limits(7)
		if err != nil || l.cpus != cpus || l.mem != mem || l.modes != modes {
			t.Errorf("got %+v (%v), want %v %v %s", l, err, cpus, mem, modes)
		}
	}
	none, noMem := known.None[float64](), known.None[uint64]()
	f(v2, "0::/\n", nil, none, noMem, "")
	f(v2, "0::/a/b\n", map[string]string{"a/b/cpu.max": "max 100000\n", "a/b/memory.max": "max\n"}, none, noMem, "v2")
	f(v2, "0::/a/b\n", map[string]string{
		"a/b/cpu.max": "150000 100000\n", "a/cpu.max": "50000 100000\n",
		"a/memory.max": "1048576\n",
	},
		known.Of(0.5), known.Of(uint64(1<<20)), "v2") // the group above is tighter
	f(v1, "2:cpu,cpuacct:/x\n3:memory:/y\n", map[string]string{
		"cpu/x/cpu.cfs_quota_us":  "-1\n",
		"cpu/x/cpu.cfs_period_us": "100000\n",
	}, none, noMem, "v1")
	f(v1, "2:cpu,cpuacct:/x\n3:memory:/y\n", map[string]string{
		"cpu/x/cpu.cfs_quota_us": "250000\n", "cpu/x/cpu.cfs_period_us": "100000\n",
		"memory/y/memory.limit_in_bytes": "4096\n",
	}, known.Of(2.5), known.Of(uint64(4096)), "v1")
	// In a container the mount shows a part of the tree, or the group lies outside of it.
	inside := strings.Replace(v2, "0:38 / ", "0:38 /docker/1 ", 1)
	f(inside, "0::/docker/1/a\n", map[string]string{"a/cpu.max": "20000 10000\n"}, known.Of(2.0), noMem, "v2")
	f(inside, "0::/other\n", map[string]string{"cpu.max": "30000 10000\n"}, known.Of(3.0), noMem, "v2")
}

func TestCountList(t *testing.T) {
	f := func(s string, want int) {
		t.Helper()
		if got := countList(s); got != want {
			t.Errorf("%q: got %d, want %d", s, got, want)
		}
	}
	f("0", 1)
	f("0-3", 4)
	f("0-1,4,6-7", 5)
	f("", 0)
	f("3-1,x", 0)
}

func TestDiskOf(t *testing.T) {
	p, err := DiskOf(os.TempDir())
	if err != nil {
		t.Skipf("temporary files are not on a disk here: %v", err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	rooted := false // a chroot's own root is no mount
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		rooted = rooted || len(f) > 4 && f[4] == "/"
	}
	if _, err := os.Stat("/sys/block/" + p.Device); err != nil || p.Mount == "" && rooted || p.TotalBytes == 0 ||
		p.FreeBytes > p.TotalBytes {
		t.Errorf("got %+v (%v)", p, err)
	}
	if p, err := DiskOf("/proc"); err == nil || p.Filesystem != "proc" {
		t.Errorf("/proc is on %+v (%v)", p, err)
	}
	if _, err := DiskOf("/nowhere/at/all"); err == nil {
		t.Error("a path that does not exist is on a disk")
	}
}

func TestDiskOfPartition(t *testing.T) {
	f := tree(t, map[string]string{"sys/devices/block/sda/sda1/partition": "1", "proc/self/mountinfo": "1 0 0:1 / / " +
		"rw - ext4 /dev/sda1 rw\n"})
	if err := os.MkdirAll(f.path("sys/dev/block"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../devices/block/sda/sda1", f.path("sys/dev/block", deviceNumber(t, f.Root))); err != nil {
		t.Fatal(err)
	}
	if p, err := f.DiskOf(f.Root); err != nil || p.Device != "sda" || p.Partition != "sda1" || p.Filesystem != "ext4" {
		t.Errorf("got %+v (%v)", p, err)
	}
}

func deviceNumber(t *testing.T, path string) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
}
