package host

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dyno-perf/dyno/internal/known"
)

func TestGroupsRead(t *testing.T) {
	whole := func(n uint64) known.Value[uint64] { return known.Of(n) }
	f := func(mounts, groups string, files map[string]string, want GroupUsage) {
		t.Helper()
		all := map[string]string{"proc/self/mountinfo": mounts, "proc/7/cgroup": groups}
		for k, v := range files {
			all["sys/fs/cgroup/"+k] = v
		}
		x, err := tree(t, all).FindGroups(7)
		if err != nil {
			t.Error(err)
			return
		}
		got, err := x.Read()
		if err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(want, got, cmp.Comparer(func(a, b known.Value[uint64]) bool { return a == b }),
			cmp.Comparer(func(a, b known.Value[float64]) bool { return a == b })); d != "" {
			t.Errorf("%s: %s", groups, d)
		}
	}
	f(onV2, "0::/db/a\n", map[string]string{
		"db/a/cgroup.type": "domain\n", "db/a/cpu.stat": "usage_usec 2500000\nuser_usec 1\nsystem_usec 1\nnr_periods " +
			"10\nnr_throttled 4\nthrottled_usec 500000\n",
		"db/a/cpu.max": "max 100000\n", "db/cpu.max": "150000 100000\n", "db/a/memory.max": "1048576\n",
		"db/a/memory.current": "4096\n", "db/a/memory.swap.current": "0\n",
		"db/a/memory.events": "low 0\nhigh 0\nmax 3\noom 2\noom_kill 1\n", "db/a/io.stat": "254:0 rbytes=1 wbytes=2 " +
			"rios=3 wios=4 dbytes=0 dios=0\n254:16 rbytes=10 wbytes=20 rios=30 wios=40\n",
		"db/a/cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\nfull avg10=0.00 avg60=0.00 " +
			"avg300=0.00 total=1000000\n",
	}, GroupUsage{
		CPUSec: known.Of(2.5), Periods: whole(10), Throttled: whole(4), ThrottledSec: known.Of(0.5),
		CPULimit: known.Of(1.5), Memory: whole(4096), Swap: whole(0),
		MemoryLimit: whole(1 << 20), LimitHits: whole(3), OOMKills: whole(1), ReadBytes: whole(11),
		WriteBytes: whole(22), Reads: whole(33), Writes: whole(44),
		Pressure: []Pressure{{Resource: "cpu", Some: 2, Full: known.Of(1.0)}},
	})
	f(onV1, "2:cpu,cpuacct:/a\n3:memory:/b\n", map[string]string{
		"cpu/a/cpuacct.usage": "1500000000\n", "cpu/a/cpu.stat": "nr_periods 5\nnr_throttled 1\nthrottled_time " +
			"250000000\n", "cpu/a/cpu.cfs_quota_us": "-1\n", "cpu/a/cpu.cfs_period_us": "100000\n",
		"memory/b/memory.usage_in_bytes": "8192\n", "memory/b/memory.failcnt": "6\n",
		"memory/b/memory.stat": "cache 1\nswap 12\n", "memory/b/memory.limit_in_bytes": "9223372036854771712\n",
		"memory/b/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
	}, GroupUsage{
		CPUSec: known.Of(1.5), Periods: whole(5), Throttled: whole(1), ThrottledSec: known.Of(0.25),
		Memory: whole(8192), Swap: whole(12), LimitHits: whole(6), OOMKills: whole(2),
	})
	// the top is the machine
	f(onV1, "2:cpu,cpuacct:/\n3:memory:/b\n", map[string]string{
		"memory/b/memory.usage_in_bytes": "1\n",
		"cpu/cpuacct.usage":              "99\n",
	}, GroupUsage{Memory: whole(1)})
}

func TestNoGroup(t *testing.T) {
	f := func(mounts, groups string, want error) {
		t.Helper()
		_, err := tree(t, map[string]string{"proc/self/mountinfo": mounts, "proc/7/cgroup": groups}).FindGroups(7)
		if !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", groups, err, want)
		}
	}
	f(onV2, "0::/\n", ErrNoGroup)
	f(onV1, "2:cpu,cpuacct:/\n3:memory:/\n", ErrNoGroup)
	if _, err := FindGroups(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that is not there: %v", err)
	}
}

func TestGroupThatIsGone(t *testing.T) {
	fs := tree(t, map[string]string{
		"proc/self/mountinfo": onV2, "proc/7/cgroup": "0::/a\n",
		"sys/fs/cgroup/a/cgroup.type": "domain\n",
	})
	x, err := fs.FindGroups(7)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Read(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(fs.Root, "sys/fs/cgroup/a")); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Read(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
