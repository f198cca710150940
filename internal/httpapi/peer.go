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
	"sync/atomic"
	"time"

	"github.com/dyno-perf/dyno/internal/host"
)

// peer is the other end of a connection.
type peer struct {
	socket    bool // it came in by a unix socket, whose mode said who may
	near, far netip.AddrPort
	conn      net.Conn // nil where another server than Serve's keeps it

	letIn atomic.Pointer[string] // the key of the caller of the last request that was admitted

	once sync.Once
	uid  int
	told bool // the kernel says whose it is
}

type peerKey struct{}

func peerAt(c net.Conn) *peer {
	p := newPeer(c.LocalAddr(), c.RemoteAddr())
	p.conn = c
	if u, ok := c.(*net.UnixConn); ok {
		_, uid, err := host.Peer(u)
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

// peerOf returns who made a request. A server other than Serve's does not keep it: then it is looked up for each
// request.
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

// own reports whether a request may be Dyno's own without a login: the other end is of root or of Dyno's own account,
// or it came by the socket, whose mode keeps others out.
func (p *peer) own() bool { return p.socket || p.ours() }

// ours reports whether the other end is of root or of Dyno's own account.
func (p *peer) ours() bool {
	uid, told := p.account()
	return told && (uid == 0 || uid == os.Geteuid())
}

// account returns whose the other end is. What the kernel does not tell for sure is not told: sockets that were closed
// have no account, and those of other machines, other network namespaces and systems without /proc are not in its list.
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

// Bounds of connections. A caller is an address, of IPv6 a network, or on this machine an account. When all are taken,
// one over which nobody was let in gives way.
const (
	maxConns     = 512
	maxConnsEach = 128
	maxConnsOurs = 64 // of all, the last ones: for root and Dyno's own account
)

// conns keeps one caller from taking all connections.
type conns struct {
	log *slog.Logger

	mu    sync.Mutex
	peers map[net.Conn]*peer
	all   map[net.Conn]place
	each  map[string]int
	taken uint64 // places so far
	said  time.Time
}

// place is that of a connection.
type place struct {
	who string // whose it is
	n   uint64 // later ones have greater numbers
}

func newConns(log *slog.Logger) *conns {
	return &conns{log: log, peers: map[net.Conn]*peer{}, all: map[net.Conn]place{}, each: map[string]int{}}
}

// context keeps who a connection is from, for all of its requests. It is for http.Server.ConnContext.
func (x *conns) context(ctx context.Context, c net.Conn) context.Context {
	p := peerAt(c)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.peers[c] = p
	return context.WithValue(ctx, peerKey{}, p)
}

// state is for http.Server.ConnState. A connection that is one too many is closed.
func (x *conns) state(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		if !x.take(c) {
			hangUp(c)
		}
	case http.StateClosed, http.StateHijacked:
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.peers, c)
		x.leave(c)
	case http.StateActive, http.StateIdle:
	}
}

func hangUp(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn() // nothing is said first
	}
	_ = c.Close()
}

func (x *conns) leave(c net.Conn) {
	p, ok := x.all[c]
	if !ok {
		return
	}
	delete(x.all, c)
	if x.each[p.who]--; x.each[p.who] <= 0 {
		delete(x.each, p.who)
	}
}

// makeRoom closes a connection over which nobody was let in yet: of whoever has most of those the oldest. Strangers may
// come from any number of addresses, and who is let in stays, unless there are no strangers and one caller, who may
// come from as many, has more than an eighth of all places, or of those of one address more than half. who is whose
// place is needed, when they have all of theirs, else "": behind one address, or a proxy, are many.
func (x *conns) makeRoom(who string) {
	caller := func(c net.Conn) *string {
		if p := x.peers[c]; p != nil {
			return p.letIn.Load()
		}
		return nil
	}
	gone := x.oldestOfMost(0, func(c net.Conn, p place) (string, bool) {
		return p.who, caller(c) == nil && (who == "" || p.who == who)
	})
	if gone == nil {
		most := maxConns / 8 // four of those who have what an address may have would have all
		if who != "" {       // all of them are let in
			most = maxConnsEach / 2
		}
		gone = x.oldestOfMost(most, func(c net.Conn, p place) (string, bool) {
			if who != "" && p.who != who {
				return "", false
			}
			return *caller(c), true
		})
	}
	if gone != nil {
		x.leave(gone)
		hangUp(gone)
	}
}

// oldestOfMost returns, of those who have more than some number of the connections that count, the oldest of whoever
// has most; or nil.
func (x *conns) oldestOfMost(than int, of func(net.Conn, place) (who string, counts bool)) (oldest net.Conn) {
	count := map[string]int{}
	for c, p := range x.all {
		if who, counts := of(c, p); counts {
			count[who]++
		}
	}
	most := than
	for c, p := range x.all {
		who, counts := of(c, p)
		if n := count[who]; counts && (n > most || n == most && oldest != nil && p.n < x.all[oldest].n) {
			oldest, most = c, n
		}
	}
	return oldest
}

func (x *conns) take(c net.Conn) bool {
	who := callerAt(c)
	x.mu.Lock()
	defer x.mu.Unlock()
	all := maxConns - maxConnsOurs
	if who == onLoopback && (x.each[who] >= maxConnsEach || len(x.all) >= all) {
		// one address for all of this machine: then accounts are told apart
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
	switch {
	case x.each[who] >= maxConnsEach:
		x.makeRoom(who)
	case len(x.all) >= all:
		x.makeRoom("")
	}
	if len(x.all) < all && x.each[who] < maxConnsEach {
		x.taken++
		x.all[c] = place{who, x.taken}
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
