package slowlog

import (
	"bytes"
	"slices"
)

// over reports whether the statement that begins at from ends before n, the beginning of a line behind a ;, although no
// entry begins there: what follows is a server's start, nothing, or no SQL. Servers log one statement an entry, so a ;
// that ends a line within one is part of a string, a comment or a stored routine, or the client sent several statements
// that the server could not take apart: then perhaps. What looks like a statement stays with the one before, as in
// pt-query-digest.
func (p *Parser) over(from, n int) (sure, perhaps bool) {
	d := p.data
	if banner(d[n:lineEnd(d, n)]) {
		return true, true
	}
	end := bytes.LastIndexByte(d[from:n], ';') // what is open there may end with the line
	if !p.lex.outside(d[from:], end) || p.lex.routine(d[from:n]) {
		return false, false
	}
	line := n
	for n < len(d) && (d[n] == ' ' || d[n] == '\t' || d[n] == '\r' || d[n] == '\n') {
		if n++; d[n-1] == '\n' {
			line = n
		}
	}
	if n == len(d) || line == n && (begins(d, n) || banner(d[n:lineEnd(d, n)])) {
		return true, true
	}
	return !sql(d[n:]) && sql(d[spaces(d, from):]), true
}

// sql reports whether b could go on a client's text: it begins with a statement's word or a comment. A server's own SET
// line is none.
func sql(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	switch b[0] {
	case '(', '/', '-', '#', ';', '@':
		return true
	}
	if bytes.HasPrefix(b, []byte("SET timestamp=")) {
		return false
	}
	n := 0
	for n < len(b) && n < 16 && (b[n]|0x20)-'a' < 26 {
		n++
	}
	_, ok := slices.BinarySearch(verbs, string(bytes.ToUpper(b[:n])))
	return ok
}

// verbs begin statements.
var verbs = []string{
	"ALTER", "ANALYZE", "BACKUP", "BEGIN", "BINLOG", "CACHE", "CALL", "CASE", "CHANGE", "CHECK", "CHECKSUM",
	"CLONE", "CLOSE", "COMMIT",
	"CREATE", "DEALLOCATE", "DECLARE", "DELETE", "DESC", "DESCRIBE", "DO", "DROP", "END", "EXECUTE", "EXPLAIN",
	"FETCH", "FLUSH", "FOR", "GET",
	"GRANT", "HANDLER", "HELP", "IF", "IMPORT", "INSERT", "INSTALL", "KILL", "LOAD", "LOCK", "LOOP", "OPEN",
	"OPTIMIZE", "PREPARE", "PURGE",
	"RELEASE", "RENAME", "REPAIR", "REPEAT", "REPLACE", "RESET", "RESIGNAL", "RESTART", "RETURN", "REVOKE",
	"ROLLBACK", "SAVEPOINT", "SELECT",
	"SET", "SHOW", "SHUTDOWN", "SIGNAL", "SLAVE", "START", "STOP", "TABLE", "TRUNCATE", "UNINSTALL", "UNLOCK",
	"UPDATE", "USE", "VALUES",
	"WHILE", "WITH", "XA",
}

// routine reports whether a statement, of which b is the beginning up to its first ;, may hold others. Later calls
// repeat the answer.
func (l *lexer) routine(b []byte) bool {
	if !l.judged {
		l.judged, l.holds = true, holdsOthers(b)
	}
	return l.holds
}

// holdsOthers reports whether a statement creates a routine or is a block.
func holdsOthers(b []byte) bool {
	b = b[:min(len(b), 1000)]
	f := bytes.Fields(b)
	if len(f) == 0 {
		return false
	}
	switch string(bytes.ToUpper(f[0])) {
	case "BEGIN", "IF", "CASE", "LOOP", "WHILE", "REPEAT", "FOR", "DECLARE":
		return true
	}
	for _, w := range f {
		switch string(bytes.ToUpper(w)) {
		case "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE":
			return true
		}
	}
	return false
}

// lexer tells whether a place of a statement lies outside strings, quoted names and comments. It reads each byte once,
// and goes on in the middle of a text, which mytext.Next cannot: a test holds it to the same rules.
type lexer struct {
	pos  int
	open byte // the quote; '#' to the end of the line, '*' to */; 0 = outside

	judged, holds bool // see routine
}

// outside reads on to n, never back.
func (l *lexer) outside(d []byte, n int) bool {
	i := l.pos
	for i < n {
		c := d[i]
		switch l.open {
		case 0:
			switch {
			case c == '\'' || c == '"' || c == '`' || c == '#':
				l.open = c
			case c == '-' && i+2 < n && d[i+1] == '-' && d[i+2] <= ' ':
				l.open = '#'
				i++
			case c == '/' && i+1 < n && d[i+1] == '*':
				l.open = '*'
				i++
			}
		case '#':
			k := bytes.IndexByte(d[i:n], '\n')
			if k < 0 {
				i = n
				continue
			}
			i += k
			l.open = 0
		case '*':
			k := bytes.Index(d[i:n], []byte("*/"))
			if k < 0 {
				i = n // a * cannot stand last: n is before a ;
				continue
			}
			i += k + 1
			l.open = 0
		default:
			switch {
			case c == '\\' && l.open != '`':
				i++
			case c == l.open: // a doubled one opens again at once
				l.open = 0
			}
		}
		i++
	}
	l.pos = i
	return l.open == 0
}
