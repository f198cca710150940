package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dyno-perf/dyno/internal/known"
)

// hertz is the unit of the times in /proc/stat and /proc/PID/stat, clock ticks a second. The kernel shows user space
// 100 on every architecture that Go runs on, whatever its own timer does (proc(5), sysconf(_SC_CLK_TCK)).
const hertz = 100

// FS is where the kernel shows itself. The zero value reads /proc and /sys; tests read a folder.
type FS struct {
	Root  string
	Files Files // of another machine; nil for this one
}

func (f FS) path(elem ...string) string {
	return filepath.Join(append([]string{"/" + f.Root}, elem...)...)
}

// CPUTimes are seconds since boot, summed over all CPUs. Time of guests is counted in User and Nice, as the kernel
// does.
type CPUTimes struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal float64
}

// Busy returns the seconds in which CPUs did work of this machine: neither idle, nor waiting, nor stolen.
func (c CPUTimes) Busy() float64 { return c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ }

// Memory is /proc/meminfo in bytes (proc_meminfo(5)). What this kernel does not show is unknown.
type Memory struct {
	Total, Free, Available, Buffers, Cached    known.Value[uint64]
	Dirty, Writeback, SwapTotal, SwapFree      known.Value[uint64]
	AnonHugePages, HugePagesTotal, CommittedAS known.Value[uint64] // HugePagesTotal is a number of pages
}

// Disk counts what one whole block device did since boot (/proc/diskstats, Documentation/admin-guide/iostats.rst).
// Partitions are part of their disk and not listed; neither are devices that never did anything.
type Disk struct {
	Device                 string // "sda", "nvme0n1", "dm-0"
	Reads, Writes          uint64 // completed requests
	ReadBytes, WriteBytes  uint64
	ReadSec, WriteSec      float64 // summed over requests, so more than a second per second with a queue
	BusySec                float64 // at least one request was in flight
	WeightedSec            float64 // requests in flight × time
	InFlight               uint64
	Flushes                known.Value[uint64] // kernel 5.5 and later
	FlushSec               known.Value[float64]
	Discards, DiscardBytes known.Value[uint64] // kernel 4.18 and later
}

// Pressure is the time that tasks stalled for want of a resource, seconds since boot
// (Documentation/accounting/psi.rst).
type Pressure struct {
	Resource string  // "cpu", "memory", "io"
	Some     float64 // at least one task waited
	Full     known.Value[float64]
}

// Reading is one look at the machine.
type Reading struct {
	CPU             CPUTimes
	ContextSwitches known.Value[uint64] // since boot
	Runnable        known.Value[uint64] // tasks that run or could, now
	Blocked         known.Value[uint64] // tasks that wait for a disk, now
	Load            known.Value[[3]float64]
	Memory          Memory
	Disks           []Disk
	Pressure        []Pressure // empty where the kernel has none
	Problems        []Problem  // parts that could not be read
}

// Problem is one part of a reading that is unknown, and why.
type Problem struct {
	Part string
	Err  error
}

// Read looks at this machine.
func Read() (Reading, error) { return FS{}.Read() }

// Read looks at the machine. It fails only when not even the CPU times can be read, which are the first thing asked
// for; other parts that are missing or denied are unknown and named in Problems.
func (f FS) Read() (r Reading, err error) {
	want(f, f.path("proc/stat"), f.path("proc/meminfo"), f.path("proc/loadavg"), f.path("proc/diskstats"),
		f.path("proc/pressure/cpu"), f.path("proc/pressure/memory"), f.path("proc/pressure/io"))
	var buf []byte
	b, err := slurpOf(f, &buf, f.path("proc/stat"))
	if err != nil {
		return r, fmt.Errorf("read cpu times: %w", err)
	}
	if err := parseStat(b, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", f.path("proc/stat"), err)
	}
	part := func(name string, err error) {
		if err != nil {
			r.Problems = append(r.Problems, Problem{name, err})
		}
	}
	if b, err = slurpOf(f, &buf, f.path("proc/meminfo")); err == nil {
		r.Memory = parseMeminfo(b)
	}
	part("memory", err)
	if b, err = slurpOf(f, &buf, f.path("proc/loadavg")); err == nil {
		r.Load = parseLoad(b)
	}
	part("load", err)
	if b, err = slurpOf(f, &buf, f.path("proc/diskstats")); err == nil {
		r.Disks = parseDiskstats(f, b)
	}
	part("disks", err)
	for _, res := range []string{"cpu", "memory", "io"} {
		b, err := slurpOf(f, &buf, f.path("proc/pressure", res))
		if err != nil { // older kernels and kernels with psi=0: nothing is wrong
			if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, errNotSupported) {
				part("pressure", err)
			}
			continue
		}
		if p, ok := parsePressure(res, b); ok {
			r.Pressure = append(r.Pressure, p)
		}
	}
	return r, nil
}

