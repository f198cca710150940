package conn

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// requestTLS asks for encryption; the server answers with one byte.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL
var requestTLS = []byte{0, 0, 0, 8, 4, 210, 22, 47}

// errNoTLS says that the server offers no encryption, and it is wanted.
var errNoTLS = errors.New("the server offers no TLS")

// dial connects and encrypts. The driver would do the latter too, but it falls back to plain text after any error.
func dial(ctx context.Context, s *endpoint.Spec, tc *tls.Config, fallback bool, a *attempt) (net.Conn, error) {
	network := s.Network
	if network == "" {
		network = "tcp"
	}
	c, err := s.Reach(ctx, network, s.Where())
	if err != nil {
		return nil, err
	}
	w := &watched{Conn: c, spec: s, later: mostOf(s)}
	w.most.Store(mostOfALogin)
	a.watched = w
	// Only when the server has said something: until it accepts the connection the kernel knows no account at the other
	// end. And only before something is said to it again: a server that refuses has gone by then. No password is sent
	// before.
	w.vouch = func() (err error) {
		a.owner, err = s.KnownAccount(c)
		return err
	}
	if tc == nil {
		return w, nil
	}
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	out, err := encrypt(ctx, s, w, tc, fallback, a)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		if cerr := ctx.Err(); cerr != nil {
			err = fmt.Errorf("connected, but the server said nothing: %w", cerr)
		}
		return nil, err
	}
	return out, nil
}

func encrypt(
	ctx context.Context, s *endpoint.Spec, w *watched, tc *tls.Config, fallback bool, a *attempt,
) (net.Conn, error) {
	if _, err := w.Conn.Write(requestTLS); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(w.Conn, w.answer[:]); err != nil {
		return nil, fmt.Errorf("ask for TLS: %w", err)
	}
	if err := w.vouch(); err != nil {
		return nil, err
	}
	w.vouch = nil
	switch w.answer[0] {
	case 'S':
		w.looked.Store(true)
		check := tc.VerifyConnection
		tc = tc.Clone()
		tc.VerifyConnection = func(st tls.ConnectionState) error {
			if check != nil {
				if err := check(st); err != nil {
					return err
				}
			}
			a.cert = st.PeerCertificates[0]
			return nil
		}
		c := tls.Client(w, tc)
		err := c.HandshakeContext(ctx)
		if h := (tls.RecordHeaderError{}); errors.As(err, &h) { // the S was the beginning of something else
			err = notAServer(s, append(w.answer[:], h.RecordHeader[:]...))
		}
		return c, err
	case 'N':
		was, err := s.Known.Of(s.Place())
		switch {
		case err != nil:
			return nil, err
		case !fallback:
			return nil, errNoTLS
		case len(endpoint.Values(was, endpoint.ByCertificate)) > 0 && len(endpoint.Values(was, endpoint.ByNone)) == 0:
			return nil, &endpoint.ChangedError{Was: was}
		}
		w.asked = true
		return w, nil
	}
	// Something else talks, or the server refuses before it looks at the request; see what more there is.
	more := make([]byte, 64)
	w.Conn.SetReadDeadline(time.Now().Add(time.Second))
	n, _ := w.Conn.Read(more)
	return nil, notAServer(s, append(w.answer[:], more[:n]...))
}

// maxAnswer bounds what a server may say between two questions, bytes.
const maxAnswer = 64 << 20

// mostOf returns the bound that a spec sets, 0 for none.
func mostOf(s *endpoint.Spec) int64 {
	if s.MaxAnswer == 0 {
		return maxAnswer
	}
	return max(0, s.MaxAnswer)
}

// mostOfALogin bounds what a server may say between two packets of a login, bytes.
const mostOfALogin = 128 << 10

// errTooLong says that an answer was given up.
var errTooLong = errors.New("the server's answer is too long")

// keysRecord is the length of a record by which TLS 1.3 answers a server that wants new keys: no question of ours.
const keysRecord = 5 + 5 + 1 + 16

// watched is a connection on which what the server says is held to its bounds, and looked at first. It is read while it
// is written to: the driver reads beside when a write takes long, lest both ends wait for the other to read.
type watched struct {
	net.Conn
	spec   *endpoint.Spec
	answer [1]byte      // to the request for encryption
	asked  bool         // answer was the first byte of what is said in plain text, if this is no PostgreSQL
	looked atomic.Bool  // the beginning was looked at, or is encrypted
	head   []byte       // of the beginning what is to be read again
	most   atomic.Int64 // bytes that an answer may have, 0 for any number
	later  int64        // most after the login
	vouch  func() error // looks who answers, nil once that is done
	read   atomic.Int64
}

// header is the length of a message's kind and size.
// https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-MESSAGE-CONCEPTS
const header = 5

func (c *watched) Read(b []byte) (int, error) {
	if !c.looked.Swap(true) {
		head := make([]byte, header)
		if _, err := io.ReadFull(c.Conn, head); err != nil {
			return 0, err
		}
		// The first answer to a login is a request for a proof (or the permission to go on without), an error, or a
		// remark on the protocol's version.
		if size := binary.BigEndian.Uint32(head[1:]); !bytes.ContainsAny(head[:1], "REv") || size > mostOfALogin {
			if c.asked {
				head = append(c.answer[:], head...)
			}
			return 0, notAServer(c.spec, head)
		}
		c.head = head
	}
	if len(c.head) > 0 {
		n := copy(b, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	n, err := c.Conn.Read(b)
	if sum, most := c.read.Add(int64(n)), c.most.Load(); most > 0 && sum > most {
		return 0, fmt.Errorf("%w: more than %d kB", errTooLong, most>>10)
	}
	return n, err
}

func (c *watched) Write(b []byte) (int, error) {
	if c.looked.Load() && c.vouch != nil {
		if err := c.vouch(); err != nil {
			return 0, err
		}
		c.vouch = nil
	}
	if len(b) != keysRecord || !bytes.HasPrefix(b, []byte{23, 3, 3}) {
		c.read.Store(0)
	}
	return c.Conn.Write(b)
}

// SyscallConn lets the kernel be asked about the connection.
func (c *watched) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// isMySQL reports whether what a server said first begins a greeting of MySQL's protocol: three bytes of a size, the
// number 0, and version 10 or an error.
func isMySQL(b []byte) bool {
	return len(b) >= header && b[2] == 0 && b[3] == 0 && (b[4] == 10 || b[4] == 0xff)
}

// notAServer says what answers instead of PostgreSQL.
func notAServer(s *endpoint.Spec, b []byte) error {
	e := &endpoint.Error{Op: "connect to", Kind: endpoint.NotAServer, Target: s.Where()}
	if isMySQL(b) {
		u := *s
		u.Name, u.Scheme, u.Password, u.Database = "", "mysql", endpoint.Secret{}, ""
		e.Err = errors.New("this is a MySQL or MariaDB server, not PostgreSQL")
		e.Fix = "use its own kind of URL: " + u.URL()
		return e
	}
	said := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, string(b[:min(len(b), 64)]))
	e.Err = fmt.Errorf("not a PostgreSQL server: it said %q", said)
	e.Fix = hint(endpoint.NotAServer, nil, s)
	return e
}
