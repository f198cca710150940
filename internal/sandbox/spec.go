package sandbox

import "dyno/internal/target"

// Spec returns how to reach the sandbox's server as root.
func (s Sandbox) Spec() target.Spec {
	scheme := "mysql"
	if s.Server.Flavor == "mariadb" {
		scheme = "mariadb"
	}
	return target.Spec{Name: "sandbox:" + s.Name, Scheme: scheme, Network: "unix", Address: s.Socket, User: "root"}
}
