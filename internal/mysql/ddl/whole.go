package ddl

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
)

// Bare returns SQL with an x in place of each byte between quotes, which stay: what is left is what the server takes
// for words and signs. Positions stay. closed is false when a quote does not end. A backslash in a string escapes, as
// the sessions of package target have it. What follows the sign of a comment is not to be relied upon.
func Bare(sql string) (bare string, closed bool) {
	b := []byte(sql)
	for i := 0; i < len(b); i++ {
		if strings.IndexByte("'\"`", b[i]) < 0 {
			continue
		}
		end, closed := mytext.Quoted(sql, i)
		last := end
		if closed {
			last--
		}
		for i++; i < last; i++ {
			b[i] = 'x'
		}
		if !closed {
			return string(b), false
		}
	}
	return string(b), true
}

// Lines splits SQL at the ends of its lines, which are none between quotes.
func Lines(sql string) (lines []string) {
	bare, _ := Bare(sql)
	for l := range strings.SplitSeq(bare, "\n") {
		lines, sql = append(lines, sql[:len(l)]), sql[min(len(l)+1, len(sql)):]
	}
	return lines
}

// Comments reports whether a comment begins in SQL that Bare has gone over, one that servers execute included.
func Comments(bare string) bool {
	return strings.Contains(bare, "#") || strings.Contains(bare, "--") || strings.Contains(bare, "/*")
}

// Whole reports whether text is one piece of a statement, as a column's definition, an expression or an option's value
// is: its quotes and brackets end within it, no comment begins, and outside of brackets no comma or semicolon begins
// something else. Texts that come from a server or a statement are held to it before they stand in an ALTER TABLE.
func Whole(text string) bool {
	bare, closed := Bare(text)
	if !closed || Comments(bare) {
		return false
	}
	depth := 0
	for _, c := range []byte(bare) {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ';', c == ',' && depth == 0, c == 0:
			return false
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}
