package conn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Tasks are what an account can be made for, see Grants.
var Tasks = []string{"watch", "explain", "change", "load"}

// Grants returns the statements that give an account what a task needs and no more, without creating the account. They
// are executed by a superuser, or by who may grant these, in the database that the task is about; one that comes with a
// placeholder in < > says what to put there. Tasks:
//
//	watch    read statistics, settings and sessions; no data
//	explain  EXPLAIN statements on tables of the named schemas, which needs to be able to read them
//	change   create and drop indexes of the tables of the named schemas, and end sessions that are in the way:
//	PostgreSQL lets only the owner of a table do the former, so the account becomes a member of the owner's role
//	load     create tables in the named schemas and work with them
//
// https://www.postgresql.org/docs/current/predefined-roles.html
func Grants(task, user string, schemas []string) ([]string, error) {
	if err := checkName("account", user); err != nil {
		return nil, fmt.Errorf("write grants: %w", err)
	}
	if !slices.Contains(Tasks, task) {
		return nil, fmt.Errorf("write grants: unknown task %q: it is one of %s", task, strings.Join(Tasks, ", "))
	}
	to := " TO " + Quote(user)
	watch := []string{"GRANT pg_monitor" + to}
	if task == "watch" {
		return watch, nil
	}
	if len(schemas) == 0 {
		return nil, fmt.Errorf("write grants: the task %s needs the names of the schemas it is for: --schema NAME",
			task)
	}
	out := []string(nil)
	if task == "explain" {
		out = watch
	}
	for _, s := range schemas {
		if err := checkName("schema", s); err != nil {
			return nil, fmt.Errorf("write grants: %w", err)
		}
		if strings.HasPrefix(s, "pg_") || s == "information_schema" {
			return nil, fmt.Errorf("write grants: %s is the server's own: no task needs more on it", s)
		}
		on := " ON SCHEMA " + Quote(s) + to
		switch task {
		case "explain":
			out = append(out, "GRANT USAGE"+on, "GRANT SELECT ON ALL TABLES IN SCHEMA "+Quote(s)+to)
		case "change":
			out = append(out, "GRANT USAGE, CREATE"+on)
		case "load":
			out = append(out, "GRANT USAGE, CREATE"+on,
				"GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA "+Quote(s)+to,
				"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA "+Quote(s)+to)
		}
	}
	if task == "change" {
		out = append(out, "GRANT <owner of the tables>"+to, "GRANT pg_monitor, pg_signal_backend"+to)
	}
	return out, nil
}

// CreateAccount returns the statement that creates an account which cannot log in, and the one that opens it, with a
// password in place of the dots. PostgreSQL has no CREATE ROLE IF NOT EXISTS: the first fails when the account is
// there. psql's \password sends no password in plain text, which ALTER ROLE does, and the server may log it.
func CreateAccount(user string) (create, unlock string, err error) {
	if err := checkName("account", user); err != nil {
		return "", "", fmt.Errorf("write an account: %w", err)
	}
	return "CREATE ROLE " + Quote(user) + " NOLOGIN CONNECTION LIMIT 20", "ALTER ROLE " + Quote(user) +
		" LOGIN PASSWORD '…'", nil
}

// longestName is the most that a name keeps, bytes (NAMEDATALEN less its end): a longer one would be cut, and then it
// is another's.
const longestName = 63

func checkName(what, name string) error {
	switch {
	case name == "":
		return errors.New("the name of the " + what + " is empty")
	case strings.ContainsRune(name, 0):
		return errors.New("the name of the " + what + " holds a NUL")
	case len(name) > longestName:
		return fmt.Errorf("the name of the %s has %d bytes, the maximum is %d", what, len(name), longestName)
	}
	return nil
}
