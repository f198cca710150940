package load

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// execHidden are variables that may hold a password; a command gets it from the defaults file.
var execHidden = []string{"DYNO_PASSWORD", "MYSQL_PWD", "MYSQL_TEST_LOGIN_FILE"}

// execEnvironment returns the environment of commands: the given one with what leads to the server, and without
// passwords. remove deletes the defaults file.
func execEnvironment(s endpoint.Spec, environ []string) (env []string, remove func(), err error) {
	add := map[string]string{
		"DYNO_HOST": "", "DYNO_PORT": "", "DYNO_SOCKET": "", "DYNO_USER": s.User,
		"DYNO_DATABASE": s.Database, "DYNO_DEFAULTS_FILE": "", "DYNO_SESSION": "",
	}
	if s.Network == "unix" {
		add["DYNO_SOCKET"] = s.Address
	} else if s.Address != "" {
		host, port, err := net.SplitHostPort(s.Address)
		if err != nil {
			return nil, nil, fmt.Errorf("read the address of %s: %w", s, err)
		}
		add["DYNO_HOST"], add["DYNO_PORT"] = host, port
	}
	remove = func() {}
	if s != (endpoint.Spec{}) {
		dir, err := os.MkdirTemp("", "dyno-exec-") // for its owner alone
		if err != nil {
			return nil, nil, fmt.Errorf("make a place for the defaults file: %w", err)
		}
		remove = func() { os.RemoveAll(dir) }
		file := filepath.Join(dir, "my.cnf")
		if err := os.WriteFile(file, defaultsFile(s, add["DYNO_HOST"], add["DYNO_PORT"]), 0o600); err != nil {
			remove()
			return nil, nil, fmt.Errorf("write the defaults file: %w", err)
		}
		add["DYNO_DEFAULTS_FILE"] = file
	}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if _, ours := add[name]; !ours && !slices.Contains(execHidden, name) {
			env = append(env, kv)
		}
	}
	for _, name := range []string{
		"DYNO_HOST", "DYNO_PORT", "DYNO_SOCKET", "DYNO_USER", "DYNO_DATABASE",
		"DYNO_DEFAULTS_FILE",
	} {
		env = append(env, name+"="+add[name])
	}
	return env, remove, nil
}

// defaultsFile returns the login as clients read it with --defaults-file. What only some clients know is marked loose,
// and the database is for the command-line clients alone: others end at an option that they do not know.
// https://dev.mysql.com/doc/refman/9.0/en/option-files.html
func defaultsFile(s endpoint.Spec, host, port string) []byte {
	var b strings.Builder
	put := func(key, value string) {
		if value != "" {
			b.WriteString(key + "=" + target.OptionValue(value) + "\n")
		}
	}
	b.WriteString("[client]\n")
	if s.Network == "unix" {
		put("socket", s.Address)
		put("protocol", "socket")
	} else {
		put("host", host)
		put("port", port)
		if host != "" {
			put("protocol", "tcp") // a client takes localhost for the socket
		}
	}
	put("user", s.User)
	put("password", s.Password.Reveal())
	put("ssl-ca", s.CA)
	put("ssl-cert", s.Cert)
	put("ssl-key", s.Key)
	switch s.Mode() {
	case endpoint.TLSDisabled:
		put("loose-ssl-mode", "DISABLED")
		b.WriteString("loose-skip-ssl\n")
	case endpoint.TLSRequired:
		put("loose-ssl-mode", "REQUIRED")
		b.WriteString("loose-ssl\n")
	case endpoint.TLSVerifyCA:
		put("loose-ssl-mode", "VERIFY_CA")
		b.WriteString("loose-ssl\n")
	case endpoint.TLSVerifyFull:
		put("loose-ssl-mode", "VERIFY_IDENTITY")
		b.WriteString("loose-ssl\nloose-ssl-verify-server-cert\n")
	case endpoint.TLSPreferred, endpoint.TLSDefault:
	}
	if s.Database != "" {
		b.WriteString("[mysql]\n")
		put("database", s.Database)
	}
	return []byte(b.String())
}
