package sqltext

import (
	"strings"

	"dyno/internal/pattern"
)

// stems are what a statement with a password or a key in it has one of. The first tellingStems do so wherever they
// are in a statement other than a SELECT, in its texts too: what PREPARE takes, the name of a setting, an option of an engine.
var stems = []string{
	"identified", "passw", "pwd", "secret", "wsrep_sst_auth", "authentication_string", "auth_string", "global_priv", "api_key",
	"apikey", "access_key", "accesskey", "access-key", "private_key", "privatekey", "credential", "keyring_key", "://",
	"aes_", "des_", "encode", "decode", "encrypt",
}

const tellingStems = 17

var (
	// Of a fingerprint, which has neither literals nor comments, only small letters and single blanks: functions whose arguments
	// are keys, and a name that is compared with a literal, or with what is made of one, on either side.
	mentioned = pattern.New(`(?:aes|des)_(?:en|de)crypt|\b(?:en|de)code ?\(|\bencrypt ?\(`)
	keyed     = pattern.New(`\b(?:(?:aes|des)_(?:en|de)crypt|(?:en|de)code|encrypt|(?:old_)?password) ?\(|` +
		`\bkeyring_key|\bidentified (?:by|with|via)\b`)
	compared = pattern.New(strings.NewReplacer("NAME",
		"(?:passw|pwd|secret|api_?key|access_?key|private_?key|authentication_string|auth_string)").Replace(
		"NAME[a-z0-9_]*[`)]*(?: as [a-z0-9_]+\\))? ?(?:collate [a-z0-9_]+ ?|, ?[a-z0-9_`.]+ ?\\) ?)?" +
			"(?:=|:=|<=>|<>|!=|not like|like|in|between|regexp|rlike|binary|,)? ?" +
			"(?:[a-z0-9_?]* ?\\( ?){0,4}(?:binary ?|_[a-z0-9]+ ?)?\\?|" +
			"\\?\\)* ?(?:=|<=>|<>|!=|like|as) ?[a-z0-9_`. (]*NAME"))
	// A URL with a password.
	inURL = pattern.New(`://[^/\s'"@:]*:[^/\s'"@]+@`)
)

// WithoutSecrets returns a statement as it may be kept and shown: one that names a password or a key has lost all its literals, any
// other is unchanged. A SELECT that reads a column called password, and compares something else, is unchanged too: how it runs depends on
// its literals.
func WithoutSecrets[T string | []byte](sql T) T {
	if !suspicious(sql, stems) {
		return sql
	}
	fp := Fingerprint(string(sql))
	found := inURL.MatchString(string(sql))
	if strings.HasPrefix(strings.TrimLeft(fp, "( "), "select") {
		found = found || keyed.MatchString(fp) || compared.MatchString(fp)
	} else {
		found = found || suspicious(sql, stems[:tellingStems]) || mentioned.MatchString(fp)
	}
	if !found {
		return sql
	}
	return T(Redact(nil, []byte(sql)))
}

// suspicious reports whether one of the stems occurs.
func suspicious[T string | []byte](sql T, stems []string) bool {
	var first [256]bool
	for _, s := range stems {
		first[s[0]] = true
	}
	for i := range len(sql) {
		if !first[sql[i]|0x20] {
			continue
		}
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
