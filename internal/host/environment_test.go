package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"
)

// shown makes the folder of a machine: two sockets of two cores with two threads each.
func shown(t *testing.T) map[string]string {
	t.Helper()
	m := map[string]string{
		"proc/cpuinfo": "processor\t: 0\nmodel name\t: Big CPU\nmicrocode\t: 0x7\ncache " +
			"size\t: 512 KB\nflags\t\t: fpu hypervisor aes avx2\n\nprocessor\t: 1\nmodel name\t: Big CPU\n",
		"proc/meminfo": "MemTotal: 2048 kB\nSwapTotal: 0 kB\nHugePages_Total: " +
			"5\nHugepagesize: 2048 kB\n",
		"proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n/dev/zram0 partition 100 0 100\n",
		"proc/version": "Linux version 6.1 (me@there) (gcc " +
			"(Debian) 12.2, GNU ld 2.40) #1 SMP\n",
		"proc/sys/kernel/osrelease":                                         "6.1.0-21-amd64\n",
		"proc/sys/kernel/version":                                           "#1 SMP Debian\n",
		"proc/sys/kernel/sched_latency_ns":                                  "6000000\n",
		"proc/sys/vm/swappiness":                                            "60\n",
		"sys/devices/system/cpu/online":                                     "0-7\n",
		"sys/devices/system/cpu/smt/control":                                "on\n",
		"sys/devices/system/cpu/isolated":                                   "\n",
		"sys/devices/system/node/node0/x":                                   "",
		"sys/devices/system/node/node1/x":                                   "",
		"sys/class/dmi/id/sys_vendor":                                       "QEMU\n",
		"sys/class/dmi/id/product_name":                                     "Standard PC (Q35)\n",
		"sys/devices/system/cpu/cpufreq/boost":                              "0\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource":   "tsc\n",
		"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc kvm-clock \n",
		"sys/kernel/mm/transparent_hugepage/enabled":                        "always [madvise] never\n",
		"sys/devices/system/cpu/vulnerabilities/meltdown":                   "Not affected\n",
		"sys/devices/system/cpu/vulnerabilities/spectre_v1":                 "Mitigation: barriers\n",
		"sys/devices/system/cpu/vulnerabilities/tsa":                        "Vulnerable\n",
	}
	for c := range 8 {
		at := "sys/devices/system/cpu/cpu" + strconv.Itoa(c) + "/"
		m[at+"topology/physical_package_id"] = strconv.Itoa(c / 4)
		m[at+"topology/core_id"] = strconv.Itoa(c / 2 % 2)
		m[at+"cpufreq/scaling_governor"] = "performance"
	}
	m["sys/devices/system/cpu/cpu7/cpufreq/scaling_governor"] = "powersave"
	return m
}

func TestEnvironmentUnderstandsTheKernel(t *testing.T) {
	known, unknown := tree(t, shown(t)).Environment(0, "")
	f := func(name, want string) {
		t.Helper()
		g, n, _ := strings.Cut(name, ".")
		if got, ok := known[g][n]; !ok || got != want {
			t.Errorf("%s = %q (%v, unknown: %q), want %q", name, got, ok, unknown[name], want)
		}
	}
	f("machine.cpu_model", "Big CPU")
	f("machine.cpu_flags", "aes avx2 hypervisor")
	f("machine.cpus", "8")
	f("machine.cores", "4")
	f("machine.sockets", "2")
	f("machine.smt", "on")
	f("machine.numa_nodes", "2")
	f("machine.hypervisor", "KVM or QEMU")
	f("machine.product", "QEMU Standard PC (Q35)")
	f("machine.governor", "performance ×7, powersave ×1")
	f("machine.turbo", "off")
	f("machine.clock_sources", "tsc kvm-clock")
	f("machine.memory_bytes", "2097152")
	f("kernel.release", "6.1.0-21-amd64")
	f("kernel.compiler", "gcc (Debian) 12.2, GNU ld 2.40")
	f("kernel.transparent_huge_page_enabled", "madvise")
	f("kernel.mitigations", "spectre_v1: Mitigation: barriers · tsa: Vulnerable")
	f("kernel.huge_pages", "5")
	f("kernel.huge_page_size", "2048 kB")
	f("kernel.isolated_cpus", "none")
	f("kernel.sched_latency_ns", "6000000")
	f("kernel.swap", "/dev/zram0 (partition)")
	for _, name := range []string{
		"kernel.overcommit_memory", "machine.frequency_max_khz", "server.all",
		"limit.all", "storage.all",
	} {
		if unknown[name] == "" {
			t.Errorf("%s is missing without a reason", name)
		}
	}
	for name := range unknown {
		if g, n, _ := strings.Cut(name, "."); known[g][n] != "" {
			t.Errorf("%s is known and unknown", name)
		}
	}
}

