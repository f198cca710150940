package host

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OpenFiles counts the files that a process has open below a folder, those that match alone, by whether it bypasses the
// page cache with them (O_DIRECT). It needs the same user or root.
func OpenFiles(pid int, folder string, match func(name string) bool) (direct, cached int, err error) {
	proc := "/proc/" + strconv.Itoa(pid)
	fds, err := os.ReadDir(proc + "/fd")
	if err != nil {
		return 0, 0, fmt.Errorf("read open files of process %d: %w", pid, gone(err))
	}
	for _, fd := range fds {
		path, err := os.Readlink(proc + "/fd/" + fd.Name())
		if err != nil || !strings.HasPrefix(path, folder+"/") || !match(filepath.Base(path)) {
			continue
		}
		info, err := os.ReadFile(proc + "/fdinfo/" + fd.Name())
		if err != nil {
			continue // closed meanwhile
		}
		for s := bufio.NewScanner(bytes.NewReader(info)); s.Scan(); {
			if v, ok := strings.CutPrefix(s.Text(), "flags:"); ok {
				if flags, err := strconv.ParseUint(strings.TrimSpace(v), 8, 64); err == nil && flags&directFlag != 0 {
					direct++
				} else {
					cached++
				}
				break
			}
		}
	}
	return direct, cached, nil
}
