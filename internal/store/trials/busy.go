package trials

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/platform"
)

// Busy reports whether a process carries the experiment of a directory out now, and which. It changes nothing and keeps
// nobody from beginning.
func Busy(dir string) (pid int, busy bool) {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, 32))
	pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 1 || platform.Ended(pid) {
		return 0, false // who ends takes the number back, unless it was killed
	}
	// Another process may have got the number of one that was killed. Asking the lock itself holds it for a moment;
	// with a living number in it that is where somebody else has it anyway.
	if err := platform.Lock(f, false); err == nil {
		return 0, false
	}
	return pid, true
}
