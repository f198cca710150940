package endpoint

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/suggest"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

const urlForms = "mysql://user@host:3306/database, mariadb://…, unix:///path/of.sock?user=name, " +
	"postgres://user@host:5432/database or postgres://user@/database?host=/directory/of/the/socket"

var schemes = []string{"mysql", "mariadb", "unix", "postgres", "postgresql"}

// parameters lists what may follow the question mark of a URL.
const parameters = "user, password, database, tls (or ssl-mode), ssl-ca, ssl-cert, ssl-key, server-name, " +
	"tls-version, get-server-public-key, " +
	"server-public-key-path, connect-timeout, explain-schemas, ssh, node-exporter"

// postgresParameters are those of a URL of PostgreSQL, by libpq's names.
// https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
const postgresParameters = "host, port, user, password, dbname, sslmode, sslrootcert, sslcert, sslkey, server-name, " +
	"tls-version, connect_timeout, ssh, node-exporter"

// ParseURL reads a TARGET in one of the forms
//
//	mysql://user@host:3306/database?tls=verify-full
//	mariadb://[::1]/
//	unix:///run/mysqld/mysqld.sock?user=name&database=name
//	mysql://user@db.internal/?ssh=ssh://me@jump.example:22
//	mysql://user@db1/?node-exporter=http://db1:9100/metrics
//	postgres://user@host:5432/database?sslmode=verify-full
//	postgres://user@/database?host=/run/postgresql
//
// User, password, host, database and values are percent-decoded. What is left out stays empty, to be filled by
// defaults. No error shows the text of the URL, for a password in it may be the very thing that is mistyped.
func ParseURL(text string) (Spec, error) {
	s, err := parseURL(text)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			return Spec{}, err
		}
		return Spec{}, &Error{Op: "read the URL", Kind: BadTarget, Fix: "the forms are " + urlForms, Err: err}
	}
	return s, nil
}

func parseURL(text string) (s Spec, err error) {
	if !utf8.ValidString(text) {
		return s, errors.New("it is not valid UTF-8: percent-encode such bytes only where the server uses UTF-8 too")
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return s, errors.New("no scheme:// in it")
	}
	rest, query, _ := strings.Cut(rest, "?")
	if strings.Contains(rest, "#") || strings.Contains(query, "#") {
		return s, errors.New("a # must be written %23")
	}
	switch strings.ToLower(scheme) {
	case "mysql", "mariadb":
		s.Scheme, s.Network = strings.ToLower(scheme), "tcp"
		if err := s.authority(rest); err != nil {
			return s, err
		}
	case "unix":
		s.Scheme, s.Network = "mysql", "unix"
		if s.Address, err = unescape("socket path", rest); err != nil {
			return s, err
		}
		if !strings.HasPrefix(s.Address, "/") {
			return s, errors.New("the socket's path must be absolute, with three slashes: unix:///path/of.sock")
		}
	case "postgres", "postgresql":
		s.Scheme, s.Network = Postgres, "tcp"
		if err := s.authority(rest); err != nil {
			return s, err
		}
	case "mongodb", "mongodb+srv":
		return s, &Error{
			Op: "read the URL", Kind: Unsupported, Err: errors.New("MongoDB is not yet supported"),
			Fix: "this version of dyno works with MySQL, Percona Server, MariaDB and PostgreSQL",
		}
	default:
		if near := suggest.Name(strings.ToLower(scheme), schemes, 3); near != "" {
			return s, fmt.Errorf("unknown scheme: %s:// is the nearest", near)
		}
		return s, errors.New("unknown scheme")
	}
	if err := s.query(query); err != nil || s.Network != "unix" || s.Jump == (tunnel.Jump{}) {
		return s, err
	}
	return s, tunnel.CheckSocket(s.Address)
}

