package target

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/test/servers"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// authority is a CA of the test's own.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir(), n: 1}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.key = key
	a.pem(t, "ca.pem", "CERTIFICATE", der)
	return a
}

func (a *authority) pem(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	file := a.dir + "/" + name
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (a *authority) ca() string { return a.dir + "/ca.pem" }

// issue signs a certificate for the hosts and returns its files.
func (a *authority) issue(t *testing.T, name string, until time.Time, hosts ...string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a.n++
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(a.n), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-2 * time.Hour),
		NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth,
			x509.ExtKeyUsageClientAuth,
		},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	kd, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return a.pem(t, name+".pem", "CERTIFICATE", der), a.pem(t, name+".key", "PRIVATE KEY", kd)
}

func TestTLS(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			ours, theirs := newAuthority(t, "our CA"), newAuthority(t, "their CA")
			cert, key := ours.issue(t, "server", time.Now().Add(time.Hour), "127.0.0.1", "db.example.org")
			s := servers.Start(t, flavor, "ssl-ca="+ours.ca(), "ssl-cert="+cert, "ssl-key="+key)
			s.Exec(t, "CREATE USER u@'127.0.0.1'", "CREATE USER safe@'127.0.0.1' REQUIRE SSL",
				"CREATE USER x509@'127.0.0.1' REQUIRE X509",
				"CREATE USER pw@'127.0.0.1' IDENTIFIED BY '"+password+"'")
			url := func(user, params string) endpoint.Spec {
				return spec(t, fmt.Sprintf("mysql://%s@127.0.0.1:%d/?%s", user, s.Port, params))
			}
			opens := func(u endpoint.Spec, encrypted bool) {
				t.Helper()
				x, err := Open(t.Context(), u)
				if err != nil {
					t.Errorf("%s: %v (%s)", u.URL(), err, HintOf(err))
					return
				}
				defer x.Close()
				if (x.Facts().TLS != "") != encrypted {
					t.Errorf("%s: cipher %q", u.URL(), x.Facts().TLS)
				}
			}
			ca := "ssl-ca=" + ours.ca()
			opens(url("u", ""), true)
			opens(url("u", "tls=preferred"), true)
			opens(url("u", "tls=required"), true)
			opens(url("u", "tls=disabled"), false)
			opens(url("u", ca), true)
			opens(url("u", ca+"&tls=verify-full"), true)
			opens(url("u", ca+"&tls=verify-full&server-name=db.example.org"), true)
			opens(url("u", ca+"&tls=verify-ca&server-name=elsewhere.example.org"), true)
			opens(url("safe", "tls=required"), true)
			opens(with(url("pw", ca), func(s *endpoint.Spec) { s.Password = endpoint.NewSecret(password) }), true)
			opens(with(url("pw", "tls=disabled"), func(s *endpoint.Spec) { s.Password = endpoint.NewSecret(password) }),
				false)
			opens(spec(t, s.URL("root")), false)
			opens(spec(t, s.URL("root")+"&tls=required"), true)

			const notTrusted, otherHost = "not signed by a trusted CA", "certificate is for another host"
			wrong := "ssl-ca=" + theirs.ca()
			fails(t, url("u", "tls=verify-full"), endpoint.TLSFailed, notTrusted) // the system's own CAs
			fails(t, url("u", wrong), endpoint.TLSFailed, notTrusted)
			fails(t, url("u", wrong+"&tls=verify-full"), endpoint.TLSFailed, notTrusted)
			fails(t, url("u", wrong+"&tls=verify-ca"), endpoint.TLSFailed, notTrusted)
			fails(t, url("u", wrong+"&tls=required"), endpoint.TLSFailed, notTrusted)
			fails(t, url("u", ca+"&server-name=elsewhere.example.org"), endpoint.TLSFailed, otherHost)
			fails(t, url("safe", "tls=disabled"), endpoint.AuthFailed, "tls=required")

			fails(t, url("x509", "tls=required"), endpoint.AuthFailed, "no password was given")
			cc, ck := ours.issue(t, "client", time.Now().Add(time.Hour))
			opens(url("x509", ca+"&ssl-cert="+cc+"&ssl-key="+ck), true)
			fails(t, url("u", ca+"&ssl-cert="+cc), endpoint.BadTarget, "PEM files")
			fails(t, url("u", "ssl-ca=/nowhere"), endpoint.BadTarget, "PEM files")
			fails(t, url("u", "ssl-ca="+ck), endpoint.BadTarget, "PEM files")
			fails(t, url("u", ca+"&ssl-cert="+cert+"&ssl-key="+ck), endpoint.BadTarget, "PEM files")
			tc, tk := theirs.issue(t, "stranger", time.Now().Add(time.Hour))
			fails(t, url("x509", ca+"&ssl-cert="+tc+"&ssl-key="+tk), endpoint.TLSFailed, "client certificate")

			// What a session of a load sends is encrypted too.
			x, err := Open(t.Context(), url("u", ca))
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			ses, err := x.Session(t.Context(), SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer ses.Close()
			if got := one(t, ses, "SHOW SESSION STATUS LIKE 'Ssl_cipher'", 1); got == "" {
				t.Error("a session is not encrypted")
			}

			s.Exec(t, "SET GLOBAL require_secure_transport=ON")
			kind := endpoint.TLSFailed
			if flavor == "mariadb" && !x.Facts().Version.AtLeast(11, 4, 0) {
				kind = endpoint.AuthFailed // what it says is "access denied"
			}
			fails(t, url("u", "tls=disabled"), kind, "tls=required")
		})
	}
}

