package host

import (
	"testing"

	"github.com/dyno-perf/dyno/test/machine"
)

func TestTls(t *testing.T) {
	found(t, tls, machine.New().Set("ssl_cert", "server-cert.pem").Set("require_secure_transport", "OFF").
		Set("bind_address", "*"),
		"fact: connections over the network may go unencrypted | require_secure_transport = ON")
	found(t, tls, machine.New().Set("ssl_cert", "").Set("have_ssl", "DISABLED"), "fact: connections over the network "+
		"cannot be encrypted")
}

// A server that made itself a certificate names none in its settings.
func TestTlsOfItsOwn(t *testing.T) {
	found(t, tls, machine.New().Set("ssl_cert", "").Set("have_ssl", "YES").Set("require_secure_transport", "OFF"),
		"fact: connections over the network may go unencrypted | require_secure_transport = ON")
}

func TestTlsSilent(t *testing.T) {
	found(t, tls, machine.New().Set("ssl_cert", "server-cert.pem").Set("require_secure_transport", "ON"))
	found(t, tls, machine.New().Set("ssl_cert", "").Set("skip_networking", "ON"))
	found(t, tls, machine.New().Set("ssl_cert", "").Set("bind_address", "127.0.0.1"))
}
