package postgres

import (
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/host"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
)

var (
	_ family.Finder = Family{}
	_ family.Gapped = Server{}
)

// Marks implements family.Finder.
func (finder) Marks() host.Marks { return conn.Marks }

// Guess implements family.Finder. The database is the one that every server has.
func (finder) Guess(network, address, systemUser string) endpoint.Spec {
	return endpoint.Spec{
		Scheme: endpoint.Postgres, Network: network, Address: address, User: systemUser, Database: "postgres",
	}
}

// Own implements family.Finder: libpq's files have passwords for servers that are named, and name none themselves.
func (finder) Own(func(string) string) (family.Own, error) {
	return family.Own{Passwords: [2]string{"~/.pgpass", "PGPASSWORD"}}, nil
}

// Gaps implements family.Gapped.
func (s Server) Gaps() (all []family.Gap) {
	f := s.Facts()
	if !f.Monitor {
		all = append(all, family.Gap{
			What: "sessions of others", Reason: "the account is no member of pg_monitor",
			Fix: "GRANT pg_monitor TO " + conn.Quote(f.User),
		})
	}
	if f.Statements.Missing != "" {
		all = append(all, family.Gap{
			What: "statement digests", Reason: f.Statements.Missing, Fix: f.Statements.Fix,
		})
	}
	return all
}
