package cli

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/dyno-perf/dyno/internal/endpoint"
	nearest "github.com/dyno-perf/dyno/internal/suggest"
)

// loadTarget is sysbench's options that say which server, and --target in their place.
type loadTarget struct {
	target                   string
	host, socket, user, port string
	ssl                      string
	pgHost, pgPort, pgUser   string
	pgSSL                    string
}

func (o *loadTarget) flags(f *pflag.FlagSet) {
	f.StringVar(&o.target, "target", "", "`TARGET`, see dyno --help")
	f.StringVar(&o.host, "mysql-host", "localhost", "host")
	f.StringVar(&o.port, "mysql-port", "3306", "port")
	f.StringVar(&o.socket, "mysql-socket", "", "socket")
	f.StringVar(&o.user, "mysql-user", "sbtest", "user; the password comes from $DYNO_PASSWORD or ~/.my.cnf")
	f.StringVar(&o.ssl, "mysql-ssl", "preferred", "encryption: off, preferred, on (or required), verify-ca, "+
		"verify-full; my.cnf may say it too")
	f.Lookup("mysql-ssl").NoOptDefVal = "on"
	f.StringVar(&o.pgHost, "pgsql-host", "localhost", "host of a PostgreSQL server, or the directory of its socket")
	f.StringVar(&o.pgPort, "pgsql-port", "5432", "port")
	f.StringVar(&o.pgUser, "pgsql-user", "sbtest", "user; the password comes from $PGPASSWORD or ~/.pgpass")
	f.StringVar(&o.pgSSL, "pgsql-sslmode", "", "encryption, as libpq calls it: disable, prefer, require, verify-ca, "+
		"verify-full")
	for _, n := range []string{"mysql-password", "pgsql-password"} {
		f.String(n, "", "")
		_ = f.MarkHidden(n)
	}
}

// serverFlags are sysbench's options that say which server.
var serverFlags = []string{
	"mysql-host", "mysql-port", "mysql-socket", "mysql-user", "mysql-ssl", "mysql-password", "pgsql-host", "pgsql-port",
	"pgsql-user", "pgsql-sslmode", "pgsql-password",
}

// sslModes are the words for --mysql-ssl: of sysbench 1.0, of its later versions, and ours.
var sslModes = map[string]endpoint.TLSMode{
	"off":             endpoint.TLSDisabled,
	"disabled":        endpoint.TLSDisabled,
	"on":              endpoint.TLSRequired,
	"required":        endpoint.TLSRequired,
	"preferred":       endpoint.TLSPreferred,
	"verify-ca":       endpoint.TLSVerifyCA,
	"verify-full":     endpoint.TLSVerifyFull,
	"verify-identity": endpoint.TLSVerifyFull,
}

// text returns the TARGET that the flags mean.
func (o *loadTarget) text(f *pflag.FlagSet) (string, error) {
	var given, pgsql []string
	for _, n := range serverFlags {
		if f.Changed(n) {
			given = append(given, "--"+n)
			if strings.HasPrefix(n, "pgsql") {
				pgsql = append(pgsql, "--"+n)
			}
		}
	}
	switch {
	case f.Changed("mysql-password"):
		return "", usagef("--mysql-password: any user of this machine can read arguments; set DYNO_PASSWORD, use " +
			"--defaults-file or --ask-pass")
	case f.Changed("pgsql-password"):
		return "", usagef("--pgsql-password: any user of this machine can read arguments; set PGPASSWORD, use " +
			"~/.pgpass or --ask-pass")
	case o.target != "" && len(given) > 0:
		return "", usagef("--target and %s both say which server: use one of them", strings.Join(given, ", "))
	case o.target != "":
		return o.target, nil
	case len(given) == 0:
		return "", usagef("say which server: --target T, or --mysql-host, --mysql-port, --mysql-socket, " +
			"--mysql-user, or --pgsql-host, --pgsql-port, --pgsql-user")
	case len(pgsql) > 0 && len(pgsql) < len(given):
		return "", usagef("%s: a run has one server, of MySQL's family or of PostgreSQL's", strings.Join(given, ", "))
	case len(pgsql) > 0:
		return o.postgres()
	case strings.Contains(o.host+o.port+o.socket, ","):
		return "", usagef("--mysql-host, --mysql-port and --mysql-socket take one server: run one load for each")
	}
	s := endpoint.Spec{Scheme: "mysql", Network: "tcp", User: o.user}
	if o.socket != "" {
		s.Network, s.Address = "unix", o.socket
	} else {
		if n, err := strconv.ParseUint(o.port, 10, 16); err != nil || n == 0 {
			return "", usagef("--mysql-port %s: it takes a port from 1 to 65535", o.port)
		}
		s.Address = net.JoinHostPort(o.host, o.port)
	}
	if f.Changed("mysql-ssl") {
		mode, ok := sslModes[strings.ReplaceAll(strings.ToLower(o.ssl), "_", "-")]
		if !ok {
			return "", usagef("--mysql-ssl %s: it takes off, on, preferred, required, verify-ca or verify-full", o.ssl)
		}
		s.TLS = mode
	}
	return s.URL(), nil
}

// postgres returns the TARGET that sysbench's options for PostgreSQL mean. A host that is a directory is that of the
// socket, as for libpq.
func (o *loadTarget) postgres() (string, error) {
	if strings.Contains(o.pgHost+o.pgPort, ",") {
		return "", usagef("--pgsql-host and --pgsql-port take one server: run one load for each")
	}
	if n, err := strconv.ParseUint(o.pgPort, 10, 16); err != nil || n == 0 {
		return "", usagef("--pgsql-port %s: it takes a port from 1 to 65535", o.pgPort)
	}
	u, more := url.URL{Scheme: endpoint.Postgres, User: url.User(o.pgUser), Path: "/"}, url.Values{}
	if strings.HasPrefix(o.pgHost, "/") {
		more.Set("host", o.pgHost)
		more.Set("port", o.pgPort)
	} else {
		u.Host = net.JoinHostPort(o.pgHost, o.pgPort)
	}
	if o.pgSSL != "" {
		more.Set("sslmode", o.pgSSL)
	}
	u.RawQuery = more.Encode()
	return u.String(), nil
}

// meant returns ", did you mean x?" for the name that is most like what was typed, "" when none is.
func meant(typed string, names []string, prefix string) string {
	if n := nearest.Name(typed, names, len(typed)/2+1); n != "" {
		return ", did you mean " + prefix + n + "?"
	}
	return ""
}
