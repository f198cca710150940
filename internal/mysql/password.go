package mysql

import (
	"net"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// PasswordFile implements family.Family: a defaults file with a password, where it goes and how that is verified.
// Behind a jump host it names no server: the same address is another one there.
func (Family) PasswordFile(s endpoint.Spec, password string) string {
	var b strings.Builder
	b.WriteString("# Written by dyno serve, and removed when its inventory no longer names it.\n[client]\n")
	put := func(key, value string) {
		if value != "" {
			b.WriteString(key + "=" + target.OptionValue(value) + "\n")
		}
	}
	put("password", password)
	switch host, port, err := net.SplitHostPort(s.Address); {
	case s.Jump != (tunnel.Jump{}):
	case s.Network == "unix":
		put("socket", s.Address)
	case err == nil:
		put("host", host)
		b.WriteString("port=" + port + "\n")
	}
	put("ssl-mode", string(s.Mode()))
	put("ssl-ca", s.CA)
	put("ssl-cert", s.Cert)
	put("ssl-key", s.Key)
	if s.MinTLS != "" {
		put("tls-version", "TLSv"+s.MinTLS)
	}
	if s.TakeServerKey {
		b.WriteString("get-server-public-key\n")
	}
	put("server-public-key-path", s.ServerKey)
	return b.String()
}
