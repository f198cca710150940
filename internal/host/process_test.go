package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestProcessSeesItself(t *testing.T) {
	a, err := Process(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(burn(300 * time.Millisecond))
	b, err := Process(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	total := float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
	if got := b.UserSec + b.SysSec; got > total+0.03 || got < total-0.2 {
		t.Errorf("cpu %.3f s, the kernel's own sum is %.3f s", got, total)
	}
	if b.UserSec <= a.UserSec || a.Start == 0 || a.Start != b.Start || b.RSSBytes < 1<<20 || b.Threads < 2 {
		t.Errorf("got %+v then %+v", a, b)
	}
	if b.IODenied != nil || !b.ReadBytes.OK() || !b.WriteBytes.OK() {
		t.Errorf("own io is unknown: %v", b.IODenied)
	}
}

func TestProcessThatIsGone(t *testing.T) {
	c := exec.Command("true")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) { // until it is a zombie
		_, err := Process(pid)
		if errors.Is(err, os.ErrNotExist) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("a dead process is read: %v", err)
		}
	}
	c.Wait()
	if _, err := Process(pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := ThreadTurns(pid, 10); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := FactsOf(pid); err == nil {
		t.Error("facts of no process")
	}
}

func TestProcessKeepsTheRestWhenIOIsDenied(t *testing.T) {
	stat := "7 (a (b) c) S 1 1 1 0 -1 0 1 2 3 4 500 250 0 0 20 0 9 0 1234 1000 10 18446744073709551615 0 0 0 0 0 0 0 " +
		"0 0 0 0 0 17 0 0 0 0 0 0\n"
	f := tree(t, map[string]string{"proc/7/stat": stat, "proc/7/io": ""})
	if err := os.Remove(f.path("proc/7/io")); err != nil {
		t.Fatal(err)
	}
	r, err := f.Process(7)
	if err != nil {
		t.Fatal(err)
	}
	if r.UserSec != 5 || r.SysSec != 2.5 || r.Threads != 9 || r.Start != 1234 || r.Name != "a (b) c" {
		t.Errorf("got %+v", r)
	}
	if r.IODenied == nil || r.ReadBytes.OK() || r.WriteBytes.OK() {
		t.Errorf("io: %v %v %v", r.ReadBytes, r.WriteBytes, r.IODenied)
	}
}

func TestThreadTurns(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := syscall.Gettid()
	a, err := ThreadTurns(os.Getpid(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		syscall.Nanosleep(&syscall.Timespec{Nsec: 1e6}, nil) // waits on this very thread
	}
	b, err := ThreadTurns(os.Getpid(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if b[tid].Count < a[tid].Count+20 || b[tid].WaitSec < a[tid].WaitSec || a[tid].Count == 0 {
		t.Errorf("thread %d: %+v then %+v", tid, a[tid], b[tid])
	}
	if _, err := ThreadTurns(os.Getpid(), 1); !errors.Is(err, ErrTooMany) {
		t.Errorf("limit 1: %v", err)
	}
	old := tree(t, map[string]string{"proc/7/task/8/status": ""}) // a kernel without schedstat
	if m, err := old.ThreadTurns(7, 10); err == nil {
		t.Errorf("got %v", m)
	}
}

func TestSlurpReadsAll(t *testing.T) {
	want := strings.Repeat("x", 100_000)
	f := tree(t, map[string]string{"a": want, "b": ""})
	var buf []byte
	for range 2 {
		if b, err := slurp(f.path("a"), &buf); err != nil || string(b) != want {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if b, err := slurp(f.path("b"), &buf); err != nil || len(b) != 0 {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
	}
	if _, err := slurp(f.path("c"), &buf); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func BenchmarkProcess(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Process(os.Getpid()); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCommandIsBounded(t *testing.T) {
	if args, err := Command(os.Getpid()); err != nil || !slices.Equal(args, os.Args) {
		t.Errorf("%q, %v; want %q", args, err, os.Args)
	}
	root := t.TempDir()
	file := filepath.Join(root, "proc", "7", "cmdline")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("mysqld\x00--port=1\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<40); err != nil {
		t.Fatal(err)
	}
	if args, err := (FS{Root: root}).Command(7); err != nil || !slices.Equal(args, []string{"mysqld", "--port=1"}) {
		t.Errorf("%d arguments, %v", len(args), err)
	}
}

// TestAccount: a program with another's rights, as su has, is nobody's.
func TestAccount(t *testing.T) {
	if uid, ok := (FS{}).Account(os.Getpid()); !ok || uid != os.Getuid() {
		t.Errorf("this process is user %d's: %v", uid, ok)
	}
	root := t.TempDir()
	if err := os.MkdirAll(root+"/proc/7", 0o700); err != nil {
		t.Fatal(err)
	}
	for ids, want := range map[string]bool{
		"5 5 5 5": true, "5 0 0 0": false, "0 0 5 0": false, "0 0 0 5": false,
		"x x x x": false, "": false,
	} {
		text := "Name:\tUid:\nUid:\t" + strings.ReplaceAll(ids, " ", "\t") + "\nGid:\t0\t0\t0\t0\n"
		if err := os.WriteFile(root+"/proc/7/status", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if uid, ok := (FS{Root: root}).Account(7); ok != want || ok && uid != 5 {
			t.Errorf("%q: user %d, %v", ids, uid, ok)
		}
	}
}

func TestIsServer(t *testing.T) {
	f := func(line string, want bool) {
		t.Helper()
		if got := marks.IsServer(strings.Fields(line)); got != want {
			t.Errorf("%q: got %v", line, got)
		}
	}
	f("/usr/sbin/mariadbd --socket=/x", true)
	f("mysqld", true)
	f("/opt/lib/ld-linux-x86-64.so.2 --argv0 mysqld /opt/sbin/mysqld --port=1", true)
	f("/bin/sh /usr/bin/mysqld_safe", false)
	f("mysql -h mysqld", false)
	f("vim mysqld", false)
	f("", false)
}
