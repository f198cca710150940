package target

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/dyno-perf/dyno/internal/mysql/ddl"

	"github.com/dyno-perf/dyno/internal/dbms"
	"github.com/dyno-perf/dyno/internal/endpoint"
)

// Tasks are what an account can be made for, see Grants.
var tasks = []string{"watch", "explain", "change", "load"}

// Grants returns the statements that give an account what a task needs and no more, without creating the account. user
// is 'name'@'host' or name, which then means name@localhost. Tasks:
//
//	watch    read counters, digests and the processlist; no data
//	explain  EXPLAIN statements on the named schemas: reads data; neither executes routines nor looks into views
//	change   add and drop indexes on the named schemas; reads no data
//	load     run workloads in the named schemas, creating and dropping tables in them
//
// flavor is one of Facts.Flavor. MariaDB split REPLICATION CLIENT into BINLOG MONITOR and SLAVE MONITOR in 10.5; the
// statements for mariadb are for 10.5 and later.
func Grants(flavor dbms.Flavor, task, user string, schemas []string) ([]string, error) {
	if !slices.Contains(dbms.All(), flavor) {
		return nil, fmt.Errorf("write grants: unknown flavor %q: it is mysql, percona or mariadb", flavor)
	}
	to, err := account(user)
	if err != nil {
		return nil, fmt.Errorf("write grants: %w", err)
	}
	maria := flavor.IsMariaDB()
	watch := func() []string {
		g := []string{"GRANT PROCESS, REPLICATION CLIENT ON *.* TO " + to}
		if maria {
			g = []string{"GRANT PROCESS, BINLOG MONITOR, SLAVE MONITOR ON *.* TO " + to}
		}
		g = append(g, "GRANT SELECT ON `performance_schema`.* TO "+to)
		if !maria { // MariaDB has the schema sys from 10.6; Dyno reads what it shows at the source
			g = append(g, "GRANT SELECT ON `sys`.* TO "+to)
		}
		return g
	}
	var out []string
	var on string
	switch task {
	case "watch":
		return watch(), nil
	case "explain":
		// EXPLAIN of UPDATE and DELETE needs those privileges: Dyno explains the SELECT that reads the same rows
		// instead.
		out, on = watch(), "SELECT"
	case "change":
		// PROCESS shows the transactions that would block the change. ALTER TABLE … ADD INDEX needs ALTER alone;
		// information_schema shows columns only to who has a privilege on them, and REFERENCES is the one that reads
		// and writes no data.
		out, on = []string{"GRANT PROCESS ON *.* TO " + to}, "ALTER, REFERENCES"
		if !maria {
			out = append(out, "GRANT SELECT ON `performance_schema`.* TO "+to)
		}
	case "load":
		on = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER"
	default:
		return nil, fmt.Errorf("write grants: unknown task %q: it is one of %s", task, strings.Join(tasks, ", "))
	}
	if len(schemas) == 0 {
		return nil, fmt.Errorf("write grants: the task %s needs the names of the schemas it is for: --schema NAME",
			task)
	}
	for _, s := range schemas {
		p, err := schemaPattern(s)
		if err != nil {
			return nil, fmt.Errorf("write grants: %w", err)
		}
		out = append(out, "GRANT "+on+" ON "+p+".* TO "+to)
	}
	return out, nil
}

// ExplainFix words the GRANTs by which the account that a server was reached with sees tables and plans of schemas.
func (f Facts) ExplainFix(schemas []string) string {
	all, err := Grants(f.Flavor, "explain", f.User, schemas)
	if err != nil || len(all) < len(schemas) {
		return ExplainCommand(schemas)
	}
	return strings.Join(all[len(all)-len(schemas):], "; ")
}

