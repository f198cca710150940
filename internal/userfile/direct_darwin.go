package userfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// openDirect opens a directory if no part of its path is a link, in one step of the kernel's: open(2).
func openDirect(path string) (*os.File, error) {
	const noFollowAny = 0x20000000 // O_NOFOLLOW_ANY
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|noFollowAny, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
