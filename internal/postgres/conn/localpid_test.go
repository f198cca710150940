package conn

import (
	"io"
	"net"
	"testing"

	"github.com/dyno-perf/dyno/test/pgserver"
)

func TestLocalPID(t *testing.T) {
	s := pgserver.Start(t, "17")
	for _, network := range []string{"tcp", "unix"} {
		x := specOf(s)
		if network == "unix" {
			x.Network, x.Address = network, s.Socket
		}
		if pid, ok := open(t, x).LocalPID(t.Context()); !ok || pid != s.PID {
			t.Errorf("%s: %d, %v, want %d", network, pid, ok, s.PID)
		}
	}
	proxy := relay(t, s.Socket)
	x := specOf(s)
	x.Address = proxy
	if pid, ok := open(t, x).LocalPID(t.Context()); ok {
		t.Errorf("a proxy's server is said to be %d", pid)
	}
}

// relay passes the bytes of TCP connections on to a socket; it is of this process, and so is the other end.
func relay(t *testing.T, socket string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", socket)
			if err != nil {
				in.Close()
				continue
			}
			pass := func(to, from net.Conn) {
				io.Copy(to, from)
				to.Close()
				from.Close()
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	return l.Addr().String()
}
