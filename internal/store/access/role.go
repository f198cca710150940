package access

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// Role says what somebody may do.
type Role string

// The roles. Each may do what those before it may.
const (
	Viewer   Role = "viewer"   // sees everything
	Operator Role = "operator" // also changes: servers, the inventory, users
)

// May reports whether this role includes another one. An unknown role includes nothing.
func (r Role) May(need Role) bool {
	switch r {
	case Operator:
		return need == Operator || need == Viewer
	case Viewer:
		return need == Viewer
	}
	return false
}

// ParseRole reads a role. Errors wrap ErrInvalid.
func ParseRole(s string) (Role, error) {
	switch r := Role(s); r {
	case Viewer, Operator:
		return r, nil
	}
	return "", fmt.Errorf("%w: role %q: it is viewer or operator", ErrInvalid, s)
}

var nameForm = lazyregexp.New(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// CheckName reports what is wrong with the name of a user or token: 1 to 64 lower-case letters, digits and . _ @ -, a
// letter or digit first. Names that look alike, or that a log or a page would show otherwise than they are, cannot be
// had. Errors wrap ErrInvalid.
func CheckName(name string) error {
	switch {
	case !nameForm.MatchString(name):
		// not which: people type passwords here
		return fmt.Errorf("%w: a name has 1 to 64 lower-case letters, digits and . _ @ -, a letter or digit first",
			ErrInvalid)
	case name == "local" || name == "cli": // who asks where nobody logs in
		return fmt.Errorf("%w: the name %s is reserved, choose another", ErrInvalid, name)
	}
	return nil
}
