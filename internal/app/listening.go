package app

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"dyno/internal/host"
	"dyno/internal/target"
)

// listener is a place of this machine where a server may listen.
type listener struct {
	network, address string // "unix" and a path, or "tcp" and host:port
	pid              int    // of the server, 0 where the kernel does not tell us
	uid              int    // whose it is, -1 where that is not known
}

// serverProcess is a process that bears a server's name.
type serverProcess struct {
	pid          int
	socket, port string // of its command line
	inodes       []string
	uid          int
	hidden       bool // whether a socket is its own the kernel does not tell
}

// listening finds what servers of the MySQL family listen on, by what the kernel shows below root ("" is the machine itself): sockets and
// ports of processes with a server's name, sockets whose name tells what they are, and port 3306. Who is not root sees the names of others'
// processes and all sockets, but not which belong to whom. The sockets (paths) and ports (host:port) of also count too, whatever listens.
func listening(root string, also ...string) []listener {
	// What processes say of themselves counts for what is their own account's.
	type claim struct {
		where string // path or port
		uid   int
	}
	claimed := map[claim]int{}
	owner := map[string]serverProcess{}
	ports := map[string]bool{"3306": true}
	sockets, named := map[string]bool{}, map[string]bool{}
	for _, address := range also {
		if _, port, err := net.SplitHostPort(address); err == nil && !filepath.IsAbs(address) {
			ports[port] = true
		} else {
			named[address] = true
		}
	}
	for _, p := range serverProcesses(root) {
		for _, i := range p.inodes {
			owner[i] = p
		}
		sockets[p.socket] = true
		claimed[claim{p.socket, p.uid}], claimed[claim{p.port, p.uid}] = p.pid, p.pid
	}
	var all []listener
	own := map[string]bool{} // what this process itself listens on
	mine, _, _ := openSockets(filepath.Join(root, "/proc/self"), filesOfOne)
	for _, i := range mine {
		own[i] = true
	}
	socketsOf := map[int]int{} // those that were not asked for
	for _, s := range unixListeners(root) {
		p, held := owner[s.inode]
		name := strings.ToLower(filepath.Base(s.path))
		tells := (strings.Contains(name, "mysql") || strings.Contains(name, "maria")) && (strings.HasSuffix(name, ".sock") || strings.HasSuffix(name, ".socket"))
		if strings.Contains(name, "mysqlx") || !held && !sockets[s.path] && !named[s.path] && !tells {
			continue
		}
		st, err := os.Stat(s.path)
		if err != nil {
			continue // of another root directory, as in a container
		}
		uid := uidOf(st)
		pid := claimed[claim{s.path, uid}]
		if held && (p.uid == uid || target.TrustedAccount(p.uid)) {
			pid = p.pid // what the kernel tells goes before what a process says of itself
		}
		if pid == 0 && !named[s.path] && !tells {
			continue
		}
		if !named[s.path] && !target.TrustedAccount(uid) {
			if socketsOf[uid]++; socketsOf[uid] > mostSockets {
				continue
			}
		}
		all = append(all, listener{"unix", s.path, pid, uid})
	}
	// Whoever listens on all addresses of IPv6 may be another than who has 127.0.0.1.
	seen := map[listener]bool{}
	for _, l := range tcpListeners(root) {
		_, port, _ := strings.Cut(l.address.String(), "]:")
		if port == "" {
			port = strconv.Itoa(int(l.address.Port()))
		}
		pid := owner[l.inode].pid
		if pid == 0 && !ports[port] && claimed[claim{port, l.uid}] == 0 || port == "33060" || own[l.inode] {
			continue
		}
		at := l.address
		if at.Addr().IsUnspecified() {
			at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
		}
		if x := (listener{network: "tcp", address: at.String(), uid: l.uid}); !seen[x] {
			seen[x] = true
			x.pid = pid
			all = append(all, x)
		}
	}
	return all
}

