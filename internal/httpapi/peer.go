package httpapi

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"time"

	"dyno/internal/host"
	"dyno/internal/target"
)

// peer is the other end of a connection.
type peer struct {
	socket    bool // it came in by a unix socket, whose mode said who may
	near, far netip.AddrPort
	conn      net.Conn // nil where another server than Serve's keeps it

	once sync.Once
	uid  int
	told bool // the kernel says whose it is
}

type peerKey struct{}

// withPeer keeps who a connection is from, for all of its requests.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, peerAt(c))
}

func peerAt(c net.Conn) *peer {
	p := newPeer(c.LocalAddr(), c.RemoteAddr())
	p.conn = c
	if u, ok := c.(*net.UnixConn); ok {
		_, uid, err := target.Peer(u)
		p.uid, p.told = uid, err == nil
	}
	return p
}

func newPeer(near, far net.Addr) *peer {
	p := &peer{}
	switch near := near.(type) {
	case *net.UnixAddr:
		p.socket = true
	case *net.TCPAddr:
		p.near = near.AddrPort()
		if far, ok := far.(*net.TCPAddr); ok {
			p.far = far.AddrPort()
		}
	}
	return p
}

// peerOf returns who made a request. A server other than Serve's does not keep it: then it is looked up for each request.
func peerOf(r *http.Request) *peer {
	if p, ok := r.Context().Value(peerKey{}).(*peer); ok {
		return p
	}
	near, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	far, err := net.ResolveTCPAddr("tcp", r.RemoteAddr) // numbers: no name is looked up
	if _, bad := netip.ParseAddrPort(r.RemoteAddr); err != nil || bad != nil {
		return &peer{}
	}
	return newPeer(near, far)
}

// own reports whether a request may be Dyno's own without a login: the other end is of root or of Dyno's own account, or it came by
// the socket, whose mode keeps others out.
func (p *peer) own() bool { return p.socket || p.ours() }

// ours reports whether the other end is of root or of Dyno's own account.
func (p *peer) ours() bool {
	uid, told := p.account()
	return told && (uid == 0 || uid == os.Geteuid())
}

// account returns whose the other end is. What the kernel does not tell for sure is not told: sockets that were closed have no account,
// and those of other machines, other network namespaces and systems without /proc are not in its list.
func (p *peer) account() (uid int, told bool) {
	p.once.Do(func() {
		if p.far.IsValid() && p.near.IsValid() {
			var s host.Socket
			if p.conn != nil {
				s, p.told = host.PeerSocket(p.conn)
			} else {
				s, p.told = host.SocketOf(p.far, p.near)
			}
			p.uid = s.UID
		}
	})
	return p.uid, p.told
}

// Bounds of connections. A caller is an address, of IPv6 a network, or on this machine an account.
const (
	maxConns     = 512
	maxConnsEach = 128
	maxConnsOurs = 64 // of all, the last ones: for root and Dyno's own account
)

// conns keeps one caller from taking all connections.
type conns struct {
	log *slog.Logger

	mu   sync.Mutex
	all  map[net.Conn]string // whose they are
	each map[string]int
	said time.Time
}

func newConns(log *slog.Logger) *conns {
	return &conns{log: log, all: map[net.Conn]string{}, each: map[string]int{}}
}

// state is for http.Server.ConnState. A connection that is one too many is closed.
func (x *conns) state(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		if !x.take(c) {
			if t, ok := c.(*tls.Conn); ok {
				c = t.NetConn() // nothing is said first
			}
			_ = c.Close()
		}
	case http.StateClosed, http.StateHijacked:
		x.mu.Lock()
		defer x.mu.Unlock()
		if who, ok := x.all[c]; ok {
			delete(x.all, c)
			if x.each[who]--; x.each[who] <= 0 {
				delete(x.each, who)
			}
		}
	case http.StateActive, http.StateIdle:
	}
}

func (x *conns) take(c net.Conn) bool {
	who := callerAt(c)
	x.mu.Lock()
	defer x.mu.Unlock()
	all := maxConns - maxConnsOurs
	if who == onLoopback && (x.each[who] >= maxConnsEach || len(x.all) >= all) { // one address for all of this machine: then accounts are told apart
		x.mu.Unlock()
		p := peerAt(c)
		if uid, ok := p.account(); ok {
			who = "uid " + strconv.Itoa(uid)
		}
		if p.ours() {
			all = maxConns
		}
		x.mu.Lock()
	}
	if len(x.all) < all && x.each[who] < maxConnsEach {
		x.all[c] = who
		x.each[who]++
		return true
	}
	if time.Since(x.said) > time.Minute {
		x.said = time.Now()
		x.log.Warn("too many connections: new ones are closed", "caller", who, "its", x.each[who], "all", len(x.all))
	}
	return false
}

const onLoopback = "this machine"

// callerAt returns whose a connection is, as its address says.
func callerAt(c net.Conn) string {
	a, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok || a.IP.IsLoopback() {
		return onLoopback
	}
	return network(a.AddrPort().Addr())
}
