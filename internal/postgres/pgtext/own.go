package pgtext

import "strings"

// Tag begins the comment in every statement that Dyno itself sends.
const Tag = "/* dyno:"

// Tagged returns sql with a comment that says who sent it, behind its first word: PostgreSQL 18 forgets comments in
// front of a statement in pg_stat_statements. The component ("capture") is one of Dyno's own names.
func Tagged(component, sql string) string {
	sql = strings.TrimLeft(sql, " \t\r\n")
	n := 0
	for n < len(sql) && starts(sql[n]) {
		n++
	}
	return sql[:n] + " " + Tag + strings.ReplaceAll(component, "*", "_") + " */" + sql[n:]
}

// Own reports whether a statement carries the tag, in front or behind its first word. A fingerprint has lost it.
func Own(sql string) bool {
	tokens := 0
	for i := 0; i < len(sql) && tokens < 2; {
		if isSpace(sql[i]) {
			i++
			continue
		}
		k, end := next(sql, i)
		if k == comment && strings.HasPrefix(sql[i:], Tag) {
			return true
		}
		if k != comment {
			tokens++
		}
		i = end
	}
	return false
}
