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

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// dial connects and reads the greeting, so that whatever answers is known to be a MySQL server before the driver talks
// to it: the driver trusts the shape of that packet, and would blame the network for an SSH server.
func dial(ctx context.Context, s *endpoint.Spec, network, address string) (net.Conn, error) {
	c, err := s.Reach(ctx, network, address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { c.SetReadDeadline(time.Unix(1, 0)) })
	ask, end := context.WithCancel(ctx)
	defer end()
	wait, answer := silence, make(chan bool, 1)
	if d, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(d)/2)
	}
	quiet := time.AfterFunc(wait, func() {
		is := isPostgres(ask, s, network, address)
		if is {
			c.SetReadDeadline(time.Unix(1, 0))
		}
		answer <- is
	})
	head, err := greeting(c)
	if err == nil {
		end() // it has spoken
	}
	other := !quiet.Stop() && <-answer
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		if other {
			return nil, postgres(s)
		}
		if cerr := ctx.Err(); cerr != nil {
			return nil, fmt.Errorf("connected, but the server said nothing: %w", cerr)
		}
		return nil, err
	}
	plain := network != "unix" && (s.Mode() == endpoint.TLSDisabled || !offersTLS(head))
	if plain && s.Mode() == endpoint.TLSPreferred {
		was, err := s.Known.Of(s.Place())
		if len(endpoint.Values(was, endpoint.ByCertificate)) > 0 && len(endpoint.Values(was, endpoint.ByNone)) == 0 {
			err = &endpoint.ChangedError{Was: was}
		}
		if err != nil {
			c.Close()
			return nil, err
		}
	}
	owner := ""
	if head[4] != refusal {
		if owner, err = s.KnownAccount(c); err != nil {
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

// silence is how long a server may say nothing before it is asked whether it waits for the client's first word.
const silence = time.Second

// isPostgres reports whether a server that says nothing is a PostgreSQL, which waits for the client's first word: it
// answers a request for encryption with one byte.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL
func isPostgres(ctx context.Context, s *endpoint.Spec, network, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	c, err := s.Reach(ctx, network, address)
	if err != nil {
		return false
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })()
	b := []byte{0, 0, 0, 8, 4, 210, 22, 47}
	if _, err := c.Write(b); err != nil {
		return false
	}
	n, err := c.Read(b)
	return err == nil && n == 1 && (b[0] == 'S' || b[0] == 'N')
}

func postgres(s *endpoint.Spec) error {
	p := endpoint.Spec{Scheme: endpoint.Postgres, Network: s.Network, Address: s.Address, User: s.User, Jump: s.Jump}
	return &endpoint.Error{
		Op: "connect to", Kind: endpoint.NotAServer, Target: s.Where(),
		Err: errors.New("this is a PostgreSQL server, not MySQL or MariaDB"),
		Fix: "use its own kind of URL: " + p.URL(),
	}
}

// offersTLS reports whether a greeting offers encryption. One that is a refusal offers none.
func offersTLS(greeting []byte) bool {
	_, rest, ok := bytes.Cut(greeting[4:], []byte{0})
	const clientSSL = 0x800
	return greeting[4] == 10 && ok && len(rest) > 14 && (int(rest[13])|int(rest[14])<<8)&clientSSL != 0
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
	return &endpoint.Error{
		Op: "read greeting", Kind: endpoint.NotAServer, Err: fmt.Errorf("not a MySQL server: it said %q", said),
	}
}
