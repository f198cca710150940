package target

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"dyno/internal/tunnel"
)

// KnownServers is a file that remembers the certificates of servers which no CA vouches for, as ssh's known_hosts does: one line each,
// place, SHA256 and the fingerprint as `openssl x509 -fingerprint -sha256` prints it. Lines of another form are kept. It is safe for
// concurrent use by several processes. A nil one remembers nothing.
type KnownServers struct{ path string }

// OpenKnown names the file; it need not exist yet.
func OpenKnown(path string) *KnownServers { return &KnownServers{path} }

const knownMethod = "SHA256"

// of returns the fingerprint that is remembered for a place, "" for none. What cannot be read is none to those who may not read it: they
// have no certificate that they could compare.
func (k *KnownServers) of(place string) string {
	if k == nil {
		return ""
	}
	b, _, err := readFile(k.path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if p, f, ok := knownLine(line); ok && p == place {
			return f
		}
	}
	return ""
}

func (k *KnownServers) has(place string) bool { return k.of(place) != "" }

func knownLine(line string) (place, print string, ok bool) {
	f := strings.Fields(line)
	if len(f) != 3 || f[1] != knownMethod || strings.HasPrefix(f[0], "#") {
		return "", "", false
	}
	return f[0], f[2], true
}

// put remembers a fingerprint for a place in place of the one before; "" forgets the place.
func (k *KnownServers) put(place, print string) error {
	if k == nil || k.of(place) == print {
		return nil
	}
	err := k.change(func(old []byte) []byte {
		var b bytes.Buffer
		for line := range bytes.Lines(old) {
			if p, _, ok := knownLine(string(line)); !ok || p != place {
				b.Write(bytes.TrimRight(line, "\n"))
				b.WriteByte('\n')
			}
		}
		if print != "" {
			fmt.Fprintln(&b, place, knownMethod, print)
		}
		return b.Bytes()
	})
	if err != nil {
		return fmt.Errorf("remember the certificate of %s: %w", place, err)
	}
	return nil
}

// change replaces the file under a lock of its own, for it is another file each time.
func (k *KnownServers) change(f func([]byte) []byte) error {
	if err := os.MkdirAll(filepath.Dir(k.path), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(k.path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		return err
	}
	old, _, err := readFile(k.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(k.path), filepath.Base(k.path)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(f(old))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), k.path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

// fingerprint is that of the certificate, not of its key: people can compare it with what openssl prints.
func fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// place is what a certificate is remembered for: host and port, and the jump host through which they are those.
func (s Spec) place() string {
	p := strings.ToLower(s.Where())
	if s.Jump != (tunnel.Jump{}) {
		p += "@" + s.Jump.String()
	}
	return strings.Join(strings.Fields(p), "%20")
}

// remember keeps the certificate of a server that has let us in. That it cannot be kept, in a home that may not be written to, is no
// reason not to work: Facts.Trust tells.
func (s Spec) remember(c *x509.Certificate) {
	if c != nil && s.Network != "unix" && !s.verified() {
		_ = s.Known.put(s.place(), fingerprint(c))
	}
}

// trust says what is known of who answers on an encrypted connection or another.
func (s Spec) trust(encrypted bool) Trust {
	switch {
	case s.Network == "unix":
		return ""
	case !encrypted:
		return TrustPlain
	case s.verified():
		return TrustVerified
	case s.Known.has(s.place()):
		return TrustRemembered
	}
	return TrustNone
}

// Fingerprint returns the fingerprint that is remembered for the server; "" for none.
func (s Spec) Fingerprint() string { return s.Known.of(s.place()) }

// Forget removes the certificate that is remembered for the server: the one of the next login takes its place.
func (s Spec) Forget() error { return s.Known.put(s.place(), "") }

// Remember takes a Forget back: the certificate with this fingerprint is the server's again; "" is none.
func (s Spec) Remember(print string) error {
	if print == "" {
		return nil
	}
	return s.Known.put(s.place(), print)
}

// changedError says that a server does not show the certificate that is remembered.
type changedError struct {
	place, was, is string // is is empty when it offers no encryption at all
}

func (e *changedError) Error() string {
	if e.is == "" {
		return "the server offers no encryption, and did at an earlier login: its certificate then had the SHA256 fingerprint " + e.was
	}
	return "the certificate has changed: its SHA256 fingerprint is " + e.is + ", at the first login it was " + e.was
}

func (e *changedError) hint() string {
	if e.is == "" {
		return "somebody may be between: if the server was set up without TLS on purpose, `dyno target trust` with this target forgets the certificate; no password was sent"
	}
	return "somebody may be between, or the server was set up again: compare with what " +
		"`openssl x509 -noout -fingerprint -sha256 -in server-cert.pem` prints there, and if it is the server's own, `dyno target trust` with this target remembers it; no password was sent"
}
