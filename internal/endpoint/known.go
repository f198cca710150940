package endpoint

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/platform"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// Trust is how a server proved that it is the right one.
type Trust string

const (
	TrustVerified   Trust = "verified"   // by a certificate that a trusted CA signed
	TrustRemembered Trust = "remembered" // by the certificate that it had at the first login
	TrustNone       Trust = "none"       // not at all: the connection is encrypted, but for whoever answered
	TrustPlain      Trust = "plain"      // not at all, and the connection is not encrypted
)

// KnownServers is a file that remembers by what servers were known at the first login, as ssh's known_hosts does. A
// line is one of
//
//	PLACE SHA256 FINGERPRINT [proof]
//	PLACE PLAIN
//	PLACE UID NUMBER
//
// the certificate of a server which no CA vouches for, as `openssl x509 -fingerprint -sha256` prints it, with "proof"
// where the user lets later ones prove themselves, see Trust; that it offered no encryption; the account that it runs
// as on this machine. A place may have several lines of each. Comments are kept. It is safe for concurrent use by
// several processes. A nil one remembers nothing.
type KnownServers struct{ path string }

// OpenKnown names the file; it need not exist yet.
func OpenKnown(path string) *KnownServers { return &KnownServers{path} }

const (
	ByCertificate = "SHA256"
	ByNone        = "PLAIN"
	ByAccount     = "UID"
	knownProof    = "proof"
	// maxKnown bounds the lines of the file: one that is too large to be read lets nobody in, and whoever may have
	// servers tried can have any number of certificates remembered.
	maxKnown = 5000
)

// Mark is one thing that a server is known by.
type Mark struct {
	By    string // ByCertificate, ByNone or ByAccount
	Value string // a fingerprint, the number of an account; empty for ByNone
	Proof bool   // of a certificate: later ones may prove themselves, see Spec.Known
}

func (m Mark) line(place string) string {
	f := []string{place, m.By}
	if m.Value != "" {
		f = append(f, m.Value)
	}
	if m.Proof {
		f = append(f, knownProof)
	}
	return strings.Join(f, " ") + "\n"
}

// parseMark reads what stands behind the place.
func parseMark(f []string) (m Mark, ok bool) {
	switch {
	case len(f) == 1 && f[0] == ByNone:
		return Mark{By: ByNone}, true
	case len(f) == 2 && f[0] == ByAccount:
		_, err := strconv.Atoi(f[1])
		return Mark{By: ByAccount, Value: f[1]}, err == nil
	case len(f) == 2 && f[0] == ByCertificate:
		return Mark{By: ByCertificate, Value: f[1]}, true
	case len(f) == 3 && f[0] == ByCertificate && f[2] == knownProof:
		return Mark{By: ByCertificate, Value: f[1], Proof: true}, true
	}
	return Mark{}, false
}

// Values returns those of one way of being known.
func Values(all []Mark, by string) (s []string) {
	for _, m := range all {
		if m.By == by {
			s = append(s, m.Value)
		}
	}
	return s
}

