package target

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"dyno/internal/tunnel"
)

// KnownServers is a file that remembers the certificates of servers which no CA vouches for, as ssh's known_hosts does: one line each,
// place, SHA256, the fingerprint as `openssl x509 -fingerprint -sha256` prints it, and "proof" where the user lets later certificates
// prove themselves, see Trust. A place may have several lines. Comments are kept. It is safe for concurrent use by several processes. A
// nil one remembers nothing.
type KnownServers struct{ path string }

// OpenKnown names the file; it need not exist yet.
func OpenKnown(path string) *KnownServers { return &KnownServers{path} }

const (
	knownMethod = "SHA256"
	knownProof  = "proof"
	// maxKnown bounds the lines of the file: one that is too large to be read lets nobody in, and whoever may have servers tried can
	// have any number of certificates remembered.
	maxKnown = 5000
)

// certificate is one that is remembered.
type certificate struct {
	print string
	proof bool
}

func (c certificate) line(place string) string {
	if c.proof {
		return place + " " + knownMethod + " " + c.print + " " + knownProof + "\n"
	}
	return place + " " + knownMethod + " " + c.print + "\n"
}

func prints(all []certificate) (s []string) {
	for _, c := range all {
		s = append(s, c.print)
	}
	return s
}

// of returns the certificates that are remembered for a place. A file that is there and cannot be read whole is an error: without it
// anyone would be taken for the server.
func (k *KnownServers) of(place string) ([]certificate, error) {
	if k == nil {
		return nil, nil
	}
	b, _, err := readFile(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []certificate
	if err == nil {
		all, _, err = k.parse(b, place)
	}
	if err != nil {
		return nil, &Error{
			Op: "read known_servers", Kind: BadTarget, Err: fmt.Errorf("the remembered certificates cannot be read: %w", err),
			Hint: "fix that file or its mode, or restore it; no password was sent. Without it, the certificates of the next logins are remembered",
		}
	}
	return all, nil
}

// parse returns the certificates of a place, and the lines that are not of it.
func (k *KnownServers) parse(b []byte, place string) (all []certificate, rest []byte, err error) {
	n := 0
	for line := range bytes.Lines(b) {
		n++
		f := strings.Fields(string(line))
		switch proof := len(f) == 4 && f[3] == knownProof; {
		case len(f) == 0 || strings.HasPrefix(f[0], "#"):
		case len(f) != 3 && !proof || f[1] != knownMethod:
			return nil, nil, fmt.Errorf("%s: line %d is not PLACE %s FINGERPRINT", k.path, n, knownMethod)
		case f[0] == place:
			all = append(all, certificate{f[2], proof})
			continue
		}
		rest = append(append(rest, bytes.TrimRight(line, "\n")...), '\n')
	}
	return all, rest, nil
}

// update replaces the certificates of a place by those that f makes of them.
func (k *KnownServers) update(place string, f func([]certificate) []certificate) error {
	if k == nil {
		return nil
	}
	err := k.change(func(old []byte) ([]byte, error) {
		all, b, err := k.parse(old, place)
		for _, c := range f(all) {
			b = append(b, c.line(place)...)
		}
		if err == nil && len(b) > len(old) && (len(b) > maxFile || bytes.Count(b, []byte("\n")) > maxKnown) {
			err = fmt.Errorf("%s is full: it holds %d lines and 1 MiB at most; take out those of servers that are gone", k.path, maxKnown)
		}
		return b, err
	})
	if err != nil {
		return fmt.Errorf("remember the certificate of %s: %w", place, err)
	}
	return nil
}

// change replaces the file under a lock of its own, for it is another file each time.
func (k *KnownServers) change(f func([]byte) ([]byte, error)) error {
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
	b, err := f(old)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(k.path), filepath.Base(k.path)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
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

// remember keeps the certificate of a server that has let us in, if it is the first. That it cannot be kept, in a home that may not be
// written to, is no reason not to work: Facts.Trust tells.
func (s Spec) remember(c *x509.Certificate) {
	if c == nil || s.Network == "unix" || s.verified() {
		return
	}
	if all, err := s.Known.of(s.place()); len(all) > 0 || err != nil {
		return
	}
	_ = s.Known.update(s.place(), func(have []certificate) []certificate {
		if len(have) > 0 {
			return have
		}
		return []certificate{{print: fingerprint(c)}}
	})
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
	}
	if all, _ := s.Known.of(s.place()); len(all) > 0 { // one that cannot be read has let nobody in
		return TrustRemembered
	}
	return TrustNone
}

// Fingerprint returns the fingerprints that are remembered for the server, with commas between them; "" for none.
func (s Spec) Fingerprint() string {
	all, _ := s.Known.of(s.place())
	return strings.Join(prints(all), ", ")
}

// Trust logs in whatever certificate the server shows, and remembers it: in place of those that were remembered, or with add beside
// them. With proof the server must prove that it knows the password, see vouched, and later ones that do so take its place. is is
// empty when the connection is verified or not encrypted.
func (s Spec) Trust(ctx context.Context, add, proof bool) (was []string, is string, err error) {
	all, err := s.Known.of(s.place())
	if err != nil || s.Known == nil {
		return nil, "", err
	}
	was = prints(all)
	dir, err := os.MkdirTemp("", "dyno-trust-")
	if err != nil {
		return was, "", err
	}
	defer os.RemoveAll(dir)
	fresh := s
	fresh.Known = OpenKnown(filepath.Join(dir, "known_servers")) // where nothing is remembered, the first one is
	t, err := Open(ctx, fresh)
	if err != nil {
		return was, "", err
	}
	t.Close()
	is = fresh.Fingerprint()
	if proof {
		if c := fresh.vouched(ctx); c == nil || fingerprint(c) != is {
			return was, "", &Error{
				Op: "have proved the certificate of", Kind: TLSFailed, Target: s.Where(), Err: errors.New("the server does not prove it"),
				Hint: "MariaDB 11.4 and later do so for accounts with mysql_native_password and a certificate of their own making",
			}
		}
	}
	return was, is, s.Known.update(s.place(), func(have []certificate) []certificate {
		if !add {
			have = nil
		}
		have = slices.DeleteFunc(have, func(c certificate) bool { return c.print == is })
		if is != "" {
			have = append(have, certificate{is, proof})
		}
		return have
	})
}

// changedError says that a server does not show the certificate that is remembered.
type changedError struct {
	was  []certificate
	is   string // empty when it offers no encryption at all
	sent bool   // it was asked for a proof, see vouched
}

func (e *changedError) Error() string {
	was := strings.Join(prints(e.was), ", ")
	if e.is == "" {
		return "the server offers no encryption, and did at an earlier login: its certificate then had the SHA256 fingerprint " + was
	}
	return "the certificate has changed: its SHA256 fingerprint is " + e.is + ", remembered is " + was
}

func (e *changedError) hint() string {
	switch {
	case e.is == "":
		return "someone may be in between: if the server was set up without TLS on purpose, `dyno target trust` with this target forgets the certificate; no password was sent"
	case e.sent:
		return "someone may be in between, and may have logged in as this account with the proof of the password that was sent: end such sessions, change the password, and only then see `dyno target trust`"
	}
	return "someone may be in between, or the server was set up again: compare with what " +
		"`openssl x509 -noout -fingerprint -sha256 -in server-cert.pem` prints there, and if it is the server's own, `dyno target trust` with this target remembers it; " +
		"no password was sent. MariaDB 11.4 and later without ssl_cert make a new one at each start: set ssl_cert and ssl_key there, or see `dyno target trust --proof`"
}
