package apply

import (
	"context"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/schema"
)

// missing returns the GRANT that the account lacks to hold a privilege on the table, "" when it has it. Roles in force
// count.
func missing(ctx context.Context, t *target.Target, privilege string, table schema.Ref) (string, error) {
	conn, err := t.Conn(ctx) // of those that are there: a reader's may be one more than the server has room for
	if err != nil {
		return "", t.Wrap("ask for the account's privileges", err)
	}
	defer conn.Close()
	lines, err := target.Privileges(ctx, conn)
	if err != nil {
		return "", t.Wrap("ask for the account's privileges", err)
	}
	granted := false
	for _, line := range lines {
		switch gives, takes := grant(line, privilege, table); {
		case takes: // a partial revoke of MySQL stands above a global grant, not above one on the table
			granted = false
		case gives:
			granted = true
		}
	}
	if granted {
		return "", nil
	}
	user := t.Facts().User
	if i := strings.LastIndexByte(user, '@'); i >= 0 {
		user = quote(user[:i]) + "@" + quote(user[i+1:])
	}
	return fmt.Sprintf("GRANT %s ON %s TO %s", privilege, ddl.Name(table), user), nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// grant tells whether a line of SHOW GRANTS gives the privilege on the table, or takes it. One that is not understood
// gives nothing, and may take it.
func grant(line, privilege string, table schema.Ref) (gives, takes bool) {
	g, ok := target.ReadGrant(line)
	if !ok {
		return false, g.Revoked
	}
	on := g.On(privilege, table)
	return on && !g.Revoked, on && g.Revoked
}
