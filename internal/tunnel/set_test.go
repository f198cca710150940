package tunnel

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dyno-perf/dyno/test/sshd"
)

// gone waits until no ssh of this program and no directory of a tunnel is left.
func gone(t *testing.T, s *sshd.Server, what string) {
	t.Helper()
	within(t, what, func() bool {
		dirs, _ := filepath.Glob(s.Dir + "/" + prefix + "*")
		return len(sshs()) == 0 && len(dirs) == 0
	})
}

// TestTunnelEndsWithItsLastUser: neither a connection that was closed nor an attempt that failed leaves ssh behind.
func TestTunnelEndsWithItsLastUser(t *testing.T) {
	s := sshd.New(t)
	s.Start(t)
	to := greeter(t, "tcp", "127.0.0.1:0").Addr().String()
	set := NewSet(t.Context())
	defer set.Close()
	dial := func(ctx context.Context) (net.Conn, error) { return set.Dial(ctx, jump(s), to) }

	set.idle = 50 * time.Millisecond
	a, err := talk(t.Context(), dial)
	must(t, err)
	b, err := talk(t.Context(), dial)
	must(t, err)
	pids := sshs()
	must(t, a.Close())
	_ = a.Close() // twice counts once
	set.Drop(jump(s), to)
	time.Sleep(4 * set.idle) // that nothing happens can only be waited for
	must(t, exchange(b, ""))
	if now := sshs(); len(pids) != 1 || !slices.Equal(now, pids) {
		t.Errorf("ssh was %v and is %v while a connection is open", pids, now)
	}
	must(t, b.Close())
	gone(t, s, "the tunnel ends after its last connection")

	set.idle = time.Hour
	c, err := talk(t.Context(), dial)
	must(t, err)
	must(t, c.Close())
	if n := len(sshs()); n != 1 {
		t.Errorf("%d processes of ssh in the hour after the last connection", n)
	}
	d, err := talk(t.Context(), dial)
	must(t, err)
	must(t, d.Close())
	set.Drop(jump(s), to)
	gone(t, s, "a tunnel that nobody uses is dropped")
	set.Drop(jump(s), to)

	set.idle = 50 * time.Millisecond
	for _, j := range []Jump{{Host: "no-such-host.invalid"}, {Host: "127.0.0.1", Port: 1}, {
		User: "nobody-of-that-name",
		Host: "127.0.0.1", Port: s.Port,
	}} {
		if c, err := talk(t.Context(), func(ctx context.Context) (net.Conn, error) {
			return set.Dial(ctx, j, to)
		}); err == nil {
			c.Close()
			t.Errorf("%s: connected", j)
		}
	}
	gone(t, s, "attempts end that nobody waits for")
	set.mu.Lock()
	defer set.mu.Unlock()
	if len(set.all) > 0 {
		t.Errorf("%d tunnels are kept", len(set.all))
	}
}

// TestIdleTime: the time runs from the last use, and a minute is a minute.
func TestIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := NewSet(t.Context())
		k := key{Jump{Host: "jump"}, "db:1"}
		stopped := make(chan struct{})
		gone := make(chan struct{})
		close(gone)
		x := &shared{Tunnel: &Tunnel{stop: func() { close(stopped) }, gone: gone}}
		set.all[k] = x
		over := func() bool {
			synctest.Wait()
			select {
			case <-stopped:
				return true
			default:
				return false
			}
		}
		for range 3 {
			y, err := set.use(k)
			if err != nil || y != x {
				t.Fatal(y, err)
			}
			time.Sleep(2 * idleLimit)
			set.leave(k, x)
			time.Sleep(idleLimit - time.Second)
			if over() {
				t.Fatal("it ended within the minute, or while it was used")
			}
		}
		time.Sleep(2 * time.Second)
		if !over() {
			t.Error("it goes on after the minute")
		}
		if len(set.all) != 0 {
			t.Error("it is kept")
		}
	})
}
