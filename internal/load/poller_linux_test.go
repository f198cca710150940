package load

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ends returns two connected, non-blocking sockets.
func ends(t *testing.T) (a, b int) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]); unix.Close(fds[1]) })
	return fds[0], fds[1]
}

func TestPollerTellsWhatHappens(t *testing.T) {
	for _, coarse := range []bool{false, true} {
		for _, politely := range []bool{false, true} {
			p, err := newPoller()
			if err != nil {
				t.Fatal(err)
			}
			defer p.close()
			p.coarse = coarse
			a, b := ends(t)
			if err := p.add(a, 7, 3); err != nil {
				t.Fatal(err)
			}
			wait := func(d time.Duration) []unix.EpollEvent {
				t.Helper()
				for end := time.Now().Add(10 * time.Second); ; {
					if n := p.block(d, politely); n > 0 || d < time.Second || time.Now().After(end) {
						return p.events[:n]
					}
				}
			}
			if e := wait(0); len(e) != 0 {
				t.Errorf("events of nothing: %+v", e)
			}
			begin := time.Now()
			for len(wait(30*time.Millisecond)) == 0 && time.Since(begin) < 30*time.Millisecond {
				// a signal ends the wait early
			}
			if d := time.Since(begin); d < 30*time.Millisecond || d > 10*time.Second {
				t.Errorf("it waited %v, not 30 ms", d)
			}
			if _, err := send(b, []byte("hello")); err != nil {
				t.Fatal(err)
			}
			if e := wait(time.Minute); len(e) != 1 || e[0].Fd != 7 || e[0].Pad != 3 || e[0].Events&unix.EPOLLIN == 0 {
				t.Errorf("%+v, want bytes for 7 in era 3", e)
			}
			if e := wait(0); len(e) != 0 {
				t.Errorf("an edge came twice: %+v", e)
			}
			p.wake()
			p.wake()
			if e := wait(time.Minute); len(e) != 1 || e[0].Fd != wakeToken {
				t.Errorf("%+v, want to be woken", e)
			}
			p.woken()
			if e := wait(0); len(e) != 0 {
				t.Errorf("woken twice: %+v", e)
			}
			unix.Shutdown(b, unix.SHUT_WR)
			if e := wait(time.Minute); len(e) != 1 || e[0].Events&hangup == 0 {
				t.Errorf("%+v, want a hang-up", e)
			}
		}
	}
}

func TestSendAndReceiveDoNotWait(t *testing.T) {
	a, b := ends(t)
	buf := make([]byte, 1<<20)
	if _, err := receive(a, buf); !errors.Is(err, errAgain) {
		t.Errorf("receiving nothing: %v", err)
	}
	var sent int
	for {
		n, err := send(a, buf)
		if errors.Is(err, errAgain) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sent += n
	}
	var got int
	for got < sent {
		n, err := receive(b, buf)
		if err != nil {
			t.Fatal(err)
		}
		got += n
	}
	unix.Close(b)
	if _, err := send(a, buf); err == nil || errors.Is(err, errAgain) {
		t.Errorf("sending to nobody: %v", err)
	}
	if n := testing.AllocsPerRun(100, func() { receive(a, buf) }); n > 0 {
		t.Errorf("receiving allocates %v times", n)
	}
}

func TestThreadCPU(t *testing.T) {
	if d, ok := threadCPU(unix.Gettid()); !ok || d <= 0 {
		t.Errorf("this thread has used %v, %v", d, ok)
	}
	if _, ok := threadCPU(1 << 22); ok { // above the largest thread id
		t.Error("no thread has used CPU time")
	}
}
