package conn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/test/pgserver"
)

// certify writes a self-signed certificate for 127.0.0.1, which is its own CA, and its key into a server's directory.
func certify(t *testing.T, s *pgserver.Server) (ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.ParseIP("127.0.0.1")},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	kd, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, kind string, der []byte) string {
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	like := exec.Command("chown", "--reference="+filepath.Join(s.Data, "PG_VERSION"),
		write(s.Data+"/server.crt", "CERTIFICATE", der), write(s.Data+"/server.key", "PRIVATE KEY", kd))
	if out, err := like.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	return write(filepath.Join(t.TempDir(), "ca.pem"), "CERTIFICATE", der)
}

func TestTLS(t *testing.T) {
	s := pgserver.Start(t, "17")
	ca := certify(t, s)
	s.Exec(t, "postgres", "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()",
		"CREATE ROLE pw LOGIN PASSWORD 'geheim7'", "CREATE ROLE safe LOGIN")
	hba := "hostssl all safe 127.0.0.1/32 trust\nhostnossl all safe 127.0.0.1/32 reject\n" +
		"host all pw 127.0.0.1/32 scram-sha-256\nlocal all all trust\nhost all all 127.0.0.1/32 trust\n"
	if err := os.WriteFile(s.Data+"/pg_hba.conf", []byte(hba), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Stop(t)
	s.Launch(t)
	with := func(user string, f func(*endpoint.Spec)) endpoint.Spec {
		x := specOf(s)
		x.User = user
		f(&x)
		return x
	}
	mode := func(m endpoint.TLSMode, ca string) func(*endpoint.Spec) {
		return func(x *endpoint.Spec) { x.TLS, x.CA = m, ca }
	}
	works := func(x endpoint.Spec, trust endpoint.Trust) {
		t.Helper()
		y, err := Open(t.Context(), x)
		if err != nil {
			t.Errorf("%v; %s", err, HintOf(err))
			return
		}
		if f := y.Facts(); f.Trust != trust || f.TLS != (trust != endpoint.TrustPlain) {
			t.Errorf("%s: trust %s, TLS %v", x.TLS, f.Trust, f.TLS)
		}
	}
	fails := func(x endpoint.Spec, kind endpoint.Kind, text string) {
		t.Helper()
		_, err := Open(t.Context(), x)
		if KindOf(err) != kind || !strings.Contains(err.Error()+HintOf(err), text) || HintOf(err) == "" ||
			strings.Contains(err.Error()+HintOf(err), "geheim") {
			t.Errorf("%v (%s); %s", err, KindOf(err), HintOf(err))
		}
	}
	works(with("safe", mode("", "")), endpoint.TrustNone)
	works(with("safe", mode(endpoint.TLSRequired, "")), endpoint.TrustNone)
	works(with("safe", mode("", ca)), endpoint.TrustVerified)
	works(with("safe", mode(endpoint.TLSVerifyCA, ca)), endpoint.TrustVerified)
	works(with("postgres", mode(endpoint.TLSDisabled, "")), endpoint.TrustPlain)
	fails(with("safe", mode(endpoint.TLSDisabled, "")), endpoint.AuthFailed, "sslmode=require")
	fails(with("safe", mode(endpoint.TLSVerifyFull, "")), endpoint.TLSFailed, "sslrootcert")
	fails(with("safe", func(x *endpoint.Spec) { x.CA, x.ServerName = ca, "db.example" }), endpoint.TLSFailed,
		"another host")
	fails(with("safe", mode("", "/nowhere")), endpoint.BadTarget, "ssl-ca")

	fails(with("pw", mode("", "")), endpoint.AuthFailed, "no password was given")
	password := func(text string) func(*endpoint.Spec) {
		return func(x *endpoint.Spec) { x.Password = endpoint.NewSecret(text) }
	}
	fails(with("pw", password("geheim8")), endpoint.AuthFailed, "is wrong")
	works(with("pw", password("geheim7")), endpoint.TrustNone)

	known := endpoint.OpenKnown(filepath.Join(t.TempDir(), "known"))
	remember := func(x *endpoint.Spec) { x.Known = known }
	works(with("safe", remember), endpoint.TrustRemembered)
	certify(t, s)
	s.Stop(t)
	s.Launch(t)
	fails(with("safe", remember), endpoint.TLSFailed, "the certificate has changed")
	x, err := Trust(t.Context(), with("safe", remember), false)
	if err != nil || x.Is == "" || len(x.Was) != 1 || x.Was[0] == x.Is || x.Account == "" {
		t.Errorf("%+v, %v", x, err)
	}
	works(with("safe", remember), endpoint.TrustRemembered)
	s.Exec(t, "postgres", "ALTER SYSTEM SET ssl = off", "SELECT pg_reload_conf()")
	s.Stop(t)
	s.Launch(t)
	fails(with("postgres", remember), endpoint.TLSFailed, "offers no encryption")
	works(with("postgres", func(*endpoint.Spec) {}), endpoint.TrustPlain)
	fails(with("postgres", mode(endpoint.TLSRequired, "")), endpoint.TLSFailed, "offers no TLS")

	// Whoever answers in plain text does not get the password.
	hba = "local all all trust\nhost all pw 127.0.0.1/32 password\nhost all all 127.0.0.1/32 trust\n"
	if err := os.WriteFile(s.Data+"/pg_hba.conf", []byte(hba), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "postgres", "SELECT pg_reload_conf()")
	s.Stop(t)
	s.Launch(t)
	fails(with("pw", password("geheim7")), endpoint.TLSFailed, "asks for the password itself")
	works(with("pw", func(x *endpoint.Spec) {
		x.Password, x.TLS = endpoint.NewSecret("geheim7"), endpoint.TLSDisabled
	}), endpoint.TrustPlain)
}

// TestTooManyConnections: a server without a free connection says what to do.
func TestTooManyConnections(t *testing.T) {
	s := pgserver.Start(t, "17", "max_connections=5", "superuser_reserved_connections=0")
	x := specOf(s)
	for range 5 {
		s.Conn(t, "postgres")
	}
	_, err := Open(t.Context(), x)
	if KindOf(err) != endpoint.TooManyConnections || !Refused(err) || HintOf(err) == "" {
		t.Errorf("%v", err)
	}
}

// TestSilence: a port on which nothing is said gives up in time.
func TestSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, m := range []endpoint.TLSMode{endpoint.TLSPreferred, endpoint.TLSDisabled} {
		_, err := Open(t.Context(), endpoint.Spec{
			Scheme: endpoint.Postgres, Network: "tcp", Address: l.Addr().String(), User: "u", TLS: m,
			ConnectTimeout: 100 * time.Millisecond,
		})
		if KindOf(err) != endpoint.Timeout || HintOf(err) == "" {
			t.Errorf("%s: %v", m, err)
		}
	}
}
