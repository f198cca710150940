package sandbox

import (
	"path/filepath"
	"strings"

	"github.com/dyno-perf/dyno/internal/host"
)

// Cached implements maker.Prober: without O_DIRECT InnoDB's pages wait in the page cache, and the kernel writes most of
// them in its own name.
func (Maker) Cached(pid int, data string) string {
	real, err := filepath.EvalSymlinks(data)
	if err != nil {
		real = data
	}
	direct, cached, err := host.OpenFiles(pid, real, func(name string) bool {
		return strings.HasSuffix(name, ".ibd") || strings.HasPrefix(name, "ibdata")
	})
	switch {
	case err != nil:
		return "it is set, but whether the server writes with O_DIRECT is unknown, and without it cgroup v1 does not " +
			"limit writes: " + err.Error()
	case cached > 0 || direct == 0:
		return "it is set, but the server writes its data through the page cache, which cgroup v1 does not limit; " +
			"set innodb_flush_method=O_DIRECT"
	}
	return ""
}
