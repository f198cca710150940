package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/tunnel"
)

// dial connects and reads the greeting, so that whatever answers is known to be a MySQL server before the driver talks
// to it: the driver trusts the shape of that packet, and would blame the network for an SSH server.
func (s *Spec) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := s.reach(ctx, network, address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.SetReadDeadline(time.Unix(1, 0)) })
	head, err := greeting(c)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		if cerr := ctx.Err(); cerr != nil {
			return nil, fmt.Errorf("connected, but the server said nothing: %w", cerr)
		}
		return nil, err
	}
	plain := network != "unix" && (s.Mode() == TLSDisabled || !offersTLS(head))
	if plain && s.Mode() == TLSPreferred {
		was, err := s.Known.of(s.place())
		if len(values(was, byCertificate)) > 0 && len(values(was, byNone)) == 0 {
			err = &changedError{was: was}
		}
		if err != nil {
			c.Close()
			return nil, err
		}
	}
	owner := ""
	if head[4] != refusal {
		if owner, err = s.isKnownAccount(c); err != nil {
			c.Close()
			return nil, err
		}
	}
	g := &greeted{
		Conn: c, owner: owner, head: head, most: mostOfALogin, later: s.MaxAnswer, login: plain,
		anyKey: s.TakeServerKey, ownKey: s.ServerKey != "",
	}
	switch {
	case s.MaxAnswer == 0:
		g.later = maxAnswer
	case s.MaxAnswer < 0:
		g.later = 0
	}
	return g, nil
}

// offersTLS reports whether a greeting offers encryption. One that is a refusal offers none.
func offersTLS(greeting []byte) bool {
	_, rest, ok := bytes.Cut(greeting[4:], []byte{0})
	const clientSSL = 0x800
	return greeting[4] == 10 && ok && len(rest) > 14 && (int(rest[13])|int(rest[14])<<8)&clientSSL != 0
}

// reach connects, through the jump host when there is one.
func (s *Spec) reach(ctx context.Context, network, address string) (net.Conn, error) {
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
	_, uid, err := Peer(c)
	if err == nil && uid != s.ServerUID {
		err = fmt.Errorf("user %d listens there, and the server runs as user %d", uid, s.ServerUID)
	}
	if err != nil {
		return &Error{Op: "connect to", Kind: NotAServer, Target: s.Where(), Err: err}
	}
	return nil
}

// refusal begins an error in place of the greeting: too many connections, host blocked.
const refusal = 0xff

// maxGreeting is more than any server's first packet takes.
const maxGreeting = 4096

// greeting reads the first packet:
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase_packets_protocol_handshake_v10.html
func greeting(r io.Reader) ([]byte, error) {
	b := make([]byte, 4, 128)
	if n, err := io.ReadFull(r, b); err != nil {
		if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, notAServer(b[:n])
		}
		return nil, fmt.Errorf("read greeting: %w", err)
	}
	size := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	if size < 3 || size > maxGreeting || b[3] != 0 {
		return nil, notAServer(b)
	}
	b = append(b, make([]byte, size)...)
	if n, err := io.ReadFull(r, b[4:]); err != nil {
		if n > 0 && errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, notAServer(b[:4+n])
		}
		return nil, fmt.Errorf("read greeting: %w", err)
	}
	switch p := b[4:]; p[0] {
	case refusal:
		if len(p) < 4 {
			return nil, notAServer(b)
		}
	case 10:
		version, rest, ok := strings.Cut(string(p[1:]), "\x00")
		// thread id 4, scramble 8, filler 1, capabilities 2, collation 1, status 2, capabilities 2, length 1, reserved
		// 10, scramble 13
		if !ok || version == "" || len(rest) < 44 {
			return nil, notAServer(b)
		}
	default:
		return nil, notAServer(b)
	}
	return b, nil
}

// notAServer shows the printable beginning of what something else said.
func notAServer(b []byte) error {
	said := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, string(b[:min(len(b), 24)]))
	return &Error{Op: "read greeting", Kind: NotAServer, Err: fmt.Errorf("not a MySQL server: it said %q", said)}
}
