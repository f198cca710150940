package target

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// MayExecute says in words why the connection's account may execute stored routines in one of the schemas, or that
// nobody can tell; "" when it provably may not. What counts is what is in effect on conn: global, schema and routine
// privileges, active roles and, on MariaDB, PUBLIC; what MySQL revokes in part is taken off. Names of schemas match
// without regard to case, for some servers fold them. An error means that the connection is lost or ctx ended.
func (t *Target) MayExecute(ctx context.Context, conn *sql.Conn, schemas []string) (why string, err error) {
	questions := []string{"SHOW GRANTS"}
	if t.facts.Flavor.IsMariaDB() && t.facts.Version.AtLeast(10, 11, 0) {
		questions = append(questions, "SHOW GRANTS FOR PUBLIC")
	}
	var lines []string
	for _, q := range questions {
		got, err := texts(ctx, conn, own(q))
		if KindOf(err) == Gone || ctx.Err() != nil {
			return "", err
		}
		if err != nil {
			return fmt.Sprintf("whether this account may execute stored routines is unknown: %v", err), nil
		}
		lines = append(lines, got...)
	}
	for _, s := range schemas {
		if why := executes(lines, s); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// Mighty says in words that the target's account may execute routines in whatever schema, as root may; "" when it may
// not, and on a server whose schemas are all trusted.
func (t *Target) Mighty(ctx context.Context) (why string, err error) {
	if t.spec.ExplainSchemas == AllSchemas {
		return "", nil
	}
	conn, err := t.ReadingConn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return t.MayExecute(ctx, conn, []string{""}) // no grant on a schema is for that one
}

// Privileges returns what SHOW GRANTS says of the target's account now: lines in the server's own order. Connections
// that are open may lack what was granted globally since.
func (t *Target) Privileges(ctx context.Context) ([]string, error) {
	conn, err := t.ReadingConn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
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
	everywhere, revoked := false, false
	for _, line := range lines {
		g, ok := readGrant(line)
		switch {
		case !ok, len(g.schema) > 1<<10: // names have 64 characters
			return "a line of SHOW GRANTS is not understood, so this account may be able to execute stored routines in " + where
		case g.has("SUPER"):
			return "this account has SUPER or all privileges"
		case !g.has("EXECUTE") && !g.has("ALL PRIVILEGES") && !g.has("ALL"):
		case g.revoked:
			revoked = revoked || g.schema == schema
		case g.schema == "*":
			everywhere = true
		case strings.EqualFold(g.schema, schema) || g.kind == "" &&
			Like(strings.ToLower(g.schema), strings.ToLower(schema)):
			return "this account may execute stored routines in " + where
		}
	}
	if everywhere && !revoked {
		return "this account may execute stored routines in every schema"
	}
	return ""
}

// grant is a line of SHOW GRANTS. One that gives a role has no privileges.
type grant struct {
	revoked    bool
	privileges []string // in upper case, without columns
	kind       string   // of the object: "" for tables and schemas, else FUNCTION, PROCEDURE…
	schema     string   // * for all; a pattern as in LIKE where the object is a whole schema
}

func (g grant) has(privilege string) bool {
	for _, p := range g.privileges {
		if p == privilege {
			return true
		}
	}
	return false
}

// readGrant reads GRANT a, b (`col`) ON [kind] `db`.`object` TO …, REVOKE … FROM … and GRANT `role` TO …. Privileges
// are told apart by their words, so those that are not known are no reason to give up.
func readGrant(line string) (g grant, ok bool) {
	rest, ok := strings.CutPrefix(line, "GRANT ")
	if !ok {
		if strings.HasPrefix(line, "SET DEFAULT ROLE ") {
			return g, true
		}
		if rest, g.revoked = strings.CutPrefix(line, "REVOKE "); !g.revoked {
			return g, false
		}
	}
	depth, quote, list := 0, byte(0), -1
	for i := 0; i < len(rest) && list < 0; i++ {
		switch c := rest[i]; {
		case quote != 0:
			if c == quote { // a doubled one closes and opens again
				quote = 0
			}
		case c == '`' || c == '\'' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && strings.HasPrefix(rest[i:], " TO "): // a role
			return g, true
		case depth == 0 && strings.HasPrefix(rest[i:], " ON "):
			list = i
		}
	}
	if list < 0 {
		return g, false
	}
	for p := range strings.SplitSeq(rest[:list], ",") {
		p, _, _ = strings.Cut(p, "(")
		g.privileges = append(g.privileges, strings.ToUpper(strings.TrimSpace(p)))
	}
	object := rest[list+len(" ON "):]
	for _, kind := range []string{"TABLE ", "FUNCTION ", "PROCEDURE ", "PACKAGE BODY ", "PACKAGE ", "LIBRARY "} {
		if after, has := strings.CutPrefix(object, kind); has {
			g.kind, object = strings.TrimPrefix(strings.TrimSpace(kind), "TABLE"), after
			break
		}
	}
	if strings.HasPrefix(object, "''@") || g.has("PROXY") {
		return g, true
	}
	g.schema, object = CutName(object)
	return g, g.schema != "" && strings.HasPrefix(object, ".")
}

// CutName cuts a name off the text as SHOW GRANTS writes it: in backticks or double quotes, or bare up to a point or a
// blank. A name that nothing closes is "".
func CutName(text string) (name, rest string) {
	if text == "" || strings.IndexByte("`\"", text[0]) < 0 {
		i := strings.IndexAny(text, ". ")
		if i < 0 {
			return text, ""
		}
		return text[:i], text[i:]
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] == text[0] {
			if i+1 == len(text) || text[i+1] != text[0] {
				return b.String(), text[i+1:]
			}
			i++
		}
		b.WriteByte(text[i])
	}
	return "", ""
}

// Like matches as LIKE does, with \ before _ and % that stand for themselves: so GRANT takes the name of a schema. The
// work is the length of the one times that of the other.
func Like(pattern, s string) bool {
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
