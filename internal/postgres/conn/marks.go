package conn

import (
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/host"
)

// Marks are by what PostgreSQL's servers are told from what else listens on a machine. A server gives each process of
// its own a title that begins with "postgres: " (manual, 27.1. Standard Unix Tools); none of them listens.
var Marks = host.Marks{
	Programs: []string{"postgres", "edb-postgres"},
	Child:    func(args []string) bool { return len(args) > 0 && strings.HasPrefix(args[0], "postgres: ") },
	Port:     endpoint.PostgresPort,
	Socket: func(name string) (tells, never bool) {
		port, ok := strings.CutPrefix(name, ".s.pgsql.")
		_, err := strconv.ParseUint(port, 10, 16)
		return ok && err == nil, false
	},
	Place: func(args []string) (socket, port string) { // where its sockets are its settings say
		for i, a := range args {
			for _, flag := range []string{"-p", "--port=", "port="} {
				if v, ok := strings.CutPrefix(a, flag); ok && v != "" {
					port = v
				} else if ok && i+1 < len(args) {
					port = args[i+1]
				}
			}
		}
		return "", port
	},
}
