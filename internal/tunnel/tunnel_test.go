package tunnel

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/sshd"
)

// TestMain lets a test run this binary as the program that is killed.
func TestMain(m *testing.M) {
	if to := os.Getenv("DYNO_TEST_TUNNEL_TO"); to != "" {
		j, err := ParseJump(os.Getenv("DYNO_TEST_TUNNEL_JUMP"))
		if err == nil {
			var c net.Conn
			if c, err = NewSet(context.Background()).Dial(context.Background(), j, to); err == nil {
				fmt.Println("up", sshd.Children(os.Getpid()))
				_, err = io.Copy(io.Discard, c)
			}
		}
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// greeter is a server that speaks first, as MySQL does, and then repeats what it is told.
func greeter(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				fmt.Fprintln(c, "hello")
				_, _ = io.Copy(c, c) // it ends with the connection
			}()
		}
	}()
	return l
}

// talk dials and exchanges a line.
func talk(ctx context.Context, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	c, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c, exchange(c, "hello\n")
}

func exchange(c net.Conn, greeting string) error {
	b := make([]byte, len(greeting)+5)
	if _, err := fmt.Fprintln(c, "echo"); err != nil && greeting == "" {
		return err
	}
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	if string(b) != greeting+"echo\n" {
		return fmt.Errorf("got %q", b)
	}
	return nil
}

func TestTunnel(t *testing.T) {
	s := sshd.New(t)
	s.Start(t)
	to := greeter(t, "tcp", "127.0.0.1:0").Addr().(*net.TCPAddr)
	ctx, cancel := context.WithCancel(t.Context())
	set := NewSet(ctx)
	dial := func(ctx context.Context) (net.Conn, error) { return set.Dial(ctx, jump(s), to.String()) }
	refused := func(address, want string) {
		t.Helper()
		_, err := talk(t.Context(), func(ctx context.Context) (net.Conn, error) {
			return set.Dial(ctx, jump(s), address)
		})
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}

	a, err := talk(t.Context(), dial)
	must(t, err)
	b, err := talk(t.Context(), dial)
	must(t, err)
	must(t, exchange(a, ""))
	must(t, exchange(b, ""))
	if n := len(sshs()); n != 1 {
		t.Errorf("%d processes of ssh for one tunnel", n)
	}
	b.Close()

	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l.Close()
	refused(l.Addr().String(), "Connection refused")
	refused(s.Dir+"/nowhere.sock", "open failed")
	sock := greeter(t, "unix", s.Dir+"/there.sock")
	must(t, os.Chmod(sock.Addr().String(), 0o777))
	c, err := talk(t.Context(), func(ctx context.Context) (net.Conn, error) {
		return set.Dial(ctx, Jump{Host: "jump"}, sock.Addr().String())
	})
	must(t, err)
	c.Close()

	// The jump host goes down in the middle and comes back.
	s.Kill()
	if err := exchange(a, ""); err == nil {
		t.Error("a connection goes on without its jump host")
	}
	within(t, "the loss is told", func() bool {
		_, err := dial(t.Context())
		var e *Error
		return errors.As(err, &e) && strings.Contains(err.Error(), jump(s).String())
	})
	within(t, "the reason is told", func() bool {
		_, err := dial(t.Context())
		return err != nil && strings.Contains(err.Error(), "Connection refused")
	})
	s.Start(t)
	within(t, "the tunnel comes back", func() bool {
		c, err := talk(t.Context(), dial)
		if err == nil {
			c.Close()
		}
		return err == nil
	})

	// ssh itself is killed.
	pids := sshs()
	for _, p := range pids {
		must(t, syscall.Kill(p, syscall.SIGKILL))
	}
	within(t, "another ssh is started", func() bool {
		c, err := talk(t.Context(), dial)
		if err == nil {
			c.Close()
		}
		return err == nil
	})

	cancel()
	must(t, set.Close())
	if pids := sshs(); len(pids) > 0 {
		t.Errorf("ssh is left behind: %v", pids)
	}
	if left, _ := filepath.Glob(s.Dir + "/" + prefix + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := dial(t.Context()); err == nil {
		t.Error("a set that ended dials")
	}
}

// sshs returns the processes that this program has started and that still run, but for sshd's.
func sshs() (out []int) {
	for _, p := range sshd.Children(os.Getpid()) {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p)); err == nil &&
			strings.Contains(string(b), "ExitOnForwardFailure") {
			out = append(out, p)
		}
	}
	return out
}

// TestConfiguration: the user's configuration holds, and what ssh would ask for is an error in its own words.
func TestConfiguration(t *testing.T) {
	s := sshd.New(t)
	s.Start(t)
	f := func(config, want string) {
		t.Helper()
		old, err := os.ReadFile(s.Dir + "/ssh_config")
		must(t, err)
		write(t, s.Dir+"/ssh_config", 0o600, config+string(old))
		defer write(t, s.Dir+"/ssh_config", 0o600, string(old))
		tun, err := Open(t.Context(), jump(s), "127.0.0.1", 3306)
		must(t, err)
		defer tun.Close()
		c, err := tun.Dial(t.Context())
		if want == "" && err == nil {
			c.Close()
			return
		}
		var e *Error
		if want == "" || !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", config, err, want)
		}
	}
	f("", "")
	f("User somebody-else\nPort 1\n", "") // the jump host's own win
	f("UserKnownHostsFile /dev/null\n", "Host key verification failed")
	f("ProxyCommand false\n", "does not get there")
	f("IdentityAgent none\nPubkeyAuthentication no\n", "Permission denied")
}

