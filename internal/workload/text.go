package workload

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/sqltext"
)

// AppendText appends the statement with its arguments in place of the markers, for the text protocol; see
// Datum.AppendLiteral for how they are quoted. A "?" within a quoted part of the statement is no marker.
func (s *Statement) AppendText(dst []byte, args []Datum) ([]byte, error) {
	next, done := 0, 0
	for i := 0; i < len(s.SQL); i++ {
		switch s.SQL[i] {
		case '\'', '"', '`':
			end, _ := sqltext.Quoted(s.SQL, i)
			i = end - 1
		case '?':
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
