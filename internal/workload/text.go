package workload

import (
	"fmt"

	"github.com/dyno-perf/dyno/internal/sqltext"
)

// AppendText appends the statement with its arguments in place of the markers, for the text protocol; see Datum.AppendLiteral for how
// they are quoted. A "?" within a quoted part of the statement is no marker.
func (s *Statement) AppendText(dst []byte, args []Datum) ([]byte, error) {
	next := 0
	for i, end := 0, 0; i < len(s.SQL); i = end {
		if _, end = sqltext.Next(s.SQL, i); s.SQL[i] != '?' {
			dst = append(dst, s.SQL[i:end]...)
			continue
		}
		if next == len(args) {
			return dst, fmt.Errorf("fill %q: more markers than its %d arguments", s.SQL, len(args))
		}
		dst = args[next].AppendLiteral(dst)
		next++
	}
	if next < len(args) {
		return dst, fmt.Errorf("fill %q: %d markers for %d arguments", s.SQL, next, len(args))
	}
	return dst, nil
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
