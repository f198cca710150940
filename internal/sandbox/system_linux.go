package sandbox

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Where data begin and end in a file with holes, as File.Seek takes it.
const (
	seekData = unix.SEEK_DATA
	seekHole = unix.SEEK_HOLE
)

// mustBeLinux is for what private servers need of the kernel.
func mustBeLinux() error { return nil }

// attributes are those of a process that runs as the account.
func (a account) attributes() *syscall.SysProcAttr {
	s := &syscall.SysProcAttr{}
	if a.name != "" {
		s.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return s
}

// session are those of a server: a hang-up or Ctrl-C of our terminal is not its own.
func (a account) session() *syscall.SysProcAttr {
	s := a.attributes()
	s.Setsid = true
	return s
}

// shareBlocks makes a file a copy of another that shares its blocks, where the file system can.
func shareBlocks(to, from *os.File) error { return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) }

// punch makes a range of a file a hole.
func punch(f *os.File, at, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, at, n)
}

// syncFilesystem writes out all of the file system that a file is on.
func syncFilesystem(f *os.File) error { return unix.Syncfs(int(f.Fd())) }

// openForWriting reports whether somebody has the file open for writing: the kernel grants a lease for reading only
// when nobody has, fcntl(2). Where the file system knows no leases nobody has: the process that did is gone at least.
func openForWriting(f *os.File) (bool, error) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		return false, err
	}
	return errors.Is(err, unix.EAGAIN), nil
}

// signaller returns what sends signals to a process, and to no other that gets its number after the call.
func signaller(pid int) (send func(syscall.Signal) error, free func(), err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ENOSYS) { // Linux before 5.3
		return func(s syscall.Signal) error { return unix.Kill(pid, s) }, func() {}, nil
	}
	return func(s syscall.Signal) error { return unix.PidfdSendSignal(fd, s, nil, 0) }, func() { unix.Close(fd) }, err
}

func mount(device, at, filesystem string) error {
	return unix.Mount(device, at, filesystem, unix.MS_NODEV|unix.MS_NOSUID, "")
}

// bind shows a directory in another place too.
func bind(from, to string) error { return unix.Mount(from, to, "", unix.MS_BIND, "") }

// detach unmounts also what is in use, which ends when nobody uses it any more.
func detach(at string) error { return unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) }

func unmountOne(at string) error { return unix.Unmount(at, unix.UMOUNT_NOFOLLOW) }

// attach returns an open loop device on a file, which bypasses the page cache where the disk below can. It is freed
// when the last one who holds it, us or a mount, lets go.
func attach(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for try := 1; ; try++ {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a free one: %w", err)
		}
		device, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) && try < 50 {
			time.Sleep(10 * time.Millisecond) // udev is about to make it
			continue
		}
		if err != nil {
			return nil, err
		}
		if err = configure(device, f); err == nil {
			return device, nil
		}
		device.Close()
		if !errors.Is(err, unix.EBUSY) || try == 50 { // somebody was faster
			return nil, fmt.Errorf("%s: %w", device.Name(), err)
		}
	}
}

func configure(device, file *os.File) error {
	info := unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO}
	copy(info.File_name[:len(info.File_name)-1], file.Name())
	err := unix.IoctlLoopConfigure(int(device.Fd()), &unix.LoopConfig{Fd: uint32(file.Fd()), Size: 0, Info: info})
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTTY) {
		return err
	}
	// Linux before 5.8 does it in steps.
	if err := unix.IoctlSetInt(int(device.Fd()), unix.LOOP_SET_FD, int(file.Fd())); err != nil {
		return err
	}
	info.Flags = unix.LO_FLAGS_AUTOCLEAR
	if err := unix.IoctlLoopSetStatus64(int(device.Fd()), &info); err != nil {
		_ = unix.IoctlSetInt(int(device.Fd()), unix.LOOP_CLR_FD, 0) // the first error is the one to tell
		return err
	}
	_ = unix.IoctlSetInt(int(device.Fd()), unix.LOOP_SET_DIRECT_IO, 1) // the disk below may not have it
	return nil
}
