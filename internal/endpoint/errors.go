package endpoint

import (
	"errors"
	"strings"
)

// Kind says what sort of trouble there is with a server.
type Kind uint8

const (
	Unknown            Kind = iota
	BadTarget               // the URL, a defaults file or a certificate file cannot be used
	Unsupported             // a server or a way to log in that Dyno does not know
	UnknownHost             // the name does not resolve
	Refused                 // nothing listens there, or it turns this machine away
	Timeout                 // no answer in time
	NotAServer              // something answers, but it is no such server
	TLSFailed               // no encryption, or its verification failed
	AuthFailed              // user or password refused
	NoSuchDatabase          // logged in, but the database is not there
	TooManyConnections      // the server, or the user's account, has no connection left
	Denied                  // a privilege is missing, see Hint
	Gone                    // the connection broke, the server died or threw it out
	JumpFailed              // the jump host is not reached, or does not reach the server
	Elsewhere               // another server answers than the one that the target was pinned to, see target.Target.Pin
	// what the login needs is missing here, such as a variable with the password; no server was asked
	NotConfigured
)

var kindNames = [...]string{
	"unknown", "bad target", "unsupported", "unknown host", "refused", "timeout", "not a server",
	"tls failed", "auth failed",
	"no such database", "too many connections", "denied", "gone", "jump failed",
	"elsewhere", "not configured",
}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Error is trouble with a server, with what the user can do about it. It never holds a password.
type Error struct {
	Op     string // "connect", "read the URL", …
	Kind   Kind
	Target string // where: address or name
	Fix    string // what to do, one sentence; may be empty
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Target != "" {
		b.WriteString(" " + e.Target)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	} else {
		b.WriteString(": " + e.Kind.String())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Hint returns what the user can do about it, "" when nothing is known.
func (e *Error) Hint() string { return e.Fix }

// KindOf returns the kind of an error that says one, wrapped or not; Unknown for any other.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Unknown
}

// HintOf returns what the user can do about an error, wrapped or not: what its method Hint says, "" without one.
func HintOf(err error) string {
	if h := interface{ Hint() string }(nil); errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}
