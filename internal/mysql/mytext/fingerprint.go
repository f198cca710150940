package mytext

import (
	"bytes"
	"strings"
)

// Fingerprint returns the statement with literals, comments and differences of case and white space removed, by
// pt-query-digest's rules (see the package comment). It takes time linear in the length of sql, gives itself for a
// fingerprint, and shows no literal even when sql is cut off in the middle or no SQL at all.
func Fingerprint(sql string) string {
	return string(AppendFingerprint(make([]byte, 0, 2*min(len(sql), 4096)), []byte(sql)))
}

// AppendFingerprint appends the Fingerprint of sql to dst. For ordinary statements it allocates nothing when dst has
// room for twice the statement.
func AppendFingerprint(dst, sql []byte) []byte {
	from := len(dst)
	for range maxTries {
		if b, ok := special(dst, sql); ok {
			return b
		}
		b, met := read(dst, sql)
		if met&toolkit != 0 && met&odd == 0 {
			return append(dst, "percona-toolkit"...)
		}
		b = fold(b, from, met)
		if met&odd == 0 {
			return b
		}
		// The tool's reading counts, as long as it shows nothing and stays the same when it is put in again.
		if v, how, ok := verbatim(nil, sql); ok {
			if how&toolkit != 0 {
				return append(dst, "percona-toolkit"...)
			}
			if v = fold(v, 0, met&repeat); settled(v) {
				return append(dst, v...)
			}
		}
		if met&toolkit != 0 {
			return append(dst, "percona-toolkit"...)
		}
		if bytes.Equal(b[from:], sql) {
			return b
		}
		sql = bytes.Clone(b[from:])
	}
	b, met := read(dst, plainly(sql))
	return fold(b, from, met)
}

// maxTries bounds how often what came out is put in again until it stays the same. Twice is always enough for
// statements.
const maxTries = 5

// settled reports whether v gives itself.
func settled(v []byte) bool {
	if b, ok := special(nil, v); ok {
		return bytes.Equal(b, v)
	}
	b, met := read(nil, v)
	if met&odd == 0 {
		return met&toolkit == 0 && bytes.Equal(fold(b, 0, met), v)
	}
	b, how, ok := verbatim(nil, v)
	return ok && how&toolkit == 0 && bytes.Equal(fold(b, 0, met&repeat), v)
}

// plainly returns what is no SQL without all that could be taken for the begin or the end of a string, a name or a
// comment.
func plainly(sql []byte) []byte {
	out := make([]byte, 0, len(sql))
	for i, c := range sql {
		switch {
		case isQuote(c) || c == '`' || c == '#' || c == '\\':
			c = '?'
		case i > 0 && (c == '-' && sql[i-1] == '-' || c == '*' && sql[i-1] == '/' || c == '/' && sql[i-1] == '*'):
			c = ' '
		}
		out = append(out, c)
	}
	return out
}

// special answers for statements that are recognised by how they begin.
func special(dst, sql []byte) ([]byte, bool) {
	const (
		dump  = "SELECT /*!40001 SQL_NO_CACHE */ * FROM `"
		admin = "administrator command: "
	)
	switch {
	case bytes.HasPrefix(sql, []byte(dump)):
		return append(dst, "mysqldump"...), true
	case string(sql) == "percona-toolkit":
		return append(dst, sql...), true
	case bytes.HasPrefix(sql, []byte(admin)):
		for _, c := range sql[len(admin):] {
			if !isLetter(c) && c != ' ' {
				return dst, false
			}
		}
		return append(dst, sql...), true
	}
	const call = "call "
	if name, ok := bytes.CutPrefix(sql, []byte(call)); ok && len(name) > 0 && nameEnd(name) == len(name) &&
		bytes.Equal(lower(bytes.Clone(name)), name) {
		return append(dst, sql...), true // a fingerprint
	}
	name := called(sql)
	if name == nil {
		return dst, false
	}
	dst = append(dst, call...)
	n := len(dst)
	dst = append(dst, name...)
	lower(dst[n:])
	return dst, true
}

// called returns the name of the procedure that a CALL with arguments names; nil for other statements.
func called(sql []byte) []byte {
	s := bytes.TrimLeft(sql, spaces)
	if len(s) < 6 || !hasFold(s, "call") || !isSpace(s[4]) {
		return nil
	}
	s = bytes.TrimLeft(s[4:], spaces)
	n := nameEnd(s)
	if n == 0 || n == len(s) || s[n] != '(' {
		return nil
	}
	return s[:n]
}

// nameEnd returns the length of the procedure's name, with or without schema, that s begins with.
func nameEnd(s []byte) int {
	n := 0
	for n < len(s) && (isWord(s[n]) || s[n] >= 0x80 || strings.IndexByte(".`$", s[n]) >= 0) {
		n++
	}
	return n
}
