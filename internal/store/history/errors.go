package history

import (
	"errors"
	"fmt"
	"time"

	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// What can be wrong with a history, for errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrCorrupt  = sqlitefile.ErrCorrupt
	ErrOlder    = sqlitefile.ErrOlder
	ErrNewer    = sqlitefile.ErrNewer
	ErrForeign  = sqlitefile.ErrForeign
	ErrBusy     = sqlitefile.ErrBusy
	ErrFull     = sqlitefile.ErrFull
	ErrDenied   = sqlitefile.ErrDenied
	ErrOverlap  = errors.New("the window is stored already")
)

// NotFoundError says that no state was kept near the moment that was asked for, and when the nearest ones are.
type NotFoundError struct {
	Target        string
	At            time.Time
	Before, After time.Time // of the nearest states, zero where there is none
}

func (e *NotFoundError) Error() string {
	s := fmt.Sprintf("no state of %q is stored for %s", e.Target, e.At.Format(time.RFC3339))
	switch {
	case !e.Before.IsZero() && !e.After.IsZero():
		return s + fmt.Sprintf(": the nearest are of %s and %s", e.Before.Format(time.RFC3339),
			e.After.Format(time.RFC3339))
	case !e.Before.IsZero():
		return s + ": the last one is of " + e.Before.Format(time.RFC3339)
	case !e.After.IsZero():
		return s + ": the first one is of " + e.After.Format(time.RFC3339)
	}
	return s + ": there are no states of this target"
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// Error is a failure of the file itself.
type Error = sqlitefile.Error

var hints = sqlitefile.Hints{
	Corrupt: "nothing was changed or deleted: `dyno store check` shows what is still readable. To start over, move " +
		"this file and those of the " +
		"same name with -wal and -shm aside; series, targets and the journal are stored separately and are not " +
		"affected",
	Full: "what was stored before is intact and writing continues when there is space: free some space",
}

// wrap turns what SQLite and the file system say into an Error with a hint. nil and an answer stay what they are.
func wrap(op, path string, err error) error {
	var absent *NotFoundError
	if errors.As(err, &absent) || errors.Is(err, ErrOverlap) {
		return err
	}
	return sqlitefile.Explain(op, path, err, hints)
}
