package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// controlWait is how long after its login ssh may take to accept a second channel.
const controlWait = 3 * time.Second

// Shell is a POSIX shell on a jump host: what is written to it are commands, what is read is their output. It uses the
// connection of a tunnel, which it keeps open.
type Shell struct {
	jump  Jump
	in    io.WriteCloser
	out   io.ReadCloser
	errs  io.Closer
	said  *lines
	stop  func()
	ended chan struct{}
	leave func()
	// closed when the tunnel is not what it was any more
	renewed <-chan struct{}
}

// Shell starts sh on the jump host of the tunnel to address, which is opened when there is none yet. It waits until the
// tunnel is up, not for the shell: an account that may not run one shows at the first reading. The caller closes it.
// Errors are those of Open and of Tunnel.Dial.
func (s *Set) Shell(ctx context.Context, jump Jump, address string) (*Shell, error) {
	k := key{jump, address}
	t, err := s.use(k)
	if err != nil {
		return nil, err
	}
	leave := sync.OnceFunc(func() { s.leave(k, t) })
	x, err := t.shell(ctx)
	if err != nil {
		leave()
		return nil, err
	}
	x.leave = leave
	return x, nil
}

func (t *Tunnel) shell(ctx context.Context) (*Shell, error) {
	changed, err := t.ready(ctx)
	if err != nil {
		return nil, err
	}
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		return nil, &Error{Jump: t.jump, Err: err}
	}
	control := filepath.Join(t.dir, controlName)
	for end := time.Now().Add(controlWait); ; {
		if _, err := os.Stat(control); err == nil {
			break
		}
		if time.Now().After(end) {
			return nil, &Error{
				Jump: t.jump, Said: t.said.last(0), Err: errors.New("ssh accepts no second channel"),
			}
		}
		select {
		case <-ctx.Done():
			return nil, &Error{Jump: t.jump, Err: ctx.Err()}
		case <-time.After(10 * time.Millisecond):
		}
	}
	args := []string{
		"-T", "-S", control, "-o", "ControlMaster=no", "-o", "BatchMode=yes", "-o", "RemoteCommand=none",
		"-o", "PermitLocalCommand=no", "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "LogLevel=ERROR",
		// Where the connection is gone ssh would make another one, past what keeps that up.
		"-o", "ProxyCommand=exit 1",
		"--", t.jump.Host, "exec sh",
	}
	cmd := exec.Command(ssh, args...)
	cmd.SysProcAttr = attributes()
	x := &Shell{jump: t.jump, said: &lines{}, ended: make(chan struct{}), renewed: changed}
	if x.in, err = cmd.StdinPipe(); err != nil {
		return nil, &Error{Jump: t.jump, Err: err}
	}
	// Pipes of our own: those of package exec are closed by Wait, with what has not been read. Their other ends are
	// open in the ssh of the tunnel too, as long as the shell on the jump host is there: none may be read to its end.
	out, w, err := os.Pipe()
	if err != nil {
		return nil, &Error{Jump: t.jump, Err: err}
	}
	errs, we, err := os.Pipe()
	if err != nil {
		out.Close()
		w.Close()
		return nil, &Error{Jump: t.jump, Err: err}
	}
	x.out, x.errs, cmd.Stdout, cmd.Stderr = out, errs, w, we
	go x.said.read(errs) // until Close
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the kernel ends ssh with the thread that started it
		defer runtime.UnlockOSThread()
		defer close(x.ended)
		err := cmd.Start()
		w.Close()
		we.Close()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in what it said
		}
	}()
	if err := <-started; err != nil {
		out.Close()
		errs.Close()
		return nil, &Error{Jump: t.jump, Err: err}
	}
	x.stop = func() {
		_ = cmd.Process.Kill() // it may have ended
	}
	return x, nil
}

// ready waits until the tunnel is up and returns what is closed when it is not any more; once an attempt has failed it
// returns why at once.
func (t *Tunnel) ready(ctx context.Context) (<-chan struct{}, error) {
	for {
		t.mu.Lock()
		up, err, changed := t.up, t.err, t.changed
		t.mu.Unlock()
		switch {
		case up:
			return changed, nil
		case err != nil:
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, &Error{
				Jump: t.jump, Said: t.said.last(0), Err: fmt.Errorf("the tunnel is not up in time: %w", ctx.Err()),
			}
		}
	}
}

// Renewed is closed when the shell's connection to the jump host is lost: the next Shell is on another one.
func (x *Shell) Renewed() <-chan struct{} { return x.renewed }

// Write sends commands.
func (x *Shell) Write(b []byte) (int, error) { return x.in.Write(b) }

// Read returns output of the commands. At its end the error says what ssh said last, where it said something.
func (x *Shell) Read(b []byte) (int, error) {
	n, err := x.out.Read(b)
	if n > 0 || err == nil {
		return n, err
	}
	select {
	case <-x.ended:
	case <-time.After(dying):
	}
	if said := x.said.last(0); said != "" {
		return 0, &Error{Jump: x.jump, Said: said, Err: err}
	}
	return 0, err
}

// Close ends the shell. It may be called more than once, also while another goroutine reads.
func (x *Shell) Close() error {
	x.stop()
	x.in.Close()
	x.out.Close()
	x.errs.Close()
	<-x.ended
	x.leave()
	return nil
}

// controlName is the socket in a tunnel's directory through which ssh opens more channels of its connection.
const controlName = "c"
