package httpapi

import "errors"

// ErrNotFound is the answer to a target, class or moment that is not known: 404.
var ErrNotFound = errors.New("not found")

// ErrUnavailable is the answer while something cannot be told now and may be later: 503.
var ErrUnavailable = errors.New("not available now")

// ErrBadRequest is the answer to what the caller asked wrongly: 400.
var ErrBadRequest = errors.New("bad request")

// ErrConflict is the answer to what does not fit to how things are now, such as a preview that is no longer true: 409.
var ErrConflict = errors.New("not as things are now")
