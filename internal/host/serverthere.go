package host

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Claim is what a server says of itself, by which it is known on the machine that it runs on.
type Claim struct {
	// Thread is the thread or process that answered, by the server's own count: in a container another number. 0 where
	// the server does not report it.
	Thread   int
	Uptime   time.Duration // since its start; 0 for unknown
	Hostname string        // "" where it does not report it
	// Address is where the machine reaches it: host:port or the path of a socket.
	Address string
	// Parent says that the server is the parent of Thread, which is a process.
	Parent bool
}

// ErrElsewhere says that a machine is not the server's.
var ErrElsewhere = errors.New("the ssh host is not the server's machine")

// ErrHidden says that the machine does not show whether the server runs there.
var ErrHidden = errors.New("the account does not see the server's process there")

// uptimeSlack is how far the age of a server's process and the uptime that it reports may be apart: both are of other
// moments, and one is by a clock that may have been set.
const uptimeSlack = 15 * time.Second

// ServerThere finds the process of a server on f's machine. It must bear a server's name and be as old as the server
// says that it is; and it must have the thread that the server names, or, where the server names none, be the only one
// like that while something listens at the server's address there. ErrElsewhere: it is not there. ErrHidden: the
// machine does not show it. ErrSlow: it has not answered all that was asked.
func ServerThere(f FS, m Marks, c Claim) (pid int, err error) {
	pid, err = serverThere(f, m, c)
	if x, ok := f.Files.(*remoteFiles); ok && x.lost != nil { // what was not read speaks neither for nor against it
		return 0, fmt.Errorf("look for the server's process: %w", x.lost)
	}
	return pid, err
}

func serverThere(f FS, m Marks, c Claim) (pid int, err error) {
	want(f, f.path("proc/uptime"))
	if c.Thread > 0 {
		wantOf(f, []int{c.Thread}, "stat", "status")
	}
	age, err := uptimeOf(f)
	if err != nil {
		return 0, err
	}
	why := ""
	if c.Thread > 0 {
		pid := c.Thread
		if w := statusField(f, pid, "Tgid"); len(w) == 1 {
			pid, _ = strconv.Atoi(w[0])
		}
		if c.Parent {
			if w := statusField(f, pid, "PPid"); len(w) == 1 {
				pid, _ = strconv.Atoi(w[0])
			}
		}
		wantOf(f, []int{pid}, "stat", "status", "io") // which are read of it next
		st, err := statOf(f, pid)
		if err == nil && runsServer(f, m, pid, st.Name) && sameAge(age, st.Start, c.Uptime) {
			return pid, nil
		}
	}
	pids, err := serversThere(f, m)
	if err != nil {
		return 0, err
	}
	var fit []int
	wantOf(f, pids, "stat", "status")
	for _, pid := range pids {
		if st, err := statOf(f, pid); err == nil && strings.HasPrefix(st.Name, "ld-") {
			wantOf(f, []int{pid}, "cmdline")
		}
	}
	pids = slices.DeleteFunc(pids, func(pid int) bool {
		st, err := statOf(f, pid)
		return err != nil || !runsServer(f, m, pid, st.Name)
	})
	for _, pid := range pids {
		st, err := statOf(f, pid)
		if err != nil || !sameAge(age, st.Start, c.Uptime) {
			continue
		}
		switch {
		case c.Thread == 0:
		case c.Parent && slices.Contains(pids, st.PPID): // a child
			continue
		case !c.Parent && len(statusField(f, pid, "NSpid")) < 2: // its threads have the numbers that it says
			continue
		}
		fit = append(fit, pid)
	}
	switch {
	case len(pids) == 0 && hidesProcesses(f):
		if c.Hostname != "" && hostnameOf(f) == c.Hostname && listensThere(f, c.Address) {
			return 0, ErrHidden
		}
		return 0, fmt.Errorf("%w: /proc is mounted with hidepid, and nothing else shows that the server runs there",
			ErrElsewhere)
	case len(pids) == 0:
		why = "no process of a server runs there"
	case len(fit) == 0:
		why = "no process there is the one that the server reports"
	case len(fit) > 1:
		why = "several processes there may be the server"
	case !listensThere(f, c.Address):
		why = "nothing listens at " + c.Address + " there"
	default:
		return fit[0], nil
	}
	return 0, fmt.Errorf("%w: %s", ErrElsewhere, why)
}

