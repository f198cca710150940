package endpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// Reach connects, through the jump host when there is one.
func (s *Spec) Reach(ctx context.Context, network, address string) (net.Conn, error) {
	switch {
	case s.Jump == (tunnel.Jump{}):
		c, err := dial(ctx, network, address)
		if u, ok := c.(*net.UnixConn); ok && err == nil && s.ServerUID != 0 {
			if err := isServer(s, u); err != nil {
				c.Close()
				return nil, err
			}
		}
		return c, err
	case s.Via == nil:
		return nil, &tunnel.Error{Jump: s.Jump, Err: errors.New("this command does not open tunnels")}
	}
	return s.Via.Dial(ctx, s.Jump, address)
}

// Machine reads the jump host, which most often is the server's machine, through the ssh connection that the server is
// reached by; nil without a jump host. Whoever asks for it closes it.
func (s *Spec) Machine() *host.Remote {
	via, ok := s.Via.(shells)
	if s.Jump == (tunnel.Jump{}) || !ok {
		return nil
	}
	jump, address := s.Jump, s.Address
	return host.NewRemote(func(ctx context.Context) (io.ReadWriteCloser, error) {
		return via.Shell(ctx, jump, address)
	})
}

// shells is a Via that also runs a shell on the jump host; *tunnel.Set does.
type shells interface {
	Shell(ctx context.Context, jump tunnel.Jump, address string) (*tunnel.Shell, error)
}

// dial connects. To localhost it goes by IPv4 first, where servers of this machine listen: another account may listen
// on the same port of IPv6, which the system's resolver names first, and keep Dyno from logging in.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "localhost" {
		if c, err := new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port)); err == nil ||
			ctx.Err() != nil {
			return c, err
		}
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// isServer returns an error when the server is not the user's that it should be: the path may lead
// to somebody else's by now.
func isServer(s *Spec, c *net.UnixConn) error {
	_, uid, err := host.Peer(c)
	if err == nil && uid != s.ServerUID {
		err = fmt.Errorf("user %d listens there, and the server runs as user %d", uid, s.ServerUID)
	}
	if err != nil {
		return &Error{Op: "connect to", Kind: NotAServer, Target: s.Where(), Err: err}
	}
	return nil
}