// authority reads user:password@host:port/database.
func (s *Spec) authority(text string) error {
	auth, path, _ := strings.Cut(text, "/")
	if strings.Contains(path, "@") && !strings.Contains(auth, "@") {
		return errors.New("there is a / before the @: percent-encode the user and password (a / is %2F)")
	}
	var err error
	if s.Database, err = unescape("database", strings.TrimSuffix(path, "/")); err != nil {
		return err
	}
	if i := strings.LastIndexByte(auth, '@'); i >= 0 {
		user, password, has := strings.Cut(auth[:i], ":")
		auth = auth[i+1:]
		if s.User, err = unescape("user", user); err != nil {
			return err
		}
		if password, err = unescape("password", password); err != nil {
			return err
		}
		s.Password, s.PasswordInURL = NewSecret(password), has && password != ""
	}
	if auth == "" {
		return nil
	}
	var host, port string
	if strings.HasPrefix(auth, "[") {
		end := strings.IndexByte(auth, ']')
		if end < 0 {
			return errors.New("the [ of an IPv6 address is not closed")
		}
		host, port = auth[1:end], auth[end+1:]
		if port != "" && port[0] != ':' {
			return errors.New("only a :port may follow the ] of an IPv6 address")
		}
		port = strings.TrimPrefix(port, ":")
		if host, err = unescape("host", host); err != nil {
			return err
		}
		ip, _, _ := strings.Cut(host, "%") // a zone may follow
		if net.ParseIP(ip) == nil || !strings.Contains(ip, ":") {
			return errors.New("the text in [ ] is not an IPv6 address")
		}
	} else {
		if strings.Count(auth, ":") > 1 {
			return errors.New("more than one colon after the user: write an IPv6 address in [ ], and percent-encode " +
				"a password (an @ is %40)")
		}
		host, port, _ = strings.Cut(auth, ":")
		if host, err = unescape("host", host); err != nil {
			return err
		}
		if s.Scheme == Postgres && strings.HasPrefix(host, "/") {
			return s.at(host, port)
		}
		if i := strings.IndexFunc(host, func(r rune) bool {
			return unicode.IsSpace(r) ||
				strings.ContainsRune(`/\@:[]%,()`, r)
		}); i >= 0 {
			return errors.New("the host holds a character that no host name has")
		}
	}
	return s.at(host, port)
}

// at sets the address; an empty port is the scheme's.
func (s *Spec) at(host, port string) error {
	if port == "" {
		port = s.defaultPort()
	} else if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("the port is not a number from 1 to 65535") // not shown: it may be part of a password
	} else {
		port = strconv.FormatUint(n, 10)
	}
	s.Address = net.JoinHostPort(host, port)
	if s.Scheme == Postgres && strings.HasPrefix(host, "/") {
		s.Network, s.Address = "unix", PostgresSocket(host, port)
	}
	return nil
}

// DefaultPort is that of a URL of the MySQL family which names none, PostgresPort that of PostgreSQL's.
const (
	DefaultPort  = "3306"
	PostgresPort = "5432"
)

func (s *Spec) defaultPort() string {
	if s.Scheme == Postgres {
		return PostgresPort
	}
	return DefaultPort
}

// PostgresSocket returns the path of a PostgreSQL server's socket in a directory. Its name follows from the port, also
// where the server listens on no network.
// https://www.postgresql.org/docs/current/runtime-config-connection.html#GUC-UNIX-SOCKET-DIRECTORIES
func PostgresSocket(dir, port string) string {
	if strings.HasPrefix(path.Base(dir), postgresSocket) {
		return dir // it is the socket itself
	}
	return strings.TrimRight(dir, "/") + "/" + postgresSocket + port
}

const postgresSocket = ".s.PGSQL."

// query reads the part after the question mark.
func (s *Spec) query(text string) error {
	seen := map[string]bool{}
	host, port, accepted := "", "", parameters
	if s.Scheme == Postgres {
		accepted = postgresParameters
	}
	for pair := range strings.SplitSeq(text, "&") {
		if pair == "" {
			continue
		}
		k, v, _ := strings.Cut(pair, "=")
		k, err := unescape("name of a parameter", k)
		if err != nil {
			return err
		}
		if v, err = unescape("value of a parameter", strings.ReplaceAll(v, "+", "%2B")); err != nil {
			return err
		}
		name := strings.ReplaceAll(strings.ToLower(k), "_", "-")
		switch name {
		case "ssl-mode", "sslmode":
			name = "tls"
		case "ca", "tls-ca", "sslrootcert":
			name = "ssl-ca"
		case "cert", "tls-cert", "sslcert":
			name = "ssl-cert"
		case "key", "tls-key", "sslkey":
			name = "ssl-key"
		case "schema", "db", "dbname":
			name = "database"
		}
		if seen[name] {
			return fmt.Errorf("parameter %s is given twice", name)
		}
		seen[name] = true
		if mysqlOnly := slices.Contains([]string{
			"flavor", "get-server-public-key", "server-public-key-path", "explain-schemas",
		}, name); s.Scheme == Postgres && mysqlOnly || s.Scheme != Postgres && (name == "host" || name == "port") {
			return fmt.Errorf("unknown parameter; accepted are %s", accepted)
		}
		switch name {
		case "host":
			if s.Address != "" && !strings.HasPrefix(s.Address, ":") {
				return errors.New("the host is given twice")
			}
			host = v
		case "port":
			if s.Address != "" {
				return errors.New("the port is given twice, or belongs behind the host: host:port")
			}
			port = v
		case "user":
			if s.User != "" {
				return errors.New("the user is given twice")
			}
			s.User = v
		case "password":
			if !s.Password.Empty() {
				return errors.New("the password is given twice")
			}
			s.Password, s.PasswordInURL = NewSecret(v), v != ""
		case "database":
			if s.Database != "" {
				return errors.New("the database is given twice")
			}
			s.Database = v
		case "flavor":
			if v != "mysql" && v != "mariadb" {
				return errors.New("flavor is mysql or mariadb")
			}
			s.Scheme = v
		case "tls":
			if s.TLS, err = ParseTLSMode(v); err != nil {
				return err
			}
		case "ssl-ca":
			s.CA = v
		case "ssl-cert":
			s.Cert = v
		case "ssl-key":
			s.Key = v
		case "server-name":
			s.ServerName = v
		case "tls-version":
			if s.MinTLS, err = ParseTLSVersion(v); err != nil {
				return err
			}
		case "get-server-public-key":
			if s.TakeServerKey, err = Boolean(v, v != ""); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		case "server-public-key-path":
			s.ServerKey = v
		case "ssh":
			if s.Jump, err = tunnel.ParseJump(v); err != nil {
				return err
			}
		case "node-exporter":
			if s.NodeExporter, err = parseExporter(v); err != nil {
				return err
			}
		case "explain-schemas":
			if s.ExplainSchemas, err = parseSchemas(v); err != nil {
				return err
			}
		case "connect-timeout":
			if s.ConnectTimeout, err = ParseTimeout(v); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown parameter; accepted are %s", accepted)
		}
	}
	if _, p, err := net.SplitHostPort(s.Address); err == nil && host != "" {
		port = p
	}
	if host != "" || port != "" {
		return s.named(host, port)
	}
	return nil
}

