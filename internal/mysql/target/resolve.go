package target

import (
	"net"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// Apply fills what the spec leaves open. As in the mysql client, a host of localhost or none means the socket, when
// there is one.
func (o Options) Apply(s *endpoint.Spec) {
	fill := func(dst *string, v string) {
		if *dst == "" {
			*dst = v
		}
	}
	fill(&s.User, o.User)
	fill(&s.Database, o.Database)
	if s.Password.Empty() {
		s.Password = o.Password
	}
	if s.Jump != (tunnel.Jump{}) { // hosts and sockets of defaults files are of this machine, not of the jump host
		o.Host, o.Port, o.Socket = "", 0, ""
	}
	if port, ok := strings.CutPrefix(s.Address, ":"); ok { // a port without a host
		host := o.Host
		fill(&host, "localhost")
		s.Address = net.JoinHostPort(host, port)
	}
	if s.Address == "" {
		host, port := o.Host, endpoint.DefaultPort
		if o.Port > 0 {
			port = strconv.Itoa(o.Port)
		}
		switch {
		case (host == "" || host == "localhost") && o.Socket != "":
			s.Network, s.Address = "unix", o.Socket
		case host != "":
			s.Network, s.Address = "tcp", net.JoinHostPort(host, port)
		case o.Port > 0:
			s.Network, s.Address = "tcp", net.JoinHostPort("localhost", port)
		}
	}
	if s.TLS == endpoint.TLSDefault && s.CA == "" {
		// A socket needs no encryption because a file asks for it in general, as the mysql client sees it too.
		if s.Network != "unix" {
			s.TLS = o.TLS
			if o.TLS == endpoint.TLSRequired && o.CA != "" {
				s.TLS = endpoint.TLSVerifyFull
			}
		}
	}
	if s.CA == "" && s.Cert == "" && s.Key == "" {
		s.CA, s.Cert, s.Key = o.CA, o.Cert, o.Key
	}
	fill(&s.MinTLS, o.MinTLS)
	fill(&s.ServerKey, o.ServerKey)
	s.TakeServerKey = s.TakeServerKey || o.TakeServerKey
	if s.ConnectTimeout == 0 {
		s.ConnectTimeout = o.ConnectTimeout
	}
}

// Resolve completes a spec: what it says itself wins, then the password of DYNO_PASSWORD, then defaults files (file, or
// the usual ones for ""), then MYSQL_PWD, USER and localhost. getenv is os.Getenv.
func Resolve(s endpoint.Spec, file string, getenv func(string) string) (endpoint.Spec, error) {
	if s.Scheme == endpoint.Postgres { // nothing in these files and variables is meant for it
		return s, nil
	}
	o, err := Defaults(file, Groups(s)...)
	if err != nil {
		return s, err
	}
	if s.Password.Empty() {
		s.Password = endpoint.NewSecret(getenv("DYNO_PASSWORD"))
	}
	o.Apply(&s)
	if s.Password.Empty() {
		s.Password = endpoint.NewSecret(getenv("MYSQL_PWD"))
	}
	if s.User == "" {
		s.User = getenv("USER")
	}
	if s.Address == "" {
		s.Network, s.Address = "tcp", net.JoinHostPort("localhost", endpoint.DefaultPort)
	}
	return s, nil
}
