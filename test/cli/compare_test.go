package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/app"

	"github.com/dyno-perf/dyno/internal/sandbox"
	"github.com/dyno-perf/dyno/internal/trial"
)

const killedPlan = `
dyno_plan: 1
name: killed
server: mariadb
settings: {innodb_buffer_pool_size: 32M}
workload: oltp_point_select
options: {table-size: 500}
axes:
  - threads: [1, 2]
baseline: {threads: 1}
placement: shared
trials: {time: 1s, warmup: 1s..1s, rounds: 3..3, margin: 25%, fresh: server}
`

// comparison is a dyno compare under way.
type comparison struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	said  bytes.Buffer
}

func compareWith(t *testing.T, home string, args ...string) *comparison {
	t.Helper()
	c := &comparison{cmd: exec.Command("dyno", append([]string{"compare", "--output", "json"}, args...)...)}
	c.cmd.Env = append(os.Environ(), "DYNO_HOME="+home)
	c.cmd.Stderr = &c.said
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(out)
	c.lines.Buffer(nil, 64<<20)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.cmd.Process.Kill() })
	return c
}

// trials reads on until n more trials are on record.
func (c *comparison) trials(t *testing.T, n int) {
	t.Helper()
	for n > 0 && c.lines.Scan() {
		if strings.HasPrefix(c.lines.Text(), `{"message":"trial"`) {
			n--
		}
	}
	if n > 0 {
		t.Fatalf("it ended early: %s", c.said.String())
	}
}

// TestCompareTwice begins a comparison beside another one: it is refused while the other one runs, and not when that
// was killed. Then it tells of the server that is left, and leaves it alone.
func TestCompareTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	home, y := ownHome(t)
	file := filepath.Join(t.TempDir(), "killed.yaml")
	if err := os.WriteFile(file, []byte(killedPlan[1:]), 0o644); err != nil {
		t.Fatal(err)
	}
	first := compareWith(t, home, file)
	first.trials(t, 1)
	dirs, err := filepath.Glob(filepath.Join(home, "experiments", "x-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("experiments: %v, %v", dirs, err)
	}
	second := compareWith(t, home, file)
	if second.lines.Scan() {
		t.Errorf("beside another one it says %s", second.lines.Text())
	}
	_ = second.cmd.Wait()
	want := fmt.Sprintf("experiment %s (process %d) runs on this machine",
		filepath.Base(dirs[0]), first.cmd.Process.Pid)
	if code := second.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(second.said.String(), want) {
		t.Errorf("exit %d: %s; want %q", code, second.said.String(), want)
	}
	if now, err := filepath.Glob(filepath.Join(home, "experiments", "x-*")); err != nil || len(now) != 1 {
		t.Errorf("experiments: %v, %v", now, err)
	}
	first.trials(t, 1) // nothing happened to it
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		// It is held while it is looked at, or it could have gone on before it is killed.
		first.cmd.Process.Signal(syscall.SIGSTOP)
		held := time.Now()
		if all := inState(t, y, sandbox.Running); len(all) > 0 && held.Sub(all[0].Started) < 500*time.Millisecond {
			// its load takes longer
			break
		}
		first.cmd.Process.Signal(syscall.SIGCONT)
		if time.Now().After(end) {
			t.Fatal("it starts no server")
		}
	}
	first.cmd.Process.Kill()
	first.cmd.Wait()
	left := inState(t, y, sandbox.Orphan)
	if len(left) != 1 {
		t.Fatalf("left: %+v", left)
	}
	third := compareWith(t, home, file)
	want = "dyno sandbox rm " + left[0].Name + "`"
	last, told, n := "", false, 0
	for third.lines.Scan() {
		last = third.lines.Text()
		told = told || strings.HasPrefix(last, `{"message":"note"`) && strings.Contains(last, want)
		if strings.HasPrefix(last, `{"message":"trial"`) {
			if n++; n == 1 {
				third.cmd.Process.Signal(os.Interrupt)
			}
		}
	}
	third.cmd.Wait()
	var r trial.Result
	if err := json.Unmarshal([]byte(last), &r); err != nil || !strings.Contains(strings.Join(r.Warnings, "\n"), want) ||
		!told {
		t.Errorf("said: %v, warnings %q, %v; want %q", told, r.Warnings, err, want)
	}
	if still := inState(t, y, sandbox.Orphan); len(still) != 1 || still[0].PID != left[0].PID {
		t.Errorf("left: %+v, now: %+v", left, still)
	}
}

