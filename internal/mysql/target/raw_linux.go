package target

import "golang.org/x/sys/unix"

// duplicate returns another descriptor of what a descriptor is of.
func duplicate(fd uintptr) (int, error) { return unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) }

// farewell closes a descriptor and says good-bye before, if that does not have to wait.
func farewell(fd int, quit []byte) error {
	unix.Write(fd, quit) //nolint:errcheck // a good-bye that does not arrive is none
	return unix.Close(fd)
}
