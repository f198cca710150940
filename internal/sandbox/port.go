package sandbox

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// checkPort returns ErrPort when nobody could listen on the loopback port now. It looks again when the server starts:
// only a bind tells for good.
func checkPort(port int) error {
	l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
	switch {
	case err == nil:
		return l.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		return hint(fmt.Errorf("%w: %d is taken", ErrPort, port), "choose another, or none: the sandbox then takes a "+
			"free one")
	case errors.Is(err, syscall.EACCES):
		return hint(fmt.Errorf("%w: %d needs a privilege to listen on", ErrPort, port), "choose one above 1023")
	default:
		return fmt.Errorf("%w: %d: %w", ErrPort, port, err)
	}
}

// freePort returns a loopback port that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("%w: none is free: %w", ErrPort, err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
