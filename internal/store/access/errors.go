package access

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Answers to what is asked, for errors.Is.
var (
	ErrNotFound     = errors.New("not found")
	ErrExists       = errors.New("it exists already")
	ErrInvalid      = errors.New("not allowed") // a name, role or password that breaks the rules
	ErrLastOperator = errors.New("it is the last operator: without one nobody could manage users or change anything")
	ErrWrong        = errors.New("the name or the password is wrong")
	ErrFirst        = errors.New("the first-run token is wrong, was used, or is of an earlier start")
	ErrBusyLogins   = errors.New("too many logins are being checked at this moment")
)

// What can be wrong with the file, for errors.Is.
var (
	ErrCorrupt = errors.New("users are damaged")
	ErrNewer   = errors.New("users are of a newer format")
	ErrForeign = errors.New("file does not hold users")
	ErrBusy    = errors.New("users are in use")
	ErrFull    = errors.New("disk is full")
	ErrDenied  = errors.New("no permission")
)

var (
	errClosed    = errors.New("users are closed")
	errDamaged   = errors.New("damaged")
	errForeign   = errors.New("a SQLite file, but not the one with the users")
	errOrphanLog = errors.New("the file is missing but its write-ahead log is there")
)

// PauseError is the answer to a login that comes too soon after failed ones. Nothing was checked.
type PauseError struct{ Left time.Duration }

func (e *PauseError) Error() string {
	return fmt.Sprintf("too many failed logins: try again in %d s", e.Seconds())
}

// Seconds is what is left in whole seconds, at least 1.
func (e *PauseError) Seconds() int { return max(1, int(math.Ceil(e.Left.Seconds()))) }

// Error is a failure of the file itself.
type Error struct {
	Op   string // "open users", "add user anna"
	Path string
	Kind error  // one of the Err values, nil when it is none of them
	Hint string // what can be done
	Err  error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s (%s): %v", e.Op, e.Path, e.Err)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

type newerError struct{ file, program int }

func (e *newerError) Error() string {
	return fmt.Sprintf("the file has format %d, this program knows formats up to %d", e.file, e.program)
}

// explain turns what SQLite and the file system say into an Error with a hint. nil stays nil, and an answer stays what it is.
func explain(op, path string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	for _, answer := range []error{ErrNotFound, ErrExists, ErrInvalid, ErrLastOperator, ErrWrong, ErrFirst} {
		if errors.Is(err, answer) {
			return err
		}
	}
	e := &Error{Op: op, Path: path, Err: err, Kind: kind(err)}
	switch {
	case errors.Is(e.Kind, ErrCorrupt):
		e.Hint = "nobody is let in meanwhile and nothing was changed: put a backup in its place, or move this file and those of the same " +
			"name with -wal and -shm aside, which forgets all users, tokens and the audit log"
	case errors.Is(e.Kind, ErrNewer):
		e.Hint = "use the newer Dyno that wrote it, or another home directory; nothing was changed"
	case errors.Is(e.Kind, ErrForeign):
		e.Hint = "nothing was changed: choose another home directory or move the file away"
	case errors.Is(e.Kind, ErrBusy):
		e.Hint = fmt.Sprintf("another process has held it for more than %v: look for a dyno that is stopped or stuck, then try again", patience)
	case errors.Is(e.Kind, ErrFull):
		e.Hint = "nothing of this step was written: free some space and try again"
	case errors.Is(e.Kind, ErrDenied):
		e.Hint = "the file and its directory must be writable by the user that runs dyno"
	}
	return e
}

func kind(err error) error {
	var newer *newerError
	var sq *sqlite.Error
	switch {
	case errors.Is(err, errDamaged), errors.Is(err, errOrphanLog):
		return ErrCorrupt
	case errors.Is(err, errForeign):
		return ErrForeign
	case errors.As(err, &newer):
		return ErrNewer
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ErrFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrDenied
	case errors.As(err, &sq):
		switch sq.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return ErrCorrupt
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return ErrBusy
		case sqlite3.SQLITE_FULL:
			return ErrFull
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
			return ErrDenied
		case sqlite3.SQLITE_ERROR: // "no such table": the file is ours but part of it is gone
			return ErrCorrupt
		}
	}
	return nil
}
