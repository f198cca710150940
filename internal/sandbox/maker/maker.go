// Package maker declares what sandboxes ask of a family of servers: how its builds are recognised, its data directories
// made, its servers started, asked and ended. What follows from that (states, ports, limits, templates, accounts) is
// the same for all, and is in package sandbox. Only package app knows which makers there are.
package maker

import (
	"context"
	"io"
	"net"
	"syscall"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Maker makes the private servers of one family. A Maker has no state, and two of one family are equal.
type Maker interface {
	// Traits are what holds for all builds.
	Traits() Traits
	Starter
	Settings
	Prober
	Keeper
}

// Traits are what holds for all builds of a family.
type Traits struct {
	Flavors []dbms.Flavor // in the order in which they are offered
	// Programs are the names of server programs, and Places patterns of directories where the system's packages put
	// them, beside the usual ones.
	Programs, Places []string
	// AskVersion has a server program print its version, and Version reads that; not ok for what is no such server.
	AskVersion []string
	Version    func(said string) (flavor dbms.Flavor, version string, ok bool)
	Clients    []string // names of the client program
	Needless   []string // patterns of what no server reads, in the tree of an archive
	// Socket names the server's socket in the run directory, and Login says how its superuser logs in there: scheme,
	// account and database.
	Socket func(port int) string
	Login  func(f dbms.Flavor) endpoint.Spec
	// Orderly ends a server in order, and AtOnce ends it at once together with the processes it has started.
	Orderly, AtOnce syscall.Signal
	// LockFile is a file of the data directory whose first line is the number of the process that uses it; "" for none.
	LockFile string
	Examples []string // of what follows "sandbox up"
	// Initial are the settings that hold from the moment a data directory is made, so that each value needs a template
	// of its own.
	Initial []string
	Log     Log
	Sources Sources
}

// Starter makes data directories and starts servers on them.
type Starter interface {
	// Initialise returns the commands that make a new data directory in dir/data, which exists and is empty, with
	// options that hold from its making on. What they write belongs to one account, which the templates take it over
	// from. dir/tmp is there for them.
	Initialise(s Server, initial []string, dir string) (Initialising, error)
	// Finish completes a data directory that Initialise has made and that is ours now, with no server on it.
	Finish(s Server, data string) error
	// Variant says in words of its own what Finish does for this build: builds with another Variant have another
	// template.
	Variant(s Server) []string
	// Command returns the command line that starts a server with options. It stays the process that executes it, and
	// its log is p.Dir/log/error.log.
	Command(s Server, p Place, options []string) []string
}

// Initialising is how a data directory is made.
type Initialising struct {
	Steps []Step
	// Named says that the programs want their user to have an entry in /etc/passwd.
	Named bool
}

// Step is one program to run.
type Step struct {
	Argv  []string
	Stdin io.Reader
}

// Place is where a server runs. Below Dir are data, log, files (which it may read and write) and tmp.
type Place struct {
	Dir, Run, Socket string
	Port             int
}

// Settings are what a user may set.
type Settings interface {
	// Setting says of a setting's name, in lower case with underscores, whether it is the port, and why it cannot be
	// set in a sandbox, "" if it can.
	Setting(name string) (port bool, reserved string)
	// CheckSettings asks a build whether it knows the options and can read their values; the error is ErrSettings, with
	// the nearest setting that there is as its hint.
	CheckSettings(ctx context.Context, run Runner, s Server, options []string) error
}

// Runner runs a program as the servers' account and returns what it said; the error tells whether it objected.
type Runner func(ctx context.Context, argv ...string) (said string, err error)

// Prober looks at a server that was started.
type Prober interface {
	// Greet returns nil when the server at the other end of a new connection to its socket serves.
	Greet(c net.Conn) error
	// Cached returns why a limit of cgroup v1 on the writes of a process to its data does not hold though it is set, ""
	// when it does: what waits in the page cache is written in the kernel's name, which is limited for nobody.
	Cached(pid int, data string) string
}

// Keeper keeps data directories as data sets.
type Keeper interface {
	// PrepareEnd tells a running server to end in full when it is told to end, and to forget its logs. It returns the
	// names of the logs in the data directory, without their ending.
	PrepareEnd(ctx context.Context, at endpoint.Spec) (logs []string, err error)
	// Leaves reports whether a file of a data directory is its server's alone, or tells of work that is done. logs are
	// those of PrepareEnd.
	Leaves(s Server, rel string, logs []string) bool
	// Emptied is the file that is kept without what is in it, if it is there; "" for none.
	Emptied() string
}
