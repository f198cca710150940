package access

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// Answers to what is asked, for errors.Is.
var (
	ErrNotFound     = errors.New("not found")
	ErrExists       = errors.New("it exists already")
	ErrInvalid      = errors.New("not allowed") // a name, role or password that breaks the rules
	ErrLastOperator = errors.New("it is the last operator: without an operator no user could manage users or change " +
		"anything")
	ErrWrong      = errors.New("the name or the password is wrong")
	ErrFirst      = errors.New("the first-run token is wrong, was used, or is of an earlier start")
	ErrBusyLogins = errors.New("too many logins are being checked at this moment")
)

// What can be wrong with the file, for errors.Is.
var (
	ErrCorrupt = sqlitefile.ErrCorrupt
	ErrOlder   = sqlitefile.ErrOlder
	ErrNewer   = sqlitefile.ErrNewer
	ErrForeign = sqlitefile.ErrForeign
	ErrBusy    = sqlitefile.ErrBusy
	ErrFull    = sqlitefile.ErrFull
	ErrDenied  = sqlitefile.ErrDenied
	ErrLost    = errors.New("lost: there were users, and the file that has them is gone or empty")
)

// PauseError is the answer to a login that comes too soon after failed ones. Nothing was checked.
type PauseError struct{ Left time.Duration }

func (e *PauseError) Error() string {
	return fmt.Sprintf("too many failed logins: try again in %d s", e.Seconds())
}

// Hint says what is not held up.
func (e *PauseError) Hint() string { return "API tokens and open sessions are not held up" }

// Seconds is what is left in whole seconds, at least 1.
func (e *PauseError) Seconds() int { return max(1, int(math.Ceil(e.Left.Seconds()))) }

// Error is a failure of the file itself.
type Error = sqlitefile.Error

// Owns reports whether an error is one of the file of the users: no other store's, which has the same type.
func (s *Store) Owns(err error) bool {
	var e *Error
	return s != nil && errors.As(err, &e) && e.Path == s.path
}

var hints = sqlitefile.Hints{
	Corrupt: "until then all logins are refused and nothing was changed: restore a backup, or move this file and " +
		"those of the same " +
		"name with -wal and -shm aside, which forgets all users, tokens and the audit log",
	Full: "nothing of this step was written: free some space and try again",
}

// lost is the failure of a file that is gone: a restored home or a cleaned one must not open the door to all.
func lost(op, path string) error {
	return &Error{
		Op: op, Path: path, Kind: ErrLost, Err: ErrLost,
		Hint: "until then all logins are refused: restore a backup, or add the users again on this machine with " +
			"`dyno user add NAME`",
	}
}

// explain turns what SQLite and the file system say into an Error with a hint. nil and an answer stay what they are.
func explain(op, path string, err error) error {
	for _, answer := range []error{ErrNotFound, ErrExists, ErrInvalid, ErrLastOperator, ErrWrong, ErrFirst} {
		if errors.Is(err, answer) {
			return err
		}
	}
	return sqlitefile.Explain(op, path, err, hints)
}
