package mytext

import (
	"slices"
	"strings"
)

// Dialect is the statements of MySQL and MariaDB as reports write them, for the mysql client: it implements
// digest.Dialect.
type Dialect struct{}

// Redact implements digest.Dialect.
func (Dialect) Redact(sql string) string { return string(Redact(nil, []byte(sql))) }

// Short implements digest.Dialect.
func (Dialect) Short(sql string) string { return shortSQL(sql) }

// partitions stands in EXPLAIN for the servers from 5.1 to 5.6, which tell the partitions only when asked.
const partitions = "EXPLAIN /*!50100 PARTITIONS*/"

// Live implements digest.Dialect: a statement with what the client explains it by, in comments.
func (Dialect) Live(sql string) (text, why string) {
	live, why := liveSQL(sql)
	if why != "" {
		return "", why
	}
	word := ""
	if ts := sqlTokens(sql); len(ts) > 0 {
		i := slices.IndexFunc(ts, func(t sqlToken) bool { return t.kind == Word })
		word = strings.ToUpper(sql[ts[max(0, i)].from:ts[max(0, i)].to])
	}
	if word == "SELECT" {
		text = "# " + partitions + "\n"
	}
	text += live + "\n"
	if s := asSelect(sql); s != "" {
		if s, why := liveSQL(s); why == "" {
			text += "# Converted for EXPLAIN\n# " + partitions + "\n" + s + "\n"
		}
	}
	return text, ""
}

// ShowTable implements digest.Dialect.
func (Dialect) ShowTable(table, db string) []string {
	schema, name := splitTable(table)
	if schema == "" {
		schema = db
	}
	from, full := "", quoteName(name)
	if schema != "" {
		from, full = " FROM "+quoteName(schema), quoteName(schema)+"."+full
	}
	return []string{
		"SHOW TABLE STATUS" + from + " LIKE '" + strings.ReplaceAll(name, "'", "''") + `'\G`,
		"SHOW CREATE TABLE " + full + `\G`,
	}
}

func quoteName(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }

// splitTable cuts schema.table, either part with or without quotes.
func splitTable(s string) (schema, name string) {
	part := func(s string) (head, rest string) {
		if s != "" && (s[0] == '`' || s[0] == '"') {
			if n, closed := Quoted(s, 0); closed {
				q := s[:1]
				return strings.ReplaceAll(s[1:n-1], q+q, q), s[n:]
			}
		}
		if n := strings.IndexByte(s, '.'); n > 0 {
			return s[:n], s[n:]
		}
		return s, ""
	}
	a, rest := part(s)
	if !strings.HasPrefix(rest, ".") || len(rest) == 1 {
		return "", a + rest
	}
	b, more := part(rest[1:])
	return a, b + more
}
