package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/known"
)

// Detail is what there is to know of the machine besides a Reading: figures that tell something over seconds, not
// within one.
type Detail struct {
	VM []Counted // of /proc/vmstat, counters since boot, under the kernel's names
	// of /proc/meminfo, bytes, under the kernel's names with () and : left out and HugePages_ as counts
	Memory    []Counted
	Networks  []Network // without those that never moved a byte, at most maxNetworks
	TCP       []Counted // of /proc/net/snmp and netstat: "Tcp_RetransSegs", "TcpExt_ListenOverflows", …
	FilesOpen known.Value[uint64]
	FilesMax  known.Value[uint64]
	THP       string // "always", "madvise" or "never"; empty where the kernel has no transparent huge pages
	Nodes     []Node // NUMA nodes; one on most machines
	Problems  []Problem
}

// Counted is a figure under the name that the kernel has for it.
type Counted struct {
	Name  string
	Value uint64
}

// Network is one interface, counted since it was made.
type Network struct {
	Device                                           string
	RxBytes, RxPackets, RxErrors, RxDropped, TxBytes uint64
	TxPackets, TxErrors, TxDropped                   uint64
}

// Node is the memory of one NUMA node (Documentation/admin-guide/numastat.rst).
type Node struct {
	ID          int
	Total, Free uint64 // bytes
	// pages that were given where they were wanted, elsewhere, and to those who wanted another's
	Hit, Miss, Foreign uint64
}

const maxNetworks = 64

// Names that Detail takes; what a kernel does not have is left out.
var (
	vmNames = strings.Fields(
		`pgpgin pgpgout pswpin pswpout pgfault pgmajfault oom_kill pgscan_direct pgscan_kswapd pgsteal_direct pgsteal_kswapd
		allocstall_normal allocstall_movable compact_stall compact_fail thp_fault_alloc thp_fault_fallback thp_collapse_alloc thp_split_page
		numa_hit numa_miss numa_foreign numa_hint_faults numa_pages_migrated workingset_refault_file workingset_refault_anon nr_dirtied nr_written`)
	memoryNames = strings.Fields(
		`SwapCached Active Inactive Mlocked AnonPages Mapped Shmem Slab SReclaimable SUnreclaim KernelStack PageTables CommitLimit
		AnonHugePages FileHugePages HugePages_Total HugePages_Free HugePages_Rsvd Hugepagesize`)
	tcpNames = []string{
		"Tcp_ActiveOpens", "Tcp_PassiveOpens", "Tcp_CurrEstab", "Tcp_InSegs", "Tcp_OutSegs", "Tcp_RetransSegs",
		"Tcp_InErrs", "Tcp_OutRsts",
		"TcpExt_ListenOverflows", "TcpExt_ListenDrops", "TcpExt_TCPTimeouts", "TcpExt_TCPSynRetrans",
		"TcpExt_SyncookiesSent",
	}
)

// ReadDetail looks at this machine.
func ReadDetail() Detail { return FS{}.ReadDetail() }

// ReadDetail looks at the machine. Parts that cannot be read are missing and named in Problems.
func (f FS) ReadDetail() (d Detail) {
	want(f, f.path("proc/vmstat"), f.path("proc/meminfo"), f.path("proc/net/dev"), f.path("proc/net/snmp"),
		f.path("proc/net/netstat"), f.path("proc/sys/fs/file-nr"))
	var buf []byte
	read := func(part string, use func([]byte), elem ...string) {
		b, err := slurpOf(f, &buf, f.path(elem...))
		if err != nil {
			d.Problems = append(d.Problems, Problem{part, err})
			return
		}
		use(b)
	}
	read("virtual memory", func(b []byte) { d.VM = pick(b, vmNames) }, "proc/vmstat")
	read("memory", func(b []byte) { d.Memory = pick(b, memoryNames) }, "proc/meminfo")
	read("networks", func(b []byte) { d.Networks = parseNetworks(b) }, "proc/net/dev")
	read("TCP", func(b []byte) { d.TCP = parseProtocols(b, d.TCP) }, "proc/net/snmp")
	read("TCP", func(b []byte) { d.TCP = parseProtocols(b, d.TCP) }, "proc/net/netstat")
	read("open files", func(b []byte) {
		if w := bytes.Fields(b); len(w) == 3 { // open, free (always 0), limit
			d.FilesOpen, d.FilesMax = value(w[0]), value(w[2])
		}
	}, "proc/sys/fs/file-nr")
	if b, err := slurpOf(f, &buf, f.path("sys/kernel/mm/transparent_hugepage/enabled")); err == nil {
		// "always [madvise] never"
		if _, rest, ok := bytes.Cut(b, []byte{'['}); ok {
			in, _, _ := bytes.Cut(rest, []byte{']'})
			d.THP = string(in)
		}
	}
	d.Nodes = nodesOf(f)
	return d
}

