package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dyno-perf/dyno/internal/platform"
)

// Room returns the size of the filesystem that a folder is on, and what is left of it for users other than root, bytes.
func Room(path string) (total, avail uint64, err error) {
	avail, total, err = platform.Space(path)
	if err != nil {
		return 0, 0, fmt.Errorf("get free space of %s: %w", path, err)
	}
	return total, avail, nil
}

// RoomOf is Room of a directory as a process sees it. Where that may not be looked through, as by an account of another
// machine, the path is taken as it is unless the process is in a container.
func RoomOf(f FS, pid int, dir string) (total, avail uint64, err error) {
	if Here(f) {
		return Room(seenBy(pid, dir))
	}
	if total, avail, err = f.Files.Room(seenBy(pid, dir)); err == nil || len(statusField(f, pid, "NSpid")) > 1 {
		return total, avail, err
	}
	return f.Files.Room(dir)
}

// SameDisk reports whether two files or folders are on one filesystem; what is not there yet will be where its parent
// is.
func SameDisk(a, b string) bool {
	x, ok1 := deviceOf(a)
	y, ok2 := deviceOf(b)
	return ok1 && ok2 && x == y
}

func deviceOf(path string) (uint64, bool) {
	for {
		st, err := os.Stat(path)
		if err == nil {
			f, ok := platform.FileOf(st)
			return f.Device, ok
		}
		if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
			path = parent
			continue
		}
		return 0, false
	}
}
