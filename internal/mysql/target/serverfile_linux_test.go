package target

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"
)

// bounded fails the test when f does not come back: the test that hangs would say less.
func bounded(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s never ends", what)
	}
}

// TestWhatTheServerNamesIsNoPipe: a server on this machine, here the test itself, names a pipe and a device as its pid
// file.
func TestWhatTheServerNamesIsNoPipe(t *testing.T) {
	pipe := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{pipe, "/dev/tty", "relative", "/no/such", "/a\x00b", t.TempDir()} {
		f := &fake{variables: map[string]string{"pid_file": name}}
		addr := f.listen(t)
		x, err := Open(t.Context(), spec(t, "mysql://u@"+addr+"/"))
		if err != nil {
			t.Fatal(err)
		}
		bounded(t, "looking for the process of a server with pid_file="+name, func() {
			if pid, ok := x.LocalPID(t.Context()); ok {
				t.Errorf("pid_file=%s: the test is said to be server process %d", name, pid)
			}
		})
		x.Close()
	}
	calledServer(t)
	own := t.TempDir() + "/pid"
	for text, want := range map[string]bool{itoa(os.Getpid()) + "\n": true, "1\n": false, itoa(os.Getpid()) +
		strings.Repeat(" ", maxPidFile) + "7": true} {
		if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := &fake{variables: map[string]string{"pid_file": own}}
		x, err := Open(t.Context(), spec(t, "mysql://u@"+f.listen(t)+"/"))
		if err != nil {
			t.Fatal(err)
		}
		pid, ok := x.LocalPID(t.Context())
		if ok != want || ok && pid != os.Getpid() {
			t.Errorf("pid file %q: %d %v", text, pid, ok)
		}
		x.Close()
	}
}

// calledServer has the test bear a server's name until it ends.
func calledServer(t *testing.T) {
	t.Helper()
	real := programOf
	programOf = func(int) (string, error) { return "/usr/sbin/mysqld", nil }
	t.Cleanup(func() { programOf = real })
	was, err := os.ReadFile("/proc/self/comm")
	if err == nil {
		err = os.WriteFile("/proc/self/comm", []byte("mysqld"), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.WriteFile("/proc/self/comm", was, 0) })
}

