package tunnel

import "syscall"

// attributes make ssh end with this program, and keep the terminal's Ctrl-C from it: the tunnel is needed until the
// end.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
