package endpoint

import (
	"net"
	"slices"
	"testing"
)

// TestLocalhostIsIPv4First: whoever listens at ::1, on the port of a server of 127.0.0.1, is not in its way. Where
// /etc/hosts has no ::1 for localhost this says nothing.
func TestLocalhostIsIPv4First(t *testing.T) {
	a, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_, port, err := net.SplitHostPort(a.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := net.Listen("tcp6", "[::1]:"+port)
	if err != nil {
		t.Log("no IPv6: ", err)
		return
	}
	defer b.Close()
	f := func(want string) {
		t.Helper()
		c, err := new(Spec).Reach(t.Context(), "tcp", "localhost:"+port)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := c.RemoteAddr().String(); got != want {
			t.Errorf("reached %s, want %s", got, want)
		}
	}
	f(a.Addr().String())
	if all, err := net.DefaultResolver.LookupHost(t.Context(), "localhost"); err == nil && slices.Contains(all, "::1") {
		a.Close()
		f(b.Addr().String())
	}
}
