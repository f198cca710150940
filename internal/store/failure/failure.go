// Package failure is how stores tell that a file failed them: what was being done, to which file, of what kind the fault is, and what the
// user can do about it.
package failure

import "fmt"

// Error is a failure of a store's file.
type Error struct {
	Op   string // "open ledger", "keep trial 7"
	Path string
	Kind error  // one of the store's Err values, nil when it is none of them
	Hint string // what the user can do, "" when nothing is known
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
