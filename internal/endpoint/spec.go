package endpoint

import (
	"context"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/tunnel"
)

// TLSMode says how a connection is encrypted and what is checked. The names are those of the mysql client's --ssl-mode.
type TLSMode string

const (
	// TLSDefault is verify-full when a CA is configured. Else it is preferred, and disabled on a Unix socket.
	TLSDefault TLSMode = ""
	// TLSDisabled never encrypts.
	TLSDisabled TLSMode = "disabled"
	// TLSPreferred encrypts when the server can. Its certificate is not verified, only remembered where Spec.Known is
	// set: that does not protect from an attacker who is there at the first login.
	TLSPreferred TLSMode = "preferred"
	// TLSRequired insists on encryption; without a configured CA the certificate is remembered as with TLSPreferred.
	TLSRequired TLSMode = "required"
	// TLSVerifyCA checks that a trusted CA signed the certificate, not whose it is.
	TLSVerifyCA TLSMode = "verify-ca"
	// TLSVerifyFull checks the CA and that the certificate is for this host. mysql calls it VERIFY_IDENTITY.
	TLSVerifyFull TLSMode = "verify-full"
)

// DefaultConnectTimeout bounds a whole connect, authentication included, when a Spec names no other.
const DefaultConnectTimeout = 10 * time.Second

// Via makes connections through a jump host to an address as that host knows it, host:port or the path of a socket.
// *tunnel.Set does.
type Via interface {
	Dial(ctx context.Context, jump tunnel.Jump, address string) (net.Conn, error)
}

// Spec says where a server is and how to log in. It is comparable.
type Spec struct {
	Name string `json:"name,omitzero"` // as the user calls it; empty for a bare URL
	// "mysql", "mariadb" or "postgres": what the user said, not what the server is
	Scheme  string `json:"scheme,omitzero"`
	Network string `json:"network"` // "tcp" or "unix"
	// host:port or the path of a socket; empty until defaults are applied
	Address      string  `json:"address"`
	User         string  `json:"user,omitzero"`
	Password     Secret  `json:"-"`
	PasswordFrom string  `json:"-"` // where it came from, for errors; "" for the usual ways
	NoPassword   string  `json:"-"` // why the password file gave none, for errors
	Database     string  `json:"database,omitzero"`
	TLS          TLSMode `json:"tls,omitzero"`
	CA           string  `json:"ca,omitzero"` // PEM files
	Cert         string  `json:"cert,omitzero"`
	Key          string  `json:"key,omitzero"`
	// name to expect in the certificate instead of the host
	ServerName string `json:"server_name,omitzero"`
	MinTLS     string `json:"tls_version,omitzero"` // oldest version to speak, "1.2" when empty
	// without encryption, seal the password with whichever key the server sends
	TakeServerKey  bool          `json:"get_server_public_key,omitzero"`
	ServerKey      string        `json:"server_public_key_path,omitzero"` // PEM file with the key to seal it with
	ConnectTimeout time.Duration `json:"connect_timeout_ns,omitzero"`
	// ExplainSchemas names the schemas, with commas between them, whose routines and views are trusted: plans are asked
	// for there whatever the account may execute. AllSchemas stands for all.
	ExplainSchemas string `json:"explain_schemas,omitzero"`
	// Redact has the server's answers lose the literals of statements before anything keeps or shows them.
	Redact bool `json:"redact,omitzero"`
	// Jump is the host through which the server is reached; Address is then as that host knows it. Zero for none.
	Jump tunnel.Jump `json:"jump,omitzero"`
	// NodeExporter is the URL of a node_exporter of the server's machine, without a password: the machine is read there
	// where Dyno does not see it itself. "" for none.
	NodeExporter string `json:"node_exporter,omitzero"`
	Via          Via    `json:"-"` // opens tunnels; without one a server behind a jump host is not reached
	// Known remembers by what servers are known that are not verified; nil remembers nothing.
	Known *KnownServers `json:"-"`
	// OnlyTrusted has a password sent to a server of this machine of which nothing is remembered only if TrustedAccount
	// says so of whoever runs it: nobody has named that server.
	OnlyTrusted bool `json:"-"`
	// MaxAnswer bounds what the server may say to one statement, bytes: 0 stands for 64 MiB, less than 0 for no bound.
	// For each 64 MiB of it an answer in a pool may have a million rows and five million values.
	MaxAnswer int64 `json:"-"`
	// ServerUID is the system user whose server must answer on a Unix socket; 0 for anyone's.
	ServerUID int `json:"-"`
	// PasswordInURL is set when the password stood in the URL, where shell history and process lists keep it: worth a
	// warning.
	PasswordInURL bool `json:"-"`
}

// Postgres is the Scheme of a PostgreSQL server, in any spelling of the URL.
const Postgres = "postgres"

// AllSchemas as ExplainSchemas trusts a server that Dyno itself started and filled. No URL can say it.
const AllSchemas = "*"

// Trusts reports whether a schema is named by ExplainSchemas.
func (s Spec) Trusts(schema string) bool {
	return s.ExplainSchemas == AllSchemas || schema != "" &&
		slices.Contains(strings.Split(s.ExplainSchemas, ","), schema)
}

// Trusting returns the spec with more schemas in ExplainSchemas.
func (s Spec) Trusting(schemas []string) (Spec, error) {
	if len(schemas) == 0 || s.ExplainSchemas == AllSchemas {
		return s, nil
	}
	list, err := parseSchemas(strings.Join(schemas, ","))
	if err != nil {
		return s, &Error{Op: "trust schemas on", Kind: BadTarget, Target: s.Where(), Err: err}
	}
	s.ExplainSchemas = strings.TrimPrefix(s.ExplainSchemas+","+list, ",")
	return s, nil
}