func TestHypervisorByItsClock(t *testing.T) {
	m := shown(t)
	delete(m, "sys/class/dmi/id/sys_vendor")
	delete(m, "sys/class/dmi/id/product_name")
	known, unknown := tree(t, m).Environment(0, "")
	if got := known["machine"]["hypervisor"]; got != "KVM, by its clock" || unknown["machine.product"] == "" {
		t.Errorf("%q, product unknown because %q", got, unknown["machine.product"])
	}
	m["proc/cpuinfo"] = strings.Replace(m["proc/cpuinfo"], "hypervisor ", "", 1)
	m["sys/devices/system/clocksource/clocksource0/available_clocksource"] = "tsc hpet\n"
	if known, _ = tree(t, m).Environment(0, ""); known["machine"]["hypervisor"] != "none seen" {
		t.Errorf("%q", known["machine"]["hypervisor"])
	}
}

func TestProcessFacts(t *testing.T) {
	stat := "7 (a) b) S 1 7 7 0 -1 0 0 0 0 0 1 2 0 0 20 -5 3 0 9 1000 20" + strings.Repeat(" 0", 16) + " 3 0 0 0 0\n"
	k := tree(t, map[string]string{
		"proc/7/stat":   stat,
		"proc/7/status": "Name:\ta\nCpus_allowed_list:\t0,2-3\nMems_allowed_list:\t0\n",
		"proc/7/limits": "Limit  Soft Hard Units\nMax open files            1024                 4096         " +
			"        files\n",
		"proc/7/oom_score_adj": "-500\n",
		"proc/7/maps": "7f00-7f01 r-xp 0 08:01 1 /usr/lib/libc.so.6\n7f02-7f03 r-xp 0 08:01 2 " +
			"/usr/lib/libjemalloc.so.2\n",
		"proc/7/cgroup": "0::/system.slice/mariadb.service\n",
		"proc/self/mountinfo": "27 1 254:0 / / rw - ext4 /dev/vda rw\n41 31 0:38 / /sys/fs/cgroup rw - cgroup2 " +
			"cgroup2 rw\n",
		"sys/fs/cgroup/system.slice/mariadb.service/cpu.max":    "150000 100000\n",
		"sys/fs/cgroup/system.slice/mariadb.service/memory.max": "max\n",
		"sys/fs/cgroup/system.slice/mariadb.service/io.max": "254:0 rbps=max wbps=1048576 riops=500 " +
			"wiops=max\n8:0 rbps=1 wbps=1 riops=1 wiops=1\n",
		"sys/fs/cgroup/system.slice/io.max": "254:0 rbps=max wbps=max riops=400 wiops=max\n",
	})
	e := &facts{FS: k, known: map[string]map[string]string{}, unknown: map[string]string{}}
	e.process("server", 7)
	for name, want := range map[string]string{
		"affinity": "0,2-3", "nice": "-5", "sched_policy": "batch", "open_files": "1024 (hard 4096)",
		"oom_score_adj": "-500", "allocator": "libjemalloc.so.2",
		"cgroup": "/system.slice/mariadb.service", "cgroup_version": "v2", "slice": "system.slice",
		"unit": "mariadb.service",
	} {
		if got := e.known["server"][name]; got != want {
			t.Errorf("%s = %q, want %q (unknown: %v)", name, got, want, e.unknown)
		}
	}
	got := e.limitFacts("limit.", 7, []string{"254:0"})
	for name, want := range map[string]string{
		"cpu": "1.5", "memory": "none", "read_iops": "400", "write_iops": "none",
		"read_bps": "none", "write_bps": "1048576",
	} {
		if got[name] != want {
			t.Errorf("limit %s = %q, want %q", name, got[name], want)
		}
	}
}

