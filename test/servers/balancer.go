package servers

import (
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

// Balancer is an address behind which another server may answer each login. Connections that are open stay where they
// are.
type Balancer struct {
	l  net.Listener
	to atomic.Pointer[Server]
}

// Balance opens an address that leads to s, and closes it with the test.
func Balance(t testing.TB, s *Server) *Balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &Balancer{l: l}
	b.Turn(s)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", b.to.Load().Socket)
			if err != nil {
				in.Close()
				continue
			}
			pass := func(to, from net.Conn) {
				io.Copy(to, from) //nolint:errcheck // either end may close at any time
				to.Close()
				from.Close()
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return b
}

// Turn has all later logins reach s.
func (b *Balancer) Turn(s *Server) { b.to.Store(s) }

// URL returns the TARGET form of the address for a user.
func (b *Balancer) URL(user string) string {
	return fmt.Sprintf("mysql://%s@%s?tls=disabled", user, b.l.Addr())
}
