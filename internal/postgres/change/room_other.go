//go:build !linux

package change

import (
	"context"

	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// room cannot look at the server's disks here.
func room(context.Context, *conn.Target) (bytes float64, ok bool) { return 0, false }