// wantOf says that files of processes will be read next.
func wantOf(f FS, pids []int, names ...string) {
	for _, pid := range pids {
		for _, n := range names {
			want(f, f.path("proc", strconv.Itoa(pid), n))
		}
	}
}

// runsServer reports whether a process of that name is a server's. The dynamic linker may run it.
func runsServer(f FS, m Marks, pid int, name string) bool {
	if !strings.HasPrefix(name, "ld-") {
		return m.IsServer([]string{name})
	}
	b, err := readOf(f, f.path("proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && m.IsServer(strings.Split(string(b), "\x00"))
}

// sameAge reports whether a process that was started at so many clock ticks is as old as its server says.
func sameAge(machine float64, start uint64, uptime time.Duration) bool {
	return uptime > 0 && math.Abs(machine-float64(start)/hertz-uptime.Seconds()) <= uptimeSlack.Seconds()
}

// uptimeOf returns the seconds since the machine was started, as the kernel counts for the start of processes.
func uptimeOf(f FS) (float64, error) {
	b, err := readOf(f, f.path("proc/uptime"))
	if err != nil {
		return 0, fmt.Errorf("read the machine's uptime: %w", err)
	}
	w, _, _ := strings.Cut(string(b), " ")
	s, err := strconv.ParseFloat(w, 64)
	if err != nil {
		return 0, fmt.Errorf("read the machine's uptime: %w", err)
	}
	return s, nil
}

func hostnameOf(f FS) string { s, _ := wordOf(f, f.path("proc/sys/kernel/hostname")); return s }

// serversThere returns the processes that bear the name of a server.
func serversThere(f FS, m Marks) (pids []int, err error) {
	if x, ok := f.Files.(*remoteFiles); ok {
		names := []string{"ld-*"}
		for _, p := range m.Programs {
			names = append(names, quote(p[:min(len(p), 15)])) // the kernel keeps no more
		}
		b, err := x.get(serverIDs, strings.Join(names, "|"))
		if err != nil {
			return nil, err
		}
		for _, w := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(w); err == nil {
				pids = append(pids, pid)
			}
		}
		return pids, nil
	}
	names, err := namesOf(f, f.path("proc"))
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			if name, _ := wordOf(f, f.path("proc", n, "comm")); m.IsServer([]string{name}) {
				pids = append(pids, pid)
			}
		}
	}
	return pids, err
}

// hidesProcesses reports whether /proc shows an account its own processes only (proc(5), hidepid).
func hidesProcesses(f FS) bool {
	_, err := readOf(f, f.path("proc/1/stat"))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return true
	}
	ms, err := mountsOf(f)
	if err != nil {
		return false
	}
	m := mountOf(ms, "/proc")
	if m == nil {
		return false
	}
	hide := m.SuperOptions["hidepid"]
	return hide != "" && hide != "0" && hide != "off"
}

// listensThere reports whether something on the machine listens at an address: host:port or the path of a socket.
func listensThere(f FS, address string) bool {
	if path.IsAbs(address) {
		return slices.ContainsFunc(unixThere(f), func(l unixListener) bool { return l.path == address })
	}
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(tcpPorts(f), func(a netip.AddrPort) bool { return a.Port() == uint16(port) })
}

// tcpPorts returns where TCP listens, see tcpListeners.
func tcpPorts(f FS) (all []netip.AddrPort) {
	for _, name := range []string{"proc/net/tcp", "proc/net/tcp6"} {
		b, err := listeningOf(f, listenTCP, f.path(name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if w := strings.Fields(line); len(w) >= 10 && w[3] == "0A" {
				if at, ok := kernelAddress(w[1]); ok {
					all = append(all, at)
				}
			}
		}
	}
	return all
}

// listeningOf reads a table of sockets, of another machine only those that listen.
func listeningOf(f FS, kind, path string) ([]byte, error) {
	if x, ok := f.Files.(*remoteFiles); ok {
		return x.get(kind, path)
	}
	return readOf(f, path)
}

func unixThere(f FS) (all []unixListener) {
	b, err := listeningOf(f, listenUnix, f.path("proc/net/unix"))
	if err != nil {
		return nil
	}
	return parseUnix(string(b))
}
