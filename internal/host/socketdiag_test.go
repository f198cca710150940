package host

import (
	"net"
	"net/netip"
	"testing"
	"time"
)

// TestOneSocketIsAskedFor: the list of all sockets, which others can make long, is read neither for a socket
// that is there nor for one that is not; and the kernel's answer is that of the list.
func TestOneSocketIsAskedFor(t *testing.T) {
	peers(t, func(t *testing.T, c, far net.Conn) {
		near, own := c.LocalAddr().(*net.TCPAddr).AddrPort(), far.LocalAddr().(*net.TCPAddr).AddrPort()
		if _, _, err := diagSocket(plain(near), plain(own)); err != nil {
			t.Skip("this kernel does not answer for one socket:", err)
		}
		found := make(chan Socket, 1)
		lists.Lock()
		go func() {
			s, _ := SocketOf(near, own)
			if _, ok := SocketOf(own, netip.AddrPortFrom(near.Addr(), 1)); !ok { // its listener is there
				found <- s
			}
			close(found)
		}()
		var got Socket
		select {
		case got = <-found:
		case <-time.After(10 * time.Second):
			t.Error("the list is read")
		}
		lists.Unlock()
		if want, ok := listedSocket(plain(near), plain(own)); !ok || want != got {
			t.Errorf("%+v, in the list %+v", got, want)
		}
	})
}
