package sandbox

import (
	"errors"
	"strings"

	"github.com/dyno-perf/dyno/internal/sandbox/maker"
)

// What can be wrong, for errors.Is. The errors returned say which sandbox, and what to do.
var (
	ErrBadName    = errors.New("not a name for a sandbox")
	ErrNotFound   = errors.New("no such sandbox")
	ErrRunning    = errors.New("already running")
	ErrStopped    = errors.New("not running")
	ErrBusy       = errors.New("in use by another dyno")
	ErrNoServer   = maker.ErrNoServer
	ErrNoSpace    = errors.New("not enough free disk space")
	ErrPort       = errors.New("port cannot be used")
	ErrSettings   = maker.ErrSettings
	ErrFilesystem = errors.New("the filesystem is not in effect")
	ErrAccount    = errors.New("the server's account cannot work there")
	ErrDied       = errors.New("server ended while starting")
	ErrSilent     = errors.New("server does not answer")
	ErrFetch      = errors.New("cannot be fetched")
	ErrNeedsLinux = errors.New("`dyno sandbox` needs Linux")
	ErrNoData     = errors.New("no such data set")
	ErrData       = errors.New("data set cannot be used")
	ErrBadKey     = errors.New("not a key of a data set")

	ErrInitialise = errors.New("the data directory cannot be initialised")
)

// Error is what every operation on a sandbox returns.
type Error struct {
	Op   string // "start sandbox", "stop sandbox", "install server"…
	Name string // of the sandbox or the server
	Err  error
}

// Error returns what failed and why, without the hint.
func (e *Error) Error() string {
	if e.Name == "" {
		return e.Op + ": " + e.Err.Error()
	}
	return e.Op + " " + e.Name + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// hinted is a cause that knows its remedy.
type hinted = maker.Hinted

// hint adds a remedy to err, a sentence without a stop.
func hint(err error, text string) error { return maker.Hint(err, text) }

// joined is errors.Join on one line.
type joined []error

func (j joined) Error() string {
	s := make([]string, len(j))
	for i, err := range j {
		s[i] = err.Error()
	}
	return strings.Join(s, "; ")
}

func (j joined) Unwrap() []error { return j }

// inline joins those of errs that are not nil; nil when all are.
func inline(errs []error) error {
	var j joined
	for _, err := range errs {
		if err != nil {
			j = append(j, err)
		}
	}
	switch len(j) {
	case 0:
		return nil
	case 1:
		return j[0]
	}
	return j
}

// wrap makes the Error of an operation of err.
func wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Name: name, Err: err}
}
