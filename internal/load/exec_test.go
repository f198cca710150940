//go:build unix

package load

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/loadresult"
	"github.com/dyno-perf/dyno/internal/pace"
)

// lines returns the lines of a file that commands write to, none when it is missing.
func lines(t *testing.T, file string) []string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

func TestExecCounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	var ticks []loadresult.Tick
	r, err := Exec(t.Context(), ExecConfig{Command: "echo $DYNO_SESSION >>" + file, Threads: 3, Events: 40},
		func(x loadresult.Tick) { ticks = append(ticks, x) })
	if err != nil || r.State != loadresult.Done || r.Workload != ExecName || r.Total.Operations() != 40 ||
		r.Total.Queries() != 0 || r.Total.ErrorCount() != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	got := lines(t, file)
	if len(got) != 40 {
		t.Errorf("%d executions, 40 were counted", len(got))
	}
	seen := map[string]bool{}
	for _, s := range got {
		seen[s] = true
		if n, err := strconv.Atoi(s); err != nil || n < 0 || n > 2 {
			t.Errorf("session %q", s)
		}
	}
	sum := loadresult.Merged(ticks)
	if sum.Operations() != 40 || sum.Length != r.Elapsed || r.Total.Latency().Min() <= 0 || r.Total.Response() != nil ||
		r.Total.ClientCPU <= 0 {
		t.Errorf("ticks sum to %d operations in %v, the run says %d in %v", sum.Operations(), sum.Length,
			r.Total.Operations(), r.Elapsed)
	}
}

func TestExecTimes(t *testing.T) {
	var warm, rest uint64
	r, err := Exec(t.Context(), ExecConfig{
		Command: "sleep 0.1", Threads: 2, Time: 1200 * time.Millisecond,
		Warmup: 500 * time.Millisecond,
	}, func(x loadresult.Tick) {
		if x.Warm {
			warm += x.Operations()
		} else {
			rest += x.Operations()
		}
	})
	if err != nil || r.State != loadresult.Done || r.Total.Operations() != rest || rest == 0 || warm == 0 {
		t.Fatalf("%d operations, %d in ticks after %d of the warm-up, %s, %v", r.Total.Operations(),
			rest, warm, r.State, err)
	}
	if r.Elapsed < 1200*time.Millisecond || r.Elapsed != r.Total.Length {
		t.Errorf("ran for %v, ticks of %v", r.Elapsed, r.Total.Length)
	}
	if l := r.Total.Latency(); l.Min() < 100*time.Millisecond {
		t.Errorf("sleep 0.1 took %v", l.Min())
	}

	warm = 0
	r, err = Exec(t.Context(), ExecConfig{Command: "true", Warmup: 500 * time.Millisecond, Events: 5},
		func(x loadresult.Tick) {
			if x.Warm {
				warm += x.Operations()
			}
		})
	// One may have begun within the warm-up.
	if n := r.Total.Operations(); err != nil || r.State != loadresult.Done || n < 5 || n > 6 || warm == 0 {
		t.Errorf("%d operations of 5 after %d of the warm-up, %s, %v", n, warm, r.State, err)
	}
}

func TestExecErrorsEndTheRunUnlessIgnored(t *testing.T) {
	f := func(c ExecConfig, key string, want uint64, mention ...string) {
		t.Helper()
		c.Events = 5
		r, err := Exec(t.Context(), c, nil)
		if r.Total.Errors[key] != want || r.Total.ErrorCount() != want || r.Total.Operations() != 0 ||
			r.Total.Ops[0].Failed != want {
			t.Errorf("%q: %d operations, errors %v; want %d times %s", c.Command, r.Total.Operations(),
				r.Total.Errors, want, key)
		}
		if len(mention) == 0 {
			if err != nil || r.State != loadresult.Done {
				t.Errorf("%q: %s, %v", c.Command, r.State, err)
			}
			return
		}
		if err == nil || r.State != loadresult.Failed || r.Error != err.Error() {
			t.Fatalf("%q: %s, %v; want an error", c.Command, r.State, err)
		}
		for _, m := range mention {
			if !strings.Contains(err.Error(), m) {
				t.Errorf("%q: %v; want %q", c.Command, err, m)
			}
		}
	}
	f(ExecConfig{Command: "echo no such luck >&2; exit 3"}, "exit 3", 1, "status 3", "no such luck")
	f(ExecConfig{Command: "exit 3", Ignore: []int{3}}, "exit 3", 5)
	f(ExecConfig{Command: "exit 4", Ignore: []int{3}}, "exit 4", 1, "status 4")
	f(ExecConfig{Command: "exit 4", IgnoreAll: true}, "exit 4", 5)
	f(ExecConfig{Command: "kill -SEGV $$", IgnoreAll: true}, "signal 11", 5)
	f(ExecConfig{Command: "kill -SEGV $$"}, "signal 11", 1, "signal 11")
	f(ExecConfig{Command: "no-such-command-anywhere", IgnoreAll: true}, "exit 127", 1, "no-such-command-anywhere")
	f(ExecConfig{Command: "echo the word is hush >&2; exit 1", Server: endpoint.Spec{
		Network: "tcp", Address: "h:1",
		Password: endpoint.NewSecret("hush"),
	}}, "exit 1", 1, "the word is ***")
}

