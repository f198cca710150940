package app

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/sandbox"
)

// LeadsToTrusted reports whether the login of the defaults files may be sent where they lead. They are the user's own
// word, but while the server is down anybody can take a port from 1024 on, or a name below a directory in which
// everybody may write: whoever has it must be trusted then.
func LeadsToTrusted(mine endpoint.Spec, listens []host.Listener, trusted func(uid int) bool,
	shared func(path string) bool,
) bool {
	if mine.Network == "unix" {
		at, err := filepath.EvalSymlinks(mine.Address)
		if err != nil {
			return true // nobody is there
		}
		for _, path := range []string{mine.Address, at} {
			if st, err := os.Lstat(path); err != nil || shared(path) && !trusted(host.OwnerOf(st)) {
				return false
			}
		}
		return true
	}
	name, port, _ := net.SplitHostPort(mine.Address)
	if n, err := strconv.Atoi(port); err == nil && n < 1024 {
		return true
	}
	ip, _ := netip.ParseAddr(name)
	return !slices.ContainsFunc(listens, func(l host.Listener) bool {
		h, p, _ := net.SplitHostPort(l.Address)
		// Who listens on all addresses of IPv6 is written as at 127.0.0.1.
		return !trusted(l.UID) && (SamePlace(l.Network, l.Address, mine) || l.Network == "tcp" && p == port &&
			h == "127.0.0.1" && ip == netip.IPv6Loopback())
	})
}

// SamePlace reports whether an address is that of a spec; localhost is this machine.
func SamePlace(network, address string, s endpoint.Spec) bool {
	if network != s.Network {
		return false
	}
	if network == "unix" {
		a, err := filepath.EvalSymlinks(filepath.Dir(address))
		b, bad := filepath.EvalSymlinks(filepath.Dir(s.Address))
		return address == s.Address || err == nil && bad == nil &&
			filepath.Join(a, filepath.Base(address)) == filepath.Join(b, filepath.Base(s.Address))
	}
	h, p, _ := net.SplitHostPort(address)
	host, port, _ := net.SplitHostPort(s.Address)
	return p == port && (h == host || host == "localhost" && (h == "127.0.0.1" || h == "::1"))
}

// UsualPlace is where a login leads that names no server: one of the sockets, or the port. It is but a guess, and the
// first to listen there may be anybody: it leads nowhere unless whose it is can be trusted. What stands for localhost
// is told apart, for one user may have 127.0.0.1 and another ::1.
func UsualPlace(mine endpoint.Spec, sockets []string, port string, listens []host.Listener,
	may func(path string) bool, trusted func(uid int) bool,
) endpoint.Spec {
	for _, path := range sockets {
		link, err := os.Lstat(path)
		if err != nil || !may(path) {
			continue
		}
		st, err := os.Stat(path)
		if err == nil && st.Mode()&os.ModeSocket != 0 && trusted(host.OwnerOf(link)) && trusted(host.OwnerOf(st)) {
			mine.Network, mine.Address = "unix", path
			return mine
		}
	}
	local := endpoint.Spec{Network: "tcp", Address: net.JoinHostPort("localhost", port)}
	for _, l := range listens {
		if SamePlace(l.Network, l.Address, local) && trusted(l.UID) {
			mine.Network, mine.Address = l.Network, l.Address
			if mine.ServerName == "" && mine.Mode() == endpoint.TLSVerifyFull {
				mine.ServerName = "localhost"
			}
			return mine
		}
	}
	mine.Network, mine.Address = "", ""
	return mine
}

// BelowShared reports whether everybody may write in a directory on the way to path.
func BelowShared(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm()&0o002 != 0 {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// Sandboxes lists the sandboxes of this home; none when there is no home.
func (a *App) Sandboxes(ctx context.Context) ([]sandbox.Sandbox, error) {
	if _, err := os.Stat(a.Home); err != nil {
		return nil, nil //nolint:nilerr // no home, no sandboxes
	}
	y, err := a.Yard()
	if errors.Is(err, sandbox.ErrNeedsLinux) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return y.List(ctx)
}

// OnThisMachine reports whether a target is a sandbox, or reached through a socket or a loopback address and no jump
// host.
func OnThisMachine(name, url string) bool {
	if strings.HasPrefix(name, "sandbox:") {
		return true
	}
	spec, err := endpoint.ParseURL(url)
	if err != nil || spec.Jump.Host != "" {
		return false
	}
	if spec.Network == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(spec.Address)
	if err != nil {
		host = spec.Address
	}
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || ip != nil && ip.IsLoopback()
}
