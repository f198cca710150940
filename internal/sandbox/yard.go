package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// Yard is where the sandboxes of one user live. A Yard has no state of its own: any number of programs may use the same
// Home.
type Yard struct {
	Home string // absolute

	Builds

	// Patience bounds the time a server may take until it answers; 60 s if zero.
	Patience time.Duration
}

// Open returns the yard at home, which need not exist, for servers that have makers; those of the first are taken where
// nothing is said. Nothing is created before the first sandbox is.
func Open(home string, makers ...maker.Maker) (*Yard, error) {
	if err := mustBeLinux(); err != nil {
		return nil, wrap("private servers", "", err)
	}
	if home == "" {
		return nil, wrap("open yard", "", errors.New("no directory given"))
	}
	abs, err := filepath.Abs(home)
	if err != nil {
		return nil, wrap("open yard", home, err)
	}
	if strings.ContainsAny(abs, "\n\x00") {
		return nil, wrap("open yard", fmt.Sprintf("%q", abs), errors.New("a line break in the path"))
	}
	return &Yard{Home: abs, Builds: Builds{kinds: makers, servers: filepath.Join(abs, "servers")}}, nil
}

func sandboxesIn(home string) string      { return filepath.Join(home, "sandboxes") }
func templatesIn(home string) string      { return filepath.Join(home, "templates") }
func sandboxDir(home, name string) string { return filepath.Join(sandboxesIn(home), name) }

func patienceFor(patience time.Duration) time.Duration {
	if patience > 0 {
		return patience
	}
	return time.Minute
}

var names = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

// CheckName returns an error when name cannot be a sandbox's: 1 to 40 letters, digits, '.', '_' and '-', the first one
// a letter or digit. Its cause is ErrBadName.
func CheckName(name string) error {
	if names.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%w: %q; use 1 to 40 letters, digits, '.', '_' and '-', and begin with a letter or digit",
		ErrBadName, name)
}
