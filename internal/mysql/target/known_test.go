package target

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// thief answers without encryption, claims to need the password itself, and sends a key of its own to seal it with.
type thief struct {
	key    *rsa.PrivateKey
	plugin string

	mu     sync.Mutex
	stolen []string
}

func (x *thief) listen(t *testing.T) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(&x.key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	sealed := append([]byte{1}, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})...)
	return answer(t, func(c net.Conn) {
		greet := append([]byte{}, good...)
		greet[0] = byte(len(greet) - 4)
		if _, err := c.Write(greet); err != nil {
			return
		}
		if _, err := packetFrom(c); err != nil {
			return
		}
		seq, scramble := byte(2), []byte("abcdefghabcdefghijkl")
		if x.plugin != "caching_sha2_password" {
			send(c, seq, append(append([]byte("\xfe"+x.plugin+"\x00"), scramble...), 0))
			seq += 2
			if p, err := packetFrom(c); err != nil || len(p) != 1 { // it asks for the key
				x.note(p)
				return
			}
		} else {
			send(c, seq, []byte{1, 4})
			seq += 2
			if p, err := packetFrom(c); err != nil || len(p) != 1 || p[0] != 2 {
				x.note(p)
				return
			}
		}
		send(c, seq, sealed)
		p, err := packetFrom(c)
		if err != nil {
			return
		}
		plain, err := rsa.DecryptOAEP(sha1.New(), nil, x.key, p, nil)
		if err != nil {
			return
		}
		for i := range plain {
			plain[i] ^= scramble[i%len(scramble)]
		}
		x.note(plain)
		send(c, seq+2, append([]byte{0xff, 0x15, 0x04, '#'}, "28000Access denied"...))
	})
}

func (x *thief) note(b []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(b) > 0 {
		x.stolen = append(x.stolen, string(b))
	}
}

func (x *thief) has() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.Join(x.stolen, " ")
}

// TestNoPasswordForWhoeverAnswers: without encryption no key is taken from the network, unless that was asked for.
func TestNoPasswordForWhoeverAnswers(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	const how = "get-server-public-key=1"
	for _, plugin := range []string{"caching_sha2_password", "sha256_password"} {
		x := &thief{key: key, plugin: plugin}
		addr := x.listen(t)
		for _, params := range []string{"", "tls=preferred", "tls=disabled"} {
			u := with(spec(t, "mysql://u@"+addr+"/?"+params),
				func(s *endpoint.Spec) { s.Password = endpoint.NewSecret(password) })
			fails(t, u, endpoint.TLSFailed, how)
			if plugin == "caching_sha2_password" { // the load's own client knows no other
				if r, err := openRaw(t.Context(), u, "autocommit = 1"); err == nil {
					r.Close()
					t.Error("logged in")
				} else if !errors.Is(err, errWantsPassword) {
					t.Error(err)
				}
			}
		}
		for _, mode := range []string{"required", "verify-ca", "verify-full"} {
			u := with(spec(t, "mysql://u@"+addr+"/?tls="+mode),
				func(s *endpoint.Spec) { s.Password = endpoint.NewSecret(password) })
			fails(t, u, endpoint.TLSFailed, "offers no TLS")
		}
		if got := x.has(); got != "" {
			t.Errorf("%s: the server received %q", plugin, got)
		}
		fails(t, with(spec(t, "mysql://u@"+addr+"/?get-server-public-key=1"), func(s *endpoint.Spec) {
			s.Password = endpoint.NewSecret(password)
		}), endpoint.AuthFailed, "wrong")
		if got := x.has(); !strings.Contains(got, password) {
			t.Errorf("%s: the server received %q, though it was asked for its key: the test proves nothing", plugin,
				got)
		}
	}
}

