package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/store/ledger"
)

// Inventory is the servers that have a name.
type Inventory struct{ *App }

// ErrTargetExists is the answer to adding a target under a name that another has.
var ErrTargetExists = errors.New("the inventory has a target of that name")

// AddTarget puts a server into the inventory: how to reach it and where its password is, never the password. With
// replace it may take the place of another of that name. What is written wrongly is an *endpoint.Error of
// kind BadTarget.
func (a Inventory) AddTarget(ctx context.Context, t ledger.Target, replace bool) (ledger.Target, error) {
	if err := CheckName(t.Name); err != nil {
		return t, err
	}
	t, _, err := entry(t)
	if err != nil {
		return t, err
	}
	l, err := a.Ledger(ctx)
	if err != nil {
		return t, err
	}
	if replace {
		return t, l.PutTarget(ctx, t)
	}
	there, err := l.AddTarget(ctx, t)
	if err == nil && there != t {
		err = fmt.Errorf("%w: %s is %s", ErrTargetExists, t.Name, there.URL)
	}
	return t, err
}

// Redact has a target's statements lose their literals from now on, before anything keeps or shows them, or keep them
// again. What was stored before stays. Of an unknown name it returns ledger.ErrNotFound.
func (a Inventory) Redact(ctx context.Context, name string, redact bool) (ledger.Target, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return ledger.Target{}, err
	}
	t, err := l.Target(ctx, name)
	if err != nil {
		return t, err
	}
	t.Redact = redact
	return t, l.PutTarget(ctx, t)
}

// Remembered returns what the inventory has under a name; of a name that it has not, a zero Target.
func (a Inventory) Remembered(ctx context.Context, name string) (ledger.Target, error) {
	l, err := a.Ledger(ctx)
	if err != nil {
		return ledger.Target{}, err
	}
	t, err := l.Target(ctx, name)
	if errors.Is(err, ledger.ErrNotFound) {
		return ledger.Target{}, nil
	}
	return t, err
}

// CheckName holds names to what can be typed and told apart from a URL or an option: hints hold commands with them,
// which people give to their shell.
func CheckName(name string) error {
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	first, _ := utf8.DecodeRuneInString(name)
	if !word(first) || len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool {
		return !word(r) && !unicode.IsMark(r) && !strings.ContainsRune("._-+@%,=", r)
	}) {
		return &endpoint.Error{
			Op: "add the target", Kind: endpoint.BadTarget,
			Err: fmt.Errorf("target name %q: it must be letters and digits, after the first also . _ - + @ %% , and =",
				clip(name, 100)),
			Fix: "a short word is best: shop, db1",
		}
	}
	return nil
}

func clip(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}

// entry brings a line of the inventory into its one form, and refuses a password in it.
func entry(t ledger.Target) (ledger.Target, endpoint.Spec, error) {
	spec, err := endpoint.ParseURL(t.URL)
	bad := func(text, hint string) (ledger.Target, endpoint.Spec, error) {
		err := errors.New(text)
		return t, spec, &endpoint.Error{Op: "add the target", Kind: endpoint.BadTarget, Err: err, Fix: hint}
	}
	switch {
	case strings.HasPrefix(t.URL, "sandbox:"):
		return bad("a private server is a TARGET as it is", "use its sandbox:NAME in any command, without adding it")
	case err != nil:
		return t, spec, err
	case spec.PasswordInURL:
		t.URL = ""
		return bad("the URL holds a password, which Dyno does not store", "leave it out: put user and password into "+
			"a file like my.cnf that only you can read and name that file, or name an environment variable of dyno's "+
			"that holds it")
	case t.Defaults != "" && t.PasswordEnv != "":
		return bad("a defaults file and an environment variable are both given", "one of them says how to log in")
	case strings.ContainsFunc(t.PasswordEnv, func(r rune) bool {
		return r == '=' ||
			!unicode.IsPrint(r) || unicode.IsSpace(r)
	}):
		return bad("that is not a name of an environment variable", "give the variable's name, not the password itself")
	case strings.ContainsFunc(t.Defaults, unicode.IsControl):
		return bad("the name of the defaults file holds a control character", "")
	}
	t.URL = spec.URL()
	return t, spec, nil
}
