package sqltext

import "strings"

// SameID returns an id as ID writes it, of what people give: 32 hexadecimal digits or the last 16 of them, as tickets
// from before pt-query-digest 3 have them, in either case and with or without 0x. It is false for anything else.
func SameID(query string) (id string, ok bool) {
	id = strings.ToUpper(strings.TrimSpace(query))
	id = strings.TrimPrefix(id, "0X")
	if len(id) != 32 && len(id) != 16 {
		return "", false
	}
	return id, strings.Trim(id, "0123456789ABCDEF") == ""
}

// MatchID reports whether given, as SameID takes it, is the id full or its last 16 digits.
func MatchID(full, given string) bool {
	id, ok := SameID(given)
	return ok && strings.HasSuffix(strings.ToUpper(full), id)
}
