package sandbox

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
)

// shell runs a script that waits for a word first, and returns what it says and how many seconds it took.
func shell(t *testing.T, script string) (out string, took float64) {
	t.Helper()
	c := exec.Command("/bin/sh", "-c", script)
	c.Stdin = strings.NewReader("go\n")
	began := time.Now()
	b, _ := c.CombinedOutput() // timeout ends it
	return string(b), time.Since(began).Seconds()
}

// maskOf returns the CPUs of all threads of a process when they are the same.
func maskOf(t *testing.T, pid int) string {
	t.Helper()
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		t.Fatal(err)
	}
	var masks []string
	for _, task := range tasks {
		tid, _ := strconv.Atoi(task.Name())
		if cpus, err := host.Affinity(tid); err == nil {
			masks = append(masks, host.FormatCPUs(cpus))
		}
	}
	slices.Sort(masks)
	return strings.Join(slices.Compact(masks), " and ")
}

func TestPlace(t *testing.T) {
	ctx := context.Background()
	allowed, err := host.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	all, first, last := host.FormatCPUs(allowed), strconv.Itoa(allowed[0]), strconv.Itoa(allowed[len(allowed)-1])
	y := yard(t)
	s := up(t, y, Config{Name: "a", Server: "mariadb", CPUs: first + "," + first})
	if got := maskOf(t, s.PID); got != first || s.CPUs != first {
		t.Errorf("up: threads on %s, told %q, want %s", got, s.CPUs, first)
	}
	place := func(cpus, want, told string) {
		t.Helper()
		if err := y.Place(ctx, "a", cpus); err != nil {
			t.Fatal(err)
		}
		if got := maskOf(t, s.PID); got != want || find(t, y, "a").CPUs != told {
			t.Errorf("placed on %q: threads on %s, told %q", cpus, got, find(t, y, "a").CPUs)
		}
	}
	place(last, last, last)
	place("", all, "")
	for _, c := range []struct {
		cpus string
		want error
	}{{"1023", host.ErrNotAllowed}, {"x", host.ErrCPUs}} {
		err := y.Place(ctx, "a", c.cpus)
		if !errors.Is(err, c.want) || errors.Is(c.want, host.ErrNotAllowed) && !strings.Contains(err.Error(), all) {
			t.Errorf("%s: %v", c.cpus, err)
		}
		if _, err := y.Up(ctx, Config{Name: "b", CPUs: c.cpus}, nil); !errors.Is(err, c.want) {
			t.Errorf("up on %s: %v", c.cpus, err)
		}
	}
	if exists(sandboxDir(y.Home, "b")) {
		t.Error("something is left of a sandbox on a CPU that is not allowed")
	}

	// A client that has pinned itself does not drag the next server along.
	t.Cleanup(func() {
		if err := host.Pin(allowed); err != nil {
			t.Error(err)
		}
	})
	if err := host.Pin(allowed[:1]); err != nil {
		t.Fatal(err)
	}
	if s := up(t, y, Config{Name: "c", Server: "mariadb"}); maskOf(t, s.PID) != all {
		t.Errorf("threads on %s, allowed are %s", maskOf(t, s.PID), all)
	}
	if err := y.Down(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if err := y.Place(ctx, "a", first); !errors.Is(err, ErrStopped) {
		t.Errorf("of a stopped one: %v", err)
	}
}

// TestPinOfAnEnded: a process that has ended meanwhile is told apart from one that cannot be moved.
func TestPinOfAnEnded(t *testing.T) {
	cpus, err := host.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if err := pin(cmd.Process.Pid, strconv.Itoa(cpus[0])); !ended(err) {
		t.Errorf("of one that has ended: %v", err)
	}
	if err := pin(os.Getpid(), strconv.Itoa(1023)); err == nil || ended(err) {
		t.Errorf("of one that runs: %v", err)
	}
}
