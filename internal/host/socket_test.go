package host

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"testing"
)

func TestFindSocket(t *testing.T) {
	const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0
   1: 0100007F:9C40 0100007F:1F90 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0
   2: 0100007F:9C41 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0
   3: 0000000000000000FFFF00000100007F:9C42 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 4712 1 0
   4: 0100007F:9C43 0100007F:1F90 04 00000000:00000000 01:00000000 00000000     0        0 0 1 0
`
	at := func(port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port) }
	f := func(port uint16, want Socket, ok bool) {
		t.Helper()
		if got, found := findSocket(text, at(port), at(8080)); got != want || found != ok {
			t.Errorf("port %d: %+v, %v", port, got, found)
		}
	}
	f(40001, Socket{"4711", 1000}, true)
	f(40002, Socket{"4712", 1001}, true)
	f(40000, Socket{}, false) // closed and waiting: its account is told as 0
	f(40003, Socket{}, false) // closed while what it sent is still under way: likewise
	f(1, Socket{}, false)
}

func TestPeerSocket(t *testing.T) {
	peers(t, func(t *testing.T, c, far net.Conn) {
		if s, ok := PeerSocket(far); !ok || s.UID != os.Getuid() || s.Inode == "" {
			t.Errorf("%+v, %v", s, ok)
		}
		if s, ok := PeerSocket(c); !ok || s.UID != os.Getuid() || s.Inode == "" { // v4-mapped where it listens at [::]
			t.Errorf("the other way round: %+v, %v", s, ok)
		}
		c.Close()
		if s, ok := PeerSocket(far); ok {
			t.Errorf("a closed socket is found: %+v", s)
		}
	})
}

// peers calls f with both ends of a connection of each kind.
func peers(t *testing.T, f func(t *testing.T, c, far net.Conn)) {
	for listen, dial := range map[string]string{"127.0.0.1:0": "127.0.0.1", "[::1]:0": "::1", "[::]:0": "127.0.0.1"} {
		t.Run(listen, func(t *testing.T) {
			l, err := net.Listen("tcp", listen)
			if err != nil {
				t.Skip(err) // a machine without IPv6
			}
			defer l.Close()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			c, err := net.Dial("tcp", net.JoinHostPort(dial, port))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			far, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer far.Close()
			f(t, c, far)
		})
	}
}

func TestFindListeners(t *testing.T) {
	const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   112        0 11 1
   1: 00000000:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   113        0 12 1
   2: 0100007F:0CEB 0100007F:0CEA 01 00000000:00000000 00:00000000 00000000   114        0 13 1
`
	f := func(at string, want ...int) {
		t.Helper()
		if got := findListeners(text, netip.MustParseAddrPort(at)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
	f("127.0.0.1:3306", 112)
	f("127.0.0.2:3306", 113)
	f("127.0.0.1:3307")
}