// pick returns the wanted lines of "name value" or "name: value kB".
func pick(b []byte, names []string) (out []Counted) {
	lines(b, func(w [][]byte) bool {
		if len(w) < 2 {
			return true
		}
		name := bytes.TrimSuffix(w[0], []byte{':'})
		i := slices.IndexFunc(names, func(n string) bool { return n == string(name) })
		if i < 0 {
			return true
		}
		if n, ok := number(w[1]); ok {
			if len(w) > 2 { // "kB"
				n *= 1024
			}
			out = append(out, Counted{names[i], n})
		}
		return true
	})
	return out
}

// parseNetworks reads /proc/net/dev: two lines of heads, then "eth0: " and 16 numbers.
func parseNetworks(b []byte) (out []Network) {
	for line := range bytes.Lines(b) {
		name, rest, ok := bytes.Cut(line, []byte{':'})
		w := bytes.Fields(rest)
		if !ok || len(w) < 16 || len(out) >= maxNetworks {
			continue
		}
		var n [16]uint64
		for i := range n {
			n[i], _ = number(w[i])
		}
		if n[0] == 0 && n[8] == 0 {
			continue
		}
		out = append(out, Network{
			Device: string(bytes.TrimSpace(name)), RxBytes: n[0], RxPackets: n[1], RxErrors: n[2], RxDropped: n[3],
			TxBytes: n[8], TxPackets: n[9], TxErrors: n[10], TxDropped: n[11],
		})
	}
	return out
}

// parseProtocols reads pairs of lines, "Tcp: Name Name" and "Tcp: 1 2".
func parseProtocols(b []byte, out []Counted) []Counted {
	var heads [][]byte
	for line := range bytes.Lines(b) {
		w := bytes.Fields(line)
		if len(w) == 0 {
			continue
		}
		if heads == nil || !bytes.Equal(heads[0], w[0]) || len(heads) != len(w) {
			heads = w
			continue
		}
		for i := 1; i < len(w); i++ {
			name := string(bytes.TrimSuffix(w[0], []byte{':'})) + "_" + string(heads[i])
			if n, ok := number(w[i]); ok && slices.Contains(tcpNames, name) {
				out = append(out, Counted{name, n})
			}
		}
		heads = nil
	}
	return out
}

func nodesOf(f FS) (out []Node) {
	for _, dir := range nodeDirs(f) {
		id, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "node"))
		if err != nil {
			continue
		}
		n := Node{ID: id}
		b, err := readOf(f, dir+"/meminfo") // "Node 0 MemTotal:       24684092 kB"
		if err != nil {
			continue
		}
		lines(b, func(w [][]byte) bool {
			if len(w) < 4 {
				return true
			}
			v, _ := number(w[3])
			switch string(w[2]) {
			case "MemTotal:":
				n.Total = v * 1024
			case "MemFree:":
				n.Free = v * 1024
			}
			return true
		})
		b, _ = readOf(f, dir+"/numastat")
		for _, c := range pick(b, []string{"numa_hit", "numa_miss", "numa_foreign"}) {
			switch c.Name {
			case "numa_hit":
				n.Hit = c.Value
			case "numa_miss":
				n.Miss = c.Value
			case "numa_foreign":
				n.Foreign = c.Value
			}
		}
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b Node) int { return a.ID - b.ID })
	return out
}

// CPUs returns the times of each CPU that is on line, by its number.
func CPUs() (map[int]CPUTimes, error) { return perCPU(FS{}) }

