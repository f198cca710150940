package digestsource

import "strings"

// key is what the fingerprints of one statement have in common however its source wrote it. A digest has lost how a statement was
// spaced and quoted, so its fingerprint, and with it the id of the class, differs from that of the statement's text unless
// that was written in the common way. The key ignores blanks, quotes and signs, which a fingerprint takes for part of a number.
func key(fingerprint string) string {
	s := strings.ReplaceAll(fingerprint, "<>", "!=")
	var b strings.Builder
	b.Grow(len(s))
	last := byte(0)
	for i := range len(s) {
		c := s[i]
		switch c {
		case ' ', '\t', '\n', '\r', '`', '+', '-':
			continue
		case '?':
			if last == '?' {
				continue
			}
		}
		b.WriteByte(c)
		last = c
	}
	return b.String()
}

// setup reports whether a class is what a connection of Dyno's says first: the driver sets the session in no fixed order.
func setup(fingerprint string) bool {
	return strings.HasPrefix(fingerprint, "set ") && strings.Contains(fingerprint, "lock_wait_timeout") &&
		(strings.Contains(fingerprint, "long_query_time") || strings.Contains(fingerprint, "time_zone"))
}
