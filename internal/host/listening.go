package host

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/platform"
)

// Listener is a place of this machine where a server may listen.
type Listener struct {
	Network, Address string // "unix" and a path, or "tcp" and host:port
	PID              int    // of the server, 0 where the kernel does not tell us
	UID              int    // whose it is, -1 where that is not known
}

// ServerProcess is a process that bears a server's name.
type ServerProcess struct {
	pid          int
	socket, port string // of its command line
	inodes       []string
	UID          int  // whose it is
	Hidden       bool // whether a socket is its own the kernel does not tell
}

// Listening finds what servers that bear these marks listen on, by what the kernel shows below root ("" is the machine
// itself): sockets and ports of processes with a server's name, sockets whose name tells what they are, and the usual
// port. Who is not root sees the names of others' processes and all sockets, but not which belong to whom. The sockets
// (paths) and ports (host:port) of also count too, whatever listens. When ctx ends the processes that were not looked
// at are left out, and nothing else.
func Listening(ctx context.Context, root string, m Marks, trusted func(uid int) bool, also ...string) []Listener {
	trusted = AskOnce(trusted)
	// What processes say of themselves counts for what is their own account's.
	type claim struct {
		where string // path or port
		uid   int
	}
	claimed := map[claim]int{}
	owner := map[string]ServerProcess{}
	ports := map[string]bool{m.Port: m.Port != ""}
	sockets, named := map[string]bool{}, map[string]bool{}
	for _, address := range also {
		if _, port, err := net.SplitHostPort(address); err == nil && !filepath.IsAbs(address) {
			ports[port] = true
		} else {
			named[address] = true
		}
	}
	unix := unixListeners(root)
	tcp, others := tcpListeners(root)
	listens := map[string]bool{} // the inodes
	for _, l := range tcp {
		listens[l.inode] = true
	}
	for i, l := range unix {
		if others[l.inode] { // nor is it of both kinds
			unix[i].inode = ""
		} else {
			listens[l.inode] = l.inode != ""
		}
	}
	for _, p := range ServerProcesses(ctx, root, m, listens, trusted) {
		for _, i := range p.inodes {
			if _, held := owner[i]; !held {
				owner[i] = p
			}
		}
		sockets[p.socket] = true
		claimed[claim{p.socket, p.UID}], claimed[claim{p.port, p.UID}] = p.pid, p.pid
	}
	var all []Listener
	own := map[string]bool{} // what this process itself listens on
	mine, _, _ := openSockets(context.WithoutCancel(ctx), filepath.Join(root, "/proc/self"), filesOfServer, listens)
	for _, i := range mine {
		own[i] = true
	}
	socketsOf := map[int]int{} // those that were not asked for
	type file struct{ dev, ino uint64 }
	at := map[file]int{} // the place in all of each
	for _, s := range unix {
		p, held := owner[s.inode]
		tells, never := m.IsSocket(s.path)
		if never || !held && !sockets[s.path] && !named[s.path] && !tells {
			continue
		}
		st, err := os.Stat(s.path)
		if err != nil || st.Mode()&os.ModeSocket == 0 {
			continue // of another root directory, as in a container
		}
		is, _ := platform.FileOf(st)
		uid := is.UID
		n, twice := at[file{is.Device, is.Inode}]
		pid := claimed[claim{s.path, uid}]
		if held && (p.UID == uid || trusted(p.UID)) {
			pid = p.pid // what the kernel tells goes before what a process says of itself
		}
		if pid == 0 && !named[s.path] && !tells {
			continue
		}
		if twice && !named[s.path] { // others can have it listed under any names that lead to it
			if all[n].PID == 0 {
				all[n].PID = pid
			}
			if Redirectable(all[n].Address, trusted) {
				all[n].Address = s.path
			}
			continue
		}
		if !named[s.path] && !trusted(uid) {
			if socketsOf[uid]++; socketsOf[uid] > mostSockets {
				continue
			}
		}
		at[file{is.Device, is.Inode}] = len(all)
		all = append(all, Listener{"unix", s.path, pid, uid})
	}
	// Whoever listens on all addresses of IPv6 may be another than who has 127.0.0.1.
	seen := map[Listener]bool{}
	for _, l := range tcp {
		_, port, _ := strings.Cut(l.address.String(), "]:")
		if port == "" {
			port = strconv.Itoa(int(l.address.Port()))
		}
		pid := owner[l.inode].pid
		if pid == 0 && !ports[port] && claimed[claim{port, l.uid}] == 0 || own[l.inode] ||
			m.OtherPort != "" && port == m.OtherPort {
			continue
		}
		at := l.address
		if at.Addr().IsUnspecified() {
			at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
		}
		if x := (Listener{Network: "tcp", Address: at.String(), UID: l.uid}); !seen[x] {
			seen[x] = true
			x.PID = pid
			all = append(all, x)
		}
	}
	return all
}

