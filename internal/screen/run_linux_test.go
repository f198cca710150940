package screen

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/terminal"
)

// TestMain runs the tests, or a screen for one of them: a program of its own, that has a terminal of its own.
func TestMain(m *testing.M) {
	if os.Getenv("DYNO_SCREEN_TEST") != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		if err := story(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "failed:", err)
			os.Exit(1)
		}
		stop()
		fmt.Println("left in order")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child makes a command that runs this program as a screen.
func child(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append([]string{
		"DYNO_SCREEN_TEST=1", "TERM=xterm-256color", "HOME=" + t.TempDir(), "LANG=C.UTF-8",
		"GOCOVERDIR=" + t.TempDir(),
	}, env...)
	return cmd
}

// story shows an hour of the past and, live, one state after the other: calm, then a pile-up.
func story(ctx context.Context) error {
	k := pastOf()
	k.next = make(chan Update)
	go func() {
		for i := 0; ; i++ {
			at := noon.Add(time.Duration(i) * time.Second)
			s := calm(at)
			if i >= 5 {
				s = pileUp(at)
			}
			k.mu.Lock()
			k.states = append(k.states, s)
			k.mu.Unlock()
			select {
			case k.next <- Update{State: s}:
			case <-ctx.Done():
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	return Run(ctx, k, Options{
		In: os.Stdin, Out: os.Stdout, Location: time.UTC, Target: "shop-db1",
		Explain: func(context.Context, string, string) (string, error) { return "ALL of it", nil },
	})
}

func TestScreenOnATerminal(t *testing.T) {
	v := terminal.Start(t, 100, 30, child(t))
	v.Sees("no waiters")
	v.Sees("● 41")
	v.Type("p")
	s := v.Sees("PAUSED")
	if !strings.Contains(s, "名前 = '東京' AND x = '␛") {
		t.Errorf("got\n%s", s)
	}
	cleared := v.Modes().Cleared
	v.Type("3")
	v.Until("the view of locks", func(s string) bool {
		return strings.Contains(s, "● 41") && !strings.Contains(s, "classes of the last")
	})
	v.Type("\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D\x1b[D")
	v.Sees("PAST")
	v.Type("g2026-03-14 11:16:41\r")
	v.Sees("PAST 2026-03-14 11:16:41")
	v.Sees("● 41")
	v.Type("\x1b[C")
	v.Sees("PAST 2026-03-14 11:16:42")
	v.Sees("no waiters")
	v.Type("l2\x1b[B\r")
	v.Sees("session 42 at")
	v.Type("e")
	v.Sees("ALL of it")
	v.Type("qs?")
	v.Sees("follow the server again")
	v.Type("q")
	v.Sees("sessions 143 connected")
	if got, want := v.Modes(), (terminal.Modes{
		Alternate: true, Hidden: true, Coloured: true, Raw: true,
		Cleared: cleared,
	}); got != want {
		t.Errorf("got %+v, want %+v", got, want) // erased more often: it flickers
	}

	v.Resize(80, 24)
	v.Until("the last line of 24", func(s string) bool {
		return strings.HasPrefix(strings.Split(s, "\n")[23], "? help")
	})
	for _, l := range strings.Split(v.Text(), "\n") {
		if cells(l) > 80 {
			t.Errorf("%q", l)
		}
	}
	v.Resize(120, 40)
	v.Until("the last line of 40", func(s string) bool {
		return strings.HasPrefix(strings.Split(s, "\n")[39], "? help")
	})

	v.Type("q")
	if err := v.Ended(); err != nil {
		t.Errorf("left with %v:\n%s", err, v.Text())
	}
	v.Sees("left in order")
	if got := v.Modes(); got.Alternate || got.Hidden || got.Raw {
		t.Errorf("the terminal is not as it was: %+v", got)
	}
}

func TestLeavesTheTerminalAsItWas(t *testing.T) {
	f := func(name string, leave func(v *terminal.Terminal), change ...func(*exec.Cmd)) {
		t.Helper()
		cmd := child(t, "NO_COLOR=yes")
		for _, c := range change {
			c(cmd)
		}
		v := terminal.Start(t, 80, 24, cmd)
		v.Sees("LIVE")
		if !v.Modes().Raw {
			t.Errorf("%s: keys are echoed while the screen is shown", name)
		}
		leave(v)
		if err := v.Ended(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, v.Text())
		}
		v.Sees("left in order")
		if got := v.Modes(); got.Alternate || got.Hidden || got.Coloured || got.Raw {
			t.Errorf("%s: %+v", name, got)
		}
	}
	f("Ctrl-C", func(v *terminal.Terminal) { v.Type("\x03") })
	f("q, with standard input from elsewhere", func(v *terminal.Terminal) { v.Type("q") }, func(c *exec.Cmd) {
		empty, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { empty.Close() })
		c.Stdin = empty
	})
	f("SIGTERM", func(v *terminal.Terminal) { v.Signal(syscall.SIGTERM) })
}
