package family

import (
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Errors read the errors that a family's servers and the way to them return, wrapped or not.
type Errors interface {
	// KindOf returns endpoint.Unknown for an error of which the family knows nothing.
	KindOf(err error) endpoint.Kind
	// HintOf returns what the user can do about it, "" when nothing is known.
	HintOf(err error) string
	// LoginRefused reports whether a server is there and does not let Dyno in.
	LoginRefused(err error) bool
	// Patience returns how long to wait after an attempt to reach a server that failed. The wait before it was pause.
	Patience(err error, pause time.Duration) time.Duration
}