// OwnerOf returns the account that a file belongs to, -1 where the system does not tell.
func OwnerOf(st os.FileInfo) int {
	f, _ := platform.FileOf(st)
	return f.UID
}

// AskOnce asks once about each account: the answer may be far away.
func AskOnce(trusted func(uid int) bool) func(uid int) bool {
	known := map[int]bool{}
	return func(uid int) bool {
		is, ok := known[uid]
		if !ok {
			is = trusted(uid)
			known[uid] = is
		}
		return is
	}
}

// Bounds of what is looked through. A server opens the sockets that it listens on early.
var (
	filesOfServer    = 1 << 17 // open files of a server of a trusted account
	filesOfStrangers = 1 << 16 // open files of all other processes with the name of a server
)

// mostSockets bounds the sockets of another account.
const mostSockets = 256

// ServerProcesses finds the processes with the name of a server, those of trusted accounts first,
// and which of the sockets that listen they have open.
func ServerProcesses(
	ctx context.Context, root string, m Marks, listens map[string]bool, trusted func(uid int) bool,
) (all []ServerProcess) {
	if len(m.Programs) == 0 {
		return nil
	}
	trusted = AskOnce(trusted)
	entries, err := os.ReadDir(filepath.Join(root, "/proc"))
	if err != nil {
		return nil
	}
	look := func(p *ServerProcess, most int) (read int) {
		p.inodes, read, p.Hidden = openSockets(ctx, filepath.Join(root, "/proc", strconv.Itoa(p.pid)), most, listens)
		return read
	}
	var strangers []ServerProcess
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if ctx.Err() != nil {
			return all
		}
		p, is := serverOf(root, pid, m, trusted)
		switch {
		case !is:
		case trusted(p.UID):
			look(&p, filesOfServer)
			all = append(all, p)
		default:
			strangers = append(strangers, p)
		}
	}
	left := filesOfStrangers
	for _, p := range strangers {
		if ctx.Err() != nil {
			break
		}
		left -= look(&p, left)
		all = append(all, p)
	}
	return all
}

// serverOf looks whether a process is a server: whether that is the program that it runs, or, where
// that may not be seen or the dynamic linker runs it, whether it says so. Of a stranger's process
// nothing is read that it can hold up, and none is trusted that a stranger may have started.
func serverOf(root string, pid int, m Marks, trusted func(uid int) bool) (p ServerProcess, is bool) {
	fs := FS{Root: root}
	uid, ok := fs.Account(pid)
	if !ok {
		return p, false
	}
	p = ServerProcess{pid: pid, UID: uid}
	dir := filepath.Join(root, "/proc", strconv.Itoa(pid))
	exe, unseen := os.Readlink(filepath.Join(dir, "exe"))
	program := filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
	says := unseen != nil || strings.HasPrefix(program, "ld-")
	switch {
	case !says && !m.IsServer([]string{program}):
		return p, false
	case !trusted(uid):
		comm, err := os.ReadFile(filepath.Join(dir, "comm"))
		return p, !says || err == nil && m.IsServer([]string{strings.TrimSpace(string(comm))})
	case unseen != nil && uid == 0 && os.Geteuid() != 0: // programs like sudo run as root in full
		return p, false
	}
	if still, ok := fs.Account(pid); !ok || still != uid {
		// a child of root's became a user's before it ran the program
		return p, false
	}
	args, err := fs.Command(pid)
	if says && (err != nil || !m.IsServer(args)) || m.isChild(args) {
		return p, false
	}
	if m.Place != nil {
		socket, port := m.Place(args)
		if filepath.IsAbs(socket) {
			p.socket = strings.Clone(socket) // not the whole command line
		}
		p.port = strings.Clone(port)
	}
	return p, true
}

