package tunnel

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// idleLimit is how long a tunnel outlasts its last connection: between two questions of a target that is watched there
// is less.
const idleLimit = time.Minute

// Set shares tunnels: each jump host and address has one, from the first Dial until a minute after the last connection
// has been closed and the last Dial has failed. It is safe for concurrent use; the zero value is not usable.
type Set struct {
	ctx  context.Context
	idle time.Duration
	mu   sync.Mutex
	all  map[key]*shared
	ends sync.WaitGroup // tunnels that are being closed
}

type key struct {
	jump Jump
	to   string
}

// shared is a tunnel with those who use it.
type shared struct {
	*Tunnel
	users int         // connections, and calls of Dial
	timer *time.Timer // closes it; nil while it has users
}

// NewSet returns an empty set. Its tunnels end with ctx or Close at the latest.
func NewSet(ctx context.Context) *Set {
	return &Set{ctx: ctx, idle: idleLimit, all: map[key]*shared{}}
}

// Dial connects to an address as the jump host knows it, host:port or the path of a socket, through a tunnel that is
// opened when there is none yet. Errors are those of Open and of Tunnel.Dial.
func (s *Set) Dial(ctx context.Context, jump Jump, address string) (net.Conn, error) {
	k := key{jump, address}
	t, err := s.use(k)
	if err != nil {
		return nil, err
	}
	c, err := t.dial(ctx)
	if err != nil {
		s.leave(k, t)
		return nil, err
	}
	return &used{conn: c, left: sync.OnceFunc(func() { s.leave(k, t) })}, nil
}

// Drop closes the tunnel to an address now when nobody uses it, instead of a minute after the last use.
func (s *Set) Drop(jump Jump, address string) {
	k := key{jump, address}
	s.mu.Lock()
	t := s.all[k]
	s.mu.Unlock()
	if t != nil {
		s.close(k, t)
	}
}

// used is a connection that keeps its tunnel open.
type used struct {
	*conn
	left func()
}

// Close closes the connection; the tunnel may follow.
func (c *used) Close() error {
	defer c.left()
	return c.conn.Close()
}

// leave takes a user off; without any the tunnel's time runs.
func (s *Set) leave(k key, t *shared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.users--; t.users == 0 && s.all[k] == t {
		t.timer = time.AfterFunc(s.idle, func() { s.close(k, t) })
	}
}

// close ends a tunnel that has no user.
func (s *Set) close(k key, t *shared) {
	s.mu.Lock()
	if s.all[k] != t || t.users > 0 {
		s.mu.Unlock()
		return
	}
	delete(s.all, k)
	s.ends.Add(1)
	s.mu.Unlock()
	defer s.ends.Done()
	t.Tunnel.Close()
}

// use returns a tunnel with one user more. It is opened when there is none.
func (s *Set) use(k key) (*shared, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || s.ctx.Err() != nil {
		return nil, &Error{Jump: k.jump, Err: net.ErrClosed}
	}
	t := s.all[k]
	if t == nil {
		x, err := s.open(k.jump, k.to)
		if err != nil {
			return nil, err
		}
		t = &shared{Tunnel: x}
		s.all[k] = t
	}
	if t.timer != nil {
		t.timer.Stop() // when it is too late for that, close finds a user
		t.timer = nil
	}
	t.users++
	return t, nil
}

func (s *Set) open(jump Jump, address string) (*Tunnel, error) {
	host, port := address, 0
	if !strings.HasPrefix(address, "/") {
		h, p, err := net.SplitHostPort(address)
		if err == nil {
			port, err = strconv.Atoi(p)
		}
		if err != nil {
			return nil, fmt.Errorf("open tunnel through %s: %q is not a host:port", jump.Host, address)
		}
		host = h
	}
	return Open(s.ctx, jump, host, port)
}

// Close ends all tunnels.
func (s *Set) Close() error {
	s.mu.Lock()
	all := s.all
	s.all = nil
	s.mu.Unlock()
	for _, t := range all {
		t.stop()
	}
	for _, t := range all {
		<-t.gone
	}
	s.ends.Wait()
	return nil
}
