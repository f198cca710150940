package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
)

// loopsOf returns the loop devices on files below a directory.
func loopsOf(t *testing.T, dir string) (devices []string) {
	t.Helper()
	files, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.HasPrefix(string(b), dir+"/") {
			devices = append(devices, strings.Split(f, "/")[3])
		}
	}
	return devices
}

// noLoops waits until no loop device is on a file below a directory: a device frees itself a moment after its unmount.
func noLoops(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		left := loopsOf(t, dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("loop devices are left: %v", left)
		}
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may do that")
	}
}

// needLoops leaves a test out where the kernel gives no loop devices, as in most containers.
func needLoops(t *testing.T) {
	t.Helper()
	needRoot(t)
	if testing.Short() {
		t.Skip("attaches loop devices")
	}
	if err := mayLoop(); err != nil {
		t.Skip(err)
	}
}

func TestFilesystem(t *testing.T) {
	needLoops(t)
	ctx := context.Background()
	for _, f := range filesystems {
		t.Run(f.name, func(t *testing.T) {
			if _, err := findTool(f.mkfs[0][0]); err != nil && f.name != "ext4" {
				err := CheckFilesystem(f.name, 1<<30)
				if h := (hinted{}); !errors.Is(err, ErrFilesystem) || !errors.As(err, &h) ||
					!strings.Contains(h.Hint(), f.pkg) {
					t.Errorf("without its mkfs: %v", err)
				}
				t.Skipf("%s is not installed", f.mkfs[0][0])
			}
			y := yard(t)
			began := time.Now()
			s := up(t, y, Config{Name: "a", Server: "mariadb", Filesystem: f.name, FilesystemBytes: 1 << 30})
			t.Logf("up on %s: %v, notes %q", f.name, time.Since(began), s.Notes)
			place, err := host.DiskOf(filepath.Join(s.Dir, "data"))
			loops := loopsOf(t, s.Dir)
			if err != nil || s.Filesystem != f.name || place.Filesystem != f.name || len(loops) != 1 ||
				place.Device != loops[0] {
				t.Fatalf("data on %+v (%v), loop devices %v, told %q", place, err, loops, s.Filesystem)
			}
			if b, err := os.ReadFile("/sys/block/" + place.Device + "/loop/autoclear"); err != nil ||
				strings.TrimSpace(string(b)) != "1" {
				t.Errorf("the device does not free itself: %q %v", b, err)
			}
			db := open(t, s)
			onImage := func() {
				t.Helper()
				tmp, err := host.DiskOf(filepath.Join(s.Dir, "tmp"))
				if at := value(t, open(t, s), "SELECT @@tmpdir"); err != nil || at != filepath.Join(s.Dir, "tmp") ||
					len(loopsOf(t, s.Dir)) != 1 || tmp.Device != loopsOf(t, s.Dir)[0] {
					t.Errorf("temporary files in %s, on %+v (%v)", at, tmp, err)
				}
			}
			onImage()
			if got := value(t, db,
				"SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE '%lost%'"); got != "0" {
				t.Error("the server takes lost+found for a database")
			}
			if _, err := db.Exec("CREATE DATABASE kept"); err != nil {
				t.Fatal(err)
			}
			if err := y.Down(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			// The machine is started anew: nothing is mounted.
			if err := unmountImage(ctx, s.Dir); err != nil {
				t.Fatal(err)
			}
			noLoops(t, s.Dir)
			if _, err := y.Up(ctx, Config{Name: "a", Filesystem: "zfs"}, nil); !errors.Is(err, ErrFilesystem) {
				t.Errorf("another filesystem for data that are there: %v", err)
			}
			s = up(t, y, Config{Name: "a"})
			if got := value(t, open(t, s),
				"SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME='kept'"); got != "1" ||
				s.Filesystem != f.name {
				t.Errorf("after the mount is back: %s, %+v", got, s)
			}
			onImage()
			if err := y.Remove(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			if exists(s.Dir) {
				t.Error("its directory is left")
			}
			noLoops(t, s.Dir)
		})
	}
}

// An image of old is the data directory itself. Over one whose mounts are there in part somebody was killed.
func TestMountImage(t *testing.T) {
	needLoops(t)
	ctx := context.Background()
	dir := t.TempDir()
	i := image{Filesystem: "ext4", Bytes: 256 << 20}
	f, err := os.Create(imageFile(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(i.Bytes), f.Close(), mkfs(ctx, i.Filesystem, imageFile(dir))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unmountImage(ctx, dir); err != nil {
			t.Error(err)
		}
	})
	mounted := func(want ...string) {
		t.Helper()
		if err := mountImage(ctx, dir, i); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"data", "tmp", wholeImage} {
			if is, err := isMount(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			} else if is {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("mounted are %q, want %q", got, want)
		}
		for end := time.Now().Add(20 * time.Second); len(loopsOf(t, dir)) != 1; time.Sleep(10 * time.Millisecond) {
			// one frees itself a moment later
			if time.Now().After(end) {
				t.Fatalf("loop devices %v", loopsOf(t, dir))
			}
		}
	}
	kept := filepath.Join(dir, "data", "kept")
	mounted("data")
	if !exists(filepath.Join(dir, "data", "lost+found")) {
		t.Error("the data directory is not the image itself")
	}
	if err := unmountImage(ctx, dir); err != nil {
		t.Fatal(err)
	}
	noLoops(t, dir)

	i.Tmp = true
	mounted("data", "tmp")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unmount(ctx, filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	mounted("data", "tmp")
	if !exists(kept) || exists(filepath.Join(dir, "data", "lost+found")) || exists(filepath.Join(dir, wholeImage)) {
		t.Error("the data are not those of the image")
	}
}

// A dyno that is killed at any step leaves what the next Up or Remove takes away.
func TestFilesystemAfterKill(t *testing.T) {
	needLoops(t)
	ctx := context.Background()
	for _, step := range []string{"making a filesystem ext4", "copying the data directory", "waiting for the server"} {
		t.Run(step, func(t *testing.T) {
			y := yard(t)
			c := Config{Name: "a", Server: "mariadb", Filesystem: "ext4", FilesystemBytes: 512 << 20}
			c.Limits.CPU, c.Limits.ReadIOPS = 1, 5000
			p, out := helper(t, helperJob{Home: y.Home, ServerDirs: y.ServerDirs, Config: c, Steps: true}, 0)
			for {
				l, err := out.ReadString('\n')
				if err != nil || strings.HasPrefix(l, "up:") || strings.HasPrefix(l, "error:") ||
					strings.TrimSpace(l) == "step: "+step {
					if err != nil || strings.HasPrefix(l, "error:") {
						t.Fatal(l, err)
					}
					break
				}
			}
			p.Process.Kill()
			p.Wait()
			dir := sandboxDir(y.Home, "a")
			s, err := y.Up(ctx, c, nil)     // begins anew, whatever is there
			if errors.Is(err, ErrRunning) { // it was quicker than the kill
				s, err = y.Find(ctx, "a")
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.Filesystem != "ext4" || len(loopsOf(t, dir)) != 1 {
				t.Errorf("loop devices %v of %+v", loopsOf(t, dir), s)
			}
			for _, l := range s.Limits {
				if !l.InForce {
					t.Errorf("not in effect: %+v", l)
				}
			}
			if err := y.Remove(ctx, "a"); err != nil {
				t.Fatal(err)
			}
			noLoops(t, dir)
			if left := groupsOf(t, dir); len(left) > 0 {
				t.Errorf("control groups are left: %v", left)
			}
		})
	}
}

func TestFilesystemRefused(t *testing.T) {
	f := func(name string, bytes int64, want string) {
		t.Helper()
		err := CheckFilesystem(name, bytes)
		if h := (hinted{}); !errors.Is(err, ErrFilesystem) || !errors.As(err, &h) ||
			!strings.Contains(err.Error()+" "+h.Hint(), want) {
			t.Errorf("%s of %d bytes: %v", name, bytes, err)
		}
	}
	f("zfs", 1<<30, "ext4, xfs or btrfs")
	f("ext4", 1<<20, "give at least")
	t.Setenv("PATH", t.TempDir())
	if _, err := findTool("mkfs.xfs"); err != nil {
		f("xfs", 1<<30, "xfsprogs")
	}
}

// Who is not root is told so before anything is made.
func TestFilesystemOfOrdinaryUser(t *testing.T) {
	needRoot(t)
	y := yard(t)
	home := filepath.Join(filepath.Dir(y.Home), "nobody")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	_, out := helper(t, helperJob{Home: filepath.Join(home, "yard"), Config: Config{
		Name: "a", Server: "mariadb",
		Filesystem: "ext4",
	}}, 65534)
	l, err := out.ReadString('\n')
	if err != nil || !strings.HasPrefix(l, "error:") || !strings.Contains(l, "not in effect") {
		t.Errorf("got %q %v", l, err)
	}
	if entries, err := os.ReadDir(filepath.Join(home, "yard", "sandboxes")); err == nil && len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// Limits that nobody permits are told, and the server runs all the same.
func TestLimitsOfOrdinaryUser(t *testing.T) {
	needRoot(t)
	y := yard(t)
	home := filepath.Join(filepath.Dir(y.Home), "nobody")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	c := Config{Name: "a", Server: "mariadb"}
	c.Limits.CPU, c.Limits.Memory, c.Limits.WriteBPS = 0.5, 1<<30, 1<<20
	_, out := helper(t, helperJob{Home: filepath.Join(home, "yard"), Config: c}, 65534)
	var s Sandbox
	if err := json.Unmarshal([]byte(line(t, out, "up: ")), &s); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(s.PID, syscall.SIGKILL) }) // ours: it is in no other yard
	if len(s.Limits) != 3 {
		t.Fatalf("got %+v", s.Limits)
	}
	for _, l := range s.Limits {
		t.Logf("%+v", l)
		if l.InForce || !strings.Contains(l.Reason, "root") || !strings.Contains(l.Reason, "permission denied") {
			t.Errorf("%+v", l)
		}
	}
	if b, err := exec.Command("cat", "/proc/self/cgroup").Output(); err == nil && strings.Contains(string(b), "dyno-") {
		t.Errorf("this program is in %s", b)
	}
}
