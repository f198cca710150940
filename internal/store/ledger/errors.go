package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What can be wrong with a ledger, for errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrCorrupt  = errors.New("ledger is damaged")
	ErrNewer    = errors.New("ledger is of a newer format")
	ErrForeign  = errors.New("file is not a ledger")
	ErrBusy     = errors.New("ledger is in use")
	ErrFull     = errors.New("disk is full")
	ErrDenied   = errors.New("no permission")
	ErrSecret   = errors.New("value holds a password")
)

var (
	errClosed    = errors.New("ledger is closed")
	errDamaged   = errors.New("damaged")
	errForeign   = errors.New("a SQLite file, but none of Dyno's")
	errOrphanLog = errors.New("the file is missing but its write-ahead log is there")
)

// NotFoundError is the answer to an id that the ledger does not hold.
type NotFoundError struct {
	What string // "run", "target"
	ID   string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %q: not found", e.What, e.ID) }

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// Error is a failure of the file itself.
type Error struct {
	Op   string // "open ledger", "store run r-1kq3f9"
	Path string
	Kind error  // one of the Err values, nil when it is none of them
	Hint string // what the user can do
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

// explain turns what SQLite and the file system say into an Error with a hint. nil stays nil, and an error of ours or of the
// context stays what it is.
func explain(op, path string, err error) error {
	var known *Error
	var absent *NotFoundError
	if err == nil || errors.As(err, &known) || errors.As(err, &absent) {
		return err
	}
	e := &Error{Op: op, Path: path, Err: err}
	e.Kind = kind(err)
	switch {
	case errors.Is(e.Kind, ErrCorrupt):
		e.Hint = "the targets, runs, diagnoses and the journal (with the undo of every action) in it may be partly unreadable; " +
			"the metrics are kept apart and are not touched. Nothing was changed or deleted: `dyno store check` tells what is still " +
			"readable. To begin with an empty ledger, move this file and those of the same name with -wal and -shm aside, or put a " +
			"backup in its place"
	case errors.Is(e.Kind, ErrNewer):
		e.Hint = "use the newer Dyno that wrote it, or another home directory; nothing was changed"
	case errors.Is(e.Kind, ErrForeign):
		e.Hint = "nothing was changed: choose another home directory or move the file away"
	case errors.Is(e.Kind, ErrBusy):
		e.Hint = fmt.Sprintf("another process has held it for more than %v: look for a dyno that is stopped or stuck, then try again", patience)
	case errors.Is(e.Kind, ErrFull):
		e.Hint = "nothing of this step was written and what was stored before is intact: free some space and try again"
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