func TestTLSExpired(t *testing.T) {
	ours := newAuthority(t, "our CA")
	cert, key := ours.issue(t, "server", time.Now().Add(-time.Hour), "127.0.0.1")
	s := servers.Start(t, "mariadb", "ssl-ca="+ours.ca(), "ssl-cert="+cert, "ssl-key="+key)
	s.Exec(t, "CREATE USER u@'127.0.0.1'")
	fails(t, spec(t, fmt.Sprintf("mysql://u@127.0.0.1:%d/?ssl-ca=%s", s.Port, ours.ca())), endpoint.TLSFailed,
		"expired")
}

// TestServerWithoutTLS also connects many times at once: the driver forgets TLS in its configuration when it falls
// back.
func TestServerWithoutTLS(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			setting := map[string]string{"mariadb": "skip-ssl", "mysql": "tls-version="}[flavor]
			s := servers.Start(t, flavor, setting)
			s.Exec(t, "CREATE USER u@'127.0.0.1'")
			base := fmt.Sprintf("mysql://u@127.0.0.1:%d/", s.Port)
			fails(t, spec(t, base+"?tls=required"), endpoint.TLSFailed, "offers no TLS")
			fails(t, spec(t, base+"?tls=verify-full"), endpoint.TLSFailed, "offers no TLS")
			x, err := Open(t.Context(), spec(t, base))
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			if x.Facts().TLS != "" {
				t.Errorf("cipher %q", x.Facts().TLS)
			}
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if c, err := x.Conn(t.Context()); err != nil {
						t.Error(err)
					} else {
						defer c.Close()
						if err := c.PingContext(t.Context()); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestPasswordIsNotSentInClear listens on the wire: even without TLS the password must not pass as it is.
func TestPasswordIsNotSentInClear(t *testing.T) {
	for _, flavor := range servers.Flavors {
		t.Run(flavor, func(t *testing.T) {
			s := servers.Start(t, flavor)
			s.Exec(t, "CREATE USER pw@'127.0.0.1' IDENTIFIED BY '"+password+"'")
			var mu sync.Mutex
			var wire strings.Builder
			addr := answer(t, func(c net.Conn) {
				d, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port))
				if err != nil {
					return
				}
				go pipe(c, d)
				b := make([]byte, 1<<15)
				for {
					n, err := c.Read(b)
					if err != nil {
						d.Close()
						return
					}
					mu.Lock()
					wire.Write(b[:n])
					mu.Unlock()
					d.Write(b[:n])
				}
			})
			x, err := Open(t.Context(), with(spec(t, "mysql://pw@"+addr+"/?tls=disabled&get-server-public-key=1"),
				func(s *endpoint.Spec) { s.Password = endpoint.NewSecret(password) }))
			if err != nil {
				t.Fatal(err)
			}
			x.Close()
			mu.Lock()
			defer mu.Unlock()
			if !strings.Contains(wire.String(), "pw") || strings.Contains(wire.String(), password) {
				t.Error("the password went over the wire in clear, or nothing was heard")
			}
		})
	}
}
