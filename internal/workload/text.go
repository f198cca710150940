package workload

import (
	"fmt"
	"strings"
)

// AppendText appends the statement with its arguments in place of the markers, for the text protocol; see
// Datum.AppendLiteral for how they are quoted. A "?" within a quoted part of the statement is no marker.
func (s *Statement) AppendText(dst []byte, args []Datum) ([]byte, error) {
	next, done := 0, 0
	for i := 0; i < len(s.SQL); i++ {
		switch c := s.SQL[i]; {
		case strings.IndexByte(Quotes, c) >= 0:
			end, _ := Quoted(s.SQL, i)
			i = end - 1
		case c == '?':
			if next == len(args) {
				return dst, fmt.Errorf("fill %q: more markers than its %d arguments", s.SQL, len(args))
			}
			dst = args[next].AppendLiteral(append(dst, s.SQL[done:i]...))
			next, done = next+1, i+1
		}
	}
	if next < len(args) {
		return dst, fmt.Errorf("fill %q: %d markers for %d arguments", s.SQL, next, len(args))
	}
	return append(dst, s.SQL[done:]...), nil
}

// Quotes begin and end what holds no marker, in the SQL of one family of servers or another: texts and names.
const Quotes = "'\"`"

// Quoted returns the index after the quoted part of a statement that begins at s[i], with the doubled quotes in it, and
// whether something closes it. A backslash in a text hides the byte behind it, in single quotes and in double ones.
func Quoted(s string, i int) (end int, closed bool) {
	quote := s[i]
	text := quote == '\'' || quote == '"'
	for i++; i < len(s); i++ {
		switch {
		case s[i] == quote && i+1 < len(s) && s[i+1] == quote, s[i] == '\\' && text:
			i++
		case s[i] == quote:
			return i + 1, true
		}
	}
	return len(s), false
}

func appendQuoted(dst, s []byte) []byte {
	dst = append(dst, '\'')
	for _, c := range s {
		switch c {
		case '\'', '\\':
			dst = append(dst, '\\', c)
		case 0:
			dst = append(dst, '\\', '0')
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '\'')
}
