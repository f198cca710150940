//go:build !linux

package host

import (
	"errors"
	"net"
)

// Peer fails here: who listens on a Unix socket is asked of Linux alone.
func Peer(*net.UnixConn) (pid, uid int, err error) { return 0, 0, errors.ErrUnsupported }
