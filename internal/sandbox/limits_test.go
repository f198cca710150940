package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/limit"
)

// groupsOf returns the control groups of a sandbox that exist.
func groupsOf(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && filepath.Base(path) == "dyno-"+groupName(dir) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// cpuSeconds is the time a process and its threads have run.
func cpuSeconds(t *testing.T, pid int) float64 {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, err1 := strconv.ParseFloat(f[11], 64)
	system, err2 := strconv.ParseFloat(f[12], 64)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return (user + system) / 100
}

// inForce fails when a limit is not.
func inForce(t *testing.T, states []limit.State, want ...string) {
	t.Helper()
	if len(states) != len(want) {
		t.Errorf("got %+v, want %v", states, want)
	}
	for i, s := range states {
		if !s.InForce || s.Reason != "" || s.How == "" || i < len(want) && s.Name+" "+s.Wanted != want[i] {
			t.Errorf("not as wanted: %+v", s)
		}
	}
}

func TestLimitCPU(t *testing.T) {
	needRoot(t)
	ctx := context.Background()
	y := yard(t)
	s := up(t, y, Config{Name: "a", Server: "mariadb", Limits: limit.Limits{CPU: 0.5}})
	inForce(t, s.Limits, "cpu 0.5")
	weight := func(shares, weight string) {
		for _, g := range groupsOf(t, s.Dir) {
			for file, value := range map[string]string{"cpu.shares": shares, "cpu.weight": weight} {
				if exists(filepath.Join(g, file)) {
					if err := os.WriteFile(filepath.Join(g, file), []byte(value), 0); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	weight("262144", "10000") // other programs must not take what the server is granted
	db := open(t, s)
	for range 2 { // more than the limit on any machine
		go db.ExecContext(ctx, "SELECT BENCHMARK(100000000000, MD5('a'))")
	}
	use := func(want float64) {
		t.Helper()
		var got float64
		for range 5 { // on a busy machine one try may go wrong
			from, at := cpuSeconds(t, s.PID), time.Now()
			time.Sleep(2 * time.Second)
			if got = (cpuSeconds(t, s.PID) - from) / time.Since(at).Seconds(); got > want-0.05 && got < want+0.05 {
				t.Logf("%.3f of %v CPU", got, want)
				return
			}
		}
		t.Errorf("it uses %.3f CPUs under a limit of %v", got, want)
	}
	use(0.5)
	states, err := y.Limit(ctx, "a", limit.Limits{CPU: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	inForce(t, states, "cpu 0.25")
	use(0.25)
	weight("4096", "400") // without a limit it would leave nothing to whatever else runs here
	if states, err = y.Limit(ctx, "a", limit.Limits{}); err != nil || len(states) != 0 {
		t.Fatal(states, err)
	}
	var got float64
	for range 5 {
		from, at := cpuSeconds(t, s.PID), time.Now()
		time.Sleep(time.Second)
		if got = (cpuSeconds(t, s.PID) - from) / time.Since(at).Seconds(); got >= 0.4 {
			break
		}
	}
	if got < 0.4 {
		t.Errorf("without a limit it uses %.3f CPUs", got)
	}

	if _, err := y.Limit(ctx, "a", limit.Limits{CPU: -1}); err == nil {
		t.Error("a limit below nothing is taken")
	}
	if _, err := y.Limit(ctx, "b", limit.Limits{CPU: 1}); !errors.Is(err, ErrNotFound) {
		t.Errorf("of a sandbox that is not there: %v", err)
	}
	if err := y.Down(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if left := groupsOf(t, s.Dir); len(left) > 0 {
		t.Errorf("control groups of a stopped server: %v", left)
	}
	if _, err := y.Limit(ctx, "a", limit.Limits{CPU: 1}); !errors.Is(err, ErrStopped) {
		t.Errorf("of a stopped one: %v", err)
	}
}

func TestLimitsAfterServerDied(t *testing.T) {
	needRoot(t)
	y := yard(t)
	l := limit.Limits{CPU: 1.5, Memory: 2 << 30, ReadIOPS: 9000}
	s := up(t, y, Config{Name: "a", Server: "mariadb", Limits: l})
	inForce(t, s.Limits, "cpu 1.5", "memory 2147483648", "read_iops 9000")
	groups := groupsOf(t, s.Dir)
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); find(t, y, "a").State != Dead; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not die")
		}
	}
	for _, st := range find(t, y, "a").Limits {
		if st.InForce || !strings.Contains(st.Reason, "does not run") {
			t.Errorf("of a dead server: %+v", st)
		}
	}
	s = up(t, y, Config{Name: "a", Limits: l})
	inForce(t, s.Limits, "cpu 1.5", "memory 2147483648", "read_iops 9000")
	if now := groupsOf(t, s.Dir); len(now) != len(groups) {
		t.Errorf("control groups %v, first they were %v", now, groups)
	}

	// A start that fails leaves none.
	if err := y.Down(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Up(t.Context(), Config{Name: "a", Limits: l, Settings: map[string]string{"nonsense": "1"}},
		nil); !errors.Is(err, ErrDied) {
		t.Errorf("a setting that is none: %v", err)
	}
	if left := groupsOf(t, s.Dir); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
	if s = up(t, y, Config{Name: "a"}); len(s.Limits) > 0 || len(groupsOf(t, s.Dir)) > 0 {
		t.Errorf("started without limits: %+v, control groups %v", s.Limits, groupsOf(t, s.Dir))
	}
}

// What somebody else does to a limit is seen at the next look.
func TestLimitChangedByOthers(t *testing.T) {
	needRoot(t)
	y := yard(t)
	s := up(t, y, Config{Name: "a", Server: "mariadb", Limits: limit.Limits{CPU: 1, Memory: 2 << 30}})
	inForce(t, s.Limits, "cpu 1", "memory 2147483648")
	groups := groupsOf(t, s.Dir)
	if len(groups) == 0 {
		t.Fatal("no control group")
	}
	for _, g := range groups {
		for file, text := range map[string]string{
			"cpu.cfs_quota_us": "-1", "cpu.max": "max",
			"memory.limit_in_bytes": "-1", "memory.max": "max",
		} {
			if exists(filepath.Join(g, file)) {
				if err := os.WriteFile(filepath.Join(g, file), []byte(text), 0); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, l := range find(t, y, "a").Limits {
		if l.InForce || !strings.Contains(l.Reason, "was changed by another program") {
			t.Errorf("got %+v", l)
		}
	}
}

func TestLimitMemory(t *testing.T) {
	needRoot(t)
	ctx := context.Background()
	y := yard(t)
	s := up(t, y, Config{Name: "a", Server: "mariadb", Limits: limit.Limits{Memory: 1<<30 + 1}})
	inForce(t, s.Limits, "memory 1073741825")
	groups := groupsOf(t, s.Dir)
	if len(groups) != 1 {
		t.Fatalf("control groups %v", groups)
	}
	var kernel string
	for _, f := range []string{"memory.limit_in_bytes", "memory.max"} {
		if b, err := os.ReadFile(filepath.Join(groups[0], f)); err == nil {
			kernel = strings.TrimSpace(string(b))
		}
	}
	if kernel != "1073741824" { // whole pages
		t.Errorf("the kernel says %q", kernel)
	}
	states, err := y.Limit(ctx, "a", limit.Limits{Memory: 4 << 20}) // less than it holds
	if err != nil || len(states) != 1 || states[0].InForce || states[0].Reason == "" {
		t.Errorf("less than the server holds: %+v, %v", states, err)
	}
	if got := value(t, open(t, s), "SELECT 1"); got != "1" {
		t.Error("the server is gone")
	}

	// Under a limit that came late what it held before does not count.
	b := up(t, y, Config{Name: "b", Server: "mariadb"})
	if states, err = y.Limit(ctx, "b", limit.Limits{Memory: 1 << 30}); err != nil || len(states) != 1 ||
		states[0].InForce || !strings.Contains(states[0].Reason, "before") {
		t.Errorf("set while it runs: %+v, %v", states, err)
	}
	if got := find(t, y, "b"); len(got.Limits) != 1 || got.Limits[0].InForce || got.PID != b.PID {
		t.Errorf("told later: %+v", got)
	}
}

// readDirect reads a file for some seconds past the page cache, in the control group of a server, and tells bytes and
// requests a second.
func readDirect(t *testing.T, groups []string, file string, block int) (bytes, requests float64) {
	t.Helper()
	script := "read -r word; for g in " + strings.Join(groups, " ") + "; do echo $$ > $g/cgroup.procs; done; " +
		fmt.Sprintf("exec timeout --foreground -s INT 5 dd if=%s of=/dev/null bs=%d iflag=direct", file, block)
	out, took := shell(t, script)
	for l := range strings.Lines(out) {
		var n float64
		if _, err := fmt.Sscanf(l, "%f bytes", &n); err == nil {
			return n / took, n / float64(block) / took
		}
	}
	t.Fatalf("dd says %q", out)
	return 0, 0
}

func TestLimitReads(t *testing.T) {
	needRoot(t)
	ctx := context.Background()
	y := yard(t)
	s := up(t, y, Config{Name: "a", Server: "mariadb", Limits: limit.Limits{ReadBPS: 5e6}})
	inForce(t, s.Limits, "read_bps 5000000")
	file := filepath.Join(s.Dir, "files", "big")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 256 {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	groups := groupsOf(t, s.Dir)
	// No try may pass the limit; that it can be reached may take some tries where the disk has other work.
	near := func(limit float64, unit string, read func() float64) {
		t.Helper()
		best := 0.0
		for try := 0; try < 6 && best < 0.7*limit; try++ {
			got := read()
			t.Logf("%.2f %s under a limit of %g", got, unit, limit)
			if got > 1.2*limit {
				t.Errorf("%.2f %s under a limit of %g", got, unit, limit)
			}
			best = max(best, got)
		}
		if best < 0.7*limit {
			t.Errorf("at best %.2f %s under a limit of %g", best, unit, limit)
		}
	}
	near(5, "MB/s", func() float64 {
		bytes, _ := readDirect(t, groups, file, 256<<10)
		return bytes / 1e6
	})
	states, err := y.Limit(ctx, "a", limit.Limits{ReadIOPS: 200})
	if err != nil {
		t.Fatal(err)
	}
	inForce(t, states, "read_iops 200")
	near(200, "requests/s", func() float64 {
		_, requests := readDirect(t, groups, file, 16<<10)
		return requests
	})
	if err := y.Remove(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if left := groupsOf(t, s.Dir); len(left) > 0 {
		t.Errorf("control groups are left: %v", left)
	}
}

// rules returns what the kernel holds the devices of a sandbox's control groups to.
func rules(t *testing.T, dir string) (found []string) {
	t.Helper()
	for _, g := range groupsOf(t, dir) {
		for _, pattern := range []string{"blkio.throttle.*_device", "io.max"} {
			files, err := filepath.Glob(filepath.Join(g, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				b, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(string(b)) {
					found = append(found, filepath.Base(f)+" "+strings.TrimSpace(line))
				}
			}
		}
	}
	return found
}

// Of a limit on a device that is taken away from a running server nothing is left in the kernel.
func TestLimitOfDeviceTakenAway(t *testing.T) {
	needRoot(t)
	y := yard(t)
	s := up(t, y, Config{Name: "a", Server: "mariadb", Limits: limit.Limits{ReadIOPS: 9001, WriteBPS: 1<<30 + 1<<20}})
	f := func(want ...string) {
		t.Helper()
		got := strings.Join(rules(t, s.Dir), "\n")
		if len(want) == 0 && got != "" {
			t.Errorf("the kernel still holds it to %q", got)
		}
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("the kernel holds it to %q, want %s", got, w)
			}
		}
	}
	change := func(l limit.Limits, want ...string) {
		t.Helper()
		states, err := y.Limit(t.Context(), "a", l)
		if err != nil {
			t.Fatal(err)
		}
		inForce(t, states, want...)
	}
	f("9001", "1074790400")
	change(limit.Limits{CPU: 1}, "cpu 1")
	f()
	change(limit.Limits{ReadIOPS: 9002}, "read_iops 9002")
	f("9002")
	change(limit.Limits{})
	f()
}

// The limits on a disk go when the data are not known to be there any more.
func TestLimitOfDiskBefore(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	var r record
	t.Cleanup(func() {
		if err := r.Held.free(context.Background()); err != nil {
			t.Error(err)
		}
	})
	l := limit.Limits{ReadIOPS: 9001}
	if err := r.limit(dir, l); err != nil {
		t.Fatal(err)
	}
	if len(rules(t, dir)) == 0 {
		t.Fatalf("no limit in the kernel: %+v", r.Held)
	}
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	if err := r.limit(dir, l); err != nil {
		t.Fatal(err)
	}
	if left := rules(t, dir); len(left) > 0 {
		t.Errorf("the kernel still holds it to %q", left)
	}
}

// A server is in one group of cgroup v2: what it is to be held to later is handed down to that one.
func TestAdopt(t *testing.T) {
	top := t.TempDir()
	group := func(version int, controllers string) host.Group {
		return host.Group{
			Version: version, Controllers: strings.Split(controllers, ","),
			Dir: filepath.Join(top, "dyno-x"), Top: top,
		}
	}
	text := func(groups []host.Group) string {
		var out []string
		for _, g := range groups {
			out = append(out, fmt.Sprintf("%d %s %s", g.Version, strings.Join(g.Controllers, ","),
				strings.TrimPrefix(g.Dir, top)))
		}
		return strings.Join(out, "; ")
	}
	handed := filepath.Join(top, "cgroup.subtree_control")
	f := func(have, plan []host.Group, then, fresh, late string) held {
		t.Helper()
		if err := os.WriteFile(handed, []byte("cpu\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		h := held{Groups: have}
		for i := range plan {
			plan[i].Dir = filepath.Join(top, "elsewhere", "dyno-x")
		}
		got := text(h.adopt(plan))
		if text(h.Groups) != then || got != fresh || strings.Join(h.Late, ",") != late {
			t.Errorf("groups %q, to make %q, late %v; want %q, %q, %q", text(h.Groups), got, h.Late, then, fresh, late)
		}
		return h
	}
	f(nil, []host.Group{group(2, "cpu,memory")}, "", "2 cpu,memory /elsewhere/dyno-x", "")
	f([]host.Group{group(2, "cpu")}, []host.Group{group(2, "cpu")}, "2 cpu /dyno-x", "", "")
	f([]host.Group{group(1, "cpu")}, []host.Group{group(1, "cpu"), group(1, "memory")}, "1 cpu /dyno-x",
		"1 memory /elsewhere/dyno-x", "")
	f([]host.Group{group(1, "cpu")}, []host.Group{group(1, "cpu"), group(2, "io,memory")}, "1 cpu /dyno-x",
		"2 io,memory /elsewhere/dyno-x", "")
	f([]host.Group{group(2, "cpu")}, []host.Group{group(2, "cpu,memory")}, "2 cpu,memory /dyno-x", "", "memory")
	if b, err := os.ReadFile(handed); err != nil || !strings.HasPrefix(string(b), "+memory") {
		t.Errorf("not handed down: %q %v", b, err)
	}

	// What cannot be handed down is lacking, and what is there stays.
	top = filepath.Join(top, "missing")
	handed = filepath.Join(t.TempDir(), "not there")
	h := f([]host.Group{group(2, "cpu")}, []host.Group{group(2, "cpu,memory")}, "2 cpu /dyno-x", "", "")
	if h.Lacking["memory"] == "" || len(h.Lacking) != 1 {
		t.Errorf("lacking %q", h.Lacking)
	}
}

// A limit that is not in force says why, whatever the record lacks.
func TestLimitWithoutGroup(t *testing.T) {
	me, err := host.IdentityOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	r := record{Process: me, Held: held{Wanted: limit.Limits{Memory: 1 << 30}}}
	if s := r.limits(t.TempDir()); len(s) != 1 || s[0].InForce || s[0].Reason == "" {
		t.Errorf("got %+v", s)
	}
}

// A loop device is held to limits as a disk is.
func TestLimitReadsOfLoopDevice(t *testing.T) {
	needLoops(t)
	y := yard(t)
	s := up(t, y, Config{
		Name: "a", Server: "mariadb", Limits: limit.Limits{ReadIOPS: 300}, Filesystem: "ext4",
		FilesystemBytes: 512 << 20,
	})
	inForce(t, s.Limits, "read_iops 300")
	if !strings.Contains(s.Limits[0].How, " of loop") {
		t.Errorf("limited is %s", s.Limits[0].How)
	}
	file := filepath.Join(s.Dir, "data", "ibdata1")
	_, requests := readDirect(t, groupsOf(t, s.Dir), file, 4<<10)
	if requests < 200 || requests > 360 {
		t.Errorf("%.0f requests/s under a limit of 300", requests)
	} else {
		t.Logf("%.0f requests/s under a limit of 300", requests)
	}
}

// A limit on writes that the page cache goes around is not called one.
func TestLimitWrites(t *testing.T) {
	needRoot(t)
	y := yard(t)
	l := limit.Limits{WriteBPS: 64 << 20}
	s := up(t, y, Config{
		Name: "a", Server: "mariadb", Settings: map[string]string{"innodb_flush_method": "O_DIRECT"},
		Limits: l,
	})
	inForce(t, s.Limits, "write_bps 67108864")
	s = up(t, y, Config{
		Name: "b", Server: "mariadb", Settings: map[string]string{"innodb_flush_method": "fsync"},
		Limits: l,
	})
	v1 := exists("/sys/fs/cgroup/blkio")
	if len(s.Limits) != 1 || s.Limits[0].InForce == v1 || v1 && !strings.Contains(s.Limits[0].Reason, "O_DIRECT") {
		t.Errorf("through the page cache: %+v", s.Limits)
	}
}
