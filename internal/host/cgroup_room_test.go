package host

import (
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/known"
)

func TestMemoryRoom(t *testing.T) {
	f := func(mounts, groups string, files map[string]string, want known.Value[uint64]) {
		t.Helper()
		all := map[string]string{"proc/self/mountinfo": mounts, "proc/7/cgroup": groups}
		for k, v := range files {
			all["sys/fs/cgroup/"+k] = v
		}
		if got, err := tree(t, all).MemoryRoomOf(7); err != nil || got != want {
			t.Errorf("%s: %v (%v), want %v", groups, got, err, want)
		}
	}
	room := func(n uint64) known.Value[uint64] { return known.Of(n) }
	none := known.None[uint64]()
	f(onV2, "0::/\n", nil, none)
	f(onV2, "0::/a/b\n", map[string]string{"a/b/memory.max": "max\n", "a/b/memory.current": "4096\n"}, none)
	f(onV2, "0::/a/b\n", map[string]string{"a/b/memory.max": "10000\n", "a/b/memory.current": "4000\n"}, room(6000))
	// What is left is least in the group above, whose limit is larger.
	f(onV2, "0::/a/b\n", map[string]string{
		"a/b/memory.max": "10000\n", "a/b/memory.current": "1000\n", "a/memory.max": "20000\n",
		"a/memory.current": "19000\n",
	}, room(1000))
	// The kernel takes pages of files back; those in shared memory it does not, which are anonymous.
	f(onV2, "0::/a\n", map[string]string{
		"a/memory.max": "10000\n", "a/memory.current": "9000\n", "a/memory.stat": "anon 2000\nfile 7000\nshmem " +
			"1000\ninactive_file 5000\nactive_file 1000\n",
	}, room(7000))
	f(onV2, "0::/a\n", map[string]string{ // so it does with what it knows of names
		"a/memory.max": "10000\n", "a/memory.current": "9000\n", "a/memory.stat": "inactive_file 1000\nslab " +
			"3000\nslab_reclaimable 2000\n",
	}, room(4000))
	// the limit was lowered
	f(onV2, "0::/a\n", map[string]string{"a/memory.max": "10000\n", "a/memory.current": "12000\n"}, room(0))
	f(onV1, "2:cpu,cpuacct:/x\n3:memory:/y\n", map[string]string{
		"memory/y/memory.limit_in_bytes": "10000\n", "memory/y/memory.usage_in_bytes": "6000\n",
		"memory/memory.limit_in_bytes": "9223372036854771712\n",
		"memory/y/memory.stat": "inactive_file 1\nactive_file 1\ntotal_inactive_file 1000\ntotal_active_file " +
			"500\n",
	}, room(5500))
	// In a container the mount shows a part of the tree.
	f(strings.Replace(onV2, "0:38 / ", "0:38 /docker/1 ", 1), "0::/docker/1\n",
		map[string]string{"memory.max": "10000\n", "memory.current": "1000\n"}, room(9000))

	if _, err := MemoryRoom(); err != nil {
		t.Error(err)
	}
}