// TestAForwarderIsNotTheServer: the test is a forwarder, and the server behind it says that it is a thread of the
// forwarder's, or that its pid file is that of the forwarder.
func TestAForwarderIsNotTheServer(t *testing.T) {
	pidFile := t.TempDir() + "/pid"
	if err := os.WriteFile(pidFile, []byte(itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	thread := func(c io.Writer, sql string) bool {
		if strings.Contains(sql, "THREAD_OS_ID") {
			rows(c, 1, func(row func(...string)) { row(itoa(os.Getpid())) })
			return true
		}
		return false
	}
	f := func(x *fake, want bool) {
		t.Helper()
		addr := x.listen(t)
		s, err := Open(t.Context(), spec(t, "mysql://u@"+relay(t, "tcp", "127.0.0.1:0", "tcp", addr)+"/"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, ok := s.LocalPID(t.Context()); ok != want {
			t.Errorf("the forwarder is the server: %v, want %v", ok, want)
		}
	}
	f(&fake{answer: thread}, false)
	f(&fake{variables: map[string]string{"pid_file": pidFile}}, false)
	calledServer(t) // nothing but its name was amiss
	f(&fake{answer: thread}, true)
	programOf = func(int) (string, error) { return "/usr/bin/su", nil } // started under a server's name
	f(&fake{answer: thread}, false)
}

func TestServerFile(t *testing.T) {
	dir, me := t.TempDir(), os.Getpid()
	write := func(name, text string) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	link := func(to, name string) string {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	read := func(pid int, name string) (string, error) {
		f, err := openServerFile(pid, name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		var b bytes.Buffer
		_, err = b.ReadFrom(f)
		return b.String(), err
	}
	opens := func(pid int, name string) {
		t.Helper()
		if got, err := read(pid, name); err != nil || got != "log" {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	refuses := func(pid int, name, why string) {
		t.Helper()
		bounded(t, "opening "+name, func() {
			if got, err := read(pid, name); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %q %v, want %q", name, got, err, why)
			}
		})
	}
	log := write("log", "log")
	opens(me, log)
	opens(me, "/.."+log)
	opens(me, dir+"/.//../"+filepath.Base(dir)+"/log")
	opens(me, link("log", "beside"))
	opens(me, link(log, "absolute"))
	opens(me, link("../"+filepath.Base(dir)+"/absolute", "twice"))
	link("round", "round")
	refuses(me, dir+"/round", "too many")
	refuses(me, dir, "not a regular file")
	refuses(me, dir+"/none", "no such file")
	refuses(me, log+"/below", "not a directory")
	refuses(me, "log", "not an absolute path")
	if _, err := read(me, strings.Repeat("/.", 2048)+log); !errors.Is(err, syscall.ENAMETOOLONG) ||
		len(err.Error()) > 200 {
		t.Errorf("a path without end: %v", err)
	}
	pipe := dir + "/pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(me, pipe, "not a regular file")
	l, err := net.Listen("unix", dir+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	refuses(me, dir+"/socket", "not a regular file")
	refuses(me, "/proc/self/environ", "of the kernel")
	if os.Geteuid() != 0 {
		return
	}
	refuses(me, "/dev/zero", "not a regular file")
	other := write("other", "log")
	if err := os.Chown(other, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	refuses(me, other, "belongs to user 65534")

	// A server with a root of its own: its words mean nothing outside.
	jail := t.TempDir()
	if err := os.Mkdir(jail+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	its := jailed(t, jail)
	refuses(its, log, "no such file")
	if err := os.WriteFile(jail+"/etc/passwd", []byte("log"), 0o600); err != nil {
		t.Fatal(err)
	}
	opens(its, "/etc/passwd")
	opens(its, "/../../../etc/passwd")
	for name, to := range map[string]string{"out": "/etc/passwd", "up": "../../../../../etc/passwd"} {
		if err := os.Symlink(to, jail+"/"+name); err != nil {
			t.Fatal(err)
		}
		opens(its, "/"+name)
	}
}

// jailed starts a process with a root of its own: this test program once more, in TestJailed.
func jailed(t *testing.T, root string) int {
	t.Helper()
	c := exec.Command("/proc/self/exe", "-test.run=^TestJailed$")
	c.Env = append(os.Environ(), "DYNO_TEST_ROOT="+root)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); c.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return c.Process.Pid
}

// TestJailed is the process of jailed: it waits for the end of the test.
func TestJailed(t *testing.T) {
	root := os.Getenv("DYNO_TEST_ROOT")
	if root == "" {
		return
	}
	if err := syscall.Chroot(root); err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString(".")
	os.Stdin.Read(make([]byte, 1))
}

// TestOpenFile: the slow log of a real server, and again after the server was started again.
func TestOpenFile(t *testing.T) {
	s := servers.Start(t, "mariadb", "slow-query-log=ON", "slow-query-log-file=slow.log")
	x := open(t, s, "root")
	log := s.Dir + "/data/slow.log"
	for range 2 {
		f, err := x.OpenFile(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		d, err := x.OpenDir(t.Context(), s.Dir+"/data")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Stat("slow.log"); err != nil {
			t.Error(err)
		}
		d.Close()
		if _, err := x.OpenDir(t.Context(), log); err == nil {
			t.Error("a file passes for a directory")
		}
		s.Kill(t)
		if _, err := x.OpenFile(t.Context(), log); !errors.Is(err, ErrElsewhere) {
			t.Errorf("the server is gone: %v", err)
		}
		s.Launch(t)
	}
	if err := os.Chown(log, 65534, 65534); err == nil { // as root
		if _, err := x.OpenFile(t.Context(), log); err == nil ||
			!strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("another's file: %v", err)
		}
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	if _, err := x.OpenFile(t.Context(), log); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestProcessesOfOneAccount: whose a connection's other end is, the kernel tells; what others have
// open is not looked through for it.
func TestProcessesOfOneAccount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts a process of another account")
	}
	const eve = 65534
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: eve, Gid: eve}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if all := processesOf(eve); !slices.Contains(all, cmd.Process.Pid) || slices.Contains(all, os.Getpid()) {
		t.Errorf("user %d has the processes %v", eve, all)
	}
	if all := processesOf(0); slices.Contains(all, cmd.Process.Pid) || !slices.Contains(all, os.Getpid()) {
		t.Errorf("root has the processes %v", all)
	}
	// As su is, which anybody starts, with as many open files as they like.
	if err := syscall.Setresuid(eve, 0, 0); err != nil {
		t.Fatal(err)
	}
	of := map[int][]int{0: processesOf(0), eve: processesOf(eve)}
	if err := syscall.Setresuid(0, 0, 0); err != nil {
		t.Fatal(err)
	}
	for uid, all := range of {
		if slices.Contains(all, os.Getpid()) {
			t.Errorf("user %d has a process that another started", uid)
		}
	}
}

// TestAStrangersCommandLineIsNotAsked: a process can keep its command line from being read for ever.
func TestAStrangersCommandLineIsNotAsked(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts a process of another account")
	}
	real := programOf
	programOf = func(int) (string, error) { return "", os.ErrPermission }
	t.Cleanup(func() { programOf = real })
	for uid, want := range map[uint32]bool{0: true, 65534: false} {
		cmd := exec.Command("sleep", "600")
		cmd.Args[0] = "mysqld"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
		if got := bearsServersName(cmd.Process.Pid, 0); got != want {
			t.Errorf("a process of user %d that was started under a server's name is one: %v, want %v", uid, got, want)
		}
		if !bearsServersName(cmd.Process.Pid, int(uid)) {
			t.Errorf("the server that Dyno started as user %d is none", uid)
		}
	}
}