func TestExecRefuses(t *testing.T) {
	f := func(c ExecConfig, mention string) {
		t.Helper()
		if _, err := Exec(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), mention) {
			t.Errorf("%+v: %v; want %q", c, err, mention)
		}
	}
	f(ExecConfig{}, "--command")
	f(ExecConfig{Command: " \n"}, "--command")
	f(ExecConfig{Command: "true", Threads: -1}, "threads")
	f(ExecConfig{Command: "true", Time: -1}, "time")
	f(ExecConfig{Command: "true", Ignore: []int{256}}, "1 to 255")
	f(ExecConfig{Command: "true", Server: endpoint.Spec{Network: "tcp", Address: "no-port"}}, "address")
}

// alive reports whether a process is there and no corpse.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// gone fails the test when one of the processes whose numbers are in a file is still there after a while.
func gone(t *testing.T, file string, least int) {
	t.Helper()
	pids := lines(t, file)
	if len(pids) < least {
		t.Fatalf("%d processes have said their number, want %d", len(pids), least)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := 0
		for _, p := range pids {
			if n, err := strconv.Atoi(p); err == nil && alive(n) {
				left = n
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			syscall.Kill(left, syscall.SIGKILL)
			t.Fatalf("process %d is still there", left)
		}
	}
}

func TestExecStopsItsProcesses(t *testing.T) {
	f := func(command string, least int) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "pids")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for len(lines(t, file)) < least && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			cancel()
		}()
		within(t, 30*time.Second, "a stopped run", func(context.Context) {
			r, err := Exec(ctx, ExecConfig{Command: strings.ReplaceAll(command, "FILE", file), Threads: 2}, nil)
			if err != nil || r.State != loadresult.Stopped || r.Total.Operations() != 0 || r.Total.ErrorCount() != 0 {
				t.Errorf("%s: %s with %d operations and errors %v, %v", command, r.State,
					r.Total.Operations(), r.Total.Errors, err)
			}
		})
		gone(t, file, least)
	}
	f("echo $$ >>FILE; exec sleep 1000", 2)
	f("sleep 1000 & echo $! >>FILE; wait", 2)
	f("trap '' TERM; echo $$ >>FILE; sleep 1000 & sleep 1000; sleep 1000", 2)
}

// TestExecLeavesNothingBehind: what an execution has started in the background ends with it.
func TestExecLeavesNothingBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	r, err := Exec(t.Context(), ExecConfig{Command: "sleep 1000 & echo $! >>" + file, Events: 3}, nil)
	if err != nil || r.Total.Operations() != 3 {
		t.Fatalf("%d operations, %v", r.Total.Operations(), err)
	}
	gone(t, file, 3)
}

func TestExecOpenLoop(t *testing.T) {
	var due, dropped uint64
	r, err := Exec(t.Context(), ExecConfig{
		Command: "sleep 0.3", Threads: 1, Time: 2 * time.Second,
		Rate: pace.Constant(20), RateKind: pace.Uniform,
	}, func(x loadresult.Tick) {
		if x.Open == nil {
			t.Fatal("a tick without arrivals")
		}
		due, dropped = due+x.Open.Due, dropped+x.Open.Dropped
	})
	if err != nil || r.State != loadresult.Done {
		t.Fatalf("%s, %v", r.State, err)
	}
	o := r.Total.Open
	if o.Due != 40 || due != 40 || o.Dropped != dropped || o.Dropped+r.Total.Operations() != 40 || o.Dropped == 0 {
		t.Errorf("%d operations, %+v; ticks say %d due, %d dropped; want 40 due", r.Total.Operations(), *o, due,
			dropped)
	}
	if resp, lat := r.Total.Response(), r.Total.Latency(); resp.Count() != lat.Count() ||
		resp.Max() < lat.Max()+time.Second/2 {
		t.Errorf("response %v, service %v: the queue does not show", resp.Max(), lat.Max())
	}

	var warm, rest uint64
	var warmed time.Duration
	r, err = Exec(t.Context(), ExecConfig{
		Command: "true", Threads: 4, Time: time.Second,
		Warmup: 500 * time.Millisecond, Rate: pace.Constant(20), RateKind: pace.Uniform,
	}, func(x loadresult.Tick) {
		if x.Warm {
			warm, warmed = warm+x.Open.Due, warmed+x.Length
		} else {
			rest += x.Open.Due
		}
	})
	// A warm-up that ends late, on a busy machine, has what came due meanwhile, and the rest is as much shorter.
	if err != nil || warm+rest != 30 || math.Abs(float64(warm)-20*warmed.Seconds()) > 1 || r.Total.Open.Due != rest ||
		warmed < 500*time.Millisecond || r.Elapsed < 1500*time.Millisecond-warmed {
		t.Errorf("%d were due in the warm-up of %v and %d after it, the run says %d in %v, %v", warm, warmed, rest,
			r.Total.Open.Due, r.Elapsed, err)
	}
	r, err = Exec(t.Context(), ExecConfig{Command: "true", Threads: 4, Events: 10, Rate: pace.Constant(50)}, nil)
	if err != nil || r.Total.Operations() != 10 || r.Total.Open.Due != 10 ||
		r.Total.Open.Dropped != 0 || r.State != loadresult.Done {
		t.Errorf("%d operations, %+v, %s, %v", r.Total.Operations(), *r.Total.Open, r.State, err)
	}
}
