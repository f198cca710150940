package conn

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/tunnel"
)

// SocketDirs are where packages of PostgreSQL have the server's socket. Its own default is /tmp, where anybody can put
// one: a URL that means it says so.
var SocketDirs = []string{"/run/postgresql", "/var/run/postgresql"}

// Resolve completes a spec as psql does: what it says itself wins, then the password of DYNO_PASSWORD, then libpq's
// variables PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD, PGSSLMODE, PGSSLROOTCERT, PGSSLCERT, PGSSLKEY and
// PGCONNECT_TIMEOUT, then the password file (PGPASSFILE, ~/.pgpass), then USER, a socket in one of SocketDirs and
// localhost. Without a database the server takes the one with the user's name. getenv is os.Getenv. Errors name
// variable, file and line, and never show a password.
// https://www.postgresql.org/docs/current/libpq-envars.html
func Resolve(s endpoint.Spec, getenv func(string) string) (endpoint.Spec, error) {
	bad := func(variable string, err error) (endpoint.Spec, error) {
		return s, &endpoint.Error{
			Op: "read the variable " + variable, Kind: endpoint.BadTarget, Err: err,
			Fix: "correct " + variable + ", or unset it and say all in the URL",
		}
	}
	s.User = cmp.Or(s.User, getenv("PGUSER"), getenv("USER"))
	s.Database = cmp.Or(s.Database, getenv("PGDATABASE"))
	if err := address(&s, getenv); err != nil {
		return bad("PGHOST or PGPORT", err)
	}
	if text := getenv("PGSSLMODE"); text != "" && s.TLS == endpoint.TLSDefault && s.CA == "" && s.Network != "unix" {
		m, err := endpoint.ParseTLSMode(text)
		if err != nil {
			return bad("PGSSLMODE", err)
		}
		s.TLS = m
	}
	if s.Network != "unix" && s.CA == "" && s.Cert == "" && s.Key == "" {
		s.CA, s.Cert, s.Key = getenv("PGSSLROOTCERT"), getenv("PGSSLCERT"), getenv("PGSSLKEY")
	}
	if text := getenv("PGCONNECT_TIMEOUT"); text != "" && s.ConnectTimeout == 0 {
		d, err := endpoint.ParseTimeout(text)
		if err != nil {
			return bad("PGCONNECT_TIMEOUT", err)
		}
		s.ConnectTimeout = d
	}
	for _, name := range []string{"DYNO_PASSWORD", "PGPASSWORD"} {
		if s.Password.Empty() && getenv(name) != "" {
			s.Password, s.PasswordFrom = endpoint.NewSecret(getenv(name)), "$"+name
		}
	}
	if !s.Password.Empty() {
		return s, nil
	}
	file := getenv("PGPASSFILE")
	if file == "" && getenv("HOME") != "" && runtime.GOOS != "windows" {
		file = path.Join(getenv("HOME"), ".pgpass")
	}
	if file == "" {
		return s, nil
	}
	password, why, err := passwordIn(file, s)
	if err != nil && getenv("PGPASSFILE") != "" {
		return bad("PGPASSFILE", err)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		why = err.Error()
	}
	if s.NoPassword = why; password != "" {
		s.Password, s.PasswordFrom = endpoint.NewSecret(password), file
	}
	return s, nil
}

// address fills in where the server is. What variables say is of this machine, not of a jump host's.
func address(s *endpoint.Spec, getenv func(string) string) error {
	given, port, err := net.SplitHostPort(s.Address)
	if s.Network == "unix" || err == nil && given != "" {
		return nil
	}
	if s.Jump != (tunnel.Jump{}) {
		getenv = func(string) string { return "" }
	}
	if port == "" {
		port = cmp.Or(getenv("PGPORT"), endpoint.PostgresPort)
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("the port is not a number from 1 to 65535")
		}
	}
	name := getenv("PGHOST")
	if strings.ContainsAny(name, ",@") {
		return errors.New("the host names several, or an abstract socket: name the one server that is meant")
	}
	if name == "" && s.Jump == (tunnel.Jump{}) {
		for _, dir := range SocketDirs {
			if st, err := os.Stat(endpoint.PostgresSocket(dir, port)); err == nil && st.Mode()&fs.ModeSocket != 0 {
				name = dir
				break
			}
		}
	}
	if strings.HasPrefix(name, "/") {
		s.Network, s.Address = "unix", endpoint.PostgresSocket(name, port)
		return nil
	}
	s.Network, s.Address = "tcp", net.JoinHostPort(cmp.Or(name, "localhost"), port)
	return nil
}

// passwordIn looks for the password of a spec in a file: "" where no line is for it. As libpq does, it passes over
// wrong lines and a file that others may read, for the login may need no password: why says that for its error.
// https://www.postgresql.org/docs/current/libpq-pgpass.html
func passwordIn(file string, s endpoint.Spec) (password, why string, err error) {
	b, st, err := endpoint.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	if mode := st.Mode().Perm(); mode&0o077 != 0 {
		return "", fmt.Sprintf("%s: others may read it (its mode is %#o), so no password is taken from it. "+
			"Fix: chmod 600", file, mode), nil
	}
	host, port, err := net.SplitHostPort(s.Address)
	if err != nil { // a socket: its directory, or localhost
		host, port = path.Dir(s.Address), strings.TrimPrefix(path.Base(s.Address), ".s.PGSQL.")
	}
	want := []string{host, port, cmp.Or(s.Database, s.User), s.User}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := fields(line)
		if len(f) != 5 {
			why = cmp.Or(why, fmt.Sprintf("%s:%d: %d fields, not host:port:database:user:password", file, n, len(f)))
			continue
		}
		match := true
		for i, w := range want {
			usual := i == 0 && f[i] == "localhost" && slices.Contains(SocketDirs, host)
			match = match && (f[i] == "*" || f[i] == w || usual)
		}
		if match {
			return f[4], "", nil
		}
	}
	return "", why, nil
}

// fields cuts a line at its first four colons; a backslash takes the meaning of a colon or a backslash.
func fields(line string) (all []string) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && (line[i+1] == ':' || line[i+1] == '\\'):
			i++
			b.WriteByte(line[i])
		case c == ':' && len(all) < 4:
			all = append(all, b.String())
			b.Reset()
		default:
			b.WriteByte(c)
		}
	}
	return append(all, b.String())
}
