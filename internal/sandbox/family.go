package sandbox

import (
	"context"
	"net"
	"syscall"
)

// family is how the servers of one family are initialised, started, asked and ended. What follows from that (states,
// ports, limits, templates, accounts) is the same for all.
type family interface {
	// initialise makes a new data directory in dir/data, which exists and is empty, with settings that hold from its
	// making on, and returns what the programs said. What it writes belongs to one account, which the templates take
	// it over from.
	initialise(ctx context.Context, s Server, initial []string, a account, dir string) (said string, err error)

	// command returns the command line that starts the server of the sandbox in dir on its data directory. The
	// server stays the process that executes it, and its log is dir/log/error.log.
	command(dir string, r record, set settings) ([]string, error)

	// socket returns the name of the server's socket in the run directory.
	socket(port int) string

	// greet returns nil when the server at the other end of a new connection to its socket serves.
	greet(c net.Conn) error

	// signals returns what ends a server in order, and what ends it at once together with the processes it has
	// started.
	signals() (orderly, atOnce syscall.Signal)

	// reserved returns why a setting cannot be set in a sandbox, "" if it can. The name is in lower case with
	// underscores.
	reserved(name string) string

	// checkSettings is Yard.CheckSettings with the settings as options.
	checkSettings(ctx context.Context, s Server, opts []string) error
}

func (s Server) family() family {
	if s.Flavor.IsPostgres() {
		return postgresFamily{}
	}
	return mysqlFamily{}
}
