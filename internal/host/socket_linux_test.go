package host

import (
	"net"
	"net/netip"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestTwoSocketsOfTheSameAddresses: anybody may bind a connection to an interface, and then another socket can have its
// addresses. The one that connected later is not the other end of the first one's connection.
func TestTwoSocketsOfTheSameAddresses(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	to := &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
	dial := func(port int) (fd int, inode string) {
		t.Helper()
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			t.Fatal(err)
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			t.Fatal(err)
		}
		if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			t.Fatal(err)
		}
		if port != 0 {
			if err := unix.SetNonblock(fd, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Connect(fd, to); err != nil && err != unix.EINPROGRESS {
			t.Fatal(err)
		}
		return fd, strconv.FormatUint(st.Ino, 10)
	}
	first, one := dial(0)
	here, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	if s, ok := PeerSocket(here); !ok || s.Inode != one {
		t.Fatalf("before: %+v %v, want %s", s, ok, one)
	}
	if err := unix.SetsockoptString(first, unix.SOL_SOCKET, unix.SO_BINDTODEVICE, "lo"); err != nil {
		t.Fatalf("bind a connection to an interface (Linux 5.7): %v", err)
	}
	_, two := dial(here.RemoteAddr().(*net.TCPAddr).Port)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		// it tries again after a second
		if s, ok := PeerSocket(here); ok && s.Inode == two {
			t.Fatal("the second socket is taken for the first")
		}
	}
}

// TestASocketBoundToAnInterfaceIsFound: anybody may bind a listener to an interface, and is no less the other end for
// it.
func TestASocketBoundToAnInterfaceIsFound(t *testing.T) {
	bound := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if e := c.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.SOL_SOCKET,
				unix.SO_BINDTODEVICE, "lo")
		}); e != nil {
			return e
		}
		return err
	}}
	l, err := bound.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	want, _ := inodeOf(far)
	if s, ok := PeerSocket(c); !ok || s.Inode != want || s.UID != os.Geteuid() {
		t.Errorf("%+v %v, want %s", s, ok, want)
	}
}

func TestListeners(t *testing.T) {
	f := func(network, address string, at func(port uint16) netip.AddrPort) {
		t.Helper()
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		to := at(uint16(l.Addr().(*net.TCPAddr).Port))
		for i, listeners := range []func(netip.AddrPort) ([]int, error){Listeners, diagListeners, listedListeners} {
			if got, err := listeners(to); err != nil || len(got) != 1 || got[0] != os.Geteuid() {
				t.Errorf("%d, %s: %v %v", i, l.Addr(), got, err)
			}
		}
		l.Close()
		for i, listeners := range []func(netip.AddrPort) ([]int, error){Listeners, diagListeners, listedListeners} {
			if got, err := listeners(to); err != nil || len(got) > 0 {
				t.Errorf("%d, %s, closed: %v %v", i, l.Addr(), got, err)
			}
		}
	}
	at := func(ip string) func(uint16) netip.AddrPort {
		return func(port uint16) netip.AddrPort { return netip.AddrPortFrom(netip.MustParseAddr(ip), port) }
	}
	f("tcp4", "127.0.0.1:0", at("127.0.0.1"))
	f("tcp4", "0.0.0.0:0", at("127.0.0.2"))
	f("tcp", ":0", at("127.0.0.1")) // an address of IPv6 that takes IPv4 too
	f("tcp", ":0", at("::1"))
}
