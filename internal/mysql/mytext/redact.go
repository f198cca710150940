package mytext

import "bytes"

// Redact appends sql to dst with ? for every literal and without comments. Everything else stays as it was written:
// case, white space, names with the digits in them, comments that are code (/*!40001 … */) and hints, these without
// literals too. NULL, TRUE and FALSE are literals except behind IS and NOT. What is in double quotes counts as a
// string, and a statement that was cut off in a string or a comment ends there. Redacting twice is redacting once.
func Redact(dst, sql []byte) []byte {
	s := sql
	from := len(dst)
	done := 0
	word := "" // the one before, in lower case: of those that matter
	for i := 0; i < len(s); {
		c := s[i]
		if c == '/' && bytes.HasPrefix(s[i:], []byte("/*!")) { // not what MariaDB alone executes
			i, _ = Executed(s, i)
			continue
		}
		kind, end := Next(s, i)
		mark := "?"
		switch {
		case kind == Space:
			i = end
			continue
		case c == '`':
			if kind == Open { // what follows may hold literals
				end = i + 1
			}
			i, word = end, ""
			continue
		case isQuote(c):
			for end < len(s) && s[end] == c { // a doubled quote
				_, end = Next(s, end)
			}
			// The prefix of a literal (x'4f') is no secret and stays.
			word = ""
		case kind == Comment && c != '/':
			mark = ""
		case c == '/' && kind != Sign:
			if kind == Comment && word == "select" && s[i+2] == '+' {
				dst = append(dst, s[done:i+len("/*+")]...)
				dst = Redact(dst, s[i+len("/*+"):end-len("*/")])
				i, done, word = end, end-len("*/"), ""
				continue
			}
			mark = ""
			if i > 0 && !isSpace(s[i-1]) && end < len(s) && !isSpace(s[end]) {
				mark = " " // it stood between two words
			}
		case kind == Number, c == '.' && end < len(s) && isDigit(s[end]):
			end = literalEnd(s, i)
			word = ""
		case kind == Word, c == '@':
			if c == '@' && end < len(s) && WordByte(s[end]) {
				_, end = Next(s, end)
			}
			w := known(s[i:end])
			if w != "null" && w != "true" && w != "false" || word == "is" || word == "not" || word == "." {
				i, word = end, w
				continue
			}
			word = ""
		default:
			word = ""
			if c == '.' {
				word = "."
			}
			i++
			continue
		}
		dst = append(dst, s[done:i]...)
		if mark != "?" && bytes.HasSuffix(dst[from:], []byte("--")) {
			dst = bytes.TrimRight(dst, "-") // a comment would come about
			dst = dst[:max(from, len(dst))]
		}
		dst = append(dst, mark...)
		i, done = end, end
	}
	return append(dst, s[done:]...)
}

// literalEnd returns the index after the number that begins at i, with whatever else is written together with it.
func literalEnd(s []byte, i int) int {
	for ; i < len(s); i++ {
		c := s[i]
		if WordByte(c) || c == '.' {
			continue
		}
		if (c == '+' || c == '-') && i > 0 && s[i-1]|0x20 == 'e' && i+1 < len(s) && isDigit(s[i+1]) {
			continue // 1e-5
		}
		break
	}
	return i
}

// known returns w in lower case when it is one of the words that decide about others, else "".
func known(w []byte) string {
	for _, k := range []string{"null", "true", "false", "is", "not", "select"} {
		if len(w) == len(k) && hasFold(w, k) {
			return k
		}
	}
	return ""
}
