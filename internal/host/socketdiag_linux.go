package host

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// diagID is inet_diag_sockid of linux/inet_diag.h; its ports and addresses are big-endian.
type diagID struct {
	LocalPort, RemotePort [2]byte
	Local, Remote         [16]byte
	Interface             uint32
	Cookie                [2]uint32
}

// diagRequest is inet_diag_req_v2 after its header.
type diagRequest struct {
	Header                           unix.NlMsghdr
	Family, Protocol, Extensions, No uint8
	States                           uint32
	ID                               diagID
}

// diagAnswer is inet_diag_msg after its header.
type diagAnswer struct {
	Header                           unix.NlMsghdr
	Family, State, Timer, Retransmit uint8
	ID                               diagID
	Expires, Receive, Send           uint32
	UID, Inode                       uint32
}

// diagAnswers is set once the kernel has found a socket. From then on ENOENT means that there is no such socket;
// before, it may mean that the kernel has no inet_diag.
var diagAnswers atomic.Bool

// diagSocket asks the kernel for one TCP socket, sock_diag(7). It needs no privilege, and the cost does not depend on
// how many sockets there are. An error means that the kernel does not answer such questions. A socket that is bound to
// an interface, as any account may bind its own, is found only if that one is named.
func diagSocket(local, remote netip.AddrPort) (s Socket, found bool, err error) {
	if s, found, err = diagSocketOn(0, local, remote); found || err != nil || !ofThisMachine(local.Addr()) {
		return s, found, err
	}
	interfaces, err := net.Interfaces()
	for i := 0; i < len(interfaces) && !found && err == nil; i++ {
		s, found, err = diagSocketOn(interfaces[i].Index, local, remote)
	}
	return s, found, err
}

// ofThisMachine reports whether an interface has the address.
func ofThisMachine(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	all, _ := net.InterfaceAddrs() // without them there is nothing to be found
	return slices.ContainsFunc(all, func(x net.Addr) bool {
		n, ok := x.(*net.IPNet)
		return ok && n.IP.Equal(a.AsSlice())
	})
}

// Listeners returns the accounts whose TCP sockets take connections to an address of this machine. Where the kernel
// does not answer such questions its list of all is read. An error means that it does not tell either way.
func Listeners(at netip.AddrPort) (uids []int, err error) {
	at = plain(at)
	if uids, err = diagListeners(at); err != nil {
		uids, err = listedListeners(at)
	}
	return uids, err
}

func diagListeners(at netip.AddrPort) (uids []int, err error) {
	families := []uint8{unix.AF_INET, unix.AF_INET6} // one for all addresses of IPv6 may be for those of IPv4 too
	if !at.Addr().Is4() {
		families = families[1:]
	}
	for _, family := range families {
		exactly, any, err := listenersOf(family, at)
		if err != nil || len(exactly) > 0 {
			return exactly, err
		}
		if len(any) > 0 {
			return any, nil
		}
	}
	return nil, nil
}

// listenersOf returns the accounts of the sockets of a family that listen at just that address, and of those that
// listen at all.
func listenersOf(family uint8, at netip.AddrPort) (exactly, any []int, err error) {
	const listening = 10 // tcp_states.h
	fd, err := sendDiag(diagRequest{
		Header: unix.NlMsghdr{Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST | unix.NLM_F_DUMP},
		Family: family, Protocol: unix.IPPROTO_TCP, States: 1 << listening,
	})
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(fd)
	for b := make([]byte, 1<<16); ; {
		n, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT) // each part is made when the one before is read
		if err != nil {
			return nil, nil, err
		}
		for m := b[:n]; len(m) >= unix.SizeofNlMsghdr; {
			size, kind := int(binary.NativeEndian.Uint32(m)), binary.NativeEndian.Uint16(m[4:])
			switch {
			case size < unix.SizeofNlMsghdr || size > len(m) || kind == unix.NLMSG_ERROR:
				return nil, nil, errors.ErrUnsupported
			case kind == unix.NLMSG_DONE:
				return exactly, any, nil
			}
			var got diagAnswer
			if _, err := binary.Decode(m[:size], binary.NativeEndian, &got); err != nil {
				return nil, nil, err
			}
			switch a := got.address(got.ID.Local, got.ID.LocalPort); {
			case a == at:
				exactly = append(exactly, int(got.UID))
			case a.Port() == at.Port() && a.Addr().IsUnspecified():
				any = append(any, int(got.UID))
			}
			m = m[min(len(m), (size+3)&^3):]
		}
	}
}

// sendDiag asks the kernel, and returns the socket that has its answer.
func sendDiag(ask diagRequest) (fd int, err error) {
	ask.Header.Len = uint32(binary.Size(ask))
	b, err := binary.Append(nil, binary.NativeEndian, ask)
	if err != nil {
		return -1, err
	}
	if fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG); err != nil {
		return -1, err
	}
	if err = unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// diagSocketOn is diagSocket for sockets that are bound to an interface, with 0 for those that are bound to none.
func diagSocketOn(index int, local, remote netip.AddrPort) (s Socket, found bool, err error) {
	ask := diagRequest{Family: unix.AF_INET6, Protocol: unix.IPPROTO_TCP, States: ^uint32(0)}
	if local.Addr().Is4() { // finds v4-mapped sockets, too
		ask.Family = unix.AF_INET
	}
	ask.ID.Interface = uint32(index)
	ask.Header = unix.NlMsghdr{Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST}
	copy(ask.ID.Local[:], local.Addr().AsSlice())
	copy(ask.ID.Remote[:], remote.Addr().AsSlice())
	binary.BigEndian.PutUint16(ask.ID.LocalPort[:], local.Port())
	binary.BigEndian.PutUint16(ask.ID.RemotePort[:], remote.Port())
	ask.ID.Cookie = [2]uint32{^uint32(0), ^uint32(0)} // any
	fd, err := sendDiag(ask)
	if err != nil {
		return s, false, err
	}
	defer unix.Close(fd)
	b := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT) // the answer is there when Sendto returns
	if err != nil {
		return s, false, err
	}
	b = b[:n]
	var got diagAnswer
	switch n := binary.NativeEndian; {
	case len(b) >= 20 && n.Uint16(b[4:]) == unix.NLMSG_ERROR:
		err := unix.Errno(-int32(n.Uint32(b[16:])))
		if err == unix.ENOENT && diagAnswers.Load() {
			return s, false, nil
		}
		return s, false, err
	default:
		if _, err := binary.Decode(b, n, &got); err != nil || got.Header.Type != unix.SOCK_DIAG_BY_FAMILY {
			return s, false, errors.ErrUnsupported
		}
	}
	diagAnswers.Store(true)
	// Without such a connection the kernel names the socket that listens at its address. Inode 0: no process has it
	// open.
	if got.Inode == 0 || !connected(got.State) || got.address(got.ID.Local, got.ID.LocalPort) != local ||
		got.address(got.ID.Remote, got.ID.RemotePort) != remote {
		return s, false, nil
	}
	return Socket{Inode: strconv.FormatUint(uint64(got.Inode), 10), UID: int(got.UID)}, true, nil
}

func (x *diagAnswer) address(ip [16]byte, port [2]byte) netip.AddrPort {
	a := netip.AddrFrom16(ip)
	if x.Family == unix.AF_INET {
		a = netip.AddrFrom4([4]byte(ip[:4]))
	}
	return plain(netip.AddrPortFrom(a, binary.BigEndian.Uint16(port[:])))
}
