//go:build !linux

package load

import (
	"syscall"

	"github.com/dyno-perf/dyno/internal/platform"
)

func execGroup() *syscall.SysProcAttr { return platform.NewGroup() }

// waitable cannot wait here without giving the number away: what a command leaves behind goes on.
func waitable(int) bool { return false }