func TestLimitsOfOldControlGroups(t *testing.T) {
	k := tree(t, map[string]string{
		"proc/7/cgroup":       "2:cpu,cpuacct:/x\n3:blkio:/y\n1:name=systemd:/user.slice/s.scope\n0::/\n",
		"proc/self/mountinfo": "32 31 0:29 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
		"sys/fs/cgroup/blkio/y/blkio.throttle.read_iops_device": "254:0 500\n",
	})
	e := &facts{FS: k, known: map[string]map[string]string{}, unknown: map[string]string{}}
	e.cgroupFacts("server", 7)
	if s := e.known["server"]; s["cgroup_version"] != "v1+v2" || s["cgroup"] != "blkio:/y cpu,cpuacct:/x v2:/" ||
		s["slice"] != "user.slice" || s["unit"] != "s.scope" {
		t.Errorf("%v", s)
	}
	if got := e.limitFacts("limit.", 7, []string{"254:0", "7:0"}); got["read_iops"] != "500" ||
		got["write_iops"] != "none" {
		t.Errorf("%v", got)
	}
}

func TestStack(t *testing.T) {
	root := tree(t, map[string]string{
		"sys/devices/a/block/sda/size": "1", "sys/devices/a/block/sda/dev": "8:0",
		"sys/devices/a/block/sda/sda1/partition": "1", "sys/devices/a/block/sda/sda1/dev": "8:1",
		"sys/devices/b/block/sdb/size": "1", "sys/devices/b/block/sdb/dev": "8:16",
		"sys/devices/v/block/md0/dev": "9:0", "sys/devices/v/block/md0/md/level": "raid1\n",
		"sys/devices/v/block/md0/slaves/sda1/x": "", "sys/devices/v/block/md0/slaves/sdb/x": "",
		"sys/devices/v/block/dm-0/dev": "253:0", "sys/devices/v/block/dm-0/dm/uuid": "LVM-abc\n",
		"sys/devices/v/block/dm-0/slaves/md0/x": "",
	})
	for name, at := range map[string]string{
		"sda": "a/block/sda", "sda1": "a/block/sda/sda1", "sdb": "b/block/sdb", "md0": "v/block/md0",
		"dm-0": "v/block/dm-0",
	} {
		link := root.path("sys/class/block", name)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(root.path("sys/devices", at), link); err != nil {
			t.Fatal(err)
		}
	}
	layers, numbers := root.stack("dm-0", 0)
	if got := strings.Join(layers, " on "); got != "LVM on raid1 of 2 on a partition on sda" {
		t.Error(got)
	}
	if got := strings.Join(numbers, " "); got != "253:0 9:0 8:1 8:0 8:16" {
		t.Error(got)
	}
	if got := strings.Join(root.bottom("dm-0", 0), " "); got != "sda sdb" {
		t.Error(got)
	}
}

// TestEnvironmentOfAServer looks at a real server and its data, and sets facts beside what other tools of this machine
// say.
func TestEnvironmentOfAServer(t *testing.T) {
	s := servers.Start(t, "mariadb")
	if err := os.WriteFile("/proc/"+strconv.Itoa(s.PID)+"/oom_score_adj", []byte("77"), 0o600); err != nil {
		t.Fatal(err)
	}
	known, unknown := Environment(s.PID, s.Dir+"/data")
	if known["server"]["oom_score_adj"] != "77" || known["client"]["oom_score_adj"] == "77" {
		t.Errorf("server %v\nclient %v", known["server"], known["client"])
	}
	if got := known["machine"]["cpus"]; got != strconv.Itoa(runtime.NumCPU()) && known["client"]["affinity"] == "" {
		t.Errorf("%s CPUs, the runtime has %d", got, runtime.NumCPU())
	}
	out, err := exec.Command("stat", "-f", "-c", "%T", s.Dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	fs := known["storage"]["filesystem"]
	if kind := strings.TrimSpace(string(out)); fs == "" || !strings.Contains(kind, fs) &&
		!strings.Contains(kind, fs[:min(3, len(fs))]) {
		t.Errorf("filesystem %q, stat says %q", fs, kind)
	}
	for name := range map[string]bool{
		"machine.cpu_model": true, "kernel.release": true, "kernel.swappiness": true,
		"storage.mount_options": true, "server.allocator": true, "server.nice": true, "limit.cpu": true,
		"limit.memory": true,
	} {
		if g, n, _ := strings.Cut(name, "."); known[g][n] == "" && unknown[name] == "" {
			t.Errorf("%s is neither known nor unknown", name)
		}
	}
	again, _ := Environment(s.PID, s.Dir+"/data")
	for g := range known {
		for n, v := range known[g] {
			if again[g][n] != v {
				t.Errorf("%s.%s is %q and then %q: it counts something", g, n, v, again[g][n])
			}
		}
	}
}
