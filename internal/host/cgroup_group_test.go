package host

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dyno-perf/dyno/internal/limit"
)

const (
	onDisk = "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
	onV2   = onDisk + "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	onV1   = onDisk + "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n35 31 0:32 / " +
		"/sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	mixed = onV1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

var wanted = limit.Limits{CPU: 1, Memory: 1 << 30, ReadIOPS: 5}

func TestPlanGroups(t *testing.T) {
	f := func(mounts, group string, files map[string]string, groups []string, lacking map[string]string) FS {
		t.Helper()
		all := map[string]string{"proc/self/mountinfo": mounts, "proc/7/cgroup": group}
		for k, v := range files {
			all["sys/fs/cgroup/"+k] = v
		}
		fs := tree(t, all)
		gs, why := fs.planGroups(7, "x", wanted)
		var got []string
		for _, g := range gs {
			got = append(got, strconv.Itoa(g.Version)+" "+strings.Join(g.Controllers, ",")+" "+strings.TrimPrefix(g.Dir,
				fs.path("sys/fs/cgroup")))
		}
		if !slices.Equal(got, groups) {
			t.Errorf("got %q, want %q", got, groups)
		}
		if len(why) != len(lacking) {
			t.Errorf("lacking %q, want %q", why, lacking)
		}
		for c, text := range lacking {
			if !strings.Contains(why[c], text) {
				t.Errorf("%s is lacking: %q, want %q", c, why[c], text)
			}
		}
		return fs
	}
	// v1: in our own groups.
	f(onV1, "2:cpu,cpuacct:/a\n3:memory:/\n0::/\n", map[string]string{
		"cpu/a/cgroup.procs":  "7\n",
		"memory/cgroup.procs": "",
	},
		[]string{"1 cpu /cpu/a/dyno-x", "1 memory /memory/dyno-x"},
		map[string]string{"io": "no control groups with the controller io"})

	// The root of all may have processes and children.
	root := map[string]string{
		"cgroup.controllers": "cpuset cpu io memory pids\n", "cgroup.subtree_control": "",
		"cgroup.procs": "1\n7\n",
	}
	f(onV2, "0::/\n", root, []string{"2 cpu,memory,io /dyno-x"}, nil)

	// That of a container looks like the root and is not.
	container := map[string]string{
		"cgroup.type": "domain\n", "cgroup.controllers": "cpu io memory\n",
		"cgroup.subtree_control": "", "cgroup.procs": "1\n7\n",
	}
	f(onV2, "0::/\n", container, nil, map[string]string{
		"cpu":    "has processes of its own",
		"memory": "has processes of its own", "io": "has processes of its own",
	})

	// An own scope holds us, the slice above it does not; what the way down from the top lacks is switched on.
	scope := map[string]string{
		"cgroup.controllers": "cpu io memory\n", "cgroup.subtree_control": "cpu memory\n", "cgroup.procs": "1\n",
		"u.slice/cgroup.type": "domain\n", "u.slice/cgroup.controllers": "cpu memory\n",
		"u.slice/cgroup.subtree_control": "memory\n", "u.slice/cgroup.procs": "",
		"u.slice/s.scope/cgroup.type": "domain\n", "u.slice/s.scope/cgroup.procs": "7\n",
		"u.slice/s.scope/cgroup.subtree_control": "",
	}
	fs := f(onV2, "0::/u.slice/s.scope\n", scope, []string{"2 cpu,memory,io /u.slice/dyno-x"}, nil)
	gs, _ := fs.planGroups(7, "x", limit.Limits{CPU: 1})
	if err := gs[0].Make(); err != nil {
		t.Fatal(err)
	}
	if s, _ := word(fs.path("sys/fs/cgroup/u.slice/cgroup.subtree_control")); !strings.HasPrefix(s, "+cpu") {
		t.Errorf("the controller is not handed down: %q", s)
	}
	if s, _ := word(fs.path("sys/fs/cgroup/cgroup.subtree_control")); s != "cpu memory" {
		t.Errorf("what was handed down is touched: %q", s)
	}
	if fi, err := os.Stat(gs[0].Dir); err != nil || !fi.IsDir() {
		t.Errorf("not made: %v", err)
	}

	// What stands in the way is the group above: it has processes too.
	both := maps.Clone(scope)
	both["u.slice/cgroup.procs"], both["cgroup.type"] = "8\n", "domain\n"
	f(onV2, "0::/u.slice/s.scope\n", both, nil, map[string]string{
		"cpu": "u.slice: it has", "memory": "u.slice: it has",
		"io": "u.slice: it has",
	})

	// A machine without the controller io.
	noIO := map[string]string{
		"cgroup.controllers": "cpu memory\n", "cgroup.subtree_control": "cpu memory\n",
		"cgroup.procs": "",
	}
	f(onV2, "0::/\n", noIO, []string{"2 cpu,memory /dyno-x"}, map[string]string{"io": "have no controller io"})

	// Both at once: what v1 has not is in v2.
	f(mixed, "2:cpu,cpuacct:/\n3:memory:/\n0::/\n", map[string]string{
		"cpu/cgroup.procs": "", "memory/cgroup.procs": "", "unified/cgroup.controllers": "io\n",
		"unified/cgroup.subtree_control": "", "unified/cgroup.procs": "",
	}, []string{"1 cpu /cpu/dyno-x", "1 memory /memory/dyno-x", "2 io /unified/dyno-x"}, nil)

	// Threads of a process, not processes.
	threaded := map[string]string{"cgroup.type": "threaded\n", "cgroup.controllers": "cpu\n", "cgroup.procs": ""}
	f(onV2, "0::/\n", threaded, nil, map[string]string{"cpu": "threaded", "memory": "threaded", "io": "threaded"})

	// No control groups at all.
	f(onDisk, "", nil, nil, map[string]string{"cpu": "mounted", "memory": "mounted", "io": "mounted"})
}

// With io alone, memory comes along where it can: together they charge writes through the page cache to who made them.
func TestPlanGroupsIO(t *testing.T) {
	fs := tree(t, map[string]string{
		"proc/self/mountinfo": onV2, "proc/7/cgroup": "0::/\n",
		"sys/fs/cgroup/cgroup.controllers": "io memory\n", "sys/fs/cgroup/cgroup.subtree_control": "",
		"sys/fs/cgroup/cgroup.procs": "7\n",
	})
	gs, why := fs.planGroups(7, "x", limit.Limits{WriteBPS: 1 << 20})
	if len(why) > 0 || len(gs) != 1 || !slices.Equal(gs[0].Controllers, []string{"io", "memory"}) {
		t.Errorf("got %+v, %v", gs, why)
	}
}

// unified returns where cgroup v2 is mounted and may be written.
func unified(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may make control groups where nobody handed one down")
	}
	for _, dir := range []string{"/sys/fs/cgroup/unified", "/sys/fs/cgroup"} {
		if _, ok := word(dir + "/cgroup.controllers"); ok {
			return dir
		}
	}
	t.Fatal("no cgroup v2 is mounted")
	return ""
}

