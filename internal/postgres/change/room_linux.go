package change

import (
	"context"
	"fmt"
	"syscall"

	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

// room returns the free bytes of the file system of the data directory, when that is on this machine and shown to the
// account.
func room(ctx context.Context, t *conn.Target) (bytes float64, ok bool) {
	pid, ok := t.LocalPID(ctx)
	if !ok || t.Facts().Datadir == "" {
		return 0, false
	}
	// The server may see other disks than we do: /proc/PID/root is its view.
	var st syscall.Statfs_t
	if err := syscall.Statfs(fmt.Sprintf("/proc/%d/root%s", pid, t.Facts().Datadir), &st); err != nil {
		return 0, false
	}
	return float64(st.Bavail) * float64(st.Bsize), true
}
