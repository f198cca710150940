package target

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
)

// maxAnswer bounds what a server may say between two statements of Dyno's own, bytes: whoever keeps what it says must
// not run out of memory over it. 200 000 rows of statement digests fit.
const maxAnswer = 64 << 20

// mostOfALogin bounds what a server may say between two packets of a login, its certificates among it, bytes.
const mostOfALogin = 128 << 10

var (
	// errTooLong says that an answer was given up.
	errTooLong = errors.New("the server's answer is too long")
	// errWantsPassword says that a login was given up before the password was sent.
	errWantsPassword = errors.New("the server requires the plain password, and the connection is not encrypted")
)

// greeted is a connection whose server has said its first packet, kept in head for the driver to read again. What the
// server says comes through here, so here it is held to its bounds.
type greeted struct {
	net.Conn
	// the account of this machine that answers, as a number; empty for what is not known or does not matter
	owner string
	head  []byte
	most  int64        // bytes that an answer may have, 0 for any number
	later int64        // most after the login
	read  atomic.Int64 // bytes since the last write
	long  *atomic.Bool // set when an answer was too long

	// While a login goes on in plain text over a network, its packets are looked at.
	login          bool
	wrote          bool
	anyKey, ownKey bool // the password may be sealed with the key that the server sends, with one that is here
}

func (c *greeted) Read(b []byte) (int, error) {
	if len(c.head) == 0 && c.login && c.wrote {
		p, err := c.packet()
		if err != nil {
			return 0, err
		}
		c.head = p
	}
	if len(c.head) > 0 {
		n := copy(b, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	n, err := c.Conn.Read(b)
	if sum := c.read.Add(int64(n)); c.most > 0 && sum > c.most {
		if c.long != nil {
			c.long.Store(true)
		}
		return 0, fmt.Errorf("%w: more than %d kB", errTooLong, c.most>>10)
	}
	return n, err
}

// requestTLS is the length of the packet that asks for encryption: the beginning of an answer to the greeting, without
// the user.
const requestTLS = 4 + 32

// keysRecord is the length of a record by which TLS 1.3 answers a server that wants new keys: header, message, kind,
// tag. Such an answer is no question, or a server could ask for keys again and again and never come to its bound. A
// question as short is a ping.
const keysRecord = 5 + 5 + 1 + 16

func (c *greeted) Write(b []byte) (int, error) {
	if c.login && !c.wrote {
		c.login, c.wrote = len(b) != requestTLS, true // what follows that one is encrypted
	}
	if len(b) != keysRecord || !bytes.HasPrefix(b, []byte{23, 3, 3}) {
		c.read.Store(0)
	}
	return c.Conn.Write(b)
}

// SyscallConn lets the driver look whether an idle connection is still alive.
func (c *greeted) SyscallConn() (syscall.RawConn, error) {
	if s, ok := c.Conn.(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// What a server says in the middle of a login with caching_sha2_password and sha256_password.
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_caching_sha2_authentication_exchanges.html
const (
	moreData     = 1
	knowsHash    = 3 // the proof was enough
	wantsItself  = 4 // the password itself, which over plain text is sealed with the server's key
	mostOfAPiece = 1 << 16
)

// packet reads one packet of a login. Whoever answers may claim to need the password and send a key of its own to seal
// it with: unless that was asked for, the login ends here.
func (c *greeted) packet() ([]byte, error) {
	b := make([]byte, 4, 128)
	if _, err := io.ReadFull(c.Conn, b); err != nil {
		return nil, err
	}
	size := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	if size > mostOfAPiece {
		return nil, fmt.Errorf("log in: %w", errTooLong)
	}
	b = append(b, make([]byte, size)...)
	if _, err := io.ReadFull(c.Conn, b[4:]); err != nil {
		return nil, err
	}
	switch p := b[4:]; {
	case size == 0:
	case p[0] == 0 || p[0] == 0xff:
		c.login = false // logged in, or refused
	case p[0] != moreData, c.anyKey, size == 2 && p[1] == knowsHash, size == 2 && p[1] == wantsItself && c.ownKey:
	default:
		return nil, errWantsPassword
	}
	return b, nil
}
