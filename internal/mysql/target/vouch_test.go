package target

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// TestVouched: a MariaDB that makes itself a certificate at each start proves whose it is to those who have a password.
// Whoever does not know the password cannot, nor can somebody in between with a certificate of his own.
func TestVouched(t *testing.T) {
	a := newAuthority(t, "CA")
	pair := func(name string) tls.Certificate {
		cert, key := a.issue(t, name, time.Now().Add(time.Hour), "127.0.0.1")
		p, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	its, thiefs := pair("its"), pair("thief's")
	// server answers as MariaDB does; it shows one certificate and vouches for another, knowing a password.
	server := func(version string, shown, vouches tls.Certificate, knows string) string {
		return answer(t, func(c net.Conn) {
			greet := append([]byte{10}, version...)
			greet = append(greet, "\x00\x01\x00\x00\x00abcdefgh\x00\xfe\xff\x21\x02\x00\xff\xc1\x15"...)
			greet = append(append(greet, make([]byte, 10)...), "abcdefghijkl\x00mysql_native_password\x00"...)
			send(c, 0, greet)
			if p, err := packetFrom(c); err != nil || len(p) != 32 {
				return
			}
			x := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{shown}})
			if _, err := packetFrom(x); err != nil {
				return
			}
			stage1 := sha1.Sum([]byte(knows))
			stage2 := sha1.Sum(stage1[:])
			print := sha256.Sum256(vouches.Certificate[0])
			sum := sha256.Sum256(bytes.Join([][]byte{stage2[:], []byte("abcdefghabcdefghijkl"), print[:]}, nil))
			ok := []byte{0, 0, 0, 2, 0, 0, 0}
			if knows != "" {
				ok = append(ok, text("\x01"+fmt.Sprintf("%X", sum))...)
			}
			send(x, 3, ok)
			_, _ = packetFrom(x)
		})
	}
	f := func(what, addr, with string, want bool) {
		t.Helper()
		s := spec(t, "mysql://u@"+addr+"/")
		s.Password = endpoint.NewSecret(with)
		if got := vouched(t.Context(), s); (got != nil) != want || want && !bytes.Equal(got.Raw, its.Certificate[0]) {
			t.Errorf("%s: %v", what, got != nil)
		}
	}
	const now = "11.8.6-MariaDB"
	f("as it should be", server(now, its, its, password), password, true)
	f("without a password", server(now, its, its, ""), "", false)
	f("another password", server(now, its, its, "guess"), password, false)
	f("it says nothing", server(now, its, its, ""), password, false)
	f("in between", server(now, thiefs, its, password), password, false)
	f("too old", server("10.11.19-MariaDB", its, its, password), password, false)
	f("another make", server("9.7.4", its, its, password), password, false)

	// Nothing but the proof of the native password is given: neither by another plugin nor in clear.
	asks := answer(t, func(c net.Conn) {
		greet := append([]byte("\x0a"+now), "\x00\x01\x00\x00\x00abcdefgh\x00\xfe\xff\x21\x02\x00\xff\xc1\x15"...)
		greet = append(append(greet, make([]byte, 10)...), "abcdefghijkl\x00caching_sha2_password\x00"...)
		send(c, 0, greet)
		if _, err := packetFrom(c); err != nil {
			return
		}
		x := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{thiefs}})
		if _, err := packetFrom(x); err != nil {
			return
		}
		send(x, 3, []byte("\xfecaching_sha2_password\x00abcdefghabcdefghijkl\x00"))
		if p, err := packetFrom(x); err == nil {
			t.Errorf("it was answered %q", p)
		}
	})
	f("another plugin", asks, password, false)
}
