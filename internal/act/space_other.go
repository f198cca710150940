//go:build !linux

package act

import (
	"context"

	"dyno/internal/target"
	"dyno/internal/unit"
)

// space cannot look at the server's disks here.
func space(_ context.Context, _ *target.Target, need float64, _, warn func(string, ...any)) {
	warn("free disk space could not be looked at: the change needs about %s, and as much again to sort", unit.Bytes(need))
}