func uidOf(st os.FileInfo) int {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid)
	}
	return -1
}

// Bounds of what another account can have looked through by giving its processes the name of a
// server, and its sockets.
const (
	filesOfOne  = 1 << 18 // open files of all processes of an account
	mostSockets = 256     // sockets of an account
)

func serverProcesses(root string) (all []serverProcess) {
	entries, err := os.ReadDir(filepath.Join(root, "/proc"))
	if err != nil {
		return nil
	}
	read := map[int]int{} // open files, by account
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join(root, "/proc", e.Name())
		args, err := host.FS{Root: root}.Command(pid)
		if err != nil || !host.IsServer(args) {
			continue
		}
		p := serverProcess{pid: pid, uid: -1}
		if st, err := os.Stat(dir); err == nil {
			p.uid = uidOf(st)
		}
		for _, a := range args {
			if v, ok := strings.CutPrefix(a, "--socket="); ok && filepath.IsAbs(v) {
				p.socket = strings.Clone(v) // not the whole command line
			}
			if v, ok := strings.CutPrefix(a, "--port="); ok {
				p.port = strings.Clone(v)
			}
		}
		most := math.MaxInt
		if !target.TrustedAccount(p.uid) {
			most = filesOfOne - read[p.uid]
		}
		var n int
		p.inodes, n, p.hidden = openSockets(dir, most)
		read[p.uid] += n
		all = append(all, p)
	}
	return all
}

// openSockets returns the inodes of the sockets that a process has open, among its first files, of
// which it reads most; hidden when that may not be seen.
func openSockets(dir string, most int) (inodes []string, read int, hidden bool) {
	fds, err := os.Open(filepath.Join(dir, "fd"))
	if err != nil {
		return nil, 0, true
	}
	defer fds.Close()
	for read < most {
		names, err := fds.Readdirnames(min(most-read, 1024))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, read, true
		}
		for _, fd := range names {
			if l, err := os.Readlink(filepath.Join(dir, "fd", fd)); err == nil {
				if i, ok := strings.CutPrefix(l, "socket:["); ok {
					inodes = append(inodes, strings.TrimSuffix(i, "]"))
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

// unixListeners reads /proc/net/unix: Num RefCount Protocol Flags Type St Inode Path (proc(5)); the flag 0x10000 is a socket that listens.
func unixListeners(root string) (all []unixListener) {
	text, err := os.ReadFile(filepath.Join(root, "/proc/net/unix"))
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 8 || f[4] != "0001" || !filepath.IsAbs(f[7]) { // a path with spaces is no server's
			continue
		}
		if flags, err := strconv.ParseUint(f[3], 16, 32); err == nil && flags&0x10000 != 0 {
			all = append(all, unixListener{f[7], f[6]})
		}
	}
	return all
}

type tcpListener struct {
	address netip.AddrPort
	inode   string
	uid     int
}

// tcpListeners reads /proc/net/tcp and tcp6, in which the state 0A is LISTEN.
func tcpListeners(root string) (all []tcpListener) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // sl local remote st queues timer retransmits uid timeout inode …
			if len(f) < 10 || f[3] != "0A" {
				continue
			}
			at, err := kernelAddress(f[1])
			uid, bad := strconv.Atoi(f[7])
			if err != nil || bad != nil {
				continue
			}
			all = append(all, tcpListener{at, f[9], uid})
		}
	}
	return all
}

// kernelAddress reads an address as the kernel writes it: words of 32 bits, least byte first, in hexadecimal, a colon, the port.
func kernelAddress(text string) (netip.AddrPort, error) {
	addr, port, _ := strings.Cut(text, ":")
	p, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, err
	}
	b, err := hex.DecodeString(addr)
	if err != nil || len(b) != 4 && len(b) != 16 {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", addr)
	}
	for i := 0; i < len(b); i += 4 {
		slices.Reverse(b[i : i+4])
	}
	ip, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(ip.Unmap(), uint16(p)), nil
}
