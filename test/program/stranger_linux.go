package program

import (
	"context"
	"net"
	"net/http"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// nobody is the uid of a stranger: of an account of this machine that is neither root nor the test's.
const nobody = 65534

// Stranger returns a client whose connections are those of the account nobody, as the kernel sees them. It takes root.
func Stranger(t testing.TB) *http.Client {
	t.Helper()
	x := &http.Transport{DisableKeepAlives: true, DialContext: func(_ context.Context, network,
		address string,
	) (net.Conn, error) {
		return DialAsNobody(t, network, address)
	}}
	t.Cleanup(x.CloseIdleConnections)
	return &http.Client{Transport: x}
}

// DialAsNobody connects as the account nobody. It takes root: without it the test is skipped.
func DialAsNobody(t testing.TB, network, address string) (c net.Conn, err error) {
	t.Helper()
	AsNobody(t, func() { c, err = net.Dial(network, address) })
	return c, err
}

// AsNobody does something as the account nobody, as far as files and new sockets go. It takes root: without it the test
// is skipped.
func AsNobody(t testing.TB, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be somebody else")
	}
	done := make(chan syscall.Errno)
	go func() {
		// and never unlocked: the thread ends with its goroutine, for it is nobody's from here on
		runtime.LockOSThread()
		_, _, e := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0)
		if e == 0 {
			do()
		}
		done <- e
	}()
	if e := <-done; e != 0 {
		t.Errorf("become nobody: %v", e)
	}
}
