package host

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

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
func Family(pid int) (r FamilyReading, err error) { return FamilyOf(FS{}, pid) }

// FamilyOf is Family, reading f.
func FamilyOf(f FS, pid int) (r FamilyReading, err error) {
	// A child that ends meanwhile is counted twice: by itself and by its parent.
	for range familyTries {
		var before, after []int
		if before, err = children(f, pid); err == nil {
			if r, err = familyOf(f, pid, before); err == nil && Here(f) {
				after, err = children(f, pid)
			}
		}
		if err != nil {
			return r, fmt.Errorf("read process %d and its children: %w", pid, gone(err))
		}
		// Those of another machine are read in one go.
		if !Here(f) || !slices.ContainsFunc(before, func(p int) bool { return !slices.Contains(after, p) }) {
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

func familyOf(f FS, pid int, children []int) (r FamilyReading, err error) {
	r.PID = pid
	var read, written uint64
	all := append([]int{pid}, children...)
	wantOf(f, all, "stat", "status")
	wantOf(f, all[:1], "io")
	for _, p := range all {
		st, err := statOf(f, p)
		var status map[string]uint64
		if err == nil {
			status, err = statusOf(f, p, "RssAnon", "RssShmem")
		}
		switch {
		case err != nil && (p == pid || !errors.Is(gone(err), os.ErrNotExist)):
			return r, err
		case err != nil || p != pid && st.PPID != pid: // it has ended
			continue
		}
		if p == pid {
			r.Start = st.Start
		}
		r.UserSec += st.User + st.ChildUser
		r.SysSec += st.System + st.ChildSys
		r.Processes++
		r.AnonBytes += status["RssAnon"]
		r.SharedBytes = max(r.SharedBytes, status["RssShmem"])
		if r.IODenied != nil {
			continue
		}
		rd, wr, err := ioOf(f, p)
		none := err != nil && errors.Is(gone(err), os.ErrNotExist)
		switch {
		case none && p != pid: // it has ended since
		case none, errors.Is(err, os.ErrPermission), errors.Is(err, errNotCounted):
			r.IODenied = os.ErrPermission
		case err != nil:
			return r, err
		case p == pid: // whoever sees the parent's sees theirs
			wantOf(f, children, "io")
		}
		read, written = read+rd, written+wr
	}
	if r.IODenied == nil {
		r.ReadBytes, r.WriteBytes = known.Of(read), known.Of(written)
	}
	return r, nil
}

// Started returns the processes that a process of one thread has started and that have not ended. It reads one file
// where the kernel has it, and else looks at all processes as Children does.
func Started(pid int) []int {
	pids, _ := children(FS{}, pid) // it has ended
	return pids
}

// children lists the children of a process that has one thread (proc_pid_task(5)).
func children(f FS, pid int) (pids []int, err error) {
	n := strconv.Itoa(pid)
	b, err := readOf(f, f.path("proc", n, "task", n, "children"))
	if errors.Is(err, os.ErrNotExist) && Here(f) {
		if _, alive := os.Stat(f.path("proc", n)); alive == nil { // a kernel without CONFIG_PROC_CHILDREN
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
