package sandbox

import "github.com/dyno-perf/dyno/internal/endpoint"

// Spec returns how to reach the sandbox's server as its superuser. Who answers must be the owner of its data: the
// socket's directory may hold a link to the socket of a server that lets the system's root in. Its schemas are trusted:
// whoever can put routines into them is who started it, and what they run stays within the sandbox.
func (s Sandbox) Spec() endpoint.Spec {
	var x endpoint.Spec
	if m := s.Server.Maker; m != nil { // else it is not known what it is
		x = m.Traits().Login(s.Server.Flavor)
	}
	x.Name, x.Network, x.Address = "sandbox:"+s.Name, "unix", s.Socket
	x.ServerUID, x.ExplainSchemas = s.serverUID, endpoint.AllSchemas
	return x
}
