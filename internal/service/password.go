package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/app"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// longestPassword bounds a password, in bytes; servers take far less.
const longestPassword = 1024

// keptPasswords is the directory with the defaults files that Dyno writes itself, one for each password that was set
// over HTTP. What no target of the inventory names is removed from it.
func keptPasswords(a *app.App) string { return filepath.Join(a.Credentials(), "kept") }

// SetTargetPassword keeps a password for a target, in a defaults file that only Dyno's account reads, and has the
// inventory name that file. With a url the target gets that address too, and is added when there is none of that name;
// without one it must be there. Its statements are redacted as redact says, nil changes nothing there. The file names
// where the password goes and how that is verified, so that allow holds it to that place. Errors for what is written
// wrongly are of kind BadTarget, ledger.ErrNotFound is for an unknown name.
func (s *Inventory) SetTargetPassword(
	ctx context.Context, name, url, password string, redact *bool,
) (ledger.Target, error) {
	bad := func(what, hint string) (ledger.Target, error) {
		return ledger.Target{}, &endpoint.Error{
			Op: "store a password", Kind: endpoint.BadTarget,
			Err: errors.New(what), Fix: hint,
		}
	}
	switch {
	case password == "":
		return bad("the password is empty", "")
	case len(password) > longestPassword || !utf8.ValidString(password) || strings.ContainsRune(password, 0):
		return bad(fmt.Sprintf("the password is longer than %d bytes, or not text", longestPassword), "")
	}
	was, err := s.ledger.Target(ctx, name)
	if err != nil && (url == "" || !errors.Is(err, ledger.ErrNotFound)) {
		return was, err
	}
	url = cmp.Or(url, was.URL)
	if err := app.CheckName(name); err != nil {
		return ledger.Target{}, err
	}
	t, err := s.app.Allow(ctx, ledger.Target{Name: name, URL: url, Defaults: os.DevNull}) // no password but this one
	t.Redact = was.Redact
	if redact != nil {
		t.Redact = *redact
	}
	if err != nil {
		return t, err
	}
	spec, err := endpoint.ParseURL(t.URL)
	switch {
	case err != nil:
		return t, err
	case spec.Address == "" || spec.User == "":
		return bad("the address or the user is missing", "write both into the URL: mysql://dyno@db1:3306/")
	}
	s.passwords.Lock()
	defer s.passwords.Unlock()
	// A new file each time: one that is written over would send the new password to the old place for a moment, and the
	// other way around.
	if t.Defaults, err = writePassword(s.app, name, spec, password); err != nil {
		return t, fmt.Errorf("store a password: %w", err)
	}
	if t, err = (app.Inventory{App: s.app}).AddTarget(ctx, t, true); err != nil {
		return t, errors.Join(err, os.Remove(t.Defaults))
	}
	s.sweepPasswords(ctx)
	s.seek.Forget()
	s.fleet.followed(ctx, t)
	return t, nil
}

// writePassword makes a defaults file for one target.
func writePassword(a *app.App, name string, s endpoint.Spec, password string) (file string, err error) {
	for _, dir := range []string{a.Credentials(), keptPasswords(a)} {
		if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
			return "", err
		}
	}
	salt := make([]byte, 6)
	_, _ = rand.Read(salt) // never fails
	dir, err := filepath.Abs(keptPasswords(a))
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, name+"-"+hex.EncodeToString(salt)+".cnf")
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(app.PasswordFile(s, password))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(file))
	}
	return file, nil
}

// tidyPasswords removes the kept passwords that no target names any more.
func (s *Inventory) tidyPasswords(ctx context.Context) {
	s.passwords.Lock()
	defer s.passwords.Unlock()
	s.sweepPasswords(ctx)
}

// sweepPasswords is tidyPasswords for who holds s.passwords.
func (s *Inventory) sweepPasswords(ctx context.Context) {
	files, err := os.ReadDir(keptPasswords(s.app))
	if err != nil {
		return // there are none
	}
	dir, err := filepath.Abs(keptPasswords(s.app))
	if err != nil {
		return
	}
	all, err := s.ledger.Targets(ctx)
	if err != nil {
		return // the next one looks again
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		// By the name, which is one of many: Dyno's home may have moved.
		if slices.ContainsFunc(all, func(t ledger.Target) bool { return filepath.Base(t.Defaults) == f.Name() }) {
			continue
		}
		if err := os.Remove(path); err != nil {
			s.trouble.say(s.log, "an unused password is still in "+path, err)
		}
	}
}
