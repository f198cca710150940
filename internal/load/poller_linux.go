package load

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller waits for what happens to the connections of one loop: epoll(7), edge-triggered, and an eventfd(2) by which
// others wake it.
type poller struct {
	fd     int
	waker  int
	events [128]unix.EpollEvent
	coarse bool // the kernel waits for whole milliseconds only
	wait   unix.Timespec
}

// wakeToken is the token of the eventfd. Connections have other tokens.
const wakeToken = -1

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("start an event loop: %w", err)
	}
	waker, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("start an event loop: %w", err)
	}
	p := &poller{fd: fd, waker: waker}
	if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, waker, &unix.EpollEvent{
		Events: unix.EPOLLIN,
		Fd:     wakeToken,
	}); err != nil {
		p.close()
		return nil, fmt.Errorf("start an event loop: %w", err)
	}
	return p, nil
}

func (p *poller) close() {
	unix.Close(p.fd)
	unix.Close(p.waker)
}

const (
	reading = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET
	// hangup says that nothing comes any more but what is there already.
	hangup = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
)

// add watches a connection. Its events carry token and era: an event of an earlier connection at the same place is told
// apart.
func (p *poller) add(fd int, token, era int32) error {
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: reading, Fd: token, Pad: era})
}

// writing says whether to tell when a connection takes bytes, too. Only while some are left over: a server that reads a
// statement makes room, and each time it would be an event.
func (p *poller) writing(fd int, token, era int32, on bool) error {
	e := unix.EpollEvent{Events: reading, Fd: token, Pad: era}
	if on {
		e.Events |= unix.EPOLLOUT
	}
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_MOD, fd, &e)
}

// quick is how long a loop waits at first, without telling Go's scheduler of the call: the scheduler would take the
// loop's processor away and give it back each time, and on a single CPU it would spend more on that than the loop on
// its work. Answers come sooner than that under load. Whoever needs the thread to stop, a collection of garbage or a
// goroutine without a processor, gets it by a signal, which ends the call. It is not less, for a timer that is earlier
// than the kernel's next tick has to be set in the hardware, twice for each answer: on a virtual machine that costs
// more than all the rest.
const quick = 10 * time.Millisecond

// block waits for events, at most for d, and returns how many there are. When politely, or when quick was not enough,
// the scheduler knows of the call.
func (p *poller) block(d time.Duration, politely bool) int {
	if !politely || d <= 0 {
		if n, done := p.pause(min(d, quick), syscall.RawSyscall6); done || d <= quick {
			return n
		}
		d -= quick
	}
	n, _ := p.pause(d, syscall.Syscall6)
	return n
}

// pause makes the system call. It is done when there are events, or when the call was interrupted.
func (p *poller) pause(
	d time.Duration, call func(trap, a1, a2, a3, a4, a5, a6 uintptr) (r1, r2 uintptr, err syscall.Errno),
) (n int, done bool) {
	events, room := uintptr(unsafe.Pointer(&p.events)), uintptr(len(p.events))
	if !p.coarse {
		p.wait = unix.NsecToTimespec(int64(max(d, 0)))
		r, _, errno := call(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), events, room, uintptr(unsafe.Pointer(&p.wait)), 0, 0)
		switch errno {
		case 0:
			return int(r), r > 0
		case unix.ENOSYS, unix.EPERM: // a kernel before 5.11, or a sandbox that does not know the call
			p.coarse = true
		default: // EINTR
			return 0, true
		}
	}
	ms := (max(d, 0) + time.Millisecond - 1) / time.Millisecond
	r, _, errno := call(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), events, room, uintptr(ms), 0, 0)
	if errno != 0 {
		return 0, true
	}
	return int(r), r > 0
}

// wake ends the waiting, also that which is about to begin. Anybody may call it until close.
func (p *poller) wake() {
	one := [8]byte{1}
	unix.Write(p.waker, one[:]) //nolint:errcheck // it fails only when it has been woken 2^64 times
}

// woken makes the next wake count again.
func (p *poller) woken() {
	var b [8]byte
	unix.Read(p.waker, b[:]) //nolint:errcheck // another event may have read it
}

// receive reads what has arrived. 0 bytes without an error are the end of the connection.
func receive(fd int, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
			uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, errAgain
		default:
			return 0, errno
		}
	}
}

// send writes as much as the connection takes.
func send(fd int, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))),
			uintptr(len(b)),
			unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, errAgain
		default:
			return 0, errno
		}
	}
}

// errAgain says that a call would have to wait.
var errAgain error = unix.EAGAIN

// threadCPU returns the CPU time of a thread of this process, false when it has ended.
func threadCPU(tid int) (time.Duration, bool) {
	const perThread, sched = 4, 2 // how clock_gettime(2) names the clock of a thread
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^tid<<3|perThread|sched), &ts); err != nil {
		return 0, false
	}
	return time.Duration(ts.Nano()), true
}
