package host

import (
	"os"

	"github.com/dyno-perf/dyno/internal/known"
)

// MemoryRoom returns how much more memory this program and what it starts may take before a control group's limit is
// reached, bytes: the least that is left in any of the groups on the way up. Pages of files count as left, for the
// kernel takes them back. It is unknown when no group has a limit.
func MemoryRoom() (known.Value[uint64], error) { return FS{}.MemoryRoomOf(os.Getpid()) }

// MemoryRoomOf is MemoryRoom for the process with the pid.
func (f FS) MemoryRoomOf(pid int) (room known.Value[uint64], err error) {
	groups, mounts, err := cgroupsOf(f, pid)
	if err != nil {
		return room, err
	}
	var read Groups
	for _, g := range groups {
		isV2 := g.HierarchyID == 0 && len(g.Controllers) == 0
		files := memoryFilesOf(isV2)
		for _, dir := range groupDirs(g, isV2, mounts) {
			dir = f.path(dir)
			limit, ok := read.one(dir + files.limit).Get()
			if !ok || limit >= 1<<62 { // version 1 writes "no limit" as a number beyond any machine
				continue
			}
			used, _ := read.one(dir + files.used).Get()
			for _, n := range read.flat(dir+"/memory.stat", files.pages...) {
				used -= min(used, n)
			}
			left := limit - min(limit, used)
			if least, ok := room.Get(); !ok || left < least {
				room = known.Of(left)
			}
		}
	}
	return room, nil
}

// memoryFiles are where a control group tells of its memory: Documentation/admin-guide/cgroup-v2.rst and
// cgroup-v1/memory.rst.
type memoryFiles struct {
	limit, used string
	pages       []string // that the kernel gives back when it must, in memory.stat, with those of the groups below
}

func memoryFilesOf(isV2 bool) memoryFiles {
	if isV2 {
		return memoryFiles{
			"/memory.max", "/memory.current",
			[]string{"inactive_file", "active_file", "slab_reclaimable"},
		}
	}
	return memoryFiles{
		"/memory.limit_in_bytes", "/memory.usage_in_bytes",
		[]string{"total_inactive_file", "total_active_file"},
	}
}
