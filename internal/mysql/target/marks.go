package target

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
)

// Marks are by what servers of the family are told from what else listens on a machine.
var Marks = host.Marks{
	Programs:  []string{"mysqld", "mariadbd", "mysqld-debug"},
	Port:      endpoint.DefaultPort,
	OtherPort: "33060", // MySQL's X protocol
	Socket: func(name string) (tells, never bool) {
		return (strings.Contains(name, "mysql") || strings.Contains(name, "maria")) &&
			(strings.HasSuffix(name, ".sock") || strings.HasSuffix(name, ".socket")), strings.Contains(name, "mysqlx")
	},
	Place: func(args []string) (socket, port string) {
		for _, a := range args {
			if v, ok := strings.CutPrefix(a, "--socket="); ok {
				socket = v
			}
			if v, ok := strings.CutPrefix(a, "--port="); ok {
				port = v
			}
		}
		return socket, port
	},
}
