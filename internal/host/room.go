package host

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Room returns the size of the filesystem that a folder is on, and what is left of it for users other than root, bytes.
func Room(path string) (total, avail uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, 0, fmt.Errorf("look for room in %s: %w", path, err)
	}
	return st.Blocks * uint64(st.Bsize), uint64(st.Bavail) * uint64(st.Bsize), nil //nolint:unconvert // signed on some systems
}

// SameDisk reports whether two files or folders are on one filesystem; what is not there yet will be where its parent is.
func SameDisk(a, b string) bool {
	x, ok1 := deviceOf(a)
	y, ok2 := deviceOf(b)
	return ok1 && ok2 && x == y
}

func deviceOf(path string) (uint64, bool) {
	for {
		var st unix.Stat_t
		err := unix.Stat(path, &st)
		if err == nil {
			return uint64(st.Dev), true //nolint:unconvert // it is an int32 elsewhere
		}
		if parent := filepath.Dir(path); errors.Is(err, unix.ENOENT) && parent != path {
			path = parent
			continue
		}
		return 0, false
	}
}
