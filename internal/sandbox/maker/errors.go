package maker

import "errors"

// What can be wrong, for errors.Is.
var (
	ErrNoServer = errors.New("no such server build")
	ErrSettings = errors.New("settings cannot be used")
)

// Hinted is a cause that knows its remedy, a sentence without a stop.
type Hinted struct {
	error
	hint string
}

// Unwrap returns the cause.
func (h Hinted) Unwrap() error { return h.error }

// Hint returns what the user can do.
func (h Hinted) Hint() string { return h.hint }

// Hint adds a remedy to an error.
func Hint(err error, text string) error { return Hinted{err, text} }
