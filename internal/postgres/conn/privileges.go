package conn

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/dyno-perf/dyno/internal/postgres/pgtext"
)

// privileges lists roles, schemas and, of the 2000 oldest tables, the schemas with one that the account may read: the
// question is asked every few seconds, and a table more or less must not change its answer.
const privileges = `SELECT 'member of ' || rolname ||
 CASE WHEN pg_has_role(oid, 'USAGE') THEN '' ELSE ', without use' END
 FROM pg_roles WHERE pg_has_role(oid, 'MEMBER') AND NOT EXISTS (SELECT FROM pg_roles WHERE rolname = current_user AND
 rolsuper)
UNION ALL SELECT 'superuser' FROM pg_roles WHERE rolname = current_user AND rolsuper
UNION ALL SELECT 'USAGE on schema ' || nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND
 has_schema_privilege(oid, 'USAGE')
UNION ALL (SELECT 'SELECT in schema ' || relnamespace::regnamespace FROM (SELECT oid, relnamespace FROM pg_class WHERE
 relkind IN ('r', 'p', 'v', 'm') AND oid >= 16384 ORDER BY oid LIMIT 2000) c
 GROUP BY relnamespace HAVING bool_or(has_table_privilege(oid, 'SELECT')))
ORDER BY 1 LIMIT 5000`

// Privileges returns in words what the account is a member of and in which schemas it may read, so that a change is
// noticed.
func (a *Asker) Privileges(ctx context.Context) (list []string, err error) {
	_, err = a.Query(ctx, pgtext.Tagged("check", privileges), func(r pgx.Rows) error {
		var line string
		err := r.Scan(&line)
		list = append(list, line)
		return err
	})
	if err != nil {
		return nil, a.t.Wrap("read the privileges of the account on", err)
	}
	return list, nil
}
