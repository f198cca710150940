package postgres

import (
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// KindOf implements family.Errors.
func (mistakes) KindOf(err error) endpoint.Kind { return conn.KindOf(err) }

// HintOf implements family.Errors.
func (mistakes) HintOf(err error) string { return conn.HintOf(err) }

// LoginRefused implements family.Errors.
func (mistakes) LoginRefused(err error) bool {
	k := conn.KindOf(err)
	return k == endpoint.AuthFailed || k == endpoint.TooManyConnections
}

// Patience implements family.Errors: a server that turns the account down is left alone for longer.
func (mistakes) Patience(err error, pause time.Duration) time.Duration {
	switch conn.KindOf(err) {
	case endpoint.AuthFailed, endpoint.TooManyConnections, endpoint.Denied, endpoint.TLSFailed, endpoint.NotAServer:
		return min(2*pause, conn.RetryRefused)
	}
	return min(2*pause, 2*time.Second)
}
