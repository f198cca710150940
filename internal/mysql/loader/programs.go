package loader

import (
	"fmt"
	"net"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

// Programs says how mysql and its kind log in.
var Programs = load.Programs{Secrets: []string{"MYSQL_PWD", "MYSQL_TEST_LOGIN_FILE"}, File: defaultsFile}

// defaultsFile returns the login as clients read it with --defaults-file. What only some clients know is marked loose,
// and the database is for the command-line clients alone: others end at an option that they do not know.
// https://dev.mysql.com/doc/refman/9.0/en/option-files.html
func defaultsFile(s endpoint.Spec) ([]byte, error) {
	host, port := "", ""
	if s.Network != "unix" && s.Address != "" {
		var err error
		if host, port, err = net.SplitHostPort(s.Address); err != nil {
			return nil, fmt.Errorf("read the address of %s: %w", s, err)
		}
	}
	var b strings.Builder
	put := func(key, value string) {
		if value != "" {
			b.WriteString(key + "=" + target.OptionValue(value) + "\n")
		}
	}
	b.WriteString("[client]\n")
	if s.Network == "unix" {
		put("socket", s.Address)
		put("protocol", "socket")
	} else {
		put("host", host)
		put("port", port)
		if host != "" {
			put("protocol", "tcp") // a client takes localhost for the socket
		}
	}
	put("user", s.User)
	put("password", s.Password.Reveal())
	put("ssl-ca", s.CA)
	put("ssl-cert", s.Cert)
	put("ssl-key", s.Key)
	switch s.Mode() {
	case endpoint.TLSDisabled:
		put("loose-ssl-mode", "DISABLED")
		b.WriteString("loose-skip-ssl\n")
	case endpoint.TLSRequired:
		put("loose-ssl-mode", "REQUIRED")
		b.WriteString("loose-ssl\n")
	case endpoint.TLSVerifyCA:
		put("loose-ssl-mode", "VERIFY_CA")
		b.WriteString("loose-ssl\n")
	case endpoint.TLSVerifyFull:
		put("loose-ssl-mode", "VERIFY_IDENTITY")
		b.WriteString("loose-ssl\nloose-ssl-verify-server-cert\n")
	case endpoint.TLSPreferred, endpoint.TLSDefault:
	}
	if s.Database != "" {
		b.WriteString("[mysql]\n")
		put("database", s.Database)
	}
	return []byte(b.String()), nil
}
