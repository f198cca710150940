package tunnel

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
)

// Set shares tunnels: each jump host and address has one. It is safe for concurrent use; the zero value is not usable.
type Set struct {
	ctx context.Context
	mu  sync.Mutex
	all map[key]*Tunnel
}

type key struct {
	jump Jump
	to   string
}

// NewSet returns an empty set. Its tunnels end with ctx or Close.
func NewSet(ctx context.Context) *Set { return &Set{ctx: ctx, all: map[key]*Tunnel{}} }

// Dial connects to an address as the jump host knows it, host:port or the path of a socket, through a tunnel that is opened when there is
// none yet. Errors are those of Open and of Tunnel.Dial.
func (s *Set) Dial(ctx context.Context, jump Jump, address string) (net.Conn, error) {
	t, err := s.tunnel(jump, address)
	if err != nil {
		return nil, err
	}
	return t.Dial(ctx)
}

func (s *Set) tunnel(jump Jump, address string) (*Tunnel, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || s.ctx.Err() != nil {
		return nil, &Error{Jump: jump, Err: net.ErrClosed}
	}
	k := key{jump, address}
	if t := s.all[k]; t != nil {
		return t, nil
	}
	host, port := address, 0
	if !strings.HasPrefix(address, "/") {
		h, p, err := net.SplitHostPort(address)
		if err == nil {
			port, err = strconv.Atoi(p)
		}
		if err != nil {
			return nil, fmt.Errorf("open tunnel through %s: %q is no host:port", jump.Host, address)
		}
		host = h
	}
	t, err := Open(s.ctx, jump, host, port)
	if err == nil {
		s.all[k] = t
	}
	return t, err
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
	return nil
}
