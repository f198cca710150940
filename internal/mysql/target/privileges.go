package target

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/endpoint"
	"github.com/dyno-perf/dyno/internal/mysql/mytext"
	"github.com/dyno-perf/dyno/internal/schema"
)

// MayExecute says in words why the connection's account may execute stored routines in one of the schemas, or that
// nobody can tell; "" when it provably may not. What counts is what is in effect on conn: global, schema and routine
// privileges, active roles and, on MariaDB, PUBLIC; what MySQL revokes in part is taken off. Names of schemas match
// without regard to case, for some servers fold them. An error means that the connection is lost or ctx ended.
func MayExecute(ctx context.Context, t *Target, conn *sql.Conn, schemas []string) (why string, err error) {
	questions := []string{"SHOW GRANTS"}
	if t.facts.Flavor.IsMariaDB() && t.facts.Version.AtLeast(10, 11, 0) {
		questions = append(questions, "SHOW GRANTS FOR PUBLIC")
	}
	var lines []string
	for _, q := range questions {
		got, err := texts(ctx, conn, own(q))
		if KindOf(err) == endpoint.Gone || ctx.Err() != nil {
			return "", err
		}
		if err != nil {
			return fmt.Sprintf("whether this account may execute stored routines is unknown: %v", err), nil
		}
		lines = append(lines, got...)
	}
	for _, s := range schemas {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if why := executes(lines, s); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// Mighty says in words that the target's account may execute routines in whatever schema, as root may; "" when it may
// not, and on a server whose schemas are all trusted.
func Mighty(ctx context.Context, t *Target) (why string, err error) {
	if t.spec.ExplainSchemas == endpoint.AllSchemas {
		return "", nil
	}
	conn, err := t.ReadingConn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return MayExecute(ctx, t, conn, []string{""}) // no grant on a schema is for that one
}

// Privileges returns what SHOW GRANTS says of the connection's account now: lines in the server's own order. A
// connection that is open may lack what was granted globally since.
func Privileges(ctx context.Context, conn *sql.Conn) ([]string, error) {
	list, err := texts(ctx, conn, own("SHOW GRANTS"))
	for i, line := range list { // MariaDB tells the password's hash there: another password is no other privilege
		list[i], _, _ = strings.Cut(line, " IDENTIFIED ")
	}
	return list, err
}

// maxGrants bounds what an account's grants take, in bytes: each is read for each schema of a statement.
const maxGrants = 2 << 20

func texts(ctx context.Context, conn *sql.Conn, q string) (list []string, err error) {
	rows, err := conn.QueryContext(ctx, q)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	size := 0
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		if size += len(line); size > maxGrants {
			return nil, fmt.Errorf("%w: more than %d bytes of grants", errTooLong, maxGrants)
		}
		list = append(list, line)
	}
	return list, rows.Err()
}

// executes reads the lines of SHOW GRANTS for one schema.
func executes(lines []string, schema string) (why string) {
	where := "schema " + schema
	if schema == "" {
		where = "any schema"
	}
	if len(schema) > longestName {
		return "whether this account may execute stored routines is unknown: the name of the schema is too long"
	}
	everywhere, revoked := false, false
	for _, line := range lines {
		g, ok := ReadGrant(line)
		switch {
		case !ok:
			return "a line of SHOW GRANTS is not understood, so this account may be able to execute stored routines " +
				"in " + where
		case g.has("SUPER"):
			return "this account has SUPER or all privileges"
		case !g.has("EXECUTE") && !g.has("ALL PRIVILEGES") && !g.has("ALL"):
		case g.Revoked:
			revoked = revoked || g.schema == schema
		case g.schema == "*":
			everywhere = true
		case strings.EqualFold(g.schema, schema) || g.kind == "" &&
			like(strings.ToLower(g.schema), strings.ToLower(schema)):
			return "this account may execute stored routines in " + where
		}
	}
	if everywhere && !revoked {
		return "this account may execute stored routines in every schema"
	}
	return ""
}

// Grant is a line of SHOW GRANTS. One that gives a role has no privileges.
type Grant struct {
	Revoked    bool     // it takes the privileges
	privileges []string // in upper case; one of some columns only has ( behind it
	kind       string   // of the object: "" for tables and schemas, else FUNCTION, PROCEDURE…
	schema     string   // * for all; a pattern as in LIKE where the object is a whole schema
	object     string   // * for all
}

func (g Grant) has(privilege string) bool {
	return slices.Contains(g.privileges, privilege) || slices.Contains(g.privileges, privilege+"(")
}

// On reports whether the privilege, in upper case, is given, or taken, on the whole of a table.
func (g Grant) On(privilege string, table schema.Ref) bool {
	if g.kind != "" || g.object != "*" && g.object != table.Table || !slices.ContainsFunc(g.privileges,
		func(p string) bool { return p == privilege || p == "ALL PRIVILEGES" || p == "ALL" }) {
		return false
	}
	// The name of a schema is a pattern, but not in front of the name of a table, and not in a REVOKE.
	return g.schema == "*" || g.schema == table.Schema ||
		g.object == "*" && !g.Revoked && len(table.Schema) <= longestName && like(g.schema, table.Schema)
}

// longestName is how long the name of a schema is at most, in bytes: 64 characters.
const longestName = 4 * 64

// ReadGrant reads GRANT a, b (`col`) ON [kind] `db`.`object` TO …, REVOKE … FROM … and GRANT `role` TO …. Privileges
// are told apart by their words, so those that are not known are no reason to give up. It is not ok for whatever else
// is in the line up to TO or FROM: who asks has to expect the worst of it.
func ReadGrant(line string) (g Grant, ok bool) {
	rest, ok := strings.CutPrefix(line, "GRANT ")
	if !ok {
		if strings.HasPrefix(line, "SET DEFAULT ROLE ") {
			return g, true
		}
		if rest, g.Revoked = strings.CutPrefix(line, "REVOKE "); !g.Revoked {
			return g, false
		}
	}
	var words []string // of the privilege
	depth, columns, odd := 0, "", false
	for i, end := 0, 0; i < len(rest); i = end {
		var kind mytext.Kind
		kind, end = mytext.Next(rest, i)
		word := rest[i:end]
		if word == "," && depth == 0 || word == "ON" && depth == 0 && i > 0 {
			odd = odd || word == "ON" && words == nil
			g.privileges = append(g.privileges, strings.ToUpper(strings.Join(words, " "))+columns)
			words, columns = nil, ""
		}
		switch {
		case kind == mytext.Open, kind == mytext.Comment, kind == mytext.Code:
			return g, false
		case word == "(":
			depth, columns = depth+1, "("
		case word == ")":
			if depth--; depth < 0 {
				return g, false
			}
		case depth > 0:
		case word == "TO" && i > 0: // a role
			return Grant{}, !g.Revoked
		case word == "ON" && i > 0:
			return g, !odd && g.readObject(rest[end:])
		case kind == mytext.Word:
			words = append(words, word)
		default: // of the name of a role
			odd = odd || kind != mytext.Space && word != ","
		}
	}
	return g, false
}

// readObject reads what follows ON.
func (g *Grant) readObject(text string) bool {
	if len(g.privileges) == 1 && g.privileges[0] == "PROXY" { // of an account
		return true
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, " "), "TABLE ")
	for _, kind := range []string{"FUNCTION ", "PROCEDURE ", "PACKAGE BODY ", "PACKAGE ", "LIBRARY "} {
		if after, has := strings.CutPrefix(text, kind); has {
			g.kind, text = strings.TrimSpace(kind), after
			break
		}
	}
	name := func() (name string) {
		if after, all := strings.CutPrefix(text, "*"); all {
			text = after
			return "*"
		}
		name, text = mytext.CutName(text)
		return name
	}
	g.schema = name()
	text, ok := strings.CutPrefix(text, ".")
	if !ok {
		return false
	}
	g.object = name()
	return g.schema != "" && g.object != "" && len(g.schema) <= 2*longestName && // \\ before each _ and %
		(strings.HasPrefix(text, " TO ") || strings.HasPrefix(text, " FROM "))
}

// like matches as LIKE does, with \ before _ and % that stand for themselves: so GRANT takes the name of a schema. The
// work is the length of the one times that of the other.
func like(pattern, s string) bool {
	p, r := []rune(pattern), []rune(s)
	// reach[j] tells whether what was read of the pattern matches the first j letters.
	reach := make([]bool, len(r)+1)
	reach[0] = true
	for i := 0; i < len(p); i++ {
		next := make([]bool, len(r)+1)
		literal := p[i] == '\\' && i+1 < len(p)
		if literal {
			i++
		}
		for j := range next {
			switch {
			case !literal && p[i] == '%':
				next[j] = reach[j] || j > 0 && next[j-1]
			case j > 0:
				next[j] = reach[j-1] && (!literal && p[i] == '_' || p[i] == r[j-1])
			}
		}
		reach = next
	}
	return reach[len(r)]
}
