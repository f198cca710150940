package class

import "bytes"

// Key reduces a fingerprint to what every source of statements tells: without white space, quotes of names and signs,
// with != for <> and one ? for several in a row, between commas or not: a digest text has ?, ... for them in any list,
// a fingerprint only where a list has nothing else. The two of a LIMIT stay two. The fingerprints of a statement and of
// its digest text may differ, their keys hardly ever do; two statements with one key are the same but for the number of
// constants and signs somewhere. Use it to bring what two sources know together, never as an id.
func Key(fingerprint string) string {
	b := make([]byte, 0, len(fingerprint))
	for i := 0; i < len(fingerprint); i++ {
		switch c := fingerprint[i]; {
		case c == ' ', '\t' <= c && c <= '\r', c == '`', c == '"', c == ';', c == '+', c == '-':
		case c == '<' && i+1 < len(fingerprint) && fingerprint[i+1] == '>':
			b = append(b, "!="...)
			i++
		case c == '?' && len(b) > 0 && b[len(b)-1] == '?':
		case c == '?' && bytes.HasSuffix(b, []byte("?,")) && !bytes.HasSuffix(b, []byte("limit?,")):
			b = b[:len(b)-1]
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
