// Package sshd starts a real OpenSSH server on this machine, as a jump host of a test.
package sshd

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is a real server on this machine that takes one key of one user.
type Server struct {
	Dir    string // everything of it; `ssh` in PATH reads ssh_config there
	User   string
	Port   int
	argv   []string
	inside []string // the program that gives it its own view of the machine, see NewWithShell
	cred   *syscall.Credential
	cmd    *exec.Cmd
}

// New prepares a server and makes `ssh` in PATH one that knows it and nothing else of this machine.
func New(t *testing.T) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real sshd")
	}
	tree := os.Getenv("DYNO_TEST_SSHD")
	if tree == "" {
		t.Fatal("DYNO_TEST_SSHD names no unpacked OpenSSH server: run build/sshd")
	}
	dir, err := os.MkdirTemp("", "dyno-sshd-") // the server's user reads it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	s := &Server{Dir: dir}
	// As root it would need a user of its own on this machine.
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s.User = me.Username
	if os.Geteuid() == 0 {
		u, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		s.User, s.cred = u.Username, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	lib := filepath.Join(tree, "usr/lib/x86_64-linux-gnu")
	loader := func(name, path string) []string {
		return []string{
			lib + "/ld-linux-x86-64.so.2", "--library-path", lib, "--argv0", name,
			filepath.Join(tree, path),
		}
	}
	script := func(path string, argv ...string) {
		must(t, os.WriteFile(path, []byte("#!/bin/sh\nexec "+strings.Join(argv, " ")+` "$@"`+"\n"), 0o755))
		must(t, os.Chmod(path, 0o755))
	}
	for _, p := range []string{"sshd-session", "sshd-auth"} {
		script(dir+"/"+p, loader(p, "usr/lib/openssh/"+p)...)
	}
	keygen := loader("ssh-keygen", "usr/bin/ssh-keygen")
	for _, k := range []string{"host", "id", "other"} {
		run(t, append(keygen, "-q", "-t", "ed25519", "-N", "", "-f", dir+"/"+k)...)
		must(t, os.Chmod(dir+"/"+k+".pub", 0o644))
	}
	if s.cred != nil {
		must(t, os.Chown(dir+"/host", int(s.cred.Uid), int(s.cred.Gid)))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Port = l.Addr().(*net.TCPAddr).Port
	l.Close()
	write(t, dir+"/sshd_config", 0o644, fmt.Sprintf(`ListenAddress 127.0.0.1:%d
HostKey %[2]s/host
AuthorizedKeysFile %[2]s/id.pub
StrictModes no
UsePAM yes
PidFile none
SshdSessionPath %[2]s/sshd-session
SshdAuthPath %[2]s/sshd-auth
`, s.Port, dir))
	pub, err := os.ReadFile(dir + "/host.pub")
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir+"/known", 0o600, fmt.Sprintf("[127.0.0.1]:%d %s", s.Port, pub))
	write(t, dir+"/ssh_config", 0o600, fmt.Sprintf(`Host jump
  HostName 127.0.0.1
  Port %d
  User %s
Host *
  IdentityFile %[3]s/id
  IdentitiesOnly yes
  UserKnownHostsFile %[3]s/known
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
`, s.Port, s.User, dir))
	s.argv = append(loader(dir+"/sshd", "usr/sbin/sshd"), "-D", "-e", "-f", dir+"/sshd_config")
	ssh := []string{}
	if p, err := exec.LookPath("ssh"); err == nil {
		ssh = append(ssh, p)
	} else {
		ssh = loader("ssh", "usr/bin/ssh")
	}
	must(t, os.Mkdir(dir+"/bin", 0o755))
	script(dir+"/bin/ssh", append(ssh, "-F", dir+"/ssh_config")...)
	t.Setenv("PATH", dir+"/bin:"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", dir)
	return s
}

// Apart says what else of this machine a server does not share.
type Apart int

// What NewWithShell takes.
const (
	Network   Apart = iota + 1 // it is alone in a network of its own
	Processes                  // it sees no process of this machine
	Hidden                     // so, and /proc is mounted with hidepid
)

// NewWithShell is New for an account that may run a shell, as that of New may not: the server then has its own view of
// /etc/passwd. It needs root.
func NewWithShell(t *testing.T, apart ...Apart) *Server {
	t.Helper()
	s := New(t)
	if s.cred == nil {
		t.Fatal("a server with a shell needs root")
	}
	users, err := os.ReadFile("/etc/passwd")
	must(t, err)
	lines := strings.Split(string(users), "\n")
	for i, l := range lines {
		if f := strings.Split(l, ":"); f[0] == s.User {
			f[len(f)-1], f[len(f)-2] = "/bin/sh", "/"
			lines[i] = strings.Join(f, ":")
		}
	}
	write(t, s.Dir+"/passwd", 0o644, strings.Join(lines, "\n"))
	s.inside = []string{"unshare", "-m"}
	up := ""
	for _, a := range apart {
		switch a {
		case Network:
			s.inside, up = append(s.inside, "-n"), up+"ip link set lo up && "
			s.viaNetns(t)
		case Hidden:
			up += "mount -o remount,hidepid=2 /proc && "
			fallthrough
		case Processes:
			s.inside = append(s.inside, "-p", "-f", "--mount-proc", "--kill-child")
		}
	}
	s.inside = append(s.inside, "sh", "-c", up+`mount --bind "$0" /etc/passwd && exec setpriv --reuid="$1" --regid="$2" `+
		`--clear-groups -- sh -c 'shift; exec "$@"' "$@"`, s.Dir+"/passwd", fmt.Sprint(s.cred.Uid), fmt.Sprint(s.cred.Gid))
	s.argv, s.cred = append(s.inside, s.argv...), nil
	return s
}

// viaNetns has ssh enter the server's network to reach it.
func (s *Server) viaNetns(t *testing.T) {
	t.Helper()
	f, err := os.OpenFile(s.Dir+"/ssh_config", os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = fmt.Fprintf(f, "  ProxyCommand %s/enter\n", s.Dir)
	must(t, err)
	must(t, f.Close())
}

// PID returns the server's process, or that which holds its network and processes.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Start starts it; it ends with the test.
func (s *Server) Start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(s.Dir+"/log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command(s.argv[0], s.argv[1:]...)
	s.cmd.Stderr = log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	must(t, s.cmd.Start())
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("sshd:\n%s", s.Said())
		}
	})
	if slices.Contains(s.inside, "-n") {
		write(t, s.Dir+"/enter", 0o755, fmt.Sprintf("#!/bin/sh\nexec nsenter --net=/proc/%d/ns/net bash -c "+
			"'exec 3<>/dev/tcp/127.0.0.1/%d; cat <&3 & cat >&3; wait'\n", s.cmd.Process.Pid, s.Port))
		within(t, "sshd listens", func() bool { return bytes.Contains(s.Said(), []byte("Server listening")) })
		return
	}
	within(t, "sshd listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", s.Port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// Said returns what it has logged.
func (s *Server) Said() []byte {
	b, _ := os.ReadFile(s.Dir + "/log")
	return b
}

// Kill ends the server and its sessions, as when the machine goes down.
func (s *Server) Kill() {
	for _, pid := range append(Children(s.cmd.Process.Pid), s.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
	_ = s.cmd.Wait()
}

// Children returns the processes below one.
func Children(of int) (out []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(fields) > 1 &&
			fields[1] == strconv.Itoa(of) && fields[0] != "Z" {
			out = append(append(out, pid), Children(pid)...)
		}
	}
	return out
}

func run(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v %s", argv, err, out)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, mode os.FileMode, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), mode))
	must(t, os.Chmod(path, mode))
}

// within waits for something to become true.
func within(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it does not happen that %s", what)
		}
	}
}
