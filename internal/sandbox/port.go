package sandbox

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

const maxPort = 65535

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

// freePort returns a loopback port that nobody listens on, below those that kernels give to outgoing connections
// (ip(7), ip_local_port_range: from 32768): one of those may be taken by the time a server starts again.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := 20000 + rand.N(12768)
		if err = checkPort(port); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("none is free of a hundred that were tried: %w", err)
}
