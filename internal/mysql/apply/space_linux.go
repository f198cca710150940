package apply

import (
	"context"
	"fmt"
	"syscall"

	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/unit"
)

// space holds the free space of the server's disks against what an index takes: once in the data directory, and once
// more in the directory that the server sorts in.
func space(ctx context.Context, t *target.Target, need float64, block, warn func(string, ...any)) {
	pid, local := t.LocalPID(ctx)
	if !local {
		warn("free disk space could not be checked because the server is not on this machine: the change needs about "+
			"%s, and as much again to sort", unit.Bytes(need))
		return
	}
	sort, _ := t.Variable("innodb_tmpdir")
	if sort == "" {
		sort, _ = t.Variable("tmpdir")
	}
	// The server may see other disks than we do: /proc/PID/root is its view.
	for _, d := range []struct{ what, dir string }{
		{"the data directory", t.Facts().Datadir},
		{"the directory for sorting", sort},
	} {
		var st syscall.Statfs_t
		if err := syscall.Statfs(fmt.Sprintf("/proc/%d/root%s", pid, d.dir), &st); err != nil {
			warn("free disk space of %s %s could not be checked: %v", d.what, d.dir, err)
			continue
		}
		free := float64(st.Bavail) * float64(st.Bsize)
		switch {
		case free < need*1.2:
			block("%s %s has %s free, and the change needs about %s", d.what, d.dir, unit.Bytes(free), unit.Bytes(need))
		case free < need*3:
			warn("%s %s has %s free, and the change needs about %s", d.what, d.dir, unit.Bytes(free), unit.Bytes(need))
		}
	}
}
