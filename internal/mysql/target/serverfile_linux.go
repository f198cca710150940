package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/host"

	"golang.org/x/sys/unix"
)

// ErrElsewhere says that a server does not surely run on this machine, so that the files it names are not looked for
// here.
var ErrElsewhere = errors.New("the server may be on another machine")

// process is a process as it was when it was found to be the server's: another may get its number later.
type process struct {
	pid   int
	start string // in ticks since boot
}

// OpenFile opens a file that the server named for reading, as the server sees it: below the root of its own process,
// regular and owned by its account. A name that leads anywhere else is refused, and nothing but a regular file is
// opened, for a pipe keeps whoever opens it waiting and a device has no end. Errors: ErrElsewhere, os.ErrPermission,
// os.ErrNotExist.
func (t *Target) OpenFile(ctx context.Context, name string) (*os.File, error) {
	pid, err := serverProcess(ctx, t)
	if err != nil {
		return nil, err
	}
	return openServerFile(pid, name)
}

// OpenDir opens the directory that the server named in the same way.
func (t *Target) OpenDir(ctx context.Context, name string) (*os.Root, error) {
	pid, err := serverProcess(ctx, t)
	if err != nil {
		return nil, err
	}
	fd, err := within(pid, name, unix.S_IFDIR)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// serverProcess returns LocalPID, which costs a login, and remembers it for as long as the process lives.
func serverProcess(ctx context.Context, t *Target) (int, error) {
	if p := t.process.Load(); p != nil && p.start == startOf(p.pid) {
		return p.pid, nil
	}
	pid, ok := t.LocalPID(ctx)
	if !ok {
		return 0, ErrElsewhere
	}
	t.process.Store(&process{pid, startOf(pid)})
	return pid, nil
}

// startOf returns when a process began, "" when there is none: proc_pid_stat(5), field 22.
func startOf(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	if f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(f) > 19 {
		return f[19]
	}
	return ""
}

// openServerFile opens a regular file of the process' account below the process' root.
func openServerFile(pid int, name string) (*os.File, error) {
	fd, err := within(pid, name, unix.S_IFREG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	own := fmt.Sprintf("/proc/self/fd/%d", fd) // what was looked at, whatever bears its name by now
	again, err := unix.Open(own, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(again), name), nil
}

// maxLinks bounds the symbolic links on the way to a file, as the kernel does.
const maxLinks = 40

// within finds a file below the root of a process without opening it, and checks its kind and owner. The process'
// symbolic links are followed as the process itself would. The descriptor is of O_PATH: it can be opened through
// /proc/self/fd.
func within(pid int, name string, kind uint32) (fd int, err error) {
	if len(name) >= unix.PathMax { // so the kernel; the error does not repeat it
		return -1, fmt.Errorf("open a path of %d bytes: %w", len(name), unix.ENAMETOOLONG)
	}
	bad := func(err error) (int, error) { return -1, &os.PathError{Op: "open", Path: name, Err: err} }
	if !path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return bad(errors.New("not an absolute path"))
	}
	root, err := rootOf(pid)
	if err != nil {
		return bad(err)
	}
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	top, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return bad(err)
	}
	at := []int{top} // from the root downwards, so that .. of the root is the root
	defer func() {
		for _, d := range at {
			if d != fd {
				unix.Close(d)
			}
		}
	}()
	links := 0
	for rest := strings.Split(name, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(at) > 1 {
				unix.Close(at[len(at)-1])
				at = at[:len(at)-1]
			}
			continue
		}
		next, err := unix.Openat(at[len(at)-1], part, flags, 0)
		if err != nil {
			return bad(err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(next, &st); err != nil {
			unix.Close(next)
			return bad(err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			at = append(at, next)
			continue
		}
		to := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(next, "", to)
		unix.Close(next)
		if links++; err == nil && links > maxLinks {
			err = unix.ELOOP
		}
		if err != nil {
			return bad(err)
		}
		link := string(to[:n])
		if path.IsAbs(link) {
			for _, d := range at[1:] {
				unix.Close(d)
			}
			at = at[:1]
		}
		rest = append(strings.Split(link, "/"), rest...)
	}
	last := at[len(at)-1]
	var st unix.Stat_t
	if err := unix.Fstat(last, &st); err != nil {
		return bad(err)
	}
	uid, ok := host.FS{}.Account(pid)
	var fs unix.Statfs_t
	if err := unix.Fstatfs(last, &fs); err != nil {
		return bad(err)
	}
	switch {
	case fs.Type == unix.PROC_SUPER_MAGIC || fs.Type == unix.SYSFS_MAGIC: // /proc/self is Dyno itself
		return bad(errors.New("a file of the kernel, not of the server"))
	case st.Mode&unix.S_IFMT != kind && kind == unix.S_IFREG:
		return bad(errors.New("not a regular file"))
	case st.Mode&unix.S_IFMT != kind:
		return bad(errors.New("not a directory"))
	case !ok:
		return bad(errors.New("the server's process has ended"))
	case uint32(uid) != st.Uid:
		return bad(fmt.Errorf("the file belongs to user %d, the server runs as user %d", st.Uid, uid))
	}
	return last, nil
}

// rootOf returns the way to a process' root directory. A process that may not be looked into has our own, unless it
// lives in a container.
func rootOf(pid int) (string, error) {
	root := fmt.Sprintf("/proc/%d/root", pid)
	_, err := os.Readlink(root)
	if err == nil || !errors.Is(err, os.ErrPermission) {
		return root, err
	}
	its, ours := statusField(fmt.Sprintf("/proc/%d/status", pid), "NSpid"), statusField("/proc/self/status", "NSpid")
	if len(its) != len(ours) {
		return "", fmt.Errorf("the server runs in a container that cannot be inspected: %w", os.ErrPermission)
	}
	return "/", nil
}

// maxPidFile bounds a pid file: one number and a line's end.
const maxPidFile = 64

// inPidFile reports whether the pid file that the server names holds the process' number, as the process itself knows
// it: in a container that is another. known says whether there is such a file at all.
func inPidFile(pid int, name string) (yes, known bool) {
	if name == "" {
		return false, false
	}
	f, err := openServerFile(pid, filepath.Clean(name))
	if err != nil {
		return false, false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPidFile))
	n, nerr := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || nerr != nil || n <= 0 {
		return false, false
	}
	if n == pid {
		return true, true
	}
	ns := statusField(fmt.Sprintf("/proc/%d/status", pid), "NSpid")
	return len(ns) > 1 && ns[len(ns)-1] == strconv.Itoa(n), true
}
