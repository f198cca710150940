// Package binary_test holds the program as it is released to its budget.
package binary_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// What the program may cost. They are promises to people, not targets: raise one only with its reason.
const (
	maxBytes = 60e6 // download and disk
	// Of a start, which scripts and prompts wait for: what packages do before the program begins. The CPU time of it,
	// 30 ms at most, is measured by bench/start.sh: a busy machine counts it double.
	maxInitAllocs = 9_000
	maxInitBytes  = 2_200_000
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

	cmd := exec.Command(path, "--help")
	// a line for each package: init NAME @1 ms, 0.1 ms clock, 2 bytes, 3 allocs
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if out, err := cmd.Output(); err != nil || len(out) == 0 {
		t.Fatalf("--help: %v\n%s", err, out)
	}
	packages, size, allocs := 0, 0, 0
	for _, m := range regexp.MustCompile(`(?m)^init \S+ .* (\d+) bytes, (\d+) allocs$`).
		FindAllStringSubmatch(trace.String(), -1) {
		n, _ := strconv.Atoi(m[1])
		k, _ := strconv.Atoi(m[2])
		packages, size, allocs = packages+1, size+n, allocs+k
	}
	t.Logf("%d packages are set up with %d allocations of %d bytes", packages, allocs, size)
	if packages < 50 || size > maxInitBytes || allocs > maxInitAllocs {
		t.Errorf("%d packages are set up with %d allocations of %d bytes, at most %d of %d:\n%s", packages, allocs,
			size, maxInitAllocs, maxInitBytes, &trace)
	}
}
