package sqltext

import "bytes"

// Redact appends sql to dst with ? for every literal and without comments. Everything else stays as it was written: case, white space,
// names with the digits in them, comments that are code (/*!40001 … */) and hints, these without literals too. NULL, TRUE and FALSE are
// literals except behind IS and NOT. What is in double quotes counts as a string, and a statement that was cut off in a string or a
// comment ends there. Redacting twice is redacting once.
func Redact(dst, sql []byte) []byte {
	s := sql
	from := len(dst)
	done := 0
	word := "" // the one before, in lower case: of those that matter
	for i := 0; i < len(s); {
		c := s[i]
		end := i + 1
		mark := "?"
		switch {
		case isSpace(c):
			i++
			continue
		case c == '`':
			if n := bytes.IndexByte(s[end:], '`'); n >= 0 {
				end += n + 1
			}
			i, word = end, ""
			continue
		case isQuote(c):
			for end, _ = stringEnd(s, i); end < len(s) && s[end] == c; { // a doubled quote
				end, _ = stringEnd(s, end)
			}
			// The prefix of a literal (x'4f') is no secret and stays.
			word = ""
		case c == '#', c == '-' && end < len(s) && s[end] == '-' && (end+1 == len(s) || isSpace(s[end+1])):
			end, mark = lineEnd(s, i), ""
		case c == '/' && end < len(s) && s[end] == '*':
			if end+1 < len(s) && s[end+1] == '!' {
				i += len("/*!")
				for n := 0; n < 6 && i < len(s) && isDigit(s[i]); n++ { // the version
					i++
				}
				continue
			}
			if end = commentEnd(s, i); end == 0 {
				end = len(s)
			} else if word == "select" && s[i+2] == '+' {
				dst = append(dst, s[done:i+len("/*+")]...)
				dst = Redact(dst, s[i+len("/*+"):end-len("*/")])
				i, done, word = end, end-len("*/"), ""
				continue
			}
			mark = ""
			if i > 0 && !isSpace(s[i-1]) && end < len(s) && !isSpace(s[end]) {
				mark = " " // it stood between two words
			}
		case isDigit(c), c == '.' && end < len(s) && isDigit(s[end]):
			end = literalEnd(s, i)
			word = ""
		case isWord(c), c >= 0x80, c == '$', c == '@':
			for end < len(s) && (isWord(s[end]) || s[end] >= 0x80 || s[end] == '$') {
				end++
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
		if isWord(c) || c == '.' || c >= 0x80 || c == '$' {
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