// The kernel's own v2: make, hand a controller down, join, leave, remove. Where the hierarchy has cpu, its limit too.
func TestGroupOfKernelV2(t *testing.T) {
	ctx := context.Background()
	top := unified(t)
	g := Group{Version: 2, Dir: filepath.Join(top, groupPrefix+"test-"+strconv.Itoa(os.Getpid())), Top: top}
	for _, c := range []string{"cpu", "memory", "io", "hugetlb"} {
		if contains(top+"/cgroup.controllers", c) {
			g.Controllers = append(g.Controllers, c)
		}
	}
	before, _ := word(top + "/cgroup.subtree_control")
	t.Cleanup(func() {
		for _, c := range g.Controllers {
			if !slices.Contains(strings.Fields(before), c) {
				if err := put(top+"/cgroup.subtree_control", "-"+c); err != nil {
					t.Error(err)
				}
			}
		}
	})
	lifecycle(t, ctx, g)
}

// The kernel's own v1, where it has it.
func TestGroupOfKernelV1(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may make control groups where nobody handed one down")
	}
	gs, lacking := PlanGroups("test-"+strconv.Itoa(os.Getpid()), wanted)
	if len(lacking) > 0 {
		t.Fatalf("root lacks %v", lacking)
	}
	for _, g := range gs {
		lifecycle(t, context.Background(), g)
	}
}

func lifecycle(t *testing.T, ctx context.Context, g Group) {
	t.Helper()
	t.Cleanup(func() { g.Remove(ctx) })
	for range 2 { // it may be there
		if err := g.Make(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := g.Limits("254:0"); err != nil || got.Any() {
		t.Errorf("of a new group: %+v %v", got, err)
	}
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if g.Holds(c.Process.Pid) {
		t.Error("it holds a process that has not joined")
	}
	if err := g.Join(c.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if !g.Holds(c.Process.Pid) {
		t.Error("the process is not in it")
	}
	want := limit.Limits{}
	if slices.Contains(g.Controllers, "cpu") {
		want.CPU = 0.97
	}
	if slices.Contains(g.Controllers, "memory") {
		want.Memory = 1 << 28
	}
	if errs := g.Set(want, ""); len(errs) > 0 {
		t.Error(errs)
	}
	if got, err := g.Limits(""); err != nil || got != want {
		t.Errorf("read back %+v %v, want %+v", got, err, want)
	}
	if errs := g.Set(limit.Limits{}, ""); len(errs) > 0 {
		t.Error(errs)
	}
	if got, err := g.Limits(""); err != nil || got.Any() {
		t.Errorf("after they were taken away: %+v %v", got, err)
	}
	c.Process.Kill()
	c.Wait()
	for range 2 { // it may be gone
		if err := g.Remove(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(g.Dir); err == nil {
		t.Error("it is still there")
	}
	if _, err := g.Limits(""); err == nil {
		t.Error("a group that is gone has limits")
	}
	if err := g.Join(os.Getpid()); err == nil {
		t.Error("joined a group that is gone")
	}
}

// Nobody else's group is removed, and one that holds a process says which.
func TestRemoveGroup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "other")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (Group{Dir: dir}).Remove(context.Background()); err == nil {
		t.Error("removed a group that is not one of ours")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

func TestDeviceNumber(t *testing.T) {
	fs := tree(t, map[string]string{"sys/block/vda/dev": "254:0\n", "sys/block/cciss!c0d0/dev": "104:0\n"})
	f := func(device, want string) {
		t.Helper()
		if got, err := fs.deviceNumber(device); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v", device, got, err)
		}
	}
	f("vda", "254:0")
	f("cciss/c0d0", "104:0")
	f("sdz", "")
}
