package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
	"github.com/dyno-perf/dyno/internal/load"
)

// needs returns the server as what can do more than every family can.
func needs[T any](s load.Server, what string) (T, error) {
	x, ok := s.(T)
	if !ok {
		return x, usagef("%s is not there for PostgreSQL yet: it works with MySQL and MariaDB only", what)
	}
	return x, nil
}

var sqlState = lazyregexp.New(`^[0-9A-Z]{5}$`)

// fit makes the configuration that of the server's family.
func (o *loadFlags) fit(f *pflag.FlagSet, s load.Server, c load.Config) (load.Config, error) {
	_, option := s.Retried()
	mysql := option == "mysql-ignore-errors"
	wrong, right := "mysql", "pgsql"
	if mysql {
		wrong, right = right, wrong
	}
	if f.Changed("db-driver") && o.dbDriver == wrong {
		return c, usagef("--db-driver=%s: the target is a server for %s; leave it out", wrong, right)
	}
	if name := wrong + "-ignore-errors"; f.Changed(name) {
		return c, usagef("--%s: the target is a server for --%s-ignore-errors", name, right)
	}
	if !mysql {
		c.Ignore, c.IgnoreAll = nil, o.ignoreState == "all"
		for _, code := range strings.FieldsFunc(o.ignoreState, func(r rune) bool { return r == ',' || r == ' ' }) {
			if !c.IgnoreAll && !sqlState.MatchString(code) {
				return c, usagef(
					"--pgsql-ignore-errors %s: it takes SQLSTATEs such as 23505 with commas between, or all",
					o.ignoreState,
				)
			}
			c.Ignore = append(c.Ignore, code)
		}
	}
	var err error
	if c.Workload, c.Options, err = s.Fit(c.Workload, c.Options); err != nil {
		return c, &exitError{exitUsage, err}
	}
	if _, err = c.Workload.Build(c.Options); err != nil {
		return c, &exitError{exitUsage, err}
	}
	return c, nil
}
