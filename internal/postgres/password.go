package postgres

import (
	"cmp"
	"net"
	"path"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// PasswordFile implements family.Family: a password file for one account on one server, in whatever database. Behind a
// jump host it names no server: the same address is another one there.
// https://www.postgresql.org/docs/current/libpq-pgpass.html
func (Family) PasswordFile(s endpoint.Spec, password string) string {
	return "# Written by dyno serve, and removed when its inventory no longer names it.\n" + passwordLine(s, password)
}

// passwordLine is the line of such a file.
func passwordLine(s endpoint.Spec, password string) string {
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil { // a socket
		host, port = path.Dir(s.Address), strings.TrimPrefix(path.Base(s.Address), ".s.PGSQL.")
	}
	quote := strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace
	host = quote(host)
	if s.Jump != (tunnel.Jump{}) {
		host, port = "*", "*"
	}
	return strings.Join([]string{host, port, "*", cmp.Or(quote(s.User), "*"), quote(password)}, ":") + "\n"
}
