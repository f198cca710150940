package ledger

import (
	"errors"
	"fmt"

	"github.com/dyno-perf/dyno/internal/store/sqlitefile"
)

// What can be wrong with a ledger, for errors.Is.
var (
	ErrNotFound = errors.New("not found")
	ErrCorrupt  = sqlitefile.ErrCorrupt
	ErrOlder    = sqlitefile.ErrOlder
	ErrNewer    = sqlitefile.ErrNewer
	ErrForeign  = sqlitefile.ErrForeign
	ErrBusy     = sqlitefile.ErrBusy
	ErrFull     = sqlitefile.ErrFull
	ErrDenied   = sqlitefile.ErrDenied
	ErrSecret   = errors.New("value holds a password")
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
type Error = sqlitefile.Error

const corrupt = "the targets, runs, diagnoses and the journal (with the undo of every action) in it may be partly " +
	"unreadable; " +
	"the metrics are stored separately and are not affected. Nothing was changed or deleted: `dyno store check` " +
	"shows what is still " +
	"readable. To begin with an empty ledger, move this file and those of the same name with -wal and -shm aside, or " +
	"restore a " +
	"backup in its place"

// explain turns what SQLite and the file system say into an Error with a hint. nil and an answer stay what they are.
func explain(op, path string, err error) error {
	var absent *NotFoundError
	if errors.As(err, &absent) {
		return err
	}
	return sqlitefile.Explain(op, path, err, sqlitefile.Hints{Corrupt: corrupt})
}
