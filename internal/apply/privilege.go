package apply

import (
	"context"
	"fmt"
	"strings"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/target"
)

// missing returns the GRANT that the account lacks to hold a privilege on the table, "" when it has it. Roles in force
// count.
func missing(ctx context.Context, t *target.Target, privilege string, table schema.Ref) (string, error) {
	rows, err := t.DB().QueryContext(ctx, sqltext.Tagged("apply", "", "SHOW GRANTS"))
	if err != nil {
		return "", t.Wrap("ask for the account's privileges", err)
	}
	defer rows.Close()
	granted := false
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return "", t.Wrap("ask for the account's privileges", err)
		}
		switch gives, takes := grant(line, privilege, table); {
		case takes: // a partial revoke of MySQL stands above a global grant, not above one on the table
			granted = false
		case gives:
			granted = true
		}
	}
	if err := rows.Err(); err != nil {
		return "", t.Wrap("ask for the account's privileges", err)
	}
	if granted {
		return "", nil
	}
	user := t.Facts().User
	if i := strings.LastIndexByte(user, '@'); i >= 0 {
		user = quote(user[:i]) + "@" + quote(user[i+1:])
	}
	return fmt.Sprintf("GRANT %s ON %s TO %s", privilege, table.SQL(), user), nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// grant reads one line of SHOW GRANTS: GRANT a, b (col) ON `db`.* TO … or REVOKE … ON `db`.* FROM …. It tells whether
// the line gives the privilege on the table, or takes it.
func grant(line, privilege string, table schema.Ref) (gives, takes bool) {
	rest, isGrant := strings.CutPrefix(line, "GRANT ")
	if !isGrant {
		if rest, takes = strings.CutPrefix(line, "REVOKE "); !takes {
			return false, false
		}
	}
	list, object, ok := strings.Cut(rest, " ON ")
	if !ok { // GRANT role TO user
		return false, false
	}
	hit := false
	for p := range strings.SplitSeq(list, ",") {
		p = strings.TrimSpace(p)
		hit = hit || p == privilege || p == "ALL PRIVILEGES" || p == "ALL"
	}
	object = strings.TrimPrefix(object, "TABLE ")
	db, object := target.CutName(object)
	object, dotted := strings.CutPrefix(object, ".")
	if !hit || !dotted {
		return false, false
	}
	tab, _ := target.CutName(object)
	// The name of a schema is a pattern, but not in front of the name of a table, and not in a REVOKE.
	switch {
	case db == "*" || tab != "*" || takes:
		hit = db == "*" || db == table.Schema
	default:
		hit = target.Like(db, table.Schema)
	}
	hit = hit && (tab == "*" || tab == table.Table)
	return hit && !takes, hit && takes
}
