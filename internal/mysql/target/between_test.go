package target

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// between stands before a real server without TLS, and passes for a MariaDB 11.8 with TLS. It passes on what it is
// sent.
type between struct {
	mu    sync.Mutex
	cert  tls.Certificate
	knows string // the password with which it proves its certificate, as the server itself would; empty for a stranger
	in    int    // logins that the real server let in
}

func (b *between) as(cert tls.Certificate, knows string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cert, b.knows, b.in = cert, knows, 0
}

func (b *between) logins() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.in
}

func (b *between) listen(t *testing.T, s *servers.Server) string {
	return answer(t, func(c net.Conn) {
		d, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", s.Port))
		if err != nil {
			return
		}
		defer d.Close()
		greet, err := packetFrom(d)
		if err != nil {
			return
		}
		_, rest, _ := bytes.Cut(greet[1:], []byte{0})
		rest[4+8+1+1] |= 0x08 // CLIENT_SSL
		scramble := append(bytes.Clone(rest[4:12]), rest[31:43]...)
		send(c, 0, append([]byte("\x0a11.8.6-MariaDB\x00"), rest...))
		if p, err := packetFrom(c); err != nil || len(p) != 32 {
			return
		}
		b.mu.Lock()
		cert, knows := b.cert, b.knows
		b.mu.Unlock()
		x := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{cert}})
		login, err := packetFrom(x)
		if err != nil {
			return
		}
		login[1] &^= 0x08
		send(d, 1, login)
		verdict, err := packetFrom(d)
		if err != nil {
			return
		}
		if verdict[0] == 0 {
			b.mu.Lock()
			b.in++
			b.mu.Unlock()
			if knows != "" {
				stage1 := sha1.Sum([]byte(knows))
				stage2 := sha1.Sum(stage1[:])
				print := sha256.Sum256(cert.Certificate[0])
				verdict = append(verdict[:7],
					text(fmt.Sprintf("\x01%X",
						sha256.Sum256(bytes.Join([][]byte{stage2[:], scramble, print[:]}, nil))))...)
			}
		}
		send(x, 3, verdict)
		go pipe(d, x)
		io.Copy(x, d)
	})
}

func certificates(t *testing.T, names ...string) (all []tls.Certificate) {
	t.Helper()
	a := newAuthority(t, "CA")
	for _, name := range names {
		cert, key := a.issue(t, name, time.Now().Add(time.Hour), "127.0.0.1")
		p, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestNoProofForAnotherCertificate: whoever shows another certificate gets nothing with which he could log in at the
// server, whatever he claims to be, unless the user has said that a proof is enough.
func TestNoProofForAnotherCertificate(t *testing.T) {
	s := servers.Start(t, "mariadb", "skip-ssl")
	s.Exec(t, "CREATE USER u@'127.0.0.1' IDENTIFIED BY '"+password+"'", "GRANT ALL ON *.* TO u@'127.0.0.1'")
	certs := certificates(t, "first", "second", "third", "stranger's")
	b := &between{}
	addr := b.listen(t, s)
	u := with(spec(t, "mysql://u@"+addr+"/"), func(s *endpoint.Spec) {
		s.Password = endpoint.NewSecret(password)
		s.Known = endpoint.OpenKnown(filepath.Join(t.TempDir(), "known_servers"))
	})
	opens := func() {
		t.Helper()
		x, err := Open(t.Context(), u)
		if err != nil {
			t.Fatalf("%v (%s)", err, HintOf(err))
		}
		x.Close()
	}
	b.as(certs[0], password)
	opens()
	const stranger = 3
	for n, knows := range map[int]string{stranger: "", 1: password} {
		b.as(certs[n], knows)
		fails(t, u, endpoint.TLSFailed, "no password was sent")
		if n := b.logins(); n > 0 {
			t.Errorf("%q: whoever showed another certificate is logged in at the server, %d times", knows, n)
		}
	}
	// By the user's word a proof is enough, of each certificate after it. What he who is between gains by it is said.
	trust := func(add, proof bool, want int) {
		t.Helper()
		x, err := Trust(t.Context(), u, add, proof)
		if (err == nil) != (want > 0) || err == nil && x.Is == "" {
			t.Errorf("%+v: %v (%s)", x, err, HintOf(err))
		}
		if all, err := u.Known.Of(u.Place()); err != nil ||
			want > 0 && len(endpoint.Values(all, endpoint.ByCertificate)) != want {
			t.Errorf("remembered %v %v, want %d", all, err, want)
		}
	}
	b.as(certs[stranger], "")
	before := u.Fingerprint()
	trust(false, true, 0)
	if is := u.Fingerprint(); is != before {
		t.Errorf("remembered %s, want %s", is, before)
	}
	b.as(certs[1], password)
	trust(false, true, 1)
	b.as(certs[2], password)
	opens()
	b.as(certs[stranger], "")
	fails(t, u, endpoint.TLSFailed, "may have logged in")
	if b.logins() != 1 {
		t.Errorf("%d logins of a stranger: what is said of them is not true", b.logins())
	}
	b.as(certs[2], "")
	opens()

	// Several servers behind one address: each has its own certificate, and none else gets in.
	trust(false, false, 1)
	b.as(certs[0], "")
	fails(t, u, endpoint.TLSFailed, "no password was sent")
	trust(true, false, 2)
	trust(true, false, 2)
	for n, known := range []bool{true, false, true} {
		b.as(certs[n], "")
		if known {
			opens()
		} else {
			fails(t, u, endpoint.TLSFailed, "no password was sent")
		}
	}
	trust(false, false, 1)
}
