package mysql

import (
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/mysql/target"
)

var (
	_ family.Finder = Family{}
	_ family.Gapped = Server{}
)

// UsualSockets are where builds of the mysql client look for a server.
var UsualSockets = []string{
	"/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock",
	"/var/lib/mysql/mysql.sock", "/tmp/mysql.sock",
}

// Marks implements family.Finder.
func (finder) Marks() host.Marks { return target.Marks }

// Guess implements family.Finder.
func (finder) Guess(network, address, systemUser string) endpoint.Spec {
	return endpoint.Spec{Scheme: "mysql", Network: network, Address: address, User: systemUser}
}

// Own implements family.Finder: where the mysql client would go without arguments.
func (finder) Own(getenv func(string) string) (family.Own, error) {
	own := family.Own{
		Sockets: UsualSockets, Port: endpoint.DefaultPort, File: "~/.my.cnf",
		Passwords: [2]string{"~/.my.cnf", "MYSQL_PWD"},
	}
	o, err := target.Defaults("")
	if err != nil {
		return own, err
	}
	own.Named = o.Host != "" && o.Host != "localhost" || o.Socket != "" || o.Port != 0
	own.Spec, err = target.Resolve(endpoint.Spec{Scheme: "mysql"}, "", getenv)
	return own, err
}

// Gaps implements family.Gapped.
func (s Server) Gaps() (all []family.Gap) {
	for _, c := range []target.Capability{
		target.HasPerformanceSchema, target.HasStatementDigests, target.HasInnodbMetrics,
	} {
		if x := s.Answer(c); !x.Has {
			all = append(all, family.Gap{What: string(c), Reason: x.Reason, Fix: x.Fix})
		}
	}
	return all
}