// TestServerPublicKey: the account's password reaches a real server without encryption, sealed with its key.
func TestServerPublicKey(t *testing.T) {
	s := servers.Start(t, "mysql", "tls-version=")
	s.Exec(t, "CREATE USER pw@'127.0.0.1' IDENTIFIED WITH caching_sha2_password BY '"+password+"'")
	key := filepath.Join(s.Dir, "data", "public_key.pem")
	url := func(params string) endpoint.Spec {
		return with(spec(t, fmt.Sprintf("mysql://pw@127.0.0.1:%d/?%s", s.Port, params)), func(s *endpoint.Spec) {
			s.Password = endpoint.NewSecret(password)
		})
	}
	opens := func(params string) {
		t.Helper()
		x, err := Open(t.Context(), url(params))
		if err != nil {
			t.Errorf("%s: %v (%s)", params, err, HintOf(err))
			return
		}
		if x.Facts().Trust != endpoint.TrustPlain {
			t.Errorf("trust %q", x.Facts().Trust)
		}
		x.Close()
		s.Exec(t, "FLUSH PRIVILEGES") // the server forgets that it has seen the password
	}
	fails(t, url(""), endpoint.TLSFailed, "get-server-public-key=1")
	opens("server-public-key-path=" + key)
	fails(t, url(""), endpoint.TLSFailed, "server-public-key-path")
	opens("get-server-public-key=1")
	opens("tls=disabled&get-server-public-key=1")
	fails(t, url("server-public-key-path=/nowhere"), endpoint.BadTarget, "PEM")
	fails(t, url("server-public-key-path="+s.Dir+"/error.log"), endpoint.BadTarget, "PEM")
}

// TestCertificateIsRemembered: the certificate of the first login is the server's, and another is refused, as is plain
// text.
func TestCertificateIsRemembered(t *testing.T) {
	a := newAuthority(t, "CA")
	var certs, keys []string
	for _, name := range []string{"first", "second"} {
		cert, key := a.issue(t, name, time.Now().Add(time.Hour), "127.0.0.1")
		certs, keys = append(certs, cert), append(keys, key)
	}
	print := func(n int) string {
		b, err := os.ReadFile(certs[n])
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(b)
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return endpoint.FingerprintOf(c)
	}
	var up []*servers.Server
	for n := range certs {
		s := servers.Start(t, "mariadb", "ssl-cert="+certs[n], "ssl-key="+keys[n])
		s.Exec(t, "CREATE USER u@'127.0.0.1' IDENTIFIED BY '"+password+"'", "GRANT ALL ON *.* TO u@'127.0.0.1'")
		up = append(up, s)
	}
	plain := servers.Start(t, "mariadb", "skip-ssl")
	plain.Exec(t, "CREATE USER u@'127.0.0.1' IDENTIFIED BY '"+password+"'", "GRANT ALL ON *.* TO u@'127.0.0.1'")
	var mu sync.Mutex
	to := up[0].Port
	addr := answer(t, func(c net.Conn) { // one address, and whichever server we like behind it
		mu.Lock()
		port := to
		mu.Unlock()
		d, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return
		}
		go pipe(d, c)
		io.Copy(c, d)
	})
	behind := func(s *servers.Server) {
		mu.Lock()
		defer mu.Unlock()
		to = s.Port
	}
	file := filepath.Join(t.TempDir(), "home", "known_servers")
	known := endpoint.OpenKnown(file)
	url := func(params string) endpoint.Spec {
		return with(spec(t, "mysql://u@"+addr+"/?"+params), func(s *endpoint.Spec) {
			s.Password, s.Known = endpoint.NewSecret(password), known
		})
	}
	opens := func(params string, want endpoint.Trust) {
		t.Helper()
		x, err := Open(t.Context(), url(params))
		if err != nil {
			t.Errorf("%s: %v (%s)", params, err, HintOf(err))
			return
		}
		defer x.Close()
		if got := x.Facts().Trust; got != want {
			t.Errorf("%s: trust %q, want %q", params, got, want)
		}
	}
	refused := func(params string, texts ...string) {
		t.Helper()
		x, err := Open(t.Context(), url(params))
		if err == nil {
			x.Close()
			t.Errorf("%s: opened", params)
			return
		}
		for _, text := range append(texts, "fingerprint") {
			if !strings.Contains(err.Error()+HintOf(err), text) || KindOf(err) != endpoint.TLSFailed {
				t.Errorf("%s: %v: %v\n%s\nwant %q", params, KindOf(err), err, HintOf(err), text)
			}
		}
	}

	bad := with(url(""), func(s *endpoint.Spec) { s.Password = endpoint.NewSecret("wrong") })
	fails(t, bad, endpoint.AuthFailed, "wrong")
	if got := bad.Fingerprint(); got != "" {
		t.Errorf("a login that was refused is remembered: %s", got)
	}
	opens("tls=verify-ca&ssl-ca="+a.ca(), endpoint.TrustVerified)
	if got := bad.Fingerprint(); got != "" {
		t.Errorf("a server that was verified is remembered: %s", got)
	}
	opens("", endpoint.TrustRemembered)
	if got := url("").Fingerprint(); got != print(0) {
		t.Errorf("remembered %s, the certificate is %s", got, print(0))
	}
	st, err := os.Stat(file)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	for _, params := range []string{"", "tls=required"} {
		opens(params, endpoint.TrustRemembered)
	}
	behind(up[1])
	for _, params := range []string{"", "tls=required"} {
		refused(params, print(0), print(1), "dyno target trust")
	}
	opens("tls=verify-full&ssl-ca="+a.ca(), endpoint.TrustVerified)
	behind(plain)
	refused("", print(0), "no encryption")
	opens("tls=disabled", endpoint.TrustPlain) // the user's own word
	behind(up[1])
	if x, err := Trust(t.Context(), url(""), false, false); err != nil || x.Is != print(1) ||
		!slices.Equal(x.Was, []string{print(0)}) {
		t.Fatal(x, err)
	}
	opens("", endpoint.TrustRemembered)
	if got := url("").Fingerprint(); got != print(1) {
		t.Errorf("remembered %s, the certificate is %s", got, print(1))
	}
	// A server that offered none is known by that: whoever offers encryption could ask for the password itself.
	behind(plain)
	if x, err := Trust(t.Context(), url(""), false, false); err != nil || x.Is != "" {
		t.Fatal(x, err)
	}
	opens("", endpoint.TrustPlain)
	behind(up[1])
	for _, params := range []string{"", "tls=required"} {
		refused(params, print(1), "did not at an earlier login", "dyno target trust")
	}
	opens("tls=verify-full&ssl-ca="+a.ca(), endpoint.TrustVerified)
	if x, err := Trust(t.Context(), url(""), true, false); err != nil || x.Is != print(1) || len(x.Was) > 0 {
		t.Fatal(x, err)
	}
	opens("", endpoint.TrustRemembered)
	behind(plain) // both are the server's by the user's word
	opens("", endpoint.TrustPlain)
	behind(up[1])
	if _, err := Trust(t.Context(), url(""), false, false); err != nil {
		t.Fatal(err)
	}
	// What is open already goes on, what is opened later is refused too.
	x, err := Open(t.Context(), url(""))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	behind(up[0])
	if s, err := x.Session(t.Context(), SessionOptions{}); err == nil || !strings.Contains(err.Error(), print(0)) {
		t.Errorf("a session with another server: %v", err)
		if err == nil {
			s.Close()
		}
	}
}

