package host

import (
	"encoding/binary"
	"errors"
	"net/netip"
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
// how many sockets there are. An error means that the kernel does not answer such questions.
func diagSocket(local, remote netip.AddrPort) (s Socket, found bool, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return s, false, err
	}
	defer unix.Close(fd)
	ask := diagRequest{Family: unix.AF_INET6, Protocol: unix.IPPROTO_TCP, States: ^uint32(0)}
	if local.Addr().Is4() { // finds v4-mapped sockets, too
		ask.Family = unix.AF_INET
	}
	ask.Header = unix.NlMsghdr{Len: uint32(binary.Size(ask)), Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST}
	copy(ask.ID.Local[:], local.Addr().AsSlice())
	copy(ask.ID.Remote[:], remote.Addr().AsSlice())
	binary.BigEndian.PutUint16(ask.ID.LocalPort[:], local.Port())
	binary.BigEndian.PutUint16(ask.ID.RemotePort[:], remote.Port())
	ask.ID.Cookie = [2]uint32{^uint32(0), ^uint32(0)} // any
	b, err := binary.Append(nil, binary.NativeEndian, ask)
	if err != nil {
		return s, false, err
	}
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return s, false, err
	}
	b = make([]byte, 4096)
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
	// Without such a connection the kernel names the socket that listens at its address. Inode 0: no process has it open.
	if got.Inode == 0 || !connected(got.State) || got.address(got.ID.Local, got.ID.LocalPort) != local || got.address(got.ID.Remote, got.ID.RemotePort) != remote {
		return s, false, nil
	}
	return Socket{Inode: strconv.FormatUint(uint64(got.Inode), 10), UID: int(got.UID)}, true, nil
}

// connected reports whether a socket in that state (tcp_states.h) has been connected with the other end: one that only tries to be may have
// the addresses of another's connection.
func connected(state uint8) bool {
	const established, finWait1, finWait2, closeWait = 1, 4, 5, 8
	return state == established || state == finWait1 || state == finWait2 || state == closeWait
}

func (x *diagAnswer) address(ip [16]byte, port [2]byte) netip.AddrPort {
	a := netip.AddrFrom16(ip)
	if x.Family == unix.AF_INET {
		a = netip.AddrFrom4([4]byte(ip[:4]))
	}
	return plain(netip.AddrPortFrom(a, binary.BigEndian.Uint16(port[:])))
}
