package workload

import (
	"fmt"
	"strconv"
)

// AppendText appends the statement with its arguments in place of the markers, for the text protocol. Arguments are int64,
// float64, string or []byte. Strings are quoted for a session whose sql_mode lacks NO_BACKSLASH_ESCAPES and whose character set
// is ASCII-compatible in every byte, such as utf8mb4. A "?" within a quoted part of the statement is no marker.
func (s Statement) AppendText(dst []byte, args []any) ([]byte, error) {
	next := 0
	quote := byte(0)
	for i := range len(s.SQL) {
		c := s.SQL[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '?':
			if next == len(args) {
				return dst, fmt.Errorf("fill %q: more markers than its %d arguments", s.SQL, len(args))
			}
			var err error
			if dst, err = appendLiteral(dst, args[next]); err != nil {
				return dst, fmt.Errorf("fill %q: argument %d: %w", s.SQL, next+1, err)
			}
			next++
			continue
		}
		dst = append(dst, c)
	}
	if next < len(args) {
		return dst, fmt.Errorf("fill %q: %d markers for %d arguments", s.SQL, next, len(args))
	}
	return dst, nil
}

func appendLiteral(dst []byte, arg any) ([]byte, error) {
	switch v := arg.(type) {
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case float64:
		return strconv.AppendFloat(dst, v, 'g', -1, 64), nil
	case string:
		return appendQuoted(dst, v), nil
	case []byte:
		return appendQuoted(dst, v), nil
	}
	return dst, fmt.Errorf("a %T is none of int64, float64, string, []byte", arg)
}

func appendQuoted[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '\'')
	for i := range len(s) {
		switch c := s[i]; c {
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
