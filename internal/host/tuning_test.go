package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTuningOfThisProcess(t *testing.T) {
	x := ReadTuning(os.Getpid(), t.TempDir())
	b, err := os.ReadFile("/proc/sys/vm/swappiness")
	if err != nil {
		t.Fatal(err)
	}
	if got := x.Settings["vm.swappiness"]; got != strings.TrimSpace(string(b)) {
		t.Errorf("swappiness %q, the kernel says %q", got, b)
	}
	if n := x.Limits["max_open_files"]; n == 0 {
		t.Errorf("limits %v", x.Limits)
	}
	if n := x.Process["vmrss"]; n < 1<<20 || n > 1<<40 {
		t.Errorf("resident %d bytes", n)
	}
	if x.Filesystem == "" {
		t.Error("no filesystem")
	}
}

func TestTuning(t *testing.T) {
	root := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		p := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("proc/sys/vm/swappiness", "60\n")
	put("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n")
	put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
	put("proc/meminfo", "HugePages_Total:      10\nHugepagesize:       2048 kB\n")
	put("proc/7/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"+
		"Max cpu time              unlimited            unlimited            seconds   \n"+
		"Max open files            1024                 524288               files     \n")
	put("proc/7/status", "Name:\tmysqld\nVmRSS:\t    1024 kB\nHugetlbPages:\t    2048 kB\nThreads:\t40\n")
	for _, n := range []string{"node0", "node1"} {
		if err := os.MkdirAll(filepath.Join(root, "sys/devices/system/node", n), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	x := FS{Root: root}.ReadTuning(7, "")
	for k, want := range map[string]string{
		"vm.swappiness": "60", "net.ipv4.ip_local_port_range": "32768 60999",
		"kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
		"meminfo/HugePages_Total":                "10", "meminfo/Hugepagesize": "2097152",
	} {
		if x.Settings[k] != want {
			t.Errorf("%s is %q, want %q", k, x.Settings[k], want)
		}
	}
	if _, ok := x.Settings["vm.dirty_ratio"]; ok {
		t.Error("a setting that cannot be read has a value")
	}
	if x.Limits["max_open_files"] != 1024 || x.Limits["max_cpu_time"] != -1 || len(x.Limits) != 2 {
		t.Errorf("limits %v", x.Limits)
	}
	if x.Process["vmrss"] != 1<<20 || x.Process["hugetlbpages"] != 2<<20 || x.Process["threads"] != 40 {
		t.Errorf("process %v", x.Process)
	}
	if n, ok := x.NUMANodes.Get(); !ok || n != 2 {
		t.Errorf("%d nodes", n)
	}
	if y := (FS{Root: t.TempDir()}).ReadTuning(0, ""); len(y.Settings) != 0 || y.Limits != nil ||
		y.Process != nil || y.NUMANodes.OK() {
		t.Errorf("of nothing: %+v", y)
	}
}
