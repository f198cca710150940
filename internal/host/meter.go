package host

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/known"
)

// Meter measures what a server's process, its children and the machine spend between Begin and End.
type Meter struct {
	fs      FS
	pid     int
	device  string
	began   time.Time
	proc    ProcReading
	machine Reading
	cpus    map[int]CPUTimes
	threads map[int]uint64 // context switches of each thread alive when it was last looked at
	summed  uint64         // switches since Begin, as far as they were seen
	ended   int            // threads that ended since Begin
	failed  error          // why switches are unknown
}

// Usage is what was spent between two moments. What could not be measured is unknown; Notes say why.
type Usage struct {
	Seconds float64 // of the wall clock
	// UserSec and SystemSec are CPU seconds of the process, threads that ended included.
	UserSec, SystemSec known.Value[float64]
	// Switches are voluntary and involuntary context switches of its threads. The kernel keeps them for threads alive
	// only, so it is too low when AtLeast is set: what ThreadsEnded threads did after they were last looked at is lost.
	Switches     known.Value[uint64]
	AtLeast      bool
	ThreadsEnded int
	// ReadBytes came from and WriteBytes went to a disk for this process. The kernel counts a write when a page becomes
	// dirty or is written directly, before it knows whether it will reach the disk (Documentation/filesystems/proc.rst,
	// 3.3).
	ReadBytes, WriteBytes known.Value[uint64]
	// DeviceReadBytes and DeviceWriteBytes went through the whole block device under the data, whoever asked for them.
	Device                            string
	DeviceReadBytes, DeviceWriteBytes known.Value[uint64]
	Machine                           Shares
	CPUs                              map[int]Shares // by number of the CPU
	Notes                             []string
}

// Shares say what the CPUs did, each from 0 to 1 of all the time there was.
type Shares struct {
	Busy   float64 `json:"busy"`   // work of this machine
	IOWait float64 `json:"iowait"` // idle while a request to a disk was under way
	Steal  float64 `json:"steal"`  // the hypervisor gave the time to others
}

// Share returns what all CPUs did between two readings; the error says that they cannot be compared.
func Share(a, b Reading) (Shares, error) { return share(a.CPU, b.CPU) }

func share(a, b CPUTimes) (s Shares, err error) {
	// iowait and idle may go back a little: the kernel does not promise that they only grow (proc_stat(5)).
	busy, wait, steal, idle := b.Busy()-a.Busy(), max(0, b.IOWait-a.IOWait), b.Steal-a.Steal, max(0, b.Idle-a.Idle)
	total := busy + wait + steal + idle
	if busy < 0 || steal < 0 || total <= 0 {
		return s, errors.New("share CPU time: the second reading is not later than the first, or the machine was " +
			"rebooted")
	}
	return Shares{Busy: busy / total, IOWait: wait / total, Steal: steal / total}, nil
}

// Begin starts to measure the process with the pid; path is where it keeps its data. It fails when there is no such
// process or the machine's CPU times cannot be read.
func Begin(pid int, path string) (*Meter, error) { return FS{}.Begin(pid, path) }

// Begin is the function of that name, reading f.
func (f FS) Begin(pid int, path string) (*Meter, error) {
	m := &Meter{fs: f, pid: pid}
	if p, err := f.DiskOf(path); err == nil {
		m.device = p.Device
		if b := f.bottom(p.Device, 0); len(b) == 1 { // a loop or LVM volume: what reaches the disk below it
			m.device = b[0]
		}
	}
	var err error
	if m.proc, err = whole(f, pid); err != nil {
		return nil, fmt.Errorf("start measuring: %w", err)
	}
	if m.threads, err = allSwitches(f, pid); err != nil {
		m.failed = err
	}
	if m.cpus, err = perCPU(f); err != nil {
		return nil, fmt.Errorf("start measuring: %w", err)
	}
	if m.machine, err = f.Read(); err != nil {
		return nil, fmt.Errorf("start measuring: %w", err)
	}
	m.began = time.Now()
	return m, nil
}

// Look takes note of the threads alive. Called every second or so between Begin and End, it keeps what is lost with
// threads that end small; without it only Begin and End look.
func (m *Meter) Look() {
	if m.failed != nil {
		return
	}
	now, err := allSwitches(m.fs, m.pid)
	if err != nil {
		m.failed = err
		return
	}
	for tid, n := range now {
		old, ok := m.threads[tid]
		switch {
		case !ok: // began since: all its switches are ours
			m.summed += n
		case n < old: // another thread under an old number
			m.ended++
			m.summed += n
		default:
			m.summed += n - old
		}
	}
	for tid := range m.threads {
		if _, ok := now[tid]; !ok {
			m.ended++
		}
	}
	m.threads = now
}

