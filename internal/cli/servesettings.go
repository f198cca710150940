package cli

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/dyno-perf/dyno/internal/discovery"
	"github.com/dyno-perf/dyno/internal/service"
)

// discovering reads the flag --discover: whether servers are looked for, or where alone.
func discovering(flag string) (discovery.Options, error) {
	switch flag {
	case "false", "no", "off", "0":
		return discovery.Options{None: true}, nil
	case "true", "yes", "on", "1":
		return discovery.Options{}, nil
	}
	only := strings.Split(flag, ",")
	for _, at := range only {
		if !isPlace(at) {
			return discovery.Options{}, usagef("--discover %q: must be true, false, or paths of sockets and "+
				"host:port, with commas and no blanks between: /run/mysqld/mysqld.sock,127.0.0.1:3307", flag)
		}
	}
	return discovery.Options{Only: only}, nil
}

// isPlace reports whether a server could listen there: at the absolute path of a socket, or at host:port.
func isPlace(at string) bool {
	if filepath.IsAbs(at) {
		return !strings.ContainsFunc(at, unicode.IsControl)
	}
	host, port, err := net.SplitHostPort(at)
	n, bad := strconv.ParseUint(port, 10, 16)
	_, no := netip.ParseAddr(host)
	return err == nil && bad == nil && n > 0 && (no == nil || hostForm.MatchString(host))
}

// greet fills an empty inventory with the servers of this machine that can be logged in to, and says so.
func greet(ctx context.Context, e *env, s *service.Service, discover bool) {
	l, err := e.app.Ledger(ctx)
	if err != nil {
		return // whatever needs it tells
	}
	if all, err := l.Targets(ctx); err != nil || len(all) > 0 {
		return
	}
	const byHand = "`dyno target add NAME URL` adds a server, which is watched from then on."
	if !discover {
		e.remark("The inventory is empty: " + byHand)
		return
	}
	taken, d, err := s.Inventory.Adopt(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		e.remark("Search for servers on this machine: %v", err)
	}
	for _, f := range taken {
		e.remark("Found %s %s at %s; watching it as %s, logged in as %s. `dyno target rm %[4]s` removes it.", f.Flavor,
			f.Version, f.Address, f.Name, f.User)
		if f.Reason != "" {
			e.remark("WARNING: %s. Fix: run this on %s, then `dyno target add %[2]s URL --replace` with that "+
				"account:\n  %s;", f.Reason, f.Name, strings.Join(f.Create, ";\n  "))
		}
	}
	if len(taken) > 0 {
		return
	}
	for _, f := range d.Found {
		e.remark("Found %s at %s, but cannot log in: %s", cmp.Or(strings.TrimSpace(string(f.Flavor)+" "+f.Version),
			"a server"), f.Address, f.Reason)
	}
	if len(d.Found) == 0 {
		e.remark("The inventory is empty, and no server was found on this machine: %s", byHand)
	} else {
		e.remark("The inventory is empty: the Welcome page of the web UI says what each of them is missing, or %s",
			byHand)
	}
}
