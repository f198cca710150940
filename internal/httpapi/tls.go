package httpapi

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dyno-perf/dyno/internal/platform"
)

// lookEvery is how often the files of a certificate are looked at: those that renew one need not tell Dyno.
const lookEvery = time.Minute

// Certificate serves TLS 1.2 and 1.3 with the certificate chain and key of two PEM files. When the files change, new
// connections get the new ones; when those cannot be read, the old ones stay and log tells.
func Certificate(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	return config(c.get), nil
}

// config offers HTTP/1.1 alone: over HTTP/2 one connection holds any number of requests with all of their headers, also
// after their answers, for as long as a stranger does not take these.
func config(get func(*tls.ClientHelloInfo) (*tls.Certificate, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: get, NextProtos: []string{"http/1.1"}}
}

// certificate is what two files hold.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	stamp  string
	looked time.Time
}

// stampOf tells one state of the files from another.
func (c *certificate) stampOf() (s string) {
	for _, name := range []string{c.certFile, c.keyFile} {
		if st, err := os.Stat(name); err == nil {
			s += fmt.Sprint(st.ModTime().UnixNano(), " ", st.Size(), " ")
		}
	}
	return s
}

func (c *certificate) load() error {
	stamp := c.stampOf()
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	c.looked = time.Now()
	if err == nil { // else they are tried again, for what was wrong need not be what is in them
		c.pair, c.stamp = &pair, stamp
	}
	return err
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) >= lookEvery {
		if c.looked = time.Now(); c.stampOf() != c.stamp {
			if err := c.load(); err != nil {
				c.log.Error("the new certificate cannot be read, the old one stays in use", "file",
					c.certFile, "err", err)
			}
		}
	}
	return c.pair, nil
}

// selfLife is how long a certificate of our own is good for; browsers accept no more than 398 days.
const selfLife = 365 * 24 * time.Hour

// SelfSigned serves TLS with a certificate that Dyno makes and signs itself, and keeps in dir (0700, its key 0600) so
// that it stays the same. names are host names and addresses. It is made anew when it is about to end or when names has
// one that it lacks. fingerprint is the SHA-256 of it, as browsers show it: whoever trusts it compares that.
func SelfSigned(dir string, names []string, now time.Time) (c *tls.Config, fingerprint string, err error) {
	certFile, keyFile := filepath.Join(dir, "self.crt"), filepath.Join(dir, "self.key")
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("read own certificate: %w; remove %s to have another made", err, dir)
	}
	if err != nil || !covers(pair.Leaf, names, now) {
		if err := makeCertificate(dir, certFile, keyFile, names, now); err != nil {
			return nil, "", fmt.Errorf("make own certificate: %w", err)
		}
		if pair, err = tls.LoadX509KeyPair(certFile, keyFile); err != nil {
			return nil, "", fmt.Errorf("read own certificate: %w", err)
		}
	}
	sum := sha256.Sum256(pair.Certificate[0])
	var hex []string
	for _, b := range sum {
		hex = append(hex, fmt.Sprintf("%02X", b))
	}
	return config(func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }),
		strings.Join(hex, ":"), nil
}

func covers(c *x509.Certificate, names []string, now time.Time) bool {
	if now.Before(c.NotBefore) || now.Add(30*24*time.Hour).After(c.NotAfter) {
		return false
	}
	for _, n := range names {
		if c.VerifyHostname(n) != nil {
			return false
		}
	}
	return true
}

func makeCertificate(dir, certFile, keyFile string, names []string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	x := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Dyno"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(selfLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			x.IPAddresses = append(x.IPAddresses, ip)
		} else {
			x.DNSNames = append(x.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	if err != nil {
		return err
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	// The certificate goes first: one that lacks its key is made anew, a key that lacks its certificate too.
	_ = os.Remove(keyFile)
	if err := os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		0o600); err != nil {
		return err
	}
	return os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes}), 0o600)
}

// ListenSocket opens a Unix socket for Serve, at an absolute path: the accounts that mode (0600, 0660) lets connect
// need no login as long as there are no users. A socket that is there is replaced when nobody answers on it; anything
// else is left alone.
func ListenSocket(ctx context.Context, path string, mode fs.FileMode) (net.Listener, error) {
	bad := func(err error) (net.Listener, error) { return nil, fmt.Errorf("listen on unix:%s: %w", path, err) }
	if !filepath.IsAbs(path) {
		return bad(errors.New("the form is unix:/run/dyno/dyno.sock, with an absolute path"))
	}
	if st, err := os.Stat(filepath.Dir(path)); err != nil {
		return bad(err)
	} else if st.Mode()&0o002 != 0 && st.Mode()&fs.ModeSticky == 0 {
		return bad(errors.New("every user may write in its directory and replace the socket: choose another directory"))
	}
	switch st, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return bad(err)
	case st.Mode().Type() != fs.ModeSocket:
		return bad(errors.New("it exists and is not a socket: remove it, or choose another path"))
	default:
		if c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path); err == nil {
			return bad(errors.Join(syscall.EADDRINUSE, c.Close()))
		} else if !errors.Is(err, syscall.ECONNREFUSED) {
			return bad(err)
		}
		if err := os.Remove(path); err != nil {
			return bad(err)
		}
	}
	// Born for its owner alone: the mode lets others in.
	var l net.Listener
	var err error
	platform.Private(func() { l, err = (&net.ListenConfig{}).Listen(ctx, "unix", path) })
	if err != nil {
		return bad(err)
	}
	dir, err := os.OpenRoot(filepath.Dir(path)) // whoever owns the directory may have put a link in the socket's place
	if err == nil {
		err = errors.Join(dir.Chmod(filepath.Base(path), mode), dir.Close())
	}
	if err != nil {
		return bad(errors.Join(err, l.Close()))
	}
	return l, nil
}

// Listen opens a port for Serve, with TLS when there is a config. Without one it may be one of this machine's loopback
// addresses only.
func Listen(ctx context.Context, address string, c *tls.Config) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w; the form is 127.0.0.1:8306", address, err)
	}
	if c == nil && !loopbackHost(net.JoinHostPort(host, "0")) {
		return nil, fmt.Errorf("listen on %s: without TLS only a loopback address may be used, 127.0.0.1 or [::1]; "+
			"give --tls-cert and --tls-key, or "+
			"--tls-self-signed, and users log in then (`dyno user add NAME`); or leave it on 127.0.0.1 and come "+
			"through a tunnel (ssh -L)", address)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if c != nil {
		return tls.NewListener(l, c), nil
	}
	if !Loopback(l) { // localhost may be anything in /etc/hosts
		return nil, errors.Join(fmt.Errorf("listen on %s: the name stands for %s, which is not a loopback address",
			address, l.Addr()), l.Close())
	}
	return l, nil
}

// Loopback reports whether only this machine reaches a listener.
func Loopback(l net.Listener) bool {
	switch a := l.Addr().(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	}
	return false
}