// Mode returns the TLS mode in force.
func (s Spec) Mode() TLSMode {
	switch {
	case s.TLS != TLSDefault:
		return s.TLS
	case s.CA != "":
		return TLSVerifyFull
	case s.Network == "unix":
		return TLSDisabled
	}
	return TLSPreferred
}

// Where returns the address for messages: "127.0.0.1:3306" or "/run/mysqld/mysqld.sock", as the jump host knows it
// where there is one. Of a PostgreSQL server the socket is "/run/postgresql/.s.PGSQL.5432".
func (s Spec) Where() string {
	if s.Address == "" {
		return net.JoinHostPort("localhost", s.defaultPort())
	}
	return s.Address
}

// String returns the name the user knows, else the URL.
func (s Spec) String() string {
	if s.Name != "" {
		return s.Name
	}
	return s.URL()
}

// URL returns the spec as a TARGET without the password. ParseURL gives the same spec back, apart from Name and
// Password.
func (s Spec) URL() string {
	var b strings.Builder
	q := [][2]string{}
	if s.Network == "unix" && s.Scheme == Postgres {
		b.WriteString("postgres://")
		if s.User != "" {
			b.WriteString(escape(s.User) + "@")
		}
		b.WriteString("/" + escape(s.Database))
		dir, name := path.Split(s.Address)
		if port, ok := strings.CutPrefix(name, postgresSocket); ok && len(dir) > 1 {
			q = append(q, [2]string{"host", dir[:len(dir)-1]})
			if port != PostgresPort {
				q = append(q, [2]string{"port", port})
			}
		} else {
			q = append(q, [2]string{"host", s.Address})
		}
	} else if s.Network == "unix" {
		b.WriteString("unix://")
		b.WriteString(escapePath(s.Address))
		if s.User != "" {
			q = append(q, [2]string{"user", s.User})
		}
		if s.Database != "" {
			q = append(q, [2]string{"database", s.Database})
		}
		if s.Scheme == "mariadb" {
			q = append(q, [2]string{"flavor", s.Scheme})
		}
	} else {
		scheme := s.Scheme
		if scheme == "" {
			scheme = "mysql"
		}
		b.WriteString(scheme + "://")
		if s.User != "" {
			b.WriteString(escape(s.User) + "@")
		}
		if host, port, err := net.SplitHostPort(s.Address); err == nil {
			host = escape(host)
			if strings.Contains(host, "%3A") {
				host = "[" + strings.ReplaceAll(host, "%3A", ":") + "]"
			}
			b.WriteString(host)
			if port != "" {
				b.WriteString(":" + port)
			}
		}
		b.WriteString("/" + escape(s.Database))
	}
	names, mode := [...]string{"tls", "ssl-ca", "ssl-cert", "ssl-key", "connect-timeout"}, string(s.TLS)
	timeout := s.ConnectTimeout.String()
	if s.Scheme == Postgres { // as psql takes it
		names = [...]string{"sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout"}
		if m, ok := libpqModes[s.TLS]; ok {
			mode = m
		}
		if sec := s.ConnectTimeout / time.Second; sec*time.Second == s.ConnectTimeout {
			timeout = strconv.Itoa(int(sec))
		}
	}
	for _, kv := range [][2]string{
		{names[0], mode},
		{names[1], s.CA},
		{names[2], s.Cert},
		{names[3], s.Key},
		{"server-name", s.ServerName},
	} {
		if kv[1] != "" {
			q = append(q, kv)
		}
	}
	if s.MinTLS != "" {
		q = append(q, [2]string{"tls-version", s.MinTLS})
	}
	if s.TakeServerKey {
		q = append(q, [2]string{"get-server-public-key", "1"})
	}
	if s.ServerKey != "" {
		q = append(q, [2]string{"server-public-key-path", s.ServerKey})
	}
	if s.ConnectTimeout > 0 {
		q = append(q, [2]string{names[4], timeout})
	}
	for i, kv := range q {
		b.WriteByte("?&"[min(i, 1)])
		b.WriteString(kv[0] + "=" + escapePath(kv[1]))
	}
	if s.ExplainSchemas != "" && s.ExplainSchemas != AllSchemas {
		b.WriteByte("?&"[min(len(q), 1)])
		b.WriteString("explain-schemas=" + legible.Replace(escapePath(s.ExplainSchemas)))
		q = append(q, [2]string{})
	}
	if s.Jump != (tunnel.Jump{}) {
		b.WriteByte("?&"[min(len(q), 1)])
		b.WriteString("ssh=" + legible.Replace(escapePath(s.Jump.String())))
	}
	if s.NodeExporter != "" {
		return WithExporter(b.String(), s.NodeExporter)
	}
	return b.String()
}

// libpqModes are the modes that libpq calls otherwise.
var libpqModes = map[TLSMode]string{TLSDisabled: "disable", TLSPreferred: "prefer", TLSRequired: "require"}

// escape percent-encodes everything that could mean something in any part of a URL.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// legible takes back the escaping of what means nothing behind the question mark.
var legible = strings.NewReplacer("%2C", ",", "%3A", ":", "%40", "@", "%5B", "[", "%5D", "]")

func escapePath(s string) string { return strings.ReplaceAll(escape(s), "%2F", "/") }
