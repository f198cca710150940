package mysql

import (
	"time"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// KindOf implements family.Errors.
func (mistakes) KindOf(err error) endpoint.Kind { return target.KindOf(err) }

// HintOf implements family.Errors.
func (mistakes) HintOf(err error) string { return target.HintOf(err) }

// LoginRefused implements family.Errors.
func (mistakes) LoginRefused(err error) bool { return target.LoginRefused(err) }

// Patience implements family.Errors.
func (mistakes) Patience(err error, pause time.Duration) time.Duration {
	return target.Patience(err, pause)
}
