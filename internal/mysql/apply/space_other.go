//go:build !linux

package apply

import (
	"context"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/unit"
)

// space cannot look at the server's disks here.
func space(_ context.Context, _ *target.Target, need float64, _, warn func(string, ...any)) {
	warn("free disk space could not be checked: the change needs about %s, and as much again to sort", unit.Bytes(need))
}