// named sets the address by the parameters host and port.
func (s *Spec) named(host, port string) error {
	if strings.ContainsAny(host, ",") {
		return errors.New("the host names several: name the one server that is meant")
	}
	if strings.HasPrefix(host, "@") {
		return errors.New("the host begins with an @, which names an abstract socket: name its directory or a host")
	}
	return s.at(host, port)
}

// ParseTLSMode reads a mode by any of its usual names: those of --ssl-mode, of other drivers, and true or false.
func ParseTLSMode(text string) (TLSMode, error) {
	switch strings.ReplaceAll(strings.ToLower(text), "_", "-") {
	case "disabled", "disable", "false", "off", "0":
		return TLSDisabled, nil
	case "preferred", "prefer", "allow":
		return TLSPreferred, nil
	case "required", "require", "skip-verify":
		return TLSRequired, nil
	case "verify-ca":
		return TLSVerifyCA, nil
	case "verify-full", "verify-identity", "true", "on", "1":
		return TLSVerifyFull, nil
	}
	return "", errors.New("the TLS mode is disabled, preferred, required, verify-ca or verify-full")
}

// Boolean reads the value of an option as clients of databases write it; an option without a value is on.
func Boolean(v string, has bool) (bool, error) {
	if !has {
		return true, nil
	}
	switch strings.ToLower(v) {
	case "1", "on", "true", "yes":
		return true, nil
	case "0", "off", "false", "no":
		return false, nil
	}
	return false, errors.New("the value is ON or OFF")
}

// parseSchemas reads names of schemas with commas between them.
func parseSchemas(text string) (string, error) {
	for name := range strings.SplitSeq(text, ",") {
		if name == "" || name != strings.TrimSpace(name) || strings.ContainsAny(name, "*%") {
			return "", errors.New("explain-schemas takes names of schemas with commas between them, no patterns")
		}
	}
	return text, nil
}

// ParseTLSVersion reads the oldest version to speak, as the mysql client's --tls-version writes them; of a list the
// oldest counts.
func ParseTLSVersion(text string) (string, error) {
	oldest := ""
	for v := range strings.SplitSeq(text, ",") {
		v = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(v)), "tlsv")
		if v == "1" {
			v = "1.0"
		}
		if _, ok := tlsVersions[v]; !ok {
			return "", errors.New("the TLS version is TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3")
		}
		if oldest == "" || v < oldest {
			oldest = v
		}
	}
	return oldest, nil
}

// ParseTimeout reads whole seconds, as the mysql client takes them, or a duration with a unit.
func ParseTimeout(text string) (time.Duration, error) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > 1<<31*time.Second {
		return 0, errors.New("the connect timeout is a number of seconds or a duration like 500ms")
	}
	return d, nil
}

// unescape decodes %XX and refuses what no name of a server can hold. The error does not show the text.
func unescape(what, text string) (string, error) {
	out, err := url.PathUnescape(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("the %s holds a %% that is not followed by two hexadecimal digits: write %% as %%25",
			what)
	case !utf8.ValidString(out):
		return "", fmt.Errorf("the %s is not valid UTF-8", what)
	case strings.ContainsFunc(out, unicode.IsControl):
		return "", fmt.Errorf("the %s holds a control character", what)
	}
	return out, nil
}
