package postgres

import (
	"cmp"
	"net"
	"path/filepath"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
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
	if err != nil {
		host, port = socketOf(s.Address)
	}
	quote := strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace
	host = quote(host)
	if s.Jump != (tunnel.Jump{}) {
		host, port = "*", "*"
	}
	return strings.Join([]string{host, port, "*", cmp.Or(quote(s.User), "*"), quote(password)}, ":") + "\n"
}

// socketOf returns the directory and the port that name a socket, as libpq takes them.
func socketOf(path string) (host, port string) {
	return filepath.Dir(path), strings.TrimPrefix(filepath.Base(path), ".s.PGSQL.")
}

// programs says how psql and its kind log in: the file is one for PGPASSFILE. A socket in the directory that they look
// in unasked is localhost there.
func programs() load.Programs {
	return load.Programs{
		Secrets: []string{"PGPASSWORD"}, Socket: socketOf,
		File: func(s endpoint.Spec) ([]byte, error) {
			text := passwordLine(s, s.Password.Reveal())
			if s.Network == "unix" && s.Jump == (tunnel.Jump{}) {
				_, port := socketOf(s.Address)
				s.Network, s.Address = "tcp", net.JoinHostPort("localhost", port)
				text += passwordLine(s, s.Password.Reveal())
			}
			return []byte(text), nil
		},
	}
}
