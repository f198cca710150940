package host

import (
	"net"
	"syscall"
)

// Peer returns the process that listens at the other end of a Unix socket, and its user.
func Peer(c *net.UnixConn) (pid, uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var u *syscall.Ucred
	var no error
	if err := raw.Control(func(fd uintptr) {
		u, no = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET,
			syscall.SO_PEERCRED)
	}); err != nil {
		return 0, 0, err
	}
	if no != nil {
		return 0, 0, no
	}
	return int(u.Pid), int(u.Uid), nil
}
