// Package fault holds the faults of PostgreSQL, see the package of the same name for all families.
package fault

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/fault"
)

// All returns the faults in the order in which lists show them.
func All() []fault.Fault { return []fault.Fault{missingIndex()} }

// Set returns what the family has of faults.
func Set() fault.Set {
	return fault.Set{
		Faults:  All(),
		Flavors: []dbms.Flavor{dbms.Postgres},
		File:    "postgresql.conf",
		URL:     "postgres://user@host:5432/database",
		Plain:   func(name string) string { return strings.ToLower(strings.TrimSpace(name)) },
	}
}
