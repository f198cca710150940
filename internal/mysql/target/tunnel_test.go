package target_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/tunnel"
	"github.com/dyno-perf/dyno/test/servers"
	"github.com/dyno-perf/dyno/test/sshd"
)

// TestBehindAJumpHost: a real server behind a jump host is a target like any other, also after the jump host was away.
func TestBehindAJumpHost(t *testing.T) {
	s := sshd.New(t)
	s.Start(t)
	db := servers.Start(t, "mariadb")
	set := tunnel.NewSet(t.Context())
	defer set.Close()
	spec := func(address string) endpoint.Spec {
		t.Helper()
		jump := tunnel.Jump{User: s.User, Host: "127.0.0.1", Port: s.Port}
		x, err := endpoint.ParseURL("mysql://root@" + address + "/?tls=disabled&ssh=" + jump.String())
		if err != nil {
			t.Fatal(err)
		}
		x.Via = set
		return x
	}
	fails := func(x endpoint.Spec, want string) {
		t.Helper()
		y, err := target.Open(t.Context(), x)
		if err == nil {
			y.Close()
		}
		if target.KindOf(err) != endpoint.JumpFailed || !strings.Contains(err.Error(), want) ||
			target.HintOf(err) == "" {
			t.Errorf("%v (%s), want %q", err, target.KindOf(err), want)
		}
	}
	here := spec("127.0.0.1:" + strconv.Itoa(db.Port))
	ctx := t.Context()
	x, err := target.Open(ctx, here)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if pid, ok := x.LocalPID(ctx); ok {
		t.Errorf("a server behind a jump host is said to be process %d of this machine", pid)
	}
	if _, err := x.Raw(ctx, target.SessionOptions{}); !errors.Is(err, target.ErrNeedsDriver) {
		t.Errorf("%v", err)
	}
	one := func() error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		n := 0
		if err := x.DB().QueryRowContext(ctx, "SELECT 1").Scan(&n); err != nil {
			return x.Wrap("ask", err)
		}
		return nil
	}
	if err := one(); err != nil {
		t.Error(err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	fails(spec(l.Addr().String()), "Connection refused")
	no := here
	no.Via = nil
	fails(no, "does not open tunnels")

	s.Kill()
	if err := one(); err == nil {
		t.Error("the server answers without its jump host")
	}
	s.Start(t)
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := one()
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the server does not come back: %v", err)
		}
	}
}
