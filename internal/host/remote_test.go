package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// shell is a program of this machine that a Remote speaks to.
type shell struct {
	io.WriteCloser
	out io.ReadCloser
	cmd *exec.Cmd
	end chan struct{} // closed when its connection is another one
}

func (s *shell) Read(b []byte) (int, error) { return s.out.Read(b) }

func (s *shell) Renewed() <-chan struct{} { return s.end }

func (s *shell) Close() error {
	s.WriteCloser.Close()
	s.out.Close()
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()
	return nil
}

func runs(argv ...string) (*shell, error) {
	s := &shell{cmd: exec.Command(argv[0], argv[1:]...), end: make(chan struct{})}
	var err error
	if s.WriteCloser, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.out, err = s.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return s, s.cmd.Start()
}

func remoteOf(t *testing.T) *Remote {
	t.Helper()
	r := NewRemote(func(context.Context) (io.ReadWriteCloser, error) { return runs("sh") })
	t.Cleanup(r.Close)
	return r
}

func turnOf(t *testing.T, r *Remote) FS {
	t.Helper()
	f, err := r.FS(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// landed waits for the files of the turn without taking them.
func landed(r *Remote) {
	r.mu.Lock()
	flight := r.flight
	r.mu.Unlock()
	if flight != nil {
		<-flight
	}
}

// TestAgeOfATurn: what came too late for its turn is the next one's, but not when it is old.
func TestAgeOfATurn(t *testing.T) {
	r := remoteOf(t)
	r.Begin()
	if _, err := uptimeOf(turnOf(t, r)); err != nil {
		t.Fatal(err)
	}
	r.Begin()
	landed(r)
	trips := r.Usage().Trips
	for _, x := range []struct {
		age time.Duration
		new uint64
	}{{0, 0}, {freshFor, 1}, {time.Minute - time.Second, 1}} {
		r.mu.Lock()
		r.began = time.Now().Add(-x.age)
		r.mu.Unlock()
		r.Begin()
		landed(r)
		now := r.Usage().Trips
		if now-trips != x.new {
			t.Errorf("a turn that is %v old and was not taken: it is read %d times more", x.age, now-trips)
		}
		trips = now
	}
	if _, err := uptimeOf(turnOf(t, r)); err != nil || r.Usage().Trips != trips {
		t.Errorf("%v; the uptime was not foreseen", err)
	}
}

// TestNoShell: an account that runs something else is left alone, until there is another connection.
func TestNoShell(t *testing.T) {
	n := 0
	var last *shell
	r := NewRemote(func(context.Context) (io.ReadWriteCloser, error) {
		n++
		x, err := runs("echo", "only backups")
		last = x
		return x, err
	})
	defer r.Close()
	try := func() {
		t.Helper()
		r.next = time.Time{} // the usual wait is over
		if _, err := r.askNow(nil); err == nil || !strings.Contains(err.Error(), "only backups") ||
			!errors.Is(err, errNoShell) {
			t.Fatal(err)
		}
	}
	for range 10 {
		try()
	}
	if n != noShellTries {
		t.Errorf("it was run %d times", n)
	}
	close(last.end)
	try()
	try()
	if n != noShellTries+1 {
		t.Errorf("with another connection it was run %d times more", n-noShellTries)
	}
	r.noShell = time.Now()
	try()
	if n != noShellTries+2 {
		t.Errorf("an hour later it was run %d times more", n-noShellTries-1)
	}
}

// TestFamilyThere: many children take no more ways there and back than few, and one that the machine does not answer
// for is not left out of the sums.
func TestFamilyThere(t *testing.T) {
	c := exec.Command("sh", "-c", "for i in $(seq 40); do sleep 600 & p=\"$p $!\"; done; echo; read x; kill $p; wait")
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
	end := sync.OnceFunc(func() {
		in.Close()
		_, _ = io.Copy(io.Discard, out) // the children hold it
		_ = c.Wait()
	})
	defer end()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	r := remoteOf(t)
	f := turnOf(t, r)
	x, err := FamilyOf(f, pid)
	here, err2 := Family(pid)
	if err != nil || err2 != nil || x.Processes != 41 || !x.ReadBytes.OK() || x.Processes != here.Processes {
		t.Errorf("there %+v, %v; here %+v, %v", x, err, here, err2)
	}
	if n := r.Usage().Trips; n != 3 { // the children; their files; their io
		t.Errorf("it took %d ways there and back", n)
	}

	r.turn = map[string]answer{}
	if _, err := children(f, pid); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stat", "status", "io"} {
		if _, err := readOf(f, fmt.Sprintf("/proc/%d/%s", pid, name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if x, err := FamilyOf(Within(f, ctx), pid); !errors.Is(err, ErrSlow) {
		t.Errorf("%+v, %v", x, err)
	}

	end()
	for q, u := range r.uses { // each of them is due
		u.gap = 0
		r.uses[q] = u
	}
	r.Begin()
	landed(r)
	for q := range r.uses {
		if ofProcess(q[1:]) {
			t.Errorf("%s is asked for after its end", q)
		}
	}
}

// TestServerThereTakesFewTrips: all processes that may be the server are read together. What was not answered is no
// reason against the machine.
func TestServerThereTakesFewTrips(t *testing.T) {
	name := filepath.Join(t.TempDir(), "dyno-there")
	b, err := os.ReadFile("/bin/sleep")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		c := exec.Command(name, "600")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = c.Process.Kill()
			_ = c.Wait()
		}()
	}
	r := remoteOf(t)
	m := Marks{Programs: []string{"dyno-there"}}
	claim := Claim{Uptime: time.Second, Address: "127.0.0.1:1"}
	if _, err := ServerThere(turnOf(t, r), m, claim); !errors.Is(err, ErrElsewhere) ||
		!strings.Contains(err.Error(), "several processes") {
		t.Error(err)
	}
	if n := r.Usage().Trips; n > 4 { // the uptime; who bears the name; their files; what the linker runs
		t.Errorf("it took %d ways there and back", n)
	}
	r.turn = map[string]answer{}
	f := turnOf(t, r)
	if _, err := uptimeOf(f); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := ServerThere(Within(f, ctx), m, claim); !errors.Is(err, ErrSlow) || errors.Is(err, ErrElsewhere) {
		t.Error(err)
	}
}

// TestListensAmongMany: of a machine with very many connections it is known what listens.
func TestListensAmongMany(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "proc/net")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	tcp := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	line := func(port int, state string) string {
		return fmt.Sprintf("   0: 0100007F:%04X 0100007F:1234 %s 00000000:00000000 00:00000000 00000000     0 "+
			"       0 1 1 0000000000000000 20 4 30 10 -1\n", port, state)
	}
	tcp += strings.Repeat(line(3307, "01"), mostBatch/100) + line(3306, "0A")
	unix := "Num       RefCount Protocol Flags    Type St Inode Path\n" +
		strings.Repeat("0000000000000000: 00000003 00000000 00000000 0001 03 21 /run/other.sock\n", mostBatch/70) +
		"0000000000000000: 00000002 00000000 00010000 0001 01 22 /run/my.sock\n"
	for name, text := range map[string]string{"tcp": tcp, "unix": unix} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := turnOf(t, remoteOf(t))
	f.Root = root
	for address, want := range map[string]bool{
		net.JoinHostPort("db", "3306"): true, net.JoinHostPort("db", "3307"): false, "/run/my.sock": true,
		"/run/other.sock": false,
	} {
		if got := listensThere(f, address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
