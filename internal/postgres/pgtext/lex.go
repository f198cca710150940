package pgtext

import "strings"

// kind is what sort of token a piece of SQL is.
type kind uint8

const (
	word    kind = iota // a key word or a name without quotes
	quoted              // "name", U&"name"
	text                // 'text' in any of its forms, $tag$text$tag$, B'01', X'1F'
	number              // 42, 1_000, 0x1F, 1.5e-3
	marker              // $1
	op                  // a sign, or several that make one operator
	comment             // up to the end of the line, or /* nested /* as */ it is */
)

// next returns the token that begins at sql[i], which is no white space, and where it ends. A token that is not closed
// goes up to the end. It reads as the server does with standard_conforming_strings on, its default (manual, "Lexical
// Structure").
func next(sql string, i int) (k kind, end int) {
	s := sql[i:]
	switch c := s[0]; {
	case strings.HasPrefix(s, "--"):
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return comment, i + n
		}
		return comment, len(sql)
	case strings.HasPrefix(s, "/*"):
		return comment, i + nested(s)
	case c == '\'':
		return text, i + closed(s, '\'', false)
	case c == '"':
		return quoted, i + closed(s, '"', false)
	case c == '$':
		if n := digits(s[1:]); n > 0 {
			return marker, i + 1 + n
		}
		if n := dollars(s); n > 0 {
			return text, i + n
		}
		return op, i + 1
	case isDigit(c), c == '.' && len(s) > 1 && isDigit(s[1]):
		return number, i + figure(s)
	case starts(c):
		switch low := c | 0x20; {
		case len(s) > 1 && s[1] == '\'' && (low == 'e' || low == 'b' || low == 'x' || low == 'n'):
			return text, i + 1 + closed(s[1:], '\'', low == 'e')
		case len(s) > 2 && low == 'u' && s[1] == '&' && s[2] == '\'':
			return text, i + 2 + closed(s[2:], '\'', false)
		case len(s) > 2 && low == 'u' && s[1] == '&' && s[2] == '"':
			return quoted, i + 2 + closed(s[2:], '"', false)
		}
		n := 1
		for n < len(s) && (starts(s[n]) || isDigit(s[n]) || s[n] == '$') {
			n++
		}
		return word, i + n
	case strings.HasPrefix(s, "::"):
		return op, i + 2
	case strings.IndexByte(operators, c) >= 0:
		n := 1
		for n < len(s) && strings.IndexByte(operators, s[n]) >= 0 &&
			!strings.HasPrefix(s[n:], "--") && !strings.HasPrefix(s[n:], "/*") {
			n++
		}
		// "a=-1" is = and -: several signs end with + or - only if one of these is among them.
		for n > 1 && (s[n-1] == '-' || s[n-1] == '+') && !strings.ContainsAny(s[:n-1], "~!@#%^&|`?") {
			n--
		}
		return op, i + n
	}
	return op, i + 1
}

const operators = "+-*/<>=~!@#%^&|`?"

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// starts reports whether a name without quotes may begin with c.
func starts(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

func digits(s string) (n int) {
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// closed returns the length of the quoted piece that s begins with. A doubled quote is one within it, and so is one
// behind a backslash where backslashes escape.
func closed(s string, quote byte, escapes bool) int {
	for i := 1; i < len(s); i++ {
		switch {
		case escapes && s[i] == '\\':
			i++
		case s[i] != quote:
		case i+1 < len(s) && s[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return len(s)
}

// nested returns the length of the comment that s begins with: comments hold comments.
func nested(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			i++
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// dollars returns the length of the text in dollar quotes that s begins with; 0 where it begins with none.
func dollars(s string) int {
	n := 1
	for n < len(s) && (starts(s[n]) || n > 1 && isDigit(s[n])) {
		n++
	}
	if n == len(s) || s[n] != '$' {
		return 0
	}
	tag := s[:n+1]
	if end := strings.Index(s[len(tag):], tag); end >= 0 {
		return len(tag) + end + len(tag)
	}
	return len(s)
}

// figure returns the length of the number that s begins with.
func figure(s string) int {
	if len(s) > 2 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		n := 2
		for n < len(s) && (isDigit(s[n]) || 'a' <= s[n]|0x20 && s[n]|0x20 <= 'f' || s[n] == '_') {
			n++
		}
		return n
	}
	n, dot := 0, false
	for n < len(s) {
		switch c := s[n]; {
		case isDigit(c), c == '_' && n > 0:
			n++
			continue
		case c == '.' && !dot && !strings.HasPrefix(s[n:], ".."):
			dot = true
			n++
			continue
		case c|0x20 == 'e':
			m := n + 1
			if m < len(s) && (s[m] == '+' || s[m] == '-') {
				m++
			}
			if d := digits(s[min(m, len(s)):]); d > 0 {
				return m + d
			}
		}
		break
	}
	return n
}