// openSockets returns the inodes of the sockets that a process has open and that are in listens,
// among its first files, of which it reads most; hidden when that may not be seen.
func openSockets(
	ctx context.Context, dir string, most int, listens map[string]bool,
) (inodes []string, read int, hidden bool) {
	fds, err := os.Open(filepath.Join(dir, "fd"))
	if err != nil {
		return nil, 0, true
	}
	defer fds.Close()
	for read < most && ctx.Err() == nil {
		names, err := fds.Readdirnames(min(most-read, 1024))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, read, true
		}
		for _, fd := range names {
			if l, err := os.Readlink(filepath.Join(dir, "fd", fd)); err == nil {
				i, ok := strings.CutPrefix(l, "socket:[")
				if i = strings.TrimSuffix(i, "]"); ok && listens[i] {
					inodes = append(inodes, i)
				}
			}
		}
		if read += len(names); err != nil {
			break
		}
	}
	return inodes, read, false
}

type unixListener struct{ path, inode string }

// unixListeners reads /proc/net/unix: Num RefCount Protocol Flags Type St Inode Path (proc(5)); the flag 0x10000 is a
// socket that listens. The kernel writes a path's line breaks as they are: of a socket that has two paths, one was
// given it by another's path, and neither bears its inode.
func unixListeners(root string) (all []unixListener) {
	text, err := os.ReadFile(filepath.Join(root, "/proc/net/unix"))
	if err != nil {
		return nil
	}
	return parseUnix(string(text))
}

func parseUnix(text string) (all []unixListener) {
	times := map[string]int{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 6 {
			times[f[6]]++
		}
		if len(f) != 8 || f[4] != "0001" || !filepath.IsAbs(f[7]) { // a path with spaces is no server's
			continue
		}
		if flags, err := strconv.ParseUint(f[3], 16, 32); err == nil && flags&0x10000 != 0 {
			all = append(all, unixListener{f[7], f[6]})
		}
	}
	for i, l := range all {
		if times[l.inode] > 1 {
			all[i].inode = ""
		}
	}
	return all
}

type tcpListener struct {
	address netip.AddrPort
	inode   string
	uid     int
}

// tcpListeners reads /proc/net/tcp and tcp6, in which the state 0A is LISTEN. inodes are those of all of TCP's sockets.
func tcpListeners(root string) (all []tcpListener, inodes map[string]bool) {
	inodes = map[string]bool{}
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // sl local remote st queues timer retransmits uid timeout inode …
			if len(f) < 10 {
				continue
			}
			inodes[f[9]] = true
			if f[3] != "0A" {
				continue
			}
			at, ok := kernelAddress(f[1])
			uid, err := strconv.Atoi(f[7])
			if !ok || err != nil {
				continue
			}
			all = append(all, tcpListener{at, f[9], uid})
		}
	}
	return all, inodes
}

// mostLinks bounds the links that a path is followed through, as the kernel does.
const mostLinks = 40

// Redirectable reports whether somebody who is not trusted can have a path lead elsewhere: a part of it is theirs, or
// in a directory in which they may rename.
func Redirectable(path string, trusted func(uid int) bool) bool {
	return redirectableWithin(path, trusted, mostLinks)
}

func redirectableWithin(path string, trusted func(uid int) bool, links int) bool {
	if !filepath.IsAbs(path) {
		return true
	}
	dir, rest := "/", strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	for i, name := range rest {
		st, err := os.Lstat(filepath.Join(dir, name))
		switch {
		case os.IsNotExist(err) && i == len(rest)-1:
			return false // nobody is there
		case err != nil || !trusted(OwnerOf(st)) || links == 0:
			return true
		case st.Mode()&os.ModeSymlink != 0:
			to, err := os.Readlink(filepath.Join(dir, name))
			if !filepath.IsAbs(to) {
				to = filepath.Join(dir, to)
			}
			return err != nil || redirectableWithin(filepath.Join(append([]string{to}, rest[i+1:]...)...), trusted,
				links-1)
		case st.IsDir() && st.Mode().Perm()&0o022 != 0 && st.Mode()&os.ModeSticky == 0:
			return true
		}
		dir = filepath.Join(dir, name)
	}
	return false
}
