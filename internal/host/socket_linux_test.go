package host

import (
	"net"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestTwoSocketsOfTheSameAddresses: anybody may bind a connection to an interface, and then another socket can have its addresses. The one
// that connected later is not the other end of the first one's connection.
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
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // it tries again after a second
		if s, ok := PeerSocket(here); ok && s.Inode == two {
			t.Fatal("the second socket is taken for the first")
		}
	}
}