// inState returns the sandboxes of a state.
func inState(t *testing.T, y *sandbox.Yard, state sandbox.State) (some []sandbox.Sandbox) {
	t.Helper()
	all, err := y.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if b.State == state {
			some = append(some, b)
		}
	}
	return some
}

// ownHome returns a home that the servers' account can enter, and its sandboxes, which are removed in the end.
func ownHome(t *testing.T) (string, *sandbox.Yard) {
	t.Helper()
	home, err := os.MkdirTemp("/var/tmp", "dyno-cli-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	y, err := sandbox.Open(home, app.Makers()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := y.RemoveAll(context.Background()); err != nil {
			t.Error(err)
		}
		os.RemoveAll(home)
	})
	return home, y
}

// TestCompareKilled kills Dyno in the middle of a comparison, then a server in the middle of what goes on: the result
// is complete, and what had been measured before is in it.
func TestCompareKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real servers")
	}
	home, y := ownHome(t)
	file := filepath.Join(t.TempDir(), "killed.yaml")
	if err := os.WriteFile(file, []byte(killedPlan[1:]), 0o644); err != nil {
		t.Fatal(err)
	}

	c := compareWith(t, home, file)
	c.trials(t, 3)
	c.cmd.Process.Kill()
	c.cmd.Wait()
	dirs, err := filepath.Glob(filepath.Join(home, "experiments", "x-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("experiments: %v, %v", dirs, err)
	}
	before, err := filepath.Glob(filepath.Join(dirs[0], "trials", "*.json"))
	if err != nil || len(before) < 3 {
		t.Fatalf("%d trials on record, %v", len(before), err)
	}
	kept := map[string][]byte{}
	for _, f := range before {
		if kept[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}

	c = compareWith(t, home, "--resume", filepath.Base(dirs[0]))
	c.trials(t, 1)
	killed := 0
	seen := map[string]int{}
	for end := time.Now().Add(time.Minute); killed == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		all, err := y.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range all {
			seen[string(b.State)]++
			if b.PID > 0 && b.State == sandbox.Running && time.Since(b.Started) > 300*time.Millisecond {
				if err := syscall.Kill(b.PID, syscall.SIGKILL); err == nil {
					killed = b.PID
				}
			}
		}
	}
	if killed == 0 {
		t.Fatalf("there was no server to kill: %+v\n%s", seen, c.said.String())
	}
	last := ""
	for c.lines.Scan() {
		last = c.lines.Text()
	}
	err = c.cmd.Wait()
	if code := c.cmd.ProcessState.ExitCode(); code != 0 && code != 6 { // what the verdict is, the machine decides
		t.Fatalf("it ended with %d, %v: %s", code, err, c.said.String())
	}
	var r trial.Result
	if err := json.Unmarshal([]byte(last), &r); err != nil {
		t.Fatalf("the last line is no result: %v\n%.300s", err, last)
	}
	for _, cell := range r.Cells {
		if cell.Valid != 3 {
			t.Errorf("%s has %d valid trials of %d: %s", cell.Variant, cell.Valid, cell.Trials, cell.Failed)
		}
	}
	if r.Control == nil || r.Control.Ratio.N != 3 || r.Stopped != "" {
		t.Errorf("control %+v, stopped %q", r.Control, r.Stopped)
	}
	for f, want := range kept {
		if got, err := os.ReadFile(f); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what it was, %v", f, err)
		}
	}
	if left, err := y.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
}
