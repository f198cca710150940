package conn

import (
	"context"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// LocalPID returns the server's first process (the postmaster) when it runs on this machine and can be told for sure:
// the process that the server says serves a session (pg_backend_pid) must be one of its children, both must run a
// server's program, and the kernel must say that the session's other end belongs to one of the two. So a proxy is not
// taken for it, whatever a server behind it says. Outside of Linux it is never ok.
func (t *Target) LocalPID(ctx context.Context) (pid int, ok bool) {
	if t.spec.Jump != (tunnel.Jump{}) {
		return 0, false
	}
	c, err := t.Conn(ctx)
	if err != nil {
		return 0, false
	}
	defer t.End(c)
	nc := c.PgConn().Conn()
	if s, encrypted := nc.(interface{ NetConn() net.Conn }); encrypted {
		nc = s.NetConn()
	}
	w, is := nc.(*watched)
	if !is {
		return 0, false
	}
	backend := int(c.PgConn().PID())
	switch x := w.Conn.(type) {
	case *net.UnixConn: // the kernel names who has called listen
		listener, uid, err := host.Peer(x)
		if err != nil {
			return 0, false
		}
		for _, b := range backends(backend, uid) {
			if p := parentOf(b); p > 0 && (p == listener || listener == 1) { // or systemd has, and handed the socket on
				return p, isServer(p) && isServer(b)
			}
		}
	case *net.TCPConn: // whoever accepted the connection has its other end open
		far, found := host.PeerSocket(x)
		if !found {
			return 0, false
		}
		for _, b := range backends(backend, far.UID) {
			if p := parentOf(b); p > 0 && isServer(p) && isServer(b) && holds(b, far) {
				return p, true
			}
		}
	}
	return 0, false
}

// backends returns the processes of an account that a server may call by this number: that of its own name space,
// where it runs in a container.
func backends(number, uid int) (pids []int) {
	if its, ok := (host.FS{}).Account(number); ok && its == uid && isServer(number) {
		pids = append(pids, number)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil || len(pids) > 0 {
		return pids
	}
	want := strconv.Itoa(number)
	for _, e := range entries {
		p, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if f := statusField(p, "NSpid"); len(f) > 1 && f[len(f)-1] == want {
			if its, ok := (host.FS{}).Account(p); ok && its == uid {
				pids = append(pids, p)
			}
		}
	}
	return pids
}

// isServer reports whether a process runs PostgreSQL's program, or calls itself so where that may not be seen.
func isServer(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	name, err := os.Readlink(dir + "/exe")
	if err != nil {
		comm, _ := os.ReadFile(dir + "/comm")
		name = strings.TrimSpace(string(comm))
	}
	return Marks.IsServer([]string{strings.TrimSuffix(name, " (deleted)")})
}

// holds reports whether a process has the socket open. Where another user's process cannot be looked into, the socket's
// owner, which backends has compared, decides.
func holds(pid int, s host.Socket) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	fds, err := os.ReadDir(dir)
	for _, fd := range fds {
		if l, err := os.Readlink(dir + fd.Name()); err == nil && l == "socket:["+s.Inode+"]" {
			return true
		}
	}
	return err != nil
}

func parentOf(pid int) int {
	f := statusField(pid, "PPid")
	if len(f) != 1 {
		return 0
	}
	p, _ := strconv.Atoi(f[0])
	return p
}

func statusField(pid int, name string) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
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
