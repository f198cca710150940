package host

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"dyno/internal/known"

	"github.com/prometheus/procfs"
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
	fs, err := procfs.NewFS(f.path("proc"))
	if err != nil {
		return r, fmt.Errorf("read process %d: %w", pid, err)
	}
	p, err := fs.Proc(pid)
	if err != nil {
		return r, fmt.Errorf("read process %d: %w", pid, err)
	}
	st, err := p.Stat()
	if err == nil && (st.State == "Z" || st.State == "X") {
		err = fmt.Errorf("it has ended: %w", os.ErrNotExist)
	}
	if err != nil {
		return r, fmt.Errorf("read process %d: %w", pid, gone(err))
	}
	r = ProcReading{PID: pid, Start: st.Starttime, Name: st.Comm, UserSec: float64(st.UTime) / hertz,
		SysSec: float64(st.STime) / hertz, RSSBytes: uint64(max(st.ResidentMemory(), 0)), Threads: st.NumThreads}
	if io, err := p.IO(); err != nil {
		r.IODenied = gone(err)
	} else {
		r.ReadBytes, r.WriteBytes = known.Of(io.ReadBytes), known.Of(io.WriteBytes)
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

// Switches counts how often a thread gave up its CPU.
type Switches struct {
	Voluntary   uint64 // it had to wait
	Involuntary uint64 // another one got the CPU
}

// ErrTooMany says that a process has more threads than may be read.
var ErrTooMany = errors.New("too many threads to read one by one")

// ThreadSwitches returns the context switches of each thread alive, by its id. The kernel keeps no sum for a process. It
// reads one file a thread, so it refuses more than limit threads with an error that wraps ErrTooMany.
func ThreadSwitches(pid, limit int) (map[int]Switches, error) { return FS{}.ThreadSwitches(pid, limit) }

// ThreadSwitches is the function of that name, reading f.
func (f FS) ThreadSwitches(pid, limit int) (map[int]Switches, error) {
	dir := f.path("proc", strconv.Itoa(pid), "task")
	d, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("read threads of process %d: %w", pid, err)
	}
	names, err := d.Readdirnames(-1)
	d.Close()
	if err != nil {
		return nil, fmt.Errorf("read threads of process %d: %w", pid, gone(err))
	}
	if len(names) > limit {
		return nil, fmt.Errorf("read threads of process %d: %w: it has %d, the limit is %d", pid, ErrTooMany, len(names), limit)
	}
	out := make(map[int]Switches, len(names))
	buf := make([]byte, 8192)
	for _, name := range names {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		n, err := slurp(dir+"/"+name+"/status", buf)
		if err != nil { // it ended meanwhile
			continue
		}
		var s Switches
		seen := 0
		lines(buf[:n], func(f [][]byte) bool {
			if len(f) < 2 {
				return true
			}
			switch string(f[0]) {
			case "voluntary_ctxt_switches:":
				s.Voluntary, _ = number(f[1])
				seen++
			case "nonvoluntary_ctxt_switches:":
				s.Involuntary, _ = number(f[1])
				seen++
			}
			return seen < 2
		})
		if seen == 2 {
			out[tid] = s
		}
	}
	return out, nil
}

// slurp reads a small file of /proc with three system calls and no allocation.
func slurp(path string, buf []byte) (int, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd)
	n, err := syscall.Read(fd, buf)
	return max(n, 0), err
}
