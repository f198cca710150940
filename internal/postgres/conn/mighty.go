package conn

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
)

// mighty are the roles whose members do what no read-only transaction prevents: they run programs, read and write
// files, end sessions, and read what others keep to themselves.
// https://www.postgresql.org/docs/current/predefined-roles.html
var mighty = []string{
	"pg_execute_server_program", "pg_read_server_files", "pg_write_server_files", "pg_read_all_data",
	"pg_write_all_data", "pg_signal_backend",
}

// ExplainGrants prints what an account needs for plans.
const ExplainGrants = "`dyno target grants --flavor postgres --task explain --schema SCHEMA` prints the GRANT " +
	"statements"

// SeparateAccount is the fix of an account that is too mighty for plans.
const SeparateAccount = "create a separate account: " + ExplainGrants

// Mighty says in words why the account of a session may do more than the statements of others should have at hand: the
// planner evaluates functions that are declared immutable, so EXPLAIN runs what any user of the database has written,
// as the account that asks. It is "" when the account may not, and on a server that Dyno itself started
// (endpoint.AllSchemas). Other names of schemas that are trusted do not count: a function may be of any schema.
//
// What counts is who logged in, and each role that it is a member of, in whatever way: a function may change the role.
func Mighty(ctx context.Context, s endpoint.Spec, c *pgx.Conn) (why string, err error) {
	if s.ExplainSchemas == endpoint.AllSchemas {
		return "", nil
	}
	var role string
	var super, itself bool
	err = c.QueryRow(ctx, pgtext.Tagged("account", `SELECT rolname::text, rolsuper, rolname = session_user FROM pg_roles
		WHERE (rolsuper OR rolname = ANY ($1)) AND pg_has_role(session_user, oid, 'MEMBER')
		ORDER BY 3 DESC, 2 DESC, 1 LIMIT 1`), mighty).Scan(&role, &super, &itself)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", nil
	case err != nil:
		return "", err
	case itself:
		why = "a superuser"
	case super:
		why = "a member of " + role + ", a superuser"
	default:
		why = "a member of " + role
	}
	return "this account is " + why + ", and EXPLAIN may call functions of other users", nil
}
