package sandbox

import "github.com/dyno-perf/dyno/internal/endpoint"

// Spec returns how to reach the sandbox's server as root, PostgreSQL as its superuser. Who answers
// must be the owner of its data: the socket's directory may hold a link to the socket of a server
// that lets the system's root in. Its schemas are trusted: whoever can put routines into them is who
// started it, and what they run stays within the sandbox.
func (s Sandbox) Spec() endpoint.Spec {
	x := endpoint.Spec{
		Name: "sandbox:" + s.Name, Scheme: "mysql", Network: "unix", Address: s.Socket, User: "root",
		ServerUID: s.serverUID, ExplainSchemas: endpoint.AllSchemas,
	}
	switch {
	case s.Server.Flavor.IsMariaDB():
		x.Scheme = "mariadb"
	case s.Server.Flavor.IsPostgres():
		x.Scheme, x.User, x.Database = "postgres", postgresUser, postgresDatabase
	}
	return x
}