// Of returns what is remembered of a place. A file that is there and cannot be read whole is an error: without it
// anyone would be taken for the server.
func (k *KnownServers) Of(place string) ([]Mark, error) {
	if k == nil {
		return nil, nil
	}
	b, _, err := ReadFile(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Mark
	if err == nil {
		all, _, err = k.parse(b, place)
	}
	if err != nil {
		return nil, &Error{
			Op: "read known_servers", Kind: BadTarget, Err: fmt.Errorf("what is remembered of servers cannot be "+
				"read: %w", err),
			Fix: "fix that file or its mode, or restore it; no password was sent. Without it, servers are " +
				"remembered as the next logins find them",
		}
	}
	return all, nil
}

// parse returns what is remembered of a place, and the lines that are not of it.
func (k *KnownServers) parse(b []byte, place string) (all []Mark, rest []byte, err error) {
	n := 0
	for line := range bytes.Lines(b) {
		n++
		f := strings.Fields(string(line))
		if len(f) > 0 && !strings.HasPrefix(f[0], "#") {
			m, ok := parseMark(f[1:])
			if !ok {
				return nil, nil, fmt.Errorf("%s: line %d is not PLACE %s FINGERPRINT, PLACE %s or PLACE %s NUMBER",
					k.path, n, ByCertificate, ByNone, ByAccount)
			}
			if f[0] == place {
				all = append(all, m)
				continue
			}
		}
		rest = append(append(rest, bytes.TrimRight(line, "\n")...), '\n')
	}
	return all, rest, nil
}

// Update replaces what is remembered of a place by what f makes of it.
func (k *KnownServers) Update(place string, f func([]Mark) []Mark) error {
	if k == nil {
		return nil
	}
	err := k.change(func(old []byte) ([]byte, error) {
		all, b, err := k.parse(old, place)
		for _, m := range f(all) {
			b = append(b, m.line(place)...)
		}
		if err == nil && len(b) > len(old) && (len(b) > MaxFile || bytes.Count(b, []byte("\n")) > maxKnown) {
			err = fmt.Errorf("%s is full: it holds %d lines and 1 MiB at most; remove those of servers that are gone",
				k.path, maxKnown)
		}
		return b, err
	})
	if err != nil {
		return fmt.Errorf("remember the server at %s: %w", place, err)
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
	if err := platform.WaitLock(lock); err != nil {
		return err
	}
	old, _, err := ReadFile(k.path)
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

// FingerprintOf is that of the certificate, not of its key: people can compare it with what openssl prints.
func FingerprintOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return strings.ReplaceAll(fmt.Sprintf("% X", sum[:]), " ", ":")
}

// Place is what a server is remembered as: host and port or a socket's path, and the jump host through which they are
// those.
func (s Spec) Place() string {
	p := s.Where()
	if s.Network != "unix" {
		p = strings.ToLower(p)
	}
	if s.Jump != (tunnel.Jump{}) {
		p += "@" + s.Jump.String()
	}
	return strings.Join(strings.Fields(p), "%20")
}

// Remember keeps what a server that has let us in is known by, so far as nothing of the kind is remembered: the
// certificate that it showed, nil for none, and the account of this machine that answers, as a number, empty where that
// is not known. That it cannot be kept, in a home that may not be written to, is no reason not to work: TrustIn tells.
func (s Spec) Remember(cert *x509.Certificate, account string) {
	var is []Mark
	switch {
	case s.Network == "unix" || s.Verified():
	case cert != nil:
		is = append(is, Mark{By: ByCertificate, Value: FingerprintOf(cert)})
	case s.Mode() == TLSPreferred:
		is = append(is, Mark{By: ByNone})
	}
	if account != "" {
		is = append(is, Mark{By: ByAccount, Value: account})
	}
	missing := func(have []Mark) (all []Mark) {
		all = have
		for _, m := range is {
			// A certificate and none are of one kind: who has one of the two is known by it.
			if !slices.ContainsFunc(have, func(h Mark) bool { return (h.By == ByAccount) == (m.By == ByAccount) }) {
				all = append(all, m)
			}
		}
		return all
	}
	if have, err := s.Known.Of(s.Place()); err != nil || len(missing(have)) == len(have) {
		return
	}
	_ = s.Known.Update(s.Place(), missing)
}

// TrustIn says what is known of who answers on an encrypted connection or another.
func (s Spec) TrustIn(encrypted bool) Trust {
	switch {
	case s.Network == "unix":
		return ""
	case !encrypted:
		return TrustPlain
	case s.Verified():
		return TrustVerified
	}
	if s.Fingerprint() != "" { // a file that cannot be read has let nobody in
		return TrustRemembered
	}
	return TrustNone
}

// Fingerprint returns the fingerprints that are remembered for the server, with commas between them; "" for none.
func (s Spec) Fingerprint() string {
	all, _ := s.Known.Of(s.Place())
	return strings.Join(Values(all, ByCertificate), ", ")
}

// Accepted is what was remembered of a server before it was trusted anew, and what is now.
type Accepted struct {
	Was         []string `json:"was,omitzero"` // fingerprints of certificates
	Is          string   `json:"is,omitzero"`  // empty when the connection is verified or not encrypted
	WasAccounts []string `json:"was_accounts,omitzero"`
	// of this machine that the server runs as, as in "user 112 (mysql)"; empty elsewhere
	Account string `json:"account,omitzero"`
}

// Accounts names the accounts among what is remembered.
func Accounts(all []Mark) []string {
	names := Values(all, ByAccount)
	for i, uid := range names {
		names[i] = userNamed(uid)
	}
	return names
}

// ChangedError says that a server does not show the certificate that is remembered.
type ChangedError struct {
	Was  []Mark
	Is   string // empty when it offers no encryption at all
	Sent bool   // it was asked for a proof that it knows the password
}

func (e *ChangedError) Error() string {
	was := strings.Join(Values(e.Was, ByCertificate), ", ")
	switch {
	case was == "":
		return "the server offers encryption, and did not at an earlier login: its certificate has the SHA256 " +
			"fingerprint " + e.Is
	case e.Is == "":
		return "the server offers no encryption, and did at an earlier login: its certificate then had the SHA256 " +
			"fingerprint " + was
	}
	return "the certificate has changed: its SHA256 fingerprint is " + e.Is + ", remembered is " + was
}

// Hint returns what the user can do about it.
func (e *ChangedError) Hint() string {
	switch {
	case e.Is == "":
		return "someone may be in between: if the server was set up without TLS on purpose, `dyno target trust` with " +
			"this target forgets the certificate; no password was sent"
	case e.Sent:
		return "someone may be in between, and may have logged in as this account with the proof of the password " +
			"that was sent: end such sessions, change the password, and only then see `dyno target trust`"
	}
	return "someone may be in between, or the server was set up again: compare with what " +
		"`openssl x509 -noout -fingerprint -sha256 -in server-cert.pem` prints there, and if it is the server's own, " +
		"`dyno target trust` with this target remembers it; " +
		"no password was sent. MariaDB 11.4 and later without ssl_cert make a new one at each start: set ssl_cert " +
		"and ssl_key there, or see `dyno target trust --proof`"
}