// TestDialInTime: a jump host that does not answer holds nobody up longer than he wants.
func TestDialInTime(t *testing.T) {
	sshd.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	must(t, err)
	defer l.Close()
	tun, err := Open(t.Context(), Jump{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}, "127.0.0.1", 3306)
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := tun.Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	must(t, tun.Close())
}

// TestOrphan kills a program with a tunnel: its ssh ends too, and what it left is swept up by the next.
func TestOrphan(t *testing.T) {
	s := sshd.New(t)
	s.Start(t)
	to := greeter(t, "tcp", "127.0.0.1:0").Addr().String()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DYNO_TEST_TUNNEL_TO="+to, "DYNO_TEST_TUNNEL_JUMP="+jump(s).String())
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "up [") {
		t.Fatalf("%q %v", line, err)
	}
	var pids []int
	for _, f := range strings.Fields(strings.Trim(strings.TrimPrefix(strings.TrimSpace(line), "up "), "[]")) {
		p, err := strconv.Atoi(f)
		must(t, err)
		pids = append(pids, p)
	}
	if len(pids) == 0 {
		t.Fatal("it runs no ssh")
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	within(t, "ssh ends with the program that started it", func() bool {
		for _, p := range pids {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p)); err == nil &&
				strings.Contains(string(b), s.Dir) {
				return false
			}
		}
		return true
	})
	left := func() []string {
		l, _ := filepath.Glob(s.Dir + "/" + prefix + "*")
		return l
	}
	if len(left()) != 1 {
		t.Errorf("%v", left())
	}
	sweep(s.Dir)
	if len(left()) != 0 {
		t.Errorf("not swept up: %v", left())
	}
}

// TestSweepLeavesOthers: root may remove whatever anybody puts there, and it may have no end.
func TestSweepLeavesOthers(t *testing.T) {
	root := t.TempDir()
	f := func(name string, uid int, mode os.FileMode, stays bool) {
		t.Helper()
		dir := filepath.Join(root, prefix+"999999999-"+name)
		must(t, os.MkdirAll(filepath.Join(dir, "s"), 0o700))
		must(t, os.Chmod(dir, mode))
		must(t, os.Chown(dir, uid, -1))
		sweep(root)
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
	f("own", os.Geteuid(), 0o700, false)
	f("open", os.Geteuid(), 0o777, true)
	if os.Geteuid() == 0 {
		f("other", 65534, 0o700, true)
	}
}

func TestOpenRefuses(t *testing.T) {
	sshd.New(t)
	f := func(j Jump, host string, port int, want string) {
		t.Helper()
		tun, err := Open(t.Context(), j, host, port)
		if err == nil {
			tun.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v %q %d: %v, want %q", j, host, port, err, want)
		}
	}
	f(Jump{}, "h", 1, "no host")
	f(Jump{Host: "-oProxyCommand=x"}, "h", 1, "hyphen")
	f(Jump{Host: "j"}, "", 1, "not an address")
	f(Jump{Host: "j"}, "h", 0, "not an address")
	f(Jump{Host: "j"}, "a b", 1, "not an address")
	for _, path := range []string{"/a:b", "/tmp/${HOME}/s", "/tmp/$x", "/tmp/{", "/tmp/}", "/tmp/%h", "/a\nb"} {
		f(Jump{Host: "j"}, path, 0, "literally")
	}
	t.Setenv("PATH", t.TempDir())
	f(Jump{Host: "j"}, "h", 1, "no program ssh")
}

func TestAfter(t *testing.T) {
	f := func(err error, want time.Duration) {
		t.Helper()
		if got := after(err, time.Second); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
	f(io.EOF, time.Second)
	f(&Error{Said: "ssh: connect to host h port 22: Connection refused"}, time.Second)
	f(&Error{Said: "u@h: Permission denied (publickey)."}, waitDenied)
	f(fmt.Errorf("x: %w", &Error{Said: "Host key verification failed."}), waitDenied)
}

func TestLines(t *testing.T) {
	var l lines
	l.read(strings.NewReader("one\n\nWarning: Permanently added 'x' (ED25519) to the list of known " +
		"hosts.\ntwo\x1b[31m\xff\n" + strings.Repeat("x", 9000)))
	if got := l.last(0); l.count() != 3 || len(got) > 310 || !strings.HasPrefix(got, "xxx") {
		t.Errorf("%d %q", l.count(), got)
	}
	l = lines{}
	l.read(strings.NewReader("two\x1b[31m\xff"))
	if got := l.last(0); got != "two [31m?" {
		t.Errorf("%q", got)
	}
	if l.last(1) != "" {
		t.Error("an old line is told as a new one")
	}
}

// jump returns the way through a server.
func jump(s *sshd.Server) Jump { return Jump{User: s.User, Host: "127.0.0.1", Port: s.Port} }

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