// ProcDetail is what there is to know of a process besides a ProcReading.
type ProcDetail struct {
	// open now, and how many it may open; Files is for the process's user and root only
	Files, FilesMax known.Value[uint64]
	PeakRSS, Swap   known.Value[uint64] // bytes
	Anonymous       known.Value[uint64] // bytes of resident memory that no file stands behind
	Denied          error               // why Files is unknown
}

// ProcessDetail looks at the process with the pid. The error wraps os.ErrNotExist when there is none.
func ProcessDetail(pid int) (ProcDetail, error) { return FS{}.ProcessDetail(pid) }

// ProcessDetail is the function of that name, reading f.
func (f FS) ProcessDetail(pid int) (d ProcDetail, err error) {
	dir := f.path("proc", strconv.Itoa(pid))
	var buf []byte
	b, err := slurpOf(f, &buf, dir+"/status")
	if err != nil {
		return d, fmt.Errorf("read process %d: %w", pid, gone(err))
	}
	for _, c := range pick(b, []string{"VmHWM", "VmSwap", "RssAnon"}) {
		switch c.Name {
		case "VmHWM":
			d.PeakRSS = known.Of(c.Value)
		case "VmSwap":
			d.Swap = known.Of(c.Value)
		case "RssAnon":
			d.Anonymous = known.Of(c.Value)
		}
	}
	if b, err = slurpOf(f, &buf, dir+"/limits"); err == nil {
		for line := range bytes.Lines(b) {
			if rest, ok := bytes.CutPrefix(line, []byte("Max open files")); ok {
				if w := bytes.Fields(rest); len(w) > 0 {
					d.FilesMax = value(w[0]) // "unlimited" stays unknown
				}
			}
		}
	}
	if !Here(f) {
		if n, err := f.Files.Count(dir + "/fd"); err != nil {
			d.Denied = gone(err)
		} else {
			d.Files = known.Of(uint64(n))
		}
		return d, nil
	}
	// Since 6.2 the kernel tells their number as the size of the folder; before that size is 0 and they are counted.
	st, err := os.Stat(dir + "/fd")
	switch {
	case err != nil:
		d.Denied = gone(err)
	case st.Size() > 0 && f.Root == "":
		d.Files = known.Of(uint64(st.Size()))
	default:
		h, err := os.Open(dir + "/fd")
		if err != nil {
			d.Denied = gone(err)
			break
		}
		names, err := h.Readdirnames(-1)
		h.Close()
		if err != nil {
			d.Denied = gone(err)
			break
		}
		d.Files = known.Of(uint64(len(names)))
	}
	if errors.Is(d.Denied, os.ErrNotExist) {
		return d, fmt.Errorf("read process %d: %w", pid, d.Denied)
	}
	return d, nil
}

// ProcMemory is the memory of a process as the kernel sums it up over its mappings, bytes (proc_pid_smaps_rollup(5)).
type ProcMemory struct {
	RSS, PSS, Anonymous, HugePages, Swap uint64
}

// ProcessMemory walks the page tables of the process, for which the kernel takes about 0.1 s for every 10 GB while the
// process may not change its mappings: it is for seldom use. It needs the process's user or root, and a kernel of 4.14
// or later.
func ProcessMemory(pid int) (ProcMemory, error) { return FS{}.ProcessMemory(pid) }

// ProcessMemory is the function of that name, reading f.
func (f FS) ProcessMemory(pid int) (m ProcMemory, err error) {
	var buf []byte
	b, err := slurpOf(f, &buf, f.path("proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return m, fmt.Errorf("read memory of process %d: %w", pid, gone(err))
	}
	for _, c := range pick(b, []string{"Rss", "Pss", "Anonymous", "AnonHugePages", "Swap"}) {
		switch c.Name {
		case "Rss":
			m.RSS = c.Value
		case "Pss":
			m.PSS = c.Value
		case "Anonymous":
			m.Anonymous = c.Value
		case "AnonHugePages":
			m.HugePages = c.Value
		case "Swap":
			m.Swap = c.Value
		}
	}
	return m, nil
}
