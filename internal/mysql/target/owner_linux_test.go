package target

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/dyno-perf/dyno/test/servers"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// listenAs has another account of this machine listen and answer with what a server says, until the test or the
// returned function ends it. sent counts the bytes that clients sent.
func listenAs(t *testing.T, uid uintptr, network, address, to string, sent *atomic.Int64) (at string, end func()) {
	t.Helper()
	type result struct {
		l   net.Listener
		err error
	}
	ready := make(chan result)
	aside(func() {
		if _, _, no := syscall.RawSyscall(syscall.SYS_SETRESUID, uid, uid, uid); no != 0 {
			ready <- result{err: no}
			return
		}
		l, err := net.Listen(network, address)
		ready <- result{l, err}
		if err != nil {
			return
		}
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				d, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer d.Close()
				go func() {
					n, _ := io.Copy(d, c)
					sent.Add(n)
					d.Close()
				}()
				_, _ = io.Copy(c, d)
			}()
		}
	})
	r := <-ready
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(func() { r.l.Close() })
	return r.l.Addr().String(), func() { r.l.Close() }
}

// aside runs f on a thread of its own, which ends with f: what f makes of the thread's account is no other's. It is
// never the first thread, for that one does not end, and the kernel shows its account as that of the process.
func aside(f func()) {
	go func() {
		runtime.LockOSThread()
		if syscall.Gettid() != os.Getpid() {
			f()
			return
		}
		there := make(chan struct{})
		go func() { // not on the first thread, which is taken until it has begun
			runtime.LockOSThread()
			close(there)
			f()
		}()
		<-there
		runtime.UnlockOSThread()
	}()
}

// TestWhoListensIsKnown: while a server is down another account can take its port, or its socket's name in a directory
// for all. It is sent no password.
func TestWhoListensIsKnown(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root alone can be another account")
	}
	s := servers.Start(t, "mariadb", "skip-ssl")
	s.Exec(t, "CREATE USER u@'127.0.0.1' IDENTIFIED BY '"+password+"'", "CREATE USER open@'127.0.0.1'")
	real := fmt.Sprint("127.0.0.1:", s.Port)
	const server, thief = 12001, 12002 // accounts that nobody has
	dir, err := os.MkdirTemp("/tmp", "who")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	var unread atomic.Int64
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(dir, "s")} {
		known := endpoint.OpenKnown(filepath.Join(t.TempDir(), "known_servers"))
		at, end := listenAs(t, server, network, address, real, &unread)
		u := with(spec(t, "mysql://u@"+real), func(s *endpoint.Spec) {
			s.Network, s.Address, s.Password, s.Known = network, at, endpoint.NewSecret(password), known
		})
		opens := func(u endpoint.Spec) {
			t.Helper()
			x, err := Open(t.Context(), u)
			if err != nil {
				t.Fatalf("%s: %v (%s)", network, err, HintOf(err))
			}
			x.Close()
		}
		// nothing is remembered
		fails(t, with(u, func(s *endpoint.Spec) { s.OnlyTrusted = true }), endpoint.NotAServer, "no password was sent")
		bare := with(u, func(s *endpoint.Spec) { s.User, s.Password = "open", endpoint.Secret{} })
		opens(bare) // the account is remembered, whether a password is sent or not
		opens(u)
		opens(with(u, func(s *endpoint.Spec) { s.OnlyTrusted = true }))
		end()
		if network == "unix" {
			os.Remove(address)
		}
		var sent atomic.Int64
		_, end = listenAs(t, thief, network, at, real, &sent)
		fails(t, u, endpoint.NotAServer, "dyno target trust")
		fails(t, bare, endpoint.NotAServer, "dyno target trust")
		if _, err := Open(t.Context(), u); err == nil ||
			!strings.Contains(err.Error(), "user 12002 answers, and at an earlier login it was user 12001") {
			t.Errorf("%s: %v", network, err)
		}
		if r, err := openRaw(t.Context(), u, "autocommit = 1"); err == nil {
			r.Close()
			t.Errorf("%s: a load logged in", network)
		}
		if n := sent.Load(); n != 0 {
			t.Errorf("%s: the other account received %d bytes", network, n)
		}
		x, err := Trust(t.Context(), u, false, false)
		if err != nil || x.Account != "user 12002" || !slices.Equal(x.WasAccounts, []string{"user 12001"}) {
			t.Errorf("%s: %+v, %v", network, x, err)
		}
		opens(u)
		end()
		if network == "unix" {
			os.Remove(address)
		}
		listenAs(t, 0, network, at, real, &unread) // a server's own account needs no word
		opens(u)
	}
}
