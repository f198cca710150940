package host

import (
	"path/filepath"
	"slices"
	"strings"
)

// Marks are by what the servers of one family are told from what else listens on a machine. The zero value marks none.
type Marks struct {
	Programs []string // names of the server's program
	// Child reports whether a command line is that of a process which a server has started for a part of its work; nil:
	// it starts none.
	Child     func(args []string) bool
	Port      string // the usual one
	OtherPort string // where servers usually speak another protocol as well, "" for none
	// Socket says of the name of a Unix socket, in small letters and without its directory, whether it tells that a
	// server listens there, and whether it tells that it is not for clients, whoever listens.
	Socket func(name string) (tells, never bool)
	// Place reads a server's command line; what it does not say is "".
	Place func(args []string) (socket, port string)
}

// IsServer reports whether a command line is that of a server. It may be run by the dynamic linker, whose name then
// comes first.
func (m Marks) IsServer(args []string) bool {
	is := func(a string) bool { return slices.Contains(m.Programs, filepath.Base(a)) }
	if len(args) == 0 || is(args[0]) {
		return len(args) > 0
	}
	return strings.HasPrefix(filepath.Base(args[0]), "ld-") && slices.ContainsFunc(args, is)
}

func (m Marks) isChild(args []string) bool { return m.Child != nil && m.Child(args) }

// IsSocket reports whether a path is that of a socket of such a server, and whether it is never one.
func (m Marks) IsSocket(path string) (tells, never bool) {
	if m.Socket == nil {
		return false, false
	}
	return m.Socket(strings.ToLower(filepath.Base(path)))
}
