package target

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// LocalPID returns the process of the server when it runs on this machine and can be told for sure: the kernel says who
// holds the other end of a connection, that process must bear a server's name, and the server's own thread id must
// belong to it, so that a proxy is not taken for it, whatever a server behind it says.
func (t *Target) LocalPID(ctx context.Context) (pid int, ok bool) {
	if t.spec.Jump != (tunnel.Jump{}) {
		return 0, false
	}
	c, err := connectorOf(t, t.spec, SessionOptions{Purpose: ForReading})
	if err != nil {
		return 0, false
	}
	s, err := c.session(ctx)
	if err != nil {
		return 0, false
	}
	defer s.Close()
	g, isGreeted := s.net.(*greeted)
	if !isGreeted {
		return 0, false
	}
	tid := s.threadOSID(ctx, t.facts.Flavor)
	switch conn := g.Conn.(type) {
	case *net.UnixConn:
		pid, _, _ = host.Peer(conn) // 0 with an error
		if pid == 1 {               // systemd made the socket and handed it on
			pid = tgid(tid)
		}
		return pid, pid > 0 && runs(pid, tid, t.facts.PidFile, t.spec.ServerUID)
	case *net.TCPConn:
		far, found := host.PeerSocket(conn)
		if !found {
			return 0, false
		}
		inode, uid := far.Inode, strconv.Itoa(far.UID)
		// Most often the thread tells, which saves looking through all processes.
		if p := tgid(tid); p > 0 && runs(p, tid, t.facts.PidFile, t.spec.ServerUID) && holds(p, inode, uid) {
			return p, true
		}
		for _, p := range processesOf(far.UID) { // what others have open is not looked through
			if !bearsServersName(p, t.spec.ServerUID) {
				continue
			}
			if holdsSurely(p, inode) && runs(p, tid, t.facts.PidFile, t.spec.ServerUID) {
				return p, true
			}
			// Where another user's process cannot be looked into, the file that names it must say so.
			if tid == 0 && holds(p, inode, uid) {
				if yes, _ := inPidFile(p, t.facts.PidFile); yes {
					return p, true
				}
			}
		}
	}
	return 0, false
}

// holdsSurely reports whether a process has the socket open.
func holdsSurely(pid int, inode string) bool {
	yes, _ := openSocket(pid, inode)
	return yes
}

// holds is the same, and where another user's process cannot be looked into, the socket's owner decides.
func holds(pid int, inode, uid string) bool {
	yes, err := openSocket(pid, inode)
	if err == nil {
		return yes
	}
	its, ok := (host.FS{}).Account(pid)
	return ok && strconv.Itoa(its) == uid
}

func openSocket(pid int, inode string) (bool, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	for _, fd := range fds {
		if l, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil && l == "socket:["+inode+"]" {
			return true, nil
		}
	}
	return false, nil
}

// runs reports whether the process is the server: it bears a server's name, and it owns the thread, or, when that is
// not known, is not another than the one that the server's pid file names. The name alone keeps forwarders out: the
// rest is a server's word, and the server at a forwarder's other end may be any.
func runs(pid, tid int, file string, own int) bool {
	if !bearsServersName(pid, own) {
		return false
	}
	if tid > 0 {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", pid, tid)); err == nil {
			return true
		}
		// in a container the server counts its threads by other numbers
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return false
		}
		for _, task := range tasks {
			if f := statusField(fmt.Sprintf("/proc/%d/task/%s/status", pid, task.Name()), "NSpid"); len(f) > 1 &&
				f[len(f)-1] == strconv.Itoa(tid) {
				return true
			}
		}
		return false
	}
	yes, known := inPidFile(pid, file)
	return yes || !known
}

// programOf returns the program that a process runs. Tests put another in its place.
var programOf = func(pid int) (string, error) { return os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)) }

// bearsServersName reports whether the process runs a server's program, or, where that may not be seen or a dynamic
// linker runs it, calls itself one or, if it is of a trusted account or that of the server that Dyno started, own, was
// started as one.
func bearsServersName(pid, own int) bool {
	if exe, err := programOf(pid); err == nil {
		if name := filepath.Base(strings.TrimSuffix(exe, " (deleted)")); !strings.HasPrefix(name, "ld-") {
			return Marks.IsServer([]string{name})
		}
	}
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if Marks.IsServer([]string{strings.TrimSpace(string(comm))}) {
		return true
	}
	if uid, ok := (host.FS{}).Account(pid); !ok || uid != own && !endpoint.TrustedAccount(uid) {
		return false // a stranger can keep its command line from being read for ever
	}
	args, err := host.Command(pid)
	return err == nil && Marks.IsServer(args)
}

// tgid returns the process that a thread belongs to, 0 for none.
func tgid(tid int) int {
	if tid <= 0 {
		return 0
	}
	f := statusField(fmt.Sprintf("/proc/%d/status", tid), "Tgid")
	if len(f) != 1 {
		return 0
	}
	p, _ := strconv.Atoi(f[0])
	return p
}

func statusField(file, name string) []string {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.Fields(v)
		}
	}
	return nil
}

// processesOf returns the processes of an account, without those that run with another's rights.
func processesOf(uid int) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		p, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if its, ok := (host.FS{}).Account(p); ok && its == uid {
			pids = append(pids, p)
		}
	}
	return pids
}
