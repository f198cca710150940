package mytext

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/lazyregexp"
)

// stems are what a statement with a password or a key in it has one of. The first tellingStems do so wherever they
// are in a statement other than a SELECT, in its texts too: what PREPARE takes, the name of a setting, an option of an
// engine.
var stems = []string{
	"identified", "passw", "pwd", "secret", "wsrep_sst_auth", "authentication_string", "auth_string",
	"global_priv", "api_key",
	"apikey", "access_key", "accesskey", "access-key", "private_key", "privatekey", "credential", "keyring_key", "://",
	"aes_", "des_", "encode", "decode", "encrypt",
}

const tellingStems = 17

var (
	// Of what begins with one of the stems in a fingerprint, which has neither literals nor comments, only small
	// letters and single blanks: functions whose arguments are keys; statements about accounts; and a name that is
	// compared with a literal, or with what is made of one.
	keyed = lazyregexp.New(`^(?:(?:(?:aes|des)_(?:en|de)crypt|(?:en|de)code|encrypt) ?\(|` +
		`keyring_key|identified (?:by|with|via)\b)`)
	compared = lazyregexp.New("^(?:passw|pwd|secret|api_?key|access_?key|private_?key|authentication_string|" +
		"auth_string)[a-z0-9_]*[`)]*(?: as [a-z0-9_]+\\))? ?(?:collate [a-z0-9_]+ ?|, ?[a-z0-9_`.]+ ?\\) ?)?" +
		"(?:=|:=|<=>|<>|!=|not like|like|in|between|regexp|rlike|binary|,)? ?" +
		"(?:[a-z0-9_?]* ?\\( ?){0,4}(?:binary ?|_[a-z0-9]+ ?)?\\?")
	// And of what is before a name.
	comparing = lazyregexp.New("\\?\\)* ?(?:=|<=>|<>|!=|like|as) ?[a-z0-9_`. (]*$")
	// A URL with a password.
	inURL = lazyregexp.New(`://[^/\s'"@:]*:[^/\s'"@]+@`)
)

// WithoutSecrets returns a statement as it may be kept and shown: one that names a password or a key has lost all its
// literals, and what is after a string whose end is not sure, see Certain; any other is unchanged. A SELECT that reads
// a column called password, and compares something else, is unchanged too: how it runs depends on its literals.
func WithoutSecrets[T string | []byte](sql T) T {
	if !suspicious(sql, stems) {
		return sql
	}
	fp := Fingerprint(string(sql))
	found := inURL.MatchString(string(sql))
	if strings.HasPrefix(strings.TrimLeft(fp, "( "), "select") {
		found = found || mentions(fp, true)
	} else {
		found = found || suspicious(sql, stems[:tellingStems]) || mentions(fp, false)
	}
	if !found {
		return sql
	}
	sure := Certain(sql)
	out := Redact(nil, []byte(sure))
	if len(sure) < len(sql) {
		out = append(out, "…"...)
	}
	return T(out)
}

// These bound what is looked at: a statement that has more of the stems is taken for one with a secret, and what
// belongs to one of them is not far from it. Whoever sends statements chooses their texts.
const (
	mostMentions = 64
	farthest     = 200 // bytes
)

// mentions reports whether a fingerprint has a key in it or, if they count, a name that is compared with a literal. It
// says so too where there are too many stems to look.
func mentions(fp string, names bool) bool {
	for n, at := 0, 0; ; n++ {
		i, long := stemIn(fp[at:], stems)
		switch {
		case i < 0:
			return false
		case n == mostMentions:
			return true
		}
		at += i
		after := fp[at:min(len(fp), at+farthest)]
		if (at == 0 || !isWord(fp[at-1])) && keyed.MatchString(after) {
			return true
		}
		if names && (compared.MatchString(after) || at+long <= len(fp) && ofName(fp[at:at+long]) &&
			comparing.MatchString(fp[max(0, at-farthest/2):at])) {
			return true
		}
		at += long
	}
}

// ofName reports whether a stem is part of a name of what is secret, and not of a function or a statement.
func ofName(stem string) bool {
	switch stem {
	case "identified", "encode", "decode", "encrypt", "aes_", "des_", "://":
		return false
	}
	return true
}

// suspicious reports whether one of the stems occurs.
func suspicious[T string | []byte](sql T, stems []string) bool {
	i, _ := stemIn(sql, stems)
	return i >= 0
}

// stemIn returns where the first of the stems is and how long it is; -1 for nowhere.
func stemIn[T string | []byte](sql T, stems []string) (at, long int) {
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
				return i, len(s)
			}
		}
	}
	return -1, 0
}

// foldedAt reports whether s, in small letters, stands at a place, in whatever letters. An underscore may be taken for
// DEL.
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
