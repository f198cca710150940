// Package dbms names the kinds of servers that Dyno knows. Those of the MySQL family speak one protocol and differ in
// what they measure, allow and call things; PostgreSQL is a family of its own.
package dbms

import (
	"slices"
	"strings"
)

// Flavor is a kind of server, as it is written in JSON, specs and options. "" is not known.
type Flavor string

// The flavors.
const (
	MySQL   Flavor = "mysql"
	Percona Flavor = "percona" // Percona Server, which is MySQL with more to see
	MariaDB Flavor = "mariadb"

	Postgres Flavor = "postgres"
)

// All returns the flavors of the MySQL family, in the order in which people list them.
func All() []Flavor { return []Flavor{MySQL, Percona, MariaDB} }

// Named returns the flavor of a name, "postgresql" among them; not ok for one that is not known.
func Named(name string) (f Flavor, ok bool) {
	switch f = Flavor(name); {
	case f == "postgresql":
		return Postgres, true
	case f == Postgres, slices.Contains(All(), f):
		return f, true
	}
	return "", false
}

// Of returns the flavor of a server that reports a version, 10.11.19-MariaDB, and a comment on it, which may be empty.
// The program's own --version works alike.
func Of(version, comment string) Flavor {
	switch {
	case strings.Contains(version, "MariaDB"), strings.Contains(comment, "MariaDB"),
		strings.Contains(comment, "mariadb.org"):
		return MariaDB
	case strings.Contains(comment, "Percona"):
		return Percona
	}
	return MySQL
}

// IsMariaDB reports whether it is MariaDB, however it is spelled: snapshots of other programs write MariaDB.
func (f Flavor) IsMariaDB() bool { return f.Lower() == MariaDB }

// IsPostgres reports whether it is PostgreSQL, which is not of the MySQL family.
func (f Flavor) IsPostgres() bool { return f.Lower() == Postgres }

// Lower is the flavor as the constants spell it.
func (f Flavor) Lower() Flavor { return Flavor(strings.ToLower(string(f))) }

// Kin is the flavor whose servers do what those of f do: MySQL for Percona Server, else f.
func (f Flavor) Kin() Flavor {
	if f == Percona {
		return MySQL
	}
	return f
}

// Name is what people call it: "Percona Server"; one that is not known as it is.
func (f Flavor) Name() string {
	switch f {
	case MySQL:
		return "MySQL"
	case Percona:
		return "Percona Server"
	case MariaDB:
		return "MariaDB"
	case Postgres:
		return "PostgreSQL"
	}
	return string(f)
}