// TestLostMemoryLetsNobodyIn: where the remembered certificates cannot be read, nobody is taken for the server, and the
// file stays.
func TestLostMemoryLetsNobodyIn(t *testing.T) {
	s := servers.Start(t, "mysql")
	s.Exec(t, "CREATE USER u@'127.0.0.1' IDENTIFIED WITH caching_sha2_password BY '"+password+"'")
	plain := servers.Start(t, "mariadb", "skip-ssl")
	for what, spoil := range map[string]func(path string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"cut short":   func(path string) error { return os.WriteFile(path, []byte("db:3306 SHA2"), 0o600) },
		"garbage":     func(path string) error { return os.WriteFile(path, make([]byte, 4096), 0o600) },
		"too large":   func(path string) error { return os.WriteFile(path, make([]byte, endpoint.MaxFile+1), 0o600) },
		"a loop":      func(path string) error { return os.Symlink(path, path) },
		"no account":  func(path string) error { return os.WriteFile(path, []byte("db:3306 UID mysql\n"), 0o600) },
		"another mark": func(path string) error {
			return os.WriteFile(path, []byte("db:3306 SHA256 AA:BB guess\n"), 0o600)
		},
	} {
		path := filepath.Join(t.TempDir(), "known_servers")
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(path)
		for _, port := range []int{s.Port, plain.Port} {
			u := with(spec(t, fmt.Sprintf("mysql://u@127.0.0.1:%d/", port)), func(s *endpoint.Spec) {
				s.Password, s.Known = endpoint.NewSecret(password), endpoint.OpenKnown(path)
			})
			fails(t, u, endpoint.BadTarget, "no password was sent")
			if _, err := Trust(t.Context(), u, true, false); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: trusted: %v", what, err)
			}
			u.Remember(&x509.Certificate{}, "")
		}
		if after, _ := os.ReadFile(path); !slices.Equal(before, after) {
			t.Errorf("%s: the file has become %q", what, after)
		}
	}
}
