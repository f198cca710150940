package conn

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/tunnel"
	"github.com/dyno-perf/dyno/test/pgserver"
	"github.com/dyno-perf/dyno/test/sshd"
)

// TestBehindAJumpHost: a server behind a jump host is a target like any other, by its port or its socket.
func TestBehindAJumpHost(t *testing.T) {
	j := sshd.New(t)
	j.Start(t)
	s := pgserver.Start(t, "17")
	set := tunnel.NewSet(t.Context())
	defer set.Close()
	x := specOf(s)
	x.Jump, x.Via = tunnel.Jump{User: j.User, Host: "127.0.0.1", Port: j.Port}, set
	socket := x
	socket.Network, socket.Address = "unix", s.Socket
	for _, x := range []endpoint.Spec{x, socket} {
		y := open(t, x)
		if f := y.Facts(); f.Version != s.Version {
			t.Errorf("%+v", f)
		}
		if pid, ok := y.LocalPID(t.Context()); ok {
			t.Errorf("a server behind a jump host is said to be process %d of this machine", pid)
		}
	}
	x.Via = nil
	if _, err := Open(t.Context(), x); KindOf(err) != endpoint.JumpFailed || HintOf(err) == "" {
		t.Errorf("%v", err)
	}
	x.Via = set
	x.Jump.Port++
	if _, err := Open(t.Context(), x); KindOf(err) != endpoint.JumpFailed || HintOf(err) == "" {
		t.Errorf("%v", err)
	}
}
