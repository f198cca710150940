package family

import (
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
)

// Finder is a family whose servers can be found on the machine that Dyno runs on.
type Finder interface {
	// Marks are by what they are told from what else listens there.
	Marks() host.Marks
	// Guess is the login that is tried at a place that nobody has named: without a password, as an account with the
	// name of the system's user.
	Guess(network, address, systemUser string) endpoint.Spec
	// Own is where the user's own files and environment lead. Errors never show a password.
	Own(getenv func(string) string) (Own, error)
}

// Own is the login that the user's own files and environment have for a family's clients. The zero value is none.
type Own struct {
	Spec  endpoint.Spec // Address is "" where they name no server
	Named bool          // they name a server: what follows does not count
	// Sockets and Port are where the clients look for a server that nobody has named.
	Sockets []string
	Port    string
	File    string // where the user writes the password of such a login, for people: "~/.my.cnf"
	// Passwords are where the clients read passwords, for people: "~/.pgpass", "PGPASSWORD".
	Passwords [2]string
}

// Gapped is a server of which some things cannot be observed.
type Gapped interface {
	Gaps() []Gap
}

// Gap is something that cannot be observed of a server.
type Gap struct {
	What, Reason string
	Fix          string // "" when only another version of the server would help
}
