package workload

import (
	"fmt"
	"strconv"
	"strings"
)

// Dialect is the SQL of a family of servers. Workloads are written in MySQL's, with a ? for each argument; a family
// of another dialect translates them.
type Dialect uint8

const (
	MySQL Dialect = iota // MariaDB's too
	PostgreSQL
)

// String returns the name of the family.
func (d Dialect) String() string { return [...]string{"MySQL", "PostgreSQL"}[d] }

// Numbered returns the text of a statement with $1, $2 and so on in place of its markers, as PostgreSQL prepares it
// (https://www.postgresql.org/docs/current/sql-prepare.html).
func (s *Statement) Numbered() string {
	var b []byte
	n := 0
	eachMarker(s.SQL, func(text string, marker bool) {
		b = append(b, text...)
		if marker {
			n++
			b = strconv.AppendInt(append(b, '$'), int64(n), 10)
		}
	})
	return string(b)
}

// AppendTextIn is AppendText in a dialect. Texts of PostgreSQL's are quoted for a session whose
// standard_conforming_strings is on.
func (s *Statement) AppendTextIn(d Dialect, dst []byte, args []Datum) ([]byte, error) {
	if d == MySQL {
		return s.AppendText(dst, args)
	}
	n := 0
	eachMarker(s.SQL, func(text string, marker bool) {
		dst = append(dst, text...)
		if marker {
			if n < len(args) {
				dst = args[n].AppendLiteralIn(d, dst)
			}
			n++
		}
	})
	if n != len(args) {
		return dst, fmt.Errorf("fill %q: %d markers for %d arguments", s.SQL, n, len(args))
	}
	return dst, nil
}

// eachMarker calls f with the texts before each marker, and with what follows the last one. A ? in quotes is no marker;
// a quote within quotes is written twice.
func eachMarker(sql string, f func(text string, marker bool)) {
	done := 0
	for i := 0; i < len(sql); i++ {
		switch c := sql[i]; c {
		case '\'', '"':
			end := strings.IndexByte(sql[i+1:], c)
			if end < 0 {
				f(sql[done:], false)
				return
			}
			i += 1 + end
		case '?':
			f(sql[done:i], true)
			done = i + 1
		}
	}
	f(sql[done:], false)
}

// AppendLiteralIn is AppendLiteral in a dialect.
func (d Datum) AppendLiteralIn(in Dialect, dst []byte) []byte {
	if in == MySQL {
		return d.AppendLiteral(dst)
	}
	from := len(dst)
	switch d.kind {
	case BytesDatum:
		dst = append(dst, '\'')
		for _, c := range d.bytes {
			if c == '\'' {
				dst = append(dst, c)
			}
			dst = append(dst, c)
		}
		return append(dst, '\'')
	default:
		if dst = d.AppendLiteral(dst); dst[from] == '-' { // after a minus it would begin a comment
			dst = append(dst[:from], "("+string(dst[from:])+")"...)
		}
	}
	return dst
}
