package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	waitLeast, waitMost = 500 * time.Millisecond, 10 * time.Second
	// waitDenied follows a login that was turned down: hosts lock out who tries too often.
	waitDenied = time.Minute
	// steady is how long a tunnel must have stood for its loss to be news, which is mended at once.
	steady = 10 * time.Second
	// patience is how long ssh may take to end when it is asked to.
	patience = 2 * time.Second
	// dying says when the socket is gone, but the end of ssh has not been noticed yet.
	dying = time.Second
)

// Tunnel leads through one jump host to one address, for any number of connections. It is safe for concurrent use.
type Tunnel struct {
	jump Jump
	to   string
	dir  string
	sock string
	stop context.CancelFunc
	gone chan struct{}
	said *lines

	mu      sync.Mutex
	changed chan struct{} // closed at each change of what follows
	up      bool
	err     error // why it is not up; nil while nothing is known yet
}

// Open begins a tunnel to host and port as the jump host knows them; a host that begins with / is the path of a socket
// there, without a port. It does not wait for ssh: Dial does. When ssh ends it is started again, at first at once and
// then at growing intervals, until ctx ends or Close is called. ssh ends with the program, whatever ends that. Errors:
// ErrJump, no ssh on this machine.
func Open(ctx context.Context, jump Jump, host string, port int) (*Tunnel, error) {
	if err := jump.check(); err != nil {
		return nil, err
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		return nil, fmt.Errorf("open tunnel through %s: there is no program ssh on this machine: install OpenSSH's "+
			"client: %w", jump.Host, err)
	}
	to := host
	if !strings.HasPrefix(host, "/") {
		if host == "" || strings.HasPrefix(host, "-") || strings.ContainsAny(host, " \t\r\n[]/") ||
			port < 1 || port > 65535 {
			return nil, fmt.Errorf("open tunnel through %s: %q port %d is not an address", jump.Host, host, port)
		}
		to = net.JoinHostPort(host, strconv.Itoa(port))
	} else if err := CheckSocket(host); err != nil {
		return nil, fmt.Errorf("open tunnel through %s: %q: %w", jump.Host, host, err)
	}
	dir, err := makeDir()
	if err != nil {
		return nil, fmt.Errorf("open tunnel through %s: %w", jump.Host, err)
	}
	ctx, stop := context.WithCancel(ctx)
	t := &Tunnel{
		jump: jump, to: to, dir: dir, sock: filepath.Join(dir, "s"), stop: stop, gone: make(chan struct{}),
		said: &lines{}, changed: make(chan struct{}),
	}
	go t.keep(ctx, ssh)
	return t, nil
}

// CheckSocket refuses paths of sockets that ssh would read as something else: it puts the environment's variables in
// the place of ${NAME}, and other things in that of %h, and would so tell the jump host what Dyno's environment holds.
func CheckSocket(path string) error {
	if strings.ContainsAny(path, "\r\n\x00:${}%") {
		return errors.New("ssh does not take the socket's path literally: it must not contain : $ { } %")
	}
	return nil
}

// Close ends the tunnel with all its connections. It may be called more than once.
func (t *Tunnel) Close() error {
	t.stop()
	<-t.gone
	return nil
}

// String tells from where to where: "127.0.0.1:3306 through jump.example".
func (t *Tunnel) String() string { return t.to + " through " + t.jump.Host }

// Error is why a tunnel, or the server behind it, was not reached.
type Error struct {
	Jump Jump
	Said string // the last that ssh said, "" for nothing
	Err  error
}

func (e *Error) Error() string {
	s := "through " + e.Jump.String() + ": "
	switch {
	case e.Said == "" && e.Err == nil:
		return s + "no connection"
	case e.Said == "":
		return s + e.Err.Error()
	case e.Err == nil:
		return s + e.Said
	}
	return s + e.Err.Error() + ": " + e.Said
}

// Unwrap returns the error below, if there is one.
func (e *Error) Unwrap() error { return e.Err }

func (t *Tunnel) set(up bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.up, t.err = up, err
	close(t.changed)
	t.changed = make(chan struct{})
}

