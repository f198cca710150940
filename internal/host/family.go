package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/dyno-perf/dyno/internal/known"
)

// FamilyReading is one look at a server that is a process with children, as PostgreSQL's: a child serves one session
// and ends with it.
type FamilyReading struct {
	PID   int
	Start uint64 // of the parent, clock ticks after boot
	// CPU of all of them, of children that have ended too: the kernel adds what these used to their parent.
	UserSec, SysSec float64
	Processes       int
	// AnonBytes is the memory that the processes have for themselves; SharedBytes what one of them has of the memory
	// that they share, in the process that has used the most of it.
	AnonBytes, SharedBytes uint64
	// ReadBytes came from and WriteBytes went to a disk; unknown unless this is root or the server's user.
	ReadBytes, WriteBytes known.Value[uint64]
	IODenied              error // why those two are unknown
}

// Family looks at a process and its children. The error wraps os.ErrNotExist when there is no such process.
func Family(pid int) (r FamilyReading, err error) {
	fs, err := procfs.NewFS(FS{}.path("proc"))
	if err != nil {
		return r, fmt.Errorf("read process %d: %w", pid, err)
	}
	// A child that ends meanwhile is counted twice: by itself and by its parent.
	for range familyTries {
		var before, after []int
		if before, err = children(pid); err == nil {
			if r, err = family(fs, pid, before); err == nil {
				after, err = children(pid)
			}
		}
		if err != nil {
			return r, fmt.Errorf("read process %d and its children: %w", pid, gone(err))
		}
		if !slices.ContainsFunc(before, func(p int) bool { return !slices.Contains(after, p) }) {
			break
		}
	}
	return r, nil
}

// Whole looks at a server that is one process or a process with children: times and bytes are those of all of them. The
// error wraps os.ErrNotExist when there is no such process.
func Whole(pid int) (ProcReading, error) {
	r, err := Process(pid)
	if err != nil || len(Started(pid)) == 0 {
		return r, err
	}
	f, err := Family(pid)
	r.UserSec, r.SysSec = f.UserSec, f.SysSec
	r.ReadBytes, r.WriteBytes, r.IODenied = f.ReadBytes, f.WriteBytes, f.IODenied
	return r, err
}

// familyTries is how often a family is read in which children end. Where that goes on they are short-lived, and what is
// counted twice is little.
const familyTries = 3

func family(fs procfs.FS, pid int, children []int) (r FamilyReading, err error) {
	r.PID = pid
	var read, written uint64
	for _, p := range append(children, pid) {
		st, status, io, err := lookAt(fs, p)
		switch {
		case err != nil && p == pid:
			return r, err
		case err != nil || p != pid && st.PPID != pid: // it has ended
			continue
		}
		if p == pid {
			r.Start = st.Starttime
		}
		r.UserSec += (float64(st.UTime) + float64(st.CUTime)) / hertz
		r.SysSec += (float64(st.STime) + float64(st.CSTime)) / hertz
		r.Processes++
		r.AnonBytes += status.RssAnon
		r.SharedBytes = max(r.SharedBytes, status.RssShmem)
		if io == nil {
			r.IODenied = os.ErrPermission
			continue
		}
		read, written = read+io.ReadBytes, written+io.WriteBytes
	}
	if r.IODenied == nil {
		r.ReadBytes, r.WriteBytes = known.Of(read), known.Of(written)
	}
	return r, nil
}

// lookAt reads a process; io is nil where it is hidden.
func lookAt(fs procfs.FS, pid int) (st procfs.ProcStat, status procfs.ProcStatus, io *procfs.ProcIO, err error) {
	p, err := fs.Proc(pid)
	if err != nil {
		return st, status, nil, err
	}
	if st, err = p.Stat(); err != nil {
		return st, status, nil, err
	}
	if status, err = p.NewStatus(); err != nil {
		return st, status, nil, err
	}
	if x, err := p.IO(); err == nil {
		io = &x
	}
	return st, status, io, nil
}

// Started returns the processes that a process of one thread has started and that have not ended. It reads one file
// where the kernel has it, and else looks at all processes as Children does.
func Started(pid int) []int {
	pids, _ := children(pid) // it has ended
	return pids
}

// children lists the children of a process that has one thread (proc_pid_task(5)).
func children(pid int) (pids []int, err error) {
	n := strconv.Itoa(pid)
	b, err := os.ReadFile(FS{}.path("proc", n, "task", n, "children"))
	if errors.Is(err, os.ErrNotExist) {
		if _, alive := os.Stat(FS{}.path("proc", n)); alive == nil { // a kernel without CONFIG_PROC_CHILDREN
			return Children(pid), nil
		}
	}
	if err != nil {
		return nil, err
	}
	for _, word := range strings.Fields(string(b)) {
		p, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		pids = append(pids, p)
	}
	return pids, nil
}
