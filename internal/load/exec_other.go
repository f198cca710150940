//go:build unix && !linux

package load

import "syscall"

func execGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// waitable cannot wait here without giving the number away: what a command leaves behind goes on.
func waitable(int) bool { return false }
