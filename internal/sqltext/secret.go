package sqltext

import (
	"strings"

	"dyno/internal/pattern"
)

// stems are what a statement with a password or a key in it has one of.
var stems = []string{"identified", "passw", "pwd", "secret", "aes_", "des_", "encode", "decode", "encrypt"}

var (
	// Of a fingerprint, which has neither literals nor comments, only small letters and single blanks: functions whose arguments are keys, and a name
	// that is compared with a literal, on either side.
	mentioned = pattern.New(`identified|passw|pwd|secret|(?:aes|des)_(?:en|de)crypt|\b(?:en|de)code ?\(|\bencrypt ?\(`)
	keyed     = pattern.New(`\b(?:(?:aes|des)_(?:en|de)crypt|(?:en|de)code|encrypt|(?:old_)?password) ?\(`)
	compared  = pattern.New("(?:passw|pwd|secret)[a-z0-9_]*`? ?(?:=|:=|<=>|<>|!=|like|in|binary)? ?\\(? ?\\?|\\? ?(?:=|<=>|<>|!=|like|as) ?[a-z0-9_`. ]*(?:passw|pwd|secret)")
)

// WithoutSecrets returns a statement as it may be kept and shown: one that names a password or a key has lost all its literals, any
// other is unchanged. A SELECT that reads a column called password, and compares something else, is unchanged too: how it runs depends on
// its literals.
func WithoutSecrets[T string | []byte](sql T) T {
	if !suspicious(sql) {
		return sql
	}
	fp := Fingerprint(string(sql))
	found := mentioned.MatchString(fp)
	if strings.HasPrefix(strings.TrimLeft(fp, "( "), "select") {
		found = keyed.MatchString(fp) || compared.MatchString(fp)
	}
	if !found {
		return sql
	}
	return T(Redact(nil, []byte(sql)))
}

// suspicious reports whether one of the stems occurs.
func suspicious[T string | []byte](sql T) bool {
	for i := range len(sql) {
		for _, s := range stems {
			if sql[i]|0x20 == s[0] && foldedAt(sql, i, s) {
				return true
			}
		}
	}
	return false
}

// foldedAt reports whether s, in small letters, stands at a place, in whatever letters. An underscore may be taken for DEL.
func foldedAt[T string | []byte](sql T, at int, s string) bool {
	if len(sql)-at < len(s) {
		return false
	}
	for i := range len(s) {
		if sql[at+i]|0x20 != s[i]|0x20 {
			return false
		}
	}
	return true
}
