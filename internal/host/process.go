package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/dyno-perf/dyno/internal/known"
)

// ProcReading is one look at a process. Times and counts are since its start and include threads that ended.
type ProcReading struct {
	PID      int
	Start    uint64 // clock ticks after boot; with PID it names the process, for pids are used again
	Name     string
	UserSec  float64
	SysSec   float64
	RSSBytes uint64
	Threads  int
	// ReadBytes came from and WriteBytes went to a disk. The kernel shows them to the process's own user and to root.
	ReadBytes, WriteBytes known.Value[uint64]
	IODenied              error // why those two are unknown
}

// Process looks at the process with the pid. The error wraps os.ErrNotExist when there is none or only its remains.
func Process(pid int) (ProcReading, error) { return FS{}.Process(pid) }

// Process looks at the process with the pid.
func (f FS) Process(pid int) (r ProcReading, err error) {
	dir := f.path("proc", strconv.Itoa(pid))
	want(f, dir+"/stat", dir+"/status", dir+"/io")
	st, err := statOf(f, pid)
	if err == nil && (st.State == 'Z' || st.State == 'X') {
		err = fmt.Errorf("it has ended: %w", os.ErrNotExist)
	}
	if err != nil {
		return r, fmt.Errorf("read process %d: %w", pid, gone(err))
	}
	if !Here(f) { // its pages may have another size
		status, err := statusOf(f, pid, "VmRSS")
		if err != nil {
			return r, fmt.Errorf("read process %d: %w", pid, gone(err))
		}
		st.Resident = status["VmRSS"]
	}
	r = ProcReading{
		PID: pid, Start: st.Start, Name: st.Name, UserSec: st.User, SysSec: st.System,
		RSSBytes: st.Resident, Threads: st.Threads,
	}
	if read, written, err := ioOf(f, pid); err != nil {
		r.IODenied = gone(err)
	} else {
		r.ReadBytes, r.WriteBytes = known.Of(read), known.Of(written)
	}
	return r, nil
}

// gone turns the kernel's answer about a process that ended while it was read into os.ErrNotExist.
func gone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%w: %w", os.ErrNotExist, err)
	}
	return err
}

// Turns is how a thread shared the CPUs with others, since its start.
type Turns struct {
	Count   uint64  // times it was given a CPU: its context switches
	WaitSec float64 // it could have run and stood in the queue for a CPU
}

// ErrTooMany says that a process has more threads than may be read.
var ErrTooMany = errors.New("too many threads to read one by one")

// ThreadTurns returns the turns of each thread alive, by its id; the kernel keeps no sum for a process. It reads one
// file a thread (/proc/PID/task/TID/schedstat, Documentation/scheduler/sched-stats.rst), so it refuses more than limit
// threads with an error that wraps ErrTooMany.
func ThreadTurns(pid, limit int) (map[int]Turns, error) { return FS{}.ThreadTurns(pid, limit) }

// ThreadTurns is the function of that name, reading f.
func (f FS) ThreadTurns(pid, limit int) (map[int]Turns, error) {
	out := map[int]Turns{}
	err := threadsOf(f, pid, limit, "schedstat", func(tid int, b []byte) error {
		lines(b, func(f [][]byte) bool { // nanoseconds on a CPU, nanoseconds waiting for one, turns
			if len(f) >= 3 {
				wait, ok1 := number(f[1])
				n, ok2 := number(f[2])
				if ok1 && ok2 {
					out[tid] = Turns{Count: n, WaitSec: float64(wait) / 1e9}
				}
			}
			return false
		})
		return nil
	})
	return out, err
}

// threadsOf calls do with a file of each thread alive, and ends at its first error. It refuses more threads than limit.
func threadsOf(f FS, pid, limit int, file string, do func(tid int, b []byte) error) error {
	fail := func(err error) error { return fmt.Errorf("read threads of process %d: %w", pid, err) }
	dir := f.path("proc", strconv.Itoa(pid), "task")
	names, err := namesOf(f, dir)
	switch {
	case err != nil:
		return fail(gone(err))
	case len(names) > limit:
		return fail(fmt.Errorf("%w: it has %d, the limit is %d", ErrTooMany, len(names), limit))
	}
	var buf []byte
	for _, name := range names {
		want(f, filepath.Join(dir, name, file))
	}
	for _, name := range names {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		b, err := slurpOf(f, &buf, filepath.Join(dir, name, file))
		if errors.Is(err, os.ErrNotExist) && !(Here(f) && exists(filepath.Join(dir, name))) ||
			errors.Is(err, syscall.ESRCH) {
			// it ended meanwhile
			continue
		}
		if err == nil {
			err = do(tid, b)
		}
		if err != nil { // also on a kernel that has no such file
			return fail(err)
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// maxCommand is the most of a command line that is read. A process can make its own as long as its address space is.
const maxCommand = 64 << 10

// Command returns the arguments that a process was started with, or says that it was: they are its own memory. Of a
// longer list the first 64 KiB are returned.
func Command(pid int) ([]string, error) { return FS{}.Command(pid) }

// Command returns the arguments that a process says it was started with. Reading them waits for
// whoever changes the process's memory map, which a process of a stranger can have last for ever.
func (f FS) Command(pid int) ([]string, error) {
	file, err := os.Open(f.path("proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxCommand))
	return strings.Split(strings.TrimRight(string(b), "\x00"), "\x00"), err
}

// Account returns the user of a process. Of one that runs a program with another's rights, as su
// does, there is none: who started it chose how it is called and what it has open.
func (f FS) Account(pid int) (uid int, ok bool) {
	b, err := readOf(f, f.path("proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if v, is := strings.CutPrefix(line, "Uid:"); is {
			ids := slices.Compact(strings.Fields(v)) // real, effective, saved, of the file system
			if len(ids) != 1 {
				break
			}
			uid, err := strconv.Atoi(ids[0])
			return uid, err == nil
		}
	}
	return 0, false
}
