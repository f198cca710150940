package history

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What can be wrong with a history, for errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrCorrupt  = errors.New("history is damaged")
	ErrNewer    = errors.New("history is of a newer format")
	ErrForeign  = errors.New("file is not a history")
	ErrBusy     = errors.New("history is in use")
	ErrFull     = errors.New("disk is full")
	ErrDenied   = errors.New("no permission")
	ErrOverlap  = errors.New("the window is stored already")
)

var (
	errClosed    = errors.New("history is closed")
	errDamaged   = errors.New("damaged")
	errForeign   = errors.New("a SQLite file, but not of this kind")
	errOrphanLog = errors.New("the file is missing but its write-ahead log is there")
)

// NotFoundError says that no state was kept near the moment that was asked for, and when the nearest ones are.
type NotFoundError struct {
	Target        string
	At            time.Time
	Before, After time.Time // of the nearest states, zero where there is none
}

func (e *NotFoundError) Error() string {
	s := fmt.Sprintf("no state of %q is kept for %s", e.Target, e.At.Format(time.RFC3339))
	switch {
	case !e.Before.IsZero() && !e.After.IsZero():
		return s + fmt.Sprintf(": the nearest are of %s and %s", e.Before.Format(time.RFC3339), e.After.Format(time.RFC3339))
	case !e.Before.IsZero():
		return s + ": the last one is of " + e.Before.Format(time.RFC3339)
	case !e.After.IsZero():
		return s + ": the first one is of " + e.After.Format(time.RFC3339)
	}
	return s + ": there is none of this target at all"
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// Error is a failure of the file itself.
type Error struct {
	Op   string // "open history", "store states"
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

// wrap turns what SQLite and the file system say into an Error with a hint. nil stays nil, and an error of ours stays what it is.
func wrap(op, path string, err error) error {
	var mine *Error
	var absent *NotFoundError
	if err == nil || errors.As(err, &mine) || errors.As(err, &absent) || errors.Is(err, ErrOverlap) {
		return err
	}
	e := &Error{Op: op, Path: path, Kind: kind(err), Err: err}
	switch {
	case errors.Is(e.Kind, ErrCorrupt):
		e.Hint = "nothing was changed or deleted: `dyno store check` tells what is still readable. To begin anew, move this file and those of the " +
			"same name with -wal and -shm aside; series, targets and the journal are kept apart and are not touched"
	case errors.Is(e.Kind, ErrNewer):
		e.Hint = "use the newer Dyno that wrote it, or another home directory; nothing was changed"
	case errors.Is(e.Kind, ErrForeign):
		e.Hint = "nothing was changed: choose another home directory or move the file away"
	case errors.Is(e.Kind, ErrBusy):
		e.Hint = fmt.Sprintf("another process has held it for more than %v: look for a dyno that is stopped or stuck", patience)
	case errors.Is(e.Kind, ErrFull):
		e.Hint = "what was stored before is intact and writing goes on when there is room: free some space"
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
		case sqlite3.SQLITE_IOERR: // of a log that cannot grow, among others
			if sq.Code() == sqlite3.SQLITE_IOERR_WRITE {
				return ErrFull
			}
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
			return ErrDenied
		}
	}
	return nil
}
