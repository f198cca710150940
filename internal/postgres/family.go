// Package postgres is the family of PostgreSQL as package family asks for it. What it does is in the packages below.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/dyno-perf/dyno/internal/advise"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/family"
	"github.com/dyno-perf/dyno/internal/load"
	"github.com/dyno-perf/dyno/internal/panel"
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/postgres/loader"
	"github.com/dyno-perf/dyno/internal/postgres/panels"
	"github.com/dyno-perf/dyno/internal/postgres/sources"
	"github.com/dyno-perf/dyno/internal/scrape"
)

// Family implements family.Family.
type Family struct {
	Reader advise.Reader // of statements, in the spelling that pgtext.Parsable gives them

	accounts
	logins
	finder
	mistakes
}

// What is asked of a Family, by subject.
type (
	accounts struct{} // how they are made, and what they are given
	logins   struct{} // whom a server takes Dyno for
	finder   struct{} // servers of this machine
	mistakes struct{} // what errors mean
)

var _ family.Family = Family{}

// Name implements family.Family.
func (Family) Name() string { return "PostgreSQL" }

// Has implements family.Family.
func (Family) Has(f dbms.Flavor) bool { return f.IsPostgres() }

// Resolve implements family.Family, see conn.Resolve. file is a password file in place of ~/.pgpass.
func (Family) Resolve(s endpoint.Spec, file string, getenv func(string) string) (endpoint.Spec, error) {
	if file == "" {
		return conn.Resolve(s, getenv)
	}
	return conn.Resolve(s, func(name string) string {
		switch {
		case name == "PGPASSFILE" && file != os.DevNull:
			return file
		case name == "PGPASSFILE", name == "HOME", strings.HasPrefix(name, "PGSSL"):
			return "" // what is its owner's is not for a server that somebody else names
		}
		return getenv(name)
	})
}

// Trust remembers by what a server is known now, see conn.Trust. There is no proof by the password: that is MariaDB's.
func (Family) Trust(ctx context.Context, s endpoint.Spec, add, proof bool) (endpoint.Accepted, error) {
	if proof {
		return endpoint.Accepted{}, &endpoint.Error{
			Op: "trust", Target: s.String(), Kind: endpoint.Unsupported,
			Err: errors.New("a PostgreSQL server proves nothing by the password"), Fix: "leave out --proof",
		}
	}
	return conn.Trust(ctx, s, add)
}

// Open implements family.Family.
func (f Family) Open(ctx context.Context, s endpoint.Spec) (family.Server, error) {
	t, err := conn.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	return Server{t, &rights{Asker: t.Asker(nil)}, f}, nil
}

// Programs says how psql and its kind log in.
func (Family) Programs() load.Programs { return programs() }

// OpenLoad logs in to load a server; the database may be yet to be made.
func (Family) OpenLoad(ctx context.Context, s endpoint.Spec) (load.Server, error) {
	return loader.Open(ctx, s)
}

// Sources implements family.Family.
func (Family) Sources() []scrape.Info { return sources.List() }

// Panels implements family.Family.
func (Family) Panels() []panel.Panel { return panels.List() }

// Up implements family.Family. It is postgres_exporter's name.
func (Family) Up() string { return "pg_up" }

// Grants implements family.Accounts, see conn.Grants.
func (accounts) Grants(_ dbms.Flavor, task, user string, schemas []string) ([]string, error) {
	return conn.Grants(task, user, schemas)
}

// CreateAccount implements family.Accounts, see conn.CreateAccount.
func (accounts) CreateAccount(user string) (create, unlock string, err error) {
	return conn.CreateAccount(user)
}

// NewAccount implements family.Accounts.
func (accounts) NewAccount(_ dbms.Flavor, socket bool, systemUser string) []string {
	name, by := "dyno", " PASSWORD 'choose a password'"
	if socket && systemUser != "" { // peer: the server knows who is at the other end
		name, by = systemUser, ""
	}
	grants, err := conn.Grants("watch", name, nil)
	if err != nil {
		return nil
	}
	return append([]string{"CREATE ROLE " + conn.Quote(name) + " LOGIN" + by}, grants...)
}

// Account implements family.Logins.
func (logins) Account(f family.Facts) (string, error) {
	if f.User == "" {
		return "", fmt.Errorf("the account in use is not reported")
	}
	return f.User, nil
}

// Refused implements family.Logins: accounts have no host.
func (logins) Refused(s endpoint.Spec, _ error) (user string, sure bool) { return s.User, true }

// Greeting implements family.Logins: a server says nothing of its version before a login.
func (logins) Greeting(context.Context, endpoint.Spec) (flavor dbms.Flavor, version string) {
	return dbms.Postgres, ""
}
