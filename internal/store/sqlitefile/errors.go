package sqlitefile

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/dyno-perf/dyno/internal/store/failure"
)

// What can be wrong with a file, for errors.Is.
var (
	ErrCorrupt = errors.New("damaged")
	ErrOlder   = errors.New("an older version of Dyno wrote it")
	ErrNewer   = errors.New("a newer version of Dyno wrote it")
	ErrForeign = errors.New("a SQLite file, but not Dyno's")
	ErrBusy    = errors.New("in use")
	ErrFull    = errors.New("disk is full or cannot be written")
	ErrDenied  = errors.New("no permission")
	ErrClosed  = errors.New("closed")
)

var errOrphanLog = errors.New("the file is missing but its write-ahead log is there")

// Error is a failure of a file, with what the user can do about it.
type Error = failure.Error

// Hints are what a store says of its own file; "" is what can be said of any.
type Hints struct {
	Corrupt string // what is lost, and what is not
	Full    string
}

// Explain turns what SQLite and the file system say into an Error with a hint. nil stays nil, and an Error what it is.
func Explain(op, path string, err error, h Hints) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &Error{Op: op, Path: path, Kind: KindOf(err), Err: err}
	switch {
	case errors.Is(e.Kind, ErrCorrupt):
		e.Hint = h.Corrupt
	case errors.Is(e.Kind, ErrOlder), errors.Is(e.Kind, ErrNewer):
		e.Hint = "use that version, or move the directory " + filepath.Dir(path) + " away to begin with an empty " +
			"one; nothing was changed"
	case errors.Is(e.Kind, ErrForeign):
		e.Hint = "nothing was changed: choose another home directory or move the file away"
	case errors.Is(e.Kind, ErrBusy):
		e.Hint = fmt.Sprintf("another process has held it for more than %v: find a dyno process that is stopped or "+
			"stuck, then try again", Patience)
	case errors.Is(e.Kind, ErrFull):
		e.Hint = h.Full
		if h.Full == "" {
			e.Hint = "nothing of this step was written and what was stored before is intact: free some space, or see " +
				"in the kernel's log whether the disk fails, and try again"
		}
	case errors.Is(e.Kind, ErrDenied):
		e.Hint = "the file and its directory must be writable by the user that runs dyno"
	}
	return e
}

// KindOf tells which of the Err values an error of SQLite, of the file system or of this package is; nil for none.
func KindOf(err error) error {
	var sq *sqlite.Error
	switch {
	case errors.Is(err, ErrCorrupt), errors.Is(err, errOrphanLog):
		return ErrCorrupt
	case errors.Is(err, ErrForeign):
		return ErrForeign
	case errors.Is(err, ErrOlder):
		return ErrOlder
	case errors.Is(err, ErrNewer):
		return ErrNewer
	case errors.Is(err, ErrBusy):
		return ErrBusy
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ErrFull
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrDenied
	case errors.As(err, &sq):
		return kindOfCode(sq.Code())
	}
	return nil
}

// kindOfCode reads a result code, https://www.sqlite.org/rescode.html.
func kindOfCode(code int) error {
	if code == sqlite3.SQLITE_IOERR_WRITE { // of a log that cannot grow, among others
		return ErrFull
	}
	switch code & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return ErrCorrupt
	case sqlite3.SQLITE_ERROR: // "no such table": the file is ours but part of it is gone
		return ErrCorrupt
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return ErrBusy
	case sqlite3.SQLITE_FULL:
		return ErrFull
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return ErrDenied
	}
	return nil
}
