package class

import (
	"crypto/md5"
	"encoding/hex"
	"strings"
)

// ID returns the id of a class: the MD5 of its fingerprint as 32 upper-case hexadecimal digits, as pt-query-digest 3
// prints it after "0x".
func ID(fingerprint string) string {
	h := md5.Sum([]byte(fingerprint))
	return strings.ToUpper(hex.EncodeToString(h[:]))
}

// ShortID returns the short form of an id, for tables: its last 16 digits, the id that pt-query-digest 2 prints. It is
// taken wherever an id is.
func ShortID(id string) string {
	r := []rune(id)
	return string(r[max(0, len(r)-16):])
}

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