// ExplainCommand is the command that prints the grants for plans of statements in schemas, as a shell takes it: a
// tenant chooses the names.
func ExplainCommand(schemas []string) string {
	var fields []string
	for _, s := range schemas {
		if strings.ContainsAny(s, ",\"\r\n") { // as a field of CSV, which the flag takes
			s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		fields = append(fields, s)
	}
	list := strings.Join(fields, ",")
	if strings.ContainsFunc(list, func(r rune) bool {
		return r != '_' && r != ',' && !(r <= 'z' && (unicode.IsLetter(r) || unicode.IsDigit(r)))
	}) {
		list = "'" + strings.ReplaceAll(list, "'", `'\''`) + "'"
	}
	return "dyno target grants --task explain --schema " + list
}

// TrustParameter is explain-schemas=… of a URL for schemas, whose names a tenant chooses: one with a comma, which the
// parameter cannot express, is left out.
func TrustParameter(schemas []string) string {
	var list []string
	for _, s := range schemas {
		if !strings.Contains(s, ",") {
			list = append(list, url.QueryEscape(s))
		}
	}
	return "explain-schemas=" + strings.Join(list, ",")
}

// CreateAccount returns the statement that creates an account, unless it is there, so that it can log in nowhere before
// the second one, with a password in place of the dots, opens it: MySQL 5.7.6, MariaDB 10.4.2 and later. user is as for
// Grants.
func CreateAccount(user string) (create, unlock string, err error) {
	who, err := account(user)
	if err != nil {
		return "", "", fmt.Errorf("write an account: %w", err)
	}
	return "CREATE USER IF NOT EXISTS " + who + " ACCOUNT LOCK", "ALTER USER " + who + " IDENTIFIED BY '…' ACCOUNT " +
		"UNLOCK", nil
}

// QuoteAccount returns 'user'@'host' as Grants and CreateAccount take it.
func QuoteAccount(user, host string) string { return quoteText(user) + "@" + quoteText(host) }

// RefusedHost returns the host of the account that a server refused to log in, which is our address as the server sees
// it; empty when err is no such refusal of user.
func RefusedHost(err error, user string) string {
	if KindOf(err) != endpoint.AuthFailed {
		return ""
	}
	_, rest, ok := strings.Cut(err.Error(), "Access denied for user '"+user+"'@'")
	host, _, closed := strings.Cut(rest, "'")
	if !ok || !closed || strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r == '\\' ||
			!unicode.IsPrint(r)
	}) {
		return ""
	}
	return host
}

// schemaPattern quotes a schema for GRANT … ON, where _ and % would stand for other schemas too.
func schemaPattern(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("the name of a schema is empty")
	case ddl.System(name):
		return "", fmt.Errorf("%s is the server's own: no task needs more on it", name)
	case strings.ContainsRune(name, 0):
		return "", errors.New("the name of a schema holds a NUL")
	}
	return quotePattern(name), nil
}

func quotePattern(name string) string {
	return "`" + strings.NewReplacer("`", "``", `\`, `\\`, "_", `\_`, "%", `\%`).Replace(name) + "`"
}

// account quotes name@host, each part as it is or in quotes already.
func account(text string) (string, error) {
	name, rest, err := accountPart(text)
	if err != nil {
		return "", err
	}
	if name == "" {
		return "", errors.New("the name of the account is empty")
	}
	host := "localhost"
	if rest != "" {
		h, more, err := accountPart(rest[1:])
		if err != nil {
			return "", err
		}
		if more != "" || h == "" {
			return "", errors.New("an account is name@host")
		}
		host = h
	}
	return quoteText(name) + "@" + quoteText(host), nil
}

// accountPart cuts a name, quoted or not, off the text; rest is empty or begins with an @.
func accountPart(text string) (name, rest string, err error) {
	if text == "" || !strings.ContainsRune("'`\"", rune(text[0])) {
		i := strings.LastIndexByte(text, '@')
		if i < 0 {
			return text, "", nil
		}
		return text[:i], text[i:], nil
	}
	q := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] != q {
			b.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == q {
			b.WriteByte(q)
			i++
			continue
		}
		rest = text[i+1:]
		if rest != "" && rest[0] != '@' {
			return "", "", errors.New("an account is 'name'@'host'")
		}
		return b.String(), rest, nil
	}
	return "", "", errors.New("a quote of the account's name is not closed")
}

func quoteText(s string) string {
	return "'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(s) + "'"
}
