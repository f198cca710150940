// Package limit holds the limits of a server's resources on its machine, such as CPU and memory, as
// values.
package limit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits are those of one server's process. Zero means none.
type Limits struct {
	CPU       float64 `json:"cpu,omitzero"`        // CPUs: 0.97 is 97 % of one
	Memory    uint64  `json:"memory,omitzero"`     // bytes
	ReadIOPS  uint64  `json:"read_iops,omitzero"`  // requests/s to the device that holds the data
	WriteIOPS uint64  `json:"write_iops,omitzero"` // requests/s
	ReadBPS   uint64  `json:"read_bps,omitzero"`   // bytes/s
	WriteBPS  uint64  `json:"write_bps,omitzero"`  // bytes/s
}

// Any reports whether anything is limited.
func (l Limits) Any() bool { return l != Limits{} }

// IO reports whether the device is limited.
func (l Limits) IO() bool {
	return l.ReadIOPS != 0 || l.WriteIOPS != 0 || l.ReadBPS != 0 || l.WriteBPS != 0
}

// Names of the limits, in the order in which they are told.
const (
	CPU       = "cpu"
	Memory    = "memory"
	ReadIOPS  = "read_iops"
	WriteIOPS = "write_iops"
	ReadBPS   = "read_bps"
	WriteBPS  = "write_bps"
)

type named struct {
	name  string
	value uint64
}

// Wanted returns a State for each limit that is asked for, none of them in force yet.
func (l Limits) Wanted() []State {
	var s []State
	if l.CPU != 0 {
		s = append(s, State{Name: CPU, Wanted: strconv.FormatFloat(l.CPU, 'f', -1, 64)})
	}
	for _, n := range []named{
		{Memory, l.Memory},
		{ReadIOPS, l.ReadIOPS},
		{WriteIOPS, l.WriteIOPS},
		{ReadBPS, l.ReadBPS},
		{WriteBPS, l.WriteBPS},
	} {
		if n.value != 0 {
			s = append(s, State{Name: n.name, Wanted: strconv.FormatUint(n.value, 10)})
		}
	}
	return s
}

// The smallest limits under which a server gets anywhere, and the largest that a kernel takes.
const (
	minCPU    = 0.001   // 1 ms of run time in a period of 1 s, the kernel's own bounds
	maxCPU    = 1 << 13 // CPUs
	minMemory = 4 << 20
	minBPS    = 4096           // a page
	maxIOPS   = math.MaxUint32 // its field in the kernel
)

// Check returns an error that names every limit that cannot be.
func (l Limits) Check() error {
	var bad []string
	add := func(name, format string, a ...any) { bad = append(bad, name+" "+fmt.Sprintf(format, a...)) }
	if math.IsNaN(l.CPU) || l.CPU != 0 && (l.CPU < minCPU || l.CPU > maxCPU) {
		add(CPU, "%v: give CPUs, from %v to %d", l.CPU, minCPU, maxCPU)
	}
	if l.Memory != 0 && (l.Memory < minMemory || l.Memory > math.MaxInt64) {
		add(Memory, "%d: give bytes, at least %d", l.Memory, uint64(minMemory))
	}
	for _, n := range []named{{ReadIOPS, l.ReadIOPS}, {WriteIOPS, l.WriteIOPS}} {
		if n.value > maxIOPS {
			add(n.name, "%d: give requests a second, at most %d", n.value, uint64(maxIOPS))
		}
	}
	for _, n := range []named{{ReadBPS, l.ReadBPS}, {WriteBPS, l.WriteBPS}} {
		if n.value != 0 && (n.value < minBPS || n.value > math.MaxInt64) {
			add(n.name, "%d: give bytes a second, at least %d", n.value, minBPS)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return fmt.Errorf("limit %s", strings.Join(bad, "; limit "))
}

// State says what became of one limit that was asked for.
type State struct {
	Name    string `json:"name"`            // "cpu", "memory", "read_iops"…
	Wanted  string `json:"wanted"`          // "0.97", "500"
	InForce bool   `json:"in_force"`        // read back after it was set
	How     string `json:"how,omitzero"`    // "cgroup v1 cpu.cfs_quota_us"
	Reason  string `json:"reason,omitzero"` // why it is not in force, and what would help
}

// Of is the inverse of Wanted: the limits that states tell of, in force or not. It leaves out what it does not know.
func Of(states []State) (l Limits) {
	for _, s := range states {
		if s.Name == CPU {
			l.CPU, _ = strconv.ParseFloat(s.Wanted, 64)
			continue
		}
		n, err := strconv.ParseUint(s.Wanted, 10, 64)
		if err != nil {
			continue
		}
		switch s.Name {
		case Memory:
			l.Memory = n
		case ReadIOPS:
			l.ReadIOPS = n
		case WriteIOPS:
			l.WriteIOPS = n
		case ReadBPS:
			l.ReadBPS = n
		case WriteBPS:
			l.WriteBPS = n
		}
	}
	return l
}
