package tunnel

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/dyno-perf/dyno/internal/platform"
)

const prefix = "dyno-ssh-"

// longest is what the path of a socket may take, of 104 (BSD) or 108 (Linux) bytes.
const longest = 90

// makeDir makes a directory for a socket, readable by this user alone, and removes those that killed programs left
// behind.
func makeDir() (string, error) {
	root := os.TempDir()
	if len(root)+len(prefix)+30 > longest {
		root = "/tmp"
	}
	swept.Do(func() { sweep(root) })
	return os.MkdirTemp(root, fmt.Sprintf("%s%d-", prefix, os.Getpid()))
}

var swept sync.Once

// sweep removes the directories of this account whose programs have ended. Those of others stay, whatever they hold:
// nobody else can have made one of this account, or put something into it.
func sweep(root string) {
	old, err := filepath.Glob(filepath.Join(root, prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range old {
		text, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		pid, err := strconv.Atoi(text)
		if err != nil || pid <= 0 || !platform.Ended(pid) {
			continue
		}
		st, err := os.Lstat(dir)
		if err != nil || st.Mode() != os.ModeDir|0o700 {
			continue
		}
		if of, ok := platform.FileOf(st); ok && of.UID == os.Geteuid() {
			_ = os.RemoveAll(dir)
		}
	}
}