// lines calls fn with the fields of each line until it returns false. The fields are valid during the call only.
func lines(b []byte, fn func(fields [][]byte) bool) {
	var buf [32][]byte
	for len(b) > 0 {
		var line []byte
		line, b, _ = bytes.Cut(b, []byte{'\n'})
		fields := buf[:0]
		for len(line) > 0 && len(fields) < len(buf) {
			i := 0
			for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
				i++
			}
			j := i
			for j < len(line) && line[j] != ' ' && line[j] != '\t' {
				j++
			}
			if j > i {
				fields = append(fields, line[i:j])
			}
			line = line[j:]
		}
		if len(fields) > 0 && !fn(fields) {
			return
		}
	}
}

func number(b []byte) (uint64, bool) {
	n, err := strconv.ParseUint(string(b), 10, 64)
	return n, err == nil
}

func parseStat(b []byte, r *Reading) error {
	found := false
	lines(b, func(f [][]byte) bool {
		if len(f) < 2 {
			return true
		}
		switch string(f[0]) {
		case "cpu":
			var v [8]float64
			for i := range min(len(v), len(f)-1) {
				n, ok := number(f[i+1])
				if !ok {
					return true
				}
				v[i] = float64(n) / hertz
			}
			found = len(f) > 4
			r.CPU = CPUTimes{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]}
		case "ctxt":
			r.ContextSwitches = value(f[1])
		case "procs_running":
			r.Runnable = value(f[1])
		case "procs_blocked":
			r.Blocked = value(f[1])
			return false
		}
		return true
	})
	if !found {
		return errors.New("no line with the times of all CPUs")
	}
	return nil
}

func value(b []byte) known.Value[uint64] {
	if n, ok := number(b); ok {
		return known.Of(n)
	}
	return known.None[uint64]()
}

func parseMeminfo(b []byte) (m Memory) {
	lines(b, func(f [][]byte) bool {
		if len(f) < 2 {
			return true
		}
		n, ok := number(f[1])
		if !ok {
			return true
		}
		if len(f) > 2 { // "kB"
			n *= 1024
		}
		switch string(f[0]) {
		case "MemTotal:":
			m.Total = known.Of(n)
		case "MemFree:":
			m.Free = known.Of(n)
		case "MemAvailable:":
			m.Available = known.Of(n)
		case "Buffers:":
			m.Buffers = known.Of(n)
		case "Cached:":
			m.Cached = known.Of(n)
		case "Dirty:":
			m.Dirty = known.Of(n)
		case "Writeback:":
			m.Writeback = known.Of(n)
		case "SwapTotal:":
			m.SwapTotal = known.Of(n)
		case "SwapFree:":
			m.SwapFree = known.Of(n)
		case "AnonHugePages:":
			m.AnonHugePages = known.Of(n)
		case "HugePages_Total:":
			m.HugePagesTotal = known.Of(n)
		case "Committed_AS:":
			m.CommittedAS = known.Of(n)
		}
		return true
	})
	return m
}

func parseLoad(b []byte) (v known.Value[[3]float64]) {
	lines(b, func(f [][]byte) bool {
		var l [3]float64
		if len(f) < 3 {
			return false
		}
		for i := range l {
			x, err := strconv.ParseFloat(string(f[i]), 64)
			if err != nil {
				return false
			}
			l[i] = x
		}
		v = known.Of(l)
		return false
	})
	return v
}

// parsePressure reads "some avg10=0.17 avg60=1.47 avg300=1.37 total=117332491", the total in microseconds.
func parsePressure(resource string, b []byte) (p Pressure, ok bool) {
	p.Resource = resource
	lines(b, func(f [][]byte) bool {
		tail, has := bytes.CutPrefix(f[len(f)-1], []byte("total="))
		n, isNum := number(tail)
		if !has || !isNum {
			return true
		}
		switch string(f[0]) {
		case "some":
			p.Some, ok = float64(n)/1e6, true
		case "full":
			p.Full = known.Of(float64(n) / 1e6)
		}
		return true
	})
	return p, ok
}