// End returns what was spent since Begin. It fails when the process ended or was replaced meanwhile.
func (m *Meter) End() (u Usage, err error) {
	m.Look()
	proc, err := whole(m.fs, m.pid)
	if err != nil {
		return u, fmt.Errorf("end measuring: %w", err)
	}
	if proc.Start != m.proc.Start {
		return u, fmt.Errorf("end measuring: process %d is not the same as at the start: the server was restarted",
			m.pid)
	}
	u.Seconds = time.Since(m.began).Seconds()
	machine, err := m.fs.Read()
	if err != nil {
		return u, fmt.Errorf("end measuring: %w", err)
	}
	u.UserSec, u.SystemSec = known.Of(proc.UserSec-m.proc.UserSec), known.Of(proc.SysSec-m.proc.SysSec)
	if m.failed != nil {
		u.Notes = append(u.Notes, "context switches are unknown: "+m.failed.Error())
	} else {
		u.Switches, u.ThreadsEnded, u.AtLeast = known.Of(m.summed), m.ended, m.ended > 0
		if u.AtLeast {
			u.Notes = append(u.Notes, fmt.Sprintf("context switches are at least that many: %d threads ended "+
				"meanwhile and theirs are not counted in full", m.ended))
		}
	}
	u.ReadBytes, u.WriteBytes = since(m.proc.ReadBytes, proc.ReadBytes), since(m.proc.WriteBytes, proc.WriteBytes)
	if proc.IODenied != nil {
		u.Notes = append(u.Notes, "the process's bytes are unknown: "+proc.IODenied.Error())
	}
	if m.device == "" {
		u.Notes = append(u.Notes, "the device's bytes are unknown: the data are on no block device of this machine")
	} else {
		u.Device = m.device
		a, ok1 := disk(m.machine, m.device)
		b, ok2 := disk(machine, m.device)
		if ok2 && !ok1 { // it had done nothing at all before
			a, ok1 = Disk{}, true
		}
		if ok1 && ok2 {
			u.DeviceReadBytes, u.DeviceWriteBytes = since(known.Of(a.ReadBytes), known.Of(b.ReadBytes)),
				since(known.Of(a.WriteBytes), known.Of(b.WriteBytes))
		} else {
			u.Notes = append(u.Notes, "the device's bytes are unknown: the kernel does not count "+m.device)
		}
	}
	if u.Machine, err = Share(m.machine, machine); err != nil {
		u.Notes = append(u.Notes, err.Error())
	}
	if now, err := perCPU(m.fs); err == nil {
		u.CPUs = map[int]Shares{}
		for c, b := range now {
			if a, ok := m.cpus[c]; ok {
				if s, err := share(a, b); err == nil {
					u.CPUs[c] = s
				}
			}
		}
	}
	return u, nil
}

// whole is the function Whole, reading f; in another root than this machine's processes have no children.
func whole(f FS, pid int) (ProcReading, error) {
	if f.Root != "" {
		return f.Process(pid)
	}
	return Whole(pid)
}

// allSwitches is threadSwitches of a process and of its children.
func allSwitches(f FS, pid int) (map[int]uint64, error) {
	all, err := threadSwitches(f, pid)
	if err != nil || f.Root != "" {
		return all, err
	}
	for _, child := range Started(pid) {
		its, err := threadSwitches(f, child)
		if err != nil { // it has ended
			continue
		}
		maps.Copy(all, its)
	}
	return all, nil
}

func since(a, b known.Value[uint64]) known.Value[uint64] {
	x, ok1 := a.Get()
	y, ok2 := b.Get()
	if !ok1 || !ok2 || y < x {
		return known.None[uint64]()
	}
	return known.Of(y - x)
}

func disk(r Reading, device string) (Disk, bool) {
	for _, d := range r.Disks {
		if d.Device == device {
			return d, true
		}
	}
	return Disk{}, false
}

// CPUsOf is CPUs, reading f.
func CPUsOf(f FS) (map[int]CPUTimes, error) { return perCPU(f) }

// perCPU reads the times of each CPU.
func perCPU(f FS) (map[int]CPUTimes, error) {
	b, err := readOf(f, f.path("proc/stat"))
	if err != nil {
		return nil, fmt.Errorf("read cpu times: %w", err)
	}
	out := map[int]CPUTimes{}
	lines(b, func(fs [][]byte) bool {
		num, ok := strings.CutPrefix(string(fs[0]), "cpu")
		if !ok {
			return false // the CPUs stand first
		}
		c, err := strconv.Atoi(num)
		if err != nil {
			return true
		}
		var v [8]float64
		for i := range min(len(v), len(fs)-1) {
			n, _ := number(fs[i+1])
			v[i] = float64(n) / hertz
		}
		out[c] = CPUTimes{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]}
		return true
	})
	return out, nil
}

// threadSwitches returns the context switches of each thread alive (proc_pid_status(5)).
func threadSwitches(f FS, pid int) (map[int]uint64, error) {
	out := map[int]uint64{}
	err := threadsOf(f, pid, math.MaxInt, "status", func(tid int, b []byte) error {
		sum, seen := uint64(0), 0
		lines(b, func(fs [][]byte) bool {
			if k := string(fs[0]); len(fs) == 2 && (k == "voluntary_ctxt_switches:" ||
				k == "nonvoluntary_ctxt_switches:") {
				if n, ok := number(fs[1]); ok {
					sum, seen = sum+n, seen+1
				}
			}
			return true
		})
		if seen != 2 {
			return errors.New("this kernel counts no context switches")
		}
		out[tid] = sum
		return nil
	})
	return out, err
}
