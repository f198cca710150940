package sqltext

import "strings"

// Key reduces a fingerprint to what every source of statements tells: without spaces and quotes of names, with != for <> and
// one ? for several in a row. The fingerprints of a statement and of its digest text may differ, their keys hardly ever do;
// two statements with one key are the same but for the number of constants somewhere. Use it to bring what two sources know
// together, never as an id.
func Key(fingerprint string) string {
	var b strings.Builder
	b.Grow(len(fingerprint))
	last := byte(0)
	for i := 0; i < len(fingerprint); i++ {
		c := fingerprint[i]
		switch {
		case c == ' ' || c == '`' || c == ';':
			continue
		case c == '<' && i+1 < len(fingerprint) && fingerprint[i+1] == '>':
			c = '!'
			b.WriteByte(c)
			c = '='
			i++
		case c == '?' && last == '?':
			continue
		}
		b.WriteByte(c)
		last = c
	}
	return b.String()
}
