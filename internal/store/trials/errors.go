package trials

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"dyno/internal/store/failure"
)

// What can be wrong with an experiment on disk, for errors.Is.
var (
	ErrNotFound = errors.New("no experiment is there")
	ErrExists   = errors.New("it is there already")
	ErrBusy     = errors.New("experiment is under way")
	ErrChanged  = errors.New("the plan is not the one that the experiment was begun with")
	ErrNewer    = errors.New("experiment is of a newer format")
	ErrCorrupt  = errors.New("experiment is damaged")
	ErrFull     = errors.New("disk is full")
	ErrDenied   = errors.New("no permission")
)

var errClosed = errors.New("it is closed")

// Error is a failure of a file, with what the user can do about it.
type Error = failure.Error

// damage marks an error of a file's content.
type damage struct{ err error }

func (e *damage) Error() string { return e.err.Error() }
func (e *damage) Unwrap() error { return e.err }

type newerError struct {
	what          string
	file, program int
}

func (e *newerError) Error() string {
	return fmt.Sprintf("the %s has format %d, this program knows formats up to %d", e.what, e.file, e.program)
}

// BusyError says who carries the experiment out.
type BusyError struct {
	Dir string
	PID int // 0 when it cannot be told
}

func (e *BusyError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("open experiment (%s): %s is carrying it out; wait for it or end it first", e.Dir, who)
}

// Is makes errors.Is(err, ErrBusy) true.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// shortError says how much room was missing.
type shortError struct {
	need int
	free uint64
	err  error
}

func (e *shortError) Error() string {
	return fmt.Sprintf("%d bytes are needed, %d are free: %v", e.need, e.free, e.err)
}
func (e *shortError) Unwrap() error { return e.err }

// failed explains an error of the file system or of a file's content. nil stays nil.
func failed(op, path string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Op: op, Path: path, Err: err}
	var newer *newerError
	var hurt *damage
	switch {
	case errors.As(err, &newer):
		e.Kind, e.Hint = ErrNewer, "use the newer Dyno that wrote it; nothing was changed"
	case errors.As(err, &hurt):
		e.Kind, e.Hint = ErrCorrupt, "nothing was changed: what can be read is in the files beside it"
	case errors.Is(err, fs.ErrNotExist):
		e.Kind = ErrNotFound
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Kind, e.Hint = ErrFull, "what was kept before is intact: free some space and resume"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Kind, e.Hint = ErrDenied, "the directory must be writable by the user that runs dyno"
	}
	return e
}
