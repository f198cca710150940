package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Room returns the size of the filesystem that a folder is on, and what is left of it for users other than root, bytes.
func Room(path string) (total, avail uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, 0, fmt.Errorf("look for room in %s: %w", path, err)
	}
	return st.Blocks * uint64(st.Bsize), st.Bavail * uint64(st.Bsize), nil
}
