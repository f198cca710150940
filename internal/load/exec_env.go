package load

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Programs says how the programs of a family of servers log in.
type Programs struct {
	// Secrets are variables of the environment that may hold a password. A command does not get them.
	Secrets []string
	// File returns what is in a file for these programs that has the login, the password too; nil where there is none.
	File func(s endpoint.Spec) ([]byte, error)
	// Socket returns the host and the port by which the programs name a socket; nil where they take its path.
	Socket func(path string) (host, port string)
}

// ownSecret is the variable that may hold a password for Dyno itself.
const ownSecret = "DYNO_PASSWORD"

// execEnvironment returns the environment of commands: the given one with what leads to the server, and without
// passwords. remove deletes the file with the login.
func execEnvironment(s endpoint.Spec, p Programs, environ []string) (env []string, remove func(), err error) {
	add := map[string]string{
		"DYNO_HOST": "", "DYNO_PORT": "", "DYNO_SOCKET": "", "DYNO_USER": s.User,
		"DYNO_DATABASE": s.Database, "DYNO_DEFAULTS_FILE": "", "DYNO_SESSION": "",
	}
	if s.Network == "unix" {
		add["DYNO_SOCKET"] = s.Address
		if p.Socket != nil {
			add["DYNO_HOST"], add["DYNO_PORT"] = p.Socket(s.Address)
		}
	} else if s.Address != "" {
		host, port, err := net.SplitHostPort(s.Address)
		if err != nil {
			return nil, nil, fmt.Errorf("read the address of %s: %w", s, err)
		}
		add["DYNO_HOST"], add["DYNO_PORT"] = host, port
	}
	remove = func() {}
	if s != (endpoint.Spec{}) && p.File != nil {
		text, err := p.File(s)
		if err != nil {
			return nil, nil, err
		}
		dir, err := os.MkdirTemp("", "dyno-exec-") // for its owner alone
		if err != nil {
			return nil, nil, fmt.Errorf("make a place for the file with the login: %w", err)
		}
		remove = func() { os.RemoveAll(dir) }
		file := filepath.Join(dir, "login")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			remove()
			return nil, nil, fmt.Errorf("write the file with the login: %w", err)
		}
		add["DYNO_DEFAULTS_FILE"] = file
	}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if _, ours := add[name]; !ours && name != ownSecret && !slices.Contains(p.Secrets, name) {
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
