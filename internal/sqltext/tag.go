// Package sqltext holds what the text of a statement has in every family of servers: the tag of those that Dyno itself
// sends.
package sqltext

import "strings"

// Tag begins the comment in front of every statement that Dyno itself sends.
const Tag = "/* dyno:"

// Tagged returns sql with a comment in front that tells who sent it, so that people see it in a process list and Dyno
// leaves its own statements out of what it measures. The component ("scrape") and id are reduced to letters, digits
// and - _ . / so that they cannot end the comment.
func Tagged(component, id, sql string) string {
	tag := Tag + clean(component)
	if id != "" {
		tag += " " + clean(id)
	}
	return tag + " */ " + sql
}

// Own reports whether a statement carries the tag in front. A digest text has lost all comments: there it says nothing.
func Own[T string | []byte](sql T) bool {
	i := 0
	for i < len(sql) && (sql[i] == ' ' || '\t' <= sql[i] && sql[i] <= '\r') {
		i++
	}
	return len(sql)-i >= len(Tag) && string(sql[i:i+len(Tag)]) == Tag
}

func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-_./", r):
			return r
		}
		return '_'
	}, s)
}
