package load

import "syscall"

// execGroup makes a process group of its own, which the kernel kills when this program dies.
func execGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitable waits until a child has ended and leaves it for another wait to collect, so that nobody gets its number
// before: waitid(2) with WNOWAIT. It reports false when it could not, and the other wait is to say why.
func waitable(pid int) bool {
	const pPID = 1
	for {
		switch _, _, e := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), 0, syscall.WEXITED|syscall.WNOWAIT,
			0, 0); e {
		case 0:
			return true
		case syscall.EINTR:
		default:
			return false
		}
	}
}
