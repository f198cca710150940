package host

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/advise/host"

	"github.com/dyno-perf/dyno/internal/advise"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/source"
)

// tls tells whether connections over the network have to be encrypted, or can be at all.
func tls(v *advise.View) []finding.Finding {
	if v.On("skip_networking") || v.On("require_secure_transport") {
		return nil
	}
	bind, bound := v.Variable("bind_address")
	for _, own := range []string{"127.0.0.1", "::1", "localhost"} {
		if bound && strings.EqualFold(bind, own) {
			return nil // nothing leaves the machine
		}
	}
	cert, known := v.Variable("ssl_cert")
	if !known {
		return nil
	}
	f := host.About("tls", "require_secure_transport")
	f.Valid, f.Confidence = "", finding.Certain
	have, told := v.Variable("have_ssl")
	if told && !strings.EqualFold(have, "YES") || !told && cert == "" {
		// MariaDB from 11.4 on makes itself a certificate
		f.Title = "connections over the network cannot be encrypted"
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "ssl_cert", Expected: "a certificate",
			Source: source.Variables, Text: "The server has no certificate.",
		})
		f.Suggestion = "Give the server a certificate and its key (ssl_cert, ssl_key), then require TLS account by " +
			"account: ALTER USER … REQUIRE SSL."
		f.Restart = true
	} else {
		f.Title = "connections over the network may go unencrypted"
		f.Evidence = append(f.Evidence, finding.Evidence{
			What: "require_secure_transport", Expected: "ON",
			Source: source.Variables, Text: "The server has a certificate, and does not require clients to use it.",
		})
		f.Suggestion = "Once all clients support TLS: SET GLOBAL require_secure_transport = ON. Connections over the " +
			"socket stay as they are."
		f.Setting, f.File = []string{"require_secure_transport = ON"}, "my.cnf"
		if _, has := v.Variable("require_secure_transport"); !has {
			f.Setting, f.File = nil, ""
			f.Suggestion = "Require TLS account by account: ALTER USER … REQUIRE SSL."
		}
	}
	f.Cost = "Clients without TLS are refused; a new connection costs some milliseconds of CPU more, an open one " +
		"little."
	f.Reference = "https://dev.mysql.com/doc/refman/en/using-encrypted-connections.html"
	return []finding.Finding{f}
}