// Dial makes a connection to the server behind the tunnel. While nothing is known of the tunnel it waits; once an
// attempt has failed it says so at once, until the tunnel stands again. Errors are of type *Error, or those of ctx.
// That ssh reaches the server shows at the first reading from the connection only, with an *Error in place of io.EOF.
func (t *Tunnel) Dial(ctx context.Context) (net.Conn, error) {
	c, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (t *Tunnel) dial(ctx context.Context) (*conn, error) {
	var failing time.Time // since when its socket takes no connection
	for {
		t.mu.Lock()
		up, err, changed := t.up, t.err, t.changed
		t.mu.Unlock()
		if up {
			n := t.said.count()
			c, err := new(net.Dialer).DialContext(ctx, "unix", t.sock)
			if err == nil {
				return &conn{Conn: c, t: t, from: n}, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			// It is dying, and what it says at its end is worth waiting for; or its socket is there and it does not
			// listen yet.
			if failing.IsZero() {
				failing = time.Now()
			}
			if time.Since(failing) > dying {
				return nil, &Error{Jump: t.jump, Said: t.said.last(0), Err: err}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &Error{
				Jump: t.jump, Said: t.said.last(0),
				Err: fmt.Errorf("the tunnel is not up in time: %w", ctx.Err()),
			}
		}
	}
}

// keep runs ssh until ctx ends.
func (t *Tunnel) keep(ctx context.Context, ssh string) {
	runtime.LockOSThread() // the kernel ends ssh with the thread that started it
	defer runtime.UnlockOSThread()
	defer close(t.gone)
	defer os.RemoveAll(t.dir)
	defer t.set(false, &Error{Jump: t.jump, Err: net.ErrClosed})
	wait := waitLeast
	for {
		stood, err := t.run(ctx, ssh)
		if ctx.Err() != nil {
			return
		}
		if stood > steady {
			wait = waitLeast
		}
		t.set(false, err)
		timer := time.NewTimer(after(err, wait))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		wait = min(2*wait, waitMost)
	}
}

// after returns how long to wait after a failure, wait if nothing speaks against it.
func after(err error, wait time.Duration) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		for _, s := range []string{
			"Permission denied", "Too many authentication failures",
			"Host key verification failed",
		} {
			if strings.Contains(e.Said, s) {
				return waitDenied
			}
		}
	}
	return wait
}

// args are what ssh is called with. What the user's configuration says holds, but for what would make it ask, share a
// connection that is not ours, or run something.
func (t *Tunnel) args() []string {
	a := []string{"-N", "-T"}
	for _, o := range []string{
		"BatchMode=yes", "ExitOnForwardFailure=yes", "ServerAliveInterval=5",
		"ServerAliveCountMax=3", "ConnectTimeout=10",
		// Only our own directory leads to the connection.
		"ControlMaster=yes", "ControlPath=" + filepath.Join(t.dir, controlName), "ControlPersist=no",
		"StreamLocalBindUnlink=yes", "StreamLocalBindMask=0177",
		"PermitLocalCommand=no", "RemoteCommand=none", "ForwardAgent=no", "ForwardX11=no", "LogLevel=INFO",
	} {
		a = append(a, "-o", o)
	}
	a = append(a, "-L", t.sock+":"+t.to)
	if t.jump.Port > 0 {
		a = append(a, "-p", strconv.Itoa(t.jump.Port))
	}
	if t.jump.User != "" {
		a = append(a, "-l", t.jump.User)
	}
	return append(a, "--", t.jump.Host)
}

// run starts ssh and returns when it has ended, with how long the tunnel stood.
func (t *Tunnel) run(ctx context.Context, ssh string) (stood time.Duration, err error) {
	for _, old := range []string{t.sock, filepath.Join(t.dir, controlName)} {
		if err := os.Remove(old); err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, &Error{Jump: t.jump, Err: err}
		}
	}
	from := t.said.count()
	cmd := exec.Command(ssh, t.args()...)
	cmd.SysProcAttr = attributes()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return 0, &Error{Jump: t.jump, Err: err}
	}
	if err := cmd.Start(); err != nil {
		return 0, &Error{Jump: t.jump, Err: err}
	}
	ended := make(chan error, 1)
	go func() {
		t.said.read(stderr) // to its end: Wait closes the pipe
		ended <- cmd.Wait()
	}()
	var since time.Time
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			end(cmd.Process, ended)
			return 0, ctx.Err()
		case err := <-ended:
			if !since.IsZero() {
				stood = time.Since(since)
				err = errors.New("the connection to the jump host was lost")
			} else if err == nil {
				err = errors.New("ssh ended")
			} else {
				err = errors.New("ssh does not get there")
			}
			return stood, &Error{Jump: t.jump, Said: t.said.last(from), Err: err}
		case <-poll.C:
			// The socket appears when ssh has logged in. Nobody may connect to see whether it works: the server would
			// count a client that gives up, and lock this machine out in the end.
			if _, err := os.Stat(t.sock); err == nil && since.IsZero() {
				since = time.Now()
				poll.Stop()
				t.set(true, nil)
			}
		}
	}
}

// end asks ssh to end, and makes it.
func end(p *os.Process, ended <-chan error) {
	_ = p.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case err := <-ended:
		_ = err // how it ended is nobody's concern now
		return
	case <-time.After(patience):
	}
	_ = p.Kill()
	err := <-ended
	_ = err
}

// conn is a connection whose early end is explained by what ssh said of it.
type conn struct {
	net.Conn
	t    *Tunnel
	from int
	read bool // something came
}

// SyscallConn lets a driver look whether an idle connection is still alive.
func (c *conn) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.read = true
	}
	if c.read || err == nil || !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		return n, err
	}
	e := &Error{Jump: c.t.jump, Err: errors.New("the jump host does not reach " + c.t.to)}
	for end := time.Now().Add(dying / 2); ; time.Sleep(5 * time.Millisecond) { // it says so a moment later
		if e.Said = c.t.said.last(c.from); e.Said != "" || time.Now().After(end) {
			break
		}
	}
	if e.Said == "" {
		e.Err = err
	}
	return n, e
}
