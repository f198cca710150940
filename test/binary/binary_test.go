// Package binary_test holds the program as it is released to its budget.
package binary_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What the program may cost. They are promises to people, not targets: raise one only with its reason.
const (
	maxBytes = 60e6                  // download and disk
	maxCPU   = 60 * time.Millisecond // of a start, user and system: it is run from scripts and prompts. 30 ms is the aim; a busy machine counts it double
)

// built returns the released program, made by the script that makes it for everybody.
func built(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	path := filepath.Join(t.TempDir(), "dyno")
	if out, err := exec.Command("../../build/compile", path).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

func TestBudget(t *testing.T) {
	path := built(t)
	i, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB", float64(i.Size())/1e6)
	if i.Size() > maxBytes {
		t.Errorf("the program has %d bytes, more than %.0f", i.Size(), float64(maxBytes))
	}

	// CPU time of a start, not its duration; the least of several, so that a busy machine does not count.
	var cpu []time.Duration
	for range 12 {
		cmd := exec.Command(path, "--help")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) == 0 {
			t.Fatalf("--help: %v\n%s", err, out)
		}
		cpu = append(cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	t.Logf("CPU of --help: least %v of %v", slices.Min(cpu), cpu)
	if least := slices.Min(cpu); least > maxCPU {
		t.Errorf("--help takes at least %v of CPU, more than %v", least, maxCPU)
	}
}
