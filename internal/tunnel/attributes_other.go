//go:build !linux

package tunnel

import (
	"syscall"

	"github.com/dyno-perf/dyno/internal/platform"
)

// attributes keep the terminal's Ctrl-C from ssh: the tunnel is needed until the end. When this program is killed, ssh
// ends with the last of its connections at the latest.
func attributes() *syscall.SysProcAttr { return platform.NewGroup() }
