package digest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// following is a `dyno digest --follow` that runs.
type following struct {
	c         *exec.Cmd
	out, errs lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// follow starts it.
func follow(t *testing.T, args ...string) *following {
	t.Helper()
	f := &following{c: command(t, append([]string{
		"digest", "--follow", "--interval", "1s", "--output", "json",
		"--limit", "0",
	}, args...)...)}
	f.c.Stdout, f.c.Stderr = &f.out, &f.errs
	f.c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := f.c.Start(); err != nil {
		t.Fatal(err)
	}
	return f
}

// kill ends it as a crash would.
func (f *following) kill() {
	f.c.Process.Kill()
	f.c.Wait() // it was killed
}

// stop ends it as Ctrl-C does, which must go well, and returns the last report that it printed.
func (f *following) stop(t *testing.T) report {
	t.Helper()
	if err := f.c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- f.c.Wait() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		f.kill()
		t.Fatal("does not stop")
	}
	if code := f.c.ProcessState.ExitCode(); code != 0 && code != 7 {
		t.Fatalf("code %d: %s", code, tail(f.errs.String()))
	}
	r, ok := last(t, f.out.String())
	if !ok {
		t.Fatalf("no report was printed: %s", tail(f.errs.String()))
	}
	return r
}

// last returns the last whole report of a stream of them; ok is false when there is none yet.
func last(t *testing.T, out string) (r report, ok bool) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(out))
	for {
		var next report
		if err := d.Decode(&next); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%v in %s", err, tail(out))
			}
			return r, ok
		}
		r, ok = next, true
	}
}

// until waits until a report is as wanted.
func (f *following) until(t *testing.T, wanted func(report) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out := f.out.String()
		if r, ok := last(t, out); ok && wanted(r) {
			return
		}
		if time.Now().After(end) {
			f.kill()
			t.Fatalf("no report is as wanted: %s %s", tail(out), tail(f.errs.String()))
		}
	}
}
