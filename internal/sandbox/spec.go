package sandbox

import "github.com/dyno-perf/dyno/internal/endpoint"

// Spec returns how to reach the sandbox's server as root. Who answers must be the owner of its
// data: the socket's directory may hold a link to the socket of a server that lets the system's root
// in. Its schemas are trusted: whoever can put routines into them is who started it, and what they
// run stays within the sandbox.
func (s Sandbox) Spec() endpoint.Spec {
	scheme := "mysql"
	if s.Server.Flavor.IsMariaDB() {
		scheme = "mariadb"
	}
	return endpoint.Spec{
		Name: "sandbox:" + s.Name, Scheme: scheme, Network: "unix", Address: s.Socket, User: "root",
		ServerUID: s.serverUID, ExplainSchemas: endpoint.AllSchemas,
	}
}
