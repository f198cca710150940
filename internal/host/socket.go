package host

import (
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Socket is a socket of this machine.
type Socket struct {
	Inode string // names it in /proc/PID/fd
	UID   int    // of the account that opened it
}

// lookups is how often the kernel's list is read for a socket: lines may be passed over while others come and go.
const lookups = 3

// lists has the lists read one after the other: they may be long, and whoever opens connections makes them be read.
var lists sync.Mutex

// PeerSocket returns the socket at the other end of a TCP connection between two sockets of this machine. It is only
// found while a process has it open: the kernel calls one that was closed root's. Beyond Linux none is found.
func PeerSocket(c net.Conn) (Socket, bool) {
	near, ok1 := c.LocalAddr().(*net.TCPAddr)
	far, ok2 := c.RemoteAddr().(*net.TCPAddr)
	if !ok1 || !ok2 {
		return Socket{}, false
	}
	// Two addresses do not name one socket: one that is bound to an interface, and another that is not, may have the
	// same. So what the kernel finds for them at this end has to be this connection, and still after the other end was
	// found. Before, it shows that the kernel answers: the other end may be on another machine.
	mine, known := inodeOf(c)
	this := func() bool {
		here, ok := SocketOf(near.AddrPort(), far.AddrPort())
		return !known || ok && here.Inode == mine
	}
	if !this() {
		return Socket{}, false
	}
	s, ok := SocketOf(far.AddrPort(), near.AddrPort())
	if !ok || !this() {
		return Socket{}, false
	}
	return s, true
}

// Answers returns the account whose program answers on a connection that was made to a server of this machine.
func Answers(c *net.TCPConn) (uid int, known bool) {
	at, ok := c.RemoteAddr().(*net.TCPAddr)
	far, found := PeerSocket(c)
	if !ok || !found || far.UID != 0 {
		return far.UID, ok && found
	}
	// What the kernel itself accepts for an account, as it does for AF_SMC, is root's. Who listens there is not.
	uids, err := Listeners(at.AddrPort())
	for _, u := range uids {
		uid = max(uid, u)
	}
	return uid, err == nil && len(uids) > 0
}

// inodeOf returns the inode of a connection's socket; not known of what has no descriptor.
func inodeOf(c net.Conn) (inode string, known bool) {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = t.NetConn()
	}
	sc, ok := c.(syscall.Conn)
	if !ok {
		return "", false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return "", false
	}
	var n uint64
	var no error
	if err := raw.Control(func(fd uintptr) { n, no = inodeOfFD(fd) }); err != nil || no != nil {
		return "", true // it is closed: nobody's
	}
	return strconv.FormatUint(n, 10), true
}

// SocketOf returns the socket of this machine whose own address is local, and that is connected with remote, as
// PeerSocket. Where the kernel does not answer for one socket its list of all is read.
func SocketOf(local, remote netip.AddrPort) (Socket, bool) {
	zoned := local.Addr().Zone() != "" // a socket bound to an interface is not found without it
	local, remote = plain(local), plain(remote)
	if !local.IsValid() || !remote.IsValid() {
		return Socket{}, false
	}
	if !zoned {
		if s, ok, err := diagSocket(local, remote); err == nil {
			return s, ok
		}
	}
	return listedSocket(local, remote)
}

// listedSocket looks for a socket in the kernel's list of all.
func listedSocket(local, remote netip.AddrPort) (Socket, bool) {
	lists.Lock()
	defer lists.Unlock()
	for range lookups {
		for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			if s, ok := findSocket(string(text), local, remote); ok {
				return s, true
			}
		}
	}
	return Socket{}, false
}

// findSocket looks for a socket in the text of /proc/net/tcp.
func findSocket(text string, local, remote netip.AddrPort) (Socket, bool) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // sl local remote st queues timer retransmits uid timeout inode …
		if len(f) < 10 || f[9] == "0" {
			continue // no process has it open, and then the kernel writes 0 for the account too
		}
		l, ok1 := kernelAddress(f[1])
		r, ok2 := kernelAddress(f[2])
		uid, err := strconv.Atoi(f[7])
		state, bad := strconv.ParseUint(f[3], 16, 8)
		if ok1 && ok2 && l == local && r == remote && err == nil && bad == nil && connected(uint8(state)) {
			return Socket{Inode: f[9], UID: uid}, true
		}
	}
	return Socket{}, false
}

// listedListeners looks for those who listen in the kernel's lists of all.
func listedListeners(at netip.AddrPort) (uids []int, err error) {
	lists.Lock()
	defer lists.Unlock()
	files := []string{"/proc/net/tcp", "/proc/net/tcp6"}
	if !at.Addr().Is4() {
		files = files[1:]
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) && file != "/proc/net/tcp" {
			break // no IPv6
		}
		if err != nil {
			return nil, err
		}
		if uids := findListeners(string(text), at); len(uids) > 0 {
			return uids, nil
		}
	}
	return nil, nil
}

// findListeners looks in the text of /proc/net/tcp for the accounts of the sockets that listen at just that address,
// else of those that listen at all.
func findListeners(text string, at netip.AddrPort) []int {
	var exactly, any []int
	for line := range strings.Lines(text) {
		f := strings.Fields(line) // see findSocket
		if len(f) < 10 || f[3] != "0A" {
			continue
		}
		a, ok := kernelAddress(f[1])
		uid, err := strconv.Atoi(f[7])
		switch {
		case !ok || err != nil:
		case a == at:
			exactly = append(exactly, uid)
		case a.Port() == at.Port() && a.Addr().IsUnspecified():
			any = append(any, uid)
		}
	}
	if len(exactly) > 0 {
		return exactly
	}
	return any
}

func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// kernelAddress reads an address of /proc/net/tcp: words of 32 bits in the machine's order, in hexadecimal, a colon,
// the port.
func kernelAddress(text string) (netip.AddrPort, bool) {
	addr, port, ok := strings.Cut(text, ":")
	p, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil || len(addr) != 8 && len(addr) != 32 {
		return netip.AddrPort{}, false
	}
	var b []byte
	for i := 0; i < len(addr); i += 8 {
		w, err := strconv.ParseUint(addr[i:i+8], 16, 32)
		if err != nil {
			return netip.AddrPort{}, false
		}
		// little-endian, as all machines that Dyno is built for
		b = append(b, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	ip, _ := netip.AddrFromSlice(b)
	return plain(netip.AddrPortFrom(ip, uint16(p))), true
}

// connected reports whether a socket in that state (tcp_states.h) has been connected with the other end: one that only
// tries to be may have the addresses of another's connection.
func connected(state uint8) bool {
	const established, finWait1, finWait2, closeWait = 1, 4, 5, 8
	return state == established || state == finWait1 || state == finWait2 || state == closeWait
}
