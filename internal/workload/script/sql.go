package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/workload"
)

// skipSpace returns the offset behind blanks and comments.
func skipSpace(p *parser, i int) (int, error) {
	for i < len(p.src) {
		end, _, err := comment(p, i)
		switch {
		case err != nil:
			return 0, err
		case end > i:
			i = end
		case strings.IndexByte(" \t\r\n\v\f", p.src[i]) >= 0:
			i++
		default:
			return i, nil
		}
	}
	return i, nil
}

// comment returns the offset behind the comment that begins at i, i itself when none does. Hints and what only some
// versions carry out, /*+ … */ and /*! … */, are told apart: they belong to the statement.
func comment(p *parser, i int) (end int, code bool, err error) {
	switch s := p.src[i:]; {
	case s[0] == '#', strings.HasPrefix(s, "--") && (len(s) == 2 || s[2] <= ' '): // up to the end of its line
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return i + n, false, nil
		}
		return len(p.src), false, nil
	case strings.HasPrefix(s, "/*"):
		n := strings.Index(s[2:], "*/")
		if n < 0 {
			return 0, false, p.at(i).errorf("close it with */", "a comment has no end")
		}
		code = s[2] == '+' || s[2] == '!' || strings.HasPrefix(s[2:], "M!")
		return i + len("/*") + n + len("*/"), code, nil
	}
	return i, false, nil
}

// statement reads SQL up to its semicolon, or to the end of the script.
func (p *parser) statement() error {
	start := p.i
	r := sqlReader{p: p, start: start}
	end, closed, err := r.read()
	if err != nil {
		return err
	}
	p.i = end
	if closed {
		p.i++
	}
	if len(r.words) == 0 { // a semicolon alone
		if strings.TrimSpace(r.sql.String()) == "" && len(r.pieces) == 0 {
			return nil
		}
		return p.at(start).errorf("", "a statement begins with a word")
	}
	here := p.at(start)
	p.begin(here)
	st := statement{args: r.args}
	st.SQL = trimmed(r.sql.String())
	st.Kind, st.Rows = classify(r.words)
	st.Text = st.Kind == workload.Other || p.plain
	if r.names {
		st.pieces = r.all()
		st.args = nil
		st.Text = true
	}
	st.Name = fmt.Sprintf("%s:%d %s", p.t.name, here.line, r.words[0])
	p.t.calls = append(p.t.calls, st)
	addTo(p.t, instruction{do: send, call: len(p.t.calls) - 1, at: here})
	return nil
}

// trimmed takes blanks off the end. Those at the front are not there.
func trimmed(s string) string { return strings.TrimRight(s, " \t\r\n\v\f") }

// sqlReader takes one statement apart.
type sqlReader struct {
	p      *parser
	start  int
	sql    strings.Builder // with ? for values, and {name}
	lit    strings.Builder // the text since the last piece
	pieces []piece
	args   []int
	names  bool     // there is a {name}
	words  []string // keywords outside of brackets, in upper case: what kind of statement it is
	depth  int
}

func (r *sqlReader) plain(s string) { r.sql.WriteString(s); r.lit.WriteString(s) }

func (r *sqlReader) piece(p piece) {
	p.text = r.lit.String()
	r.lit.Reset()
	r.pieces = append(r.pieces, p)
}

// all returns the pieces of the whole text.
func (r *sqlReader) all() []piece {
	return append(r.pieces, piece{text: trimmed(r.lit.String()), variable: -1})
}

// read goes through the statement and returns the offset of its semicolon.
func (r *sqlReader) read() (end int, closed bool, err error) {
	p := r.p
	for i := r.start; i < len(p.src); {
		after, code, err := comment(p, i)
		if err != nil {
			return 0, false, err
		}
		if after > i {
			switch {
			case !code:
				if p.src[i] == '#' {
					p.mysqlOnly(i, "write -- for a comment", "a # begins a comment in MySQL only")
				}
				r.plain(" ")
			case strings.Contains(p.src[i:after], "?") || halfQuoted(p.src[i:after]):
				return 0, false, p.at(i).errorf("", "a hint with a ? or half of a pair of quotes")
			default:
				r.plain(p.src[i:after])
			}
			i = after
			continue
		}
		switch c := p.src[i]; {
		case c == ';':
			return i, true, nil
		case strings.IndexByte(workload.Quotes, c) >= 0:
			i, err = r.quoted(i, c)
			if err != nil {
				return 0, false, err
			}
		case c == '\\':
			if line := p.src[strings.LastIndexByte(p.src[:i], '\n')+1 : i]; strings.TrimSpace(line) == "" ||
				strings.HasPrefix(p.src[i:], "\\into") || strings.HasPrefix(p.src[i:], "\\gset") {
				return 0, false, p.at(r.start).errorf("end it with ; before the next command", "a statement has no end")
			}
			return 0, false, p.at(i).errorf("", "a backslash outside of quotes")
		case c == '?':
			return 0, false, p.at(i).errorf("write :name for a value", "a ? outside of quotes")
		case c == ':' && p.next(i) == ':': // a cast of PostgreSQL's
			r.plain("::")
			i += 2
		case c == ':' && i+1 < len(p.src) && isWordByte(p.src[i+1]):
			n := i + 1
			for n < len(p.src) && isWordByte(p.src[n]) {
				n++
			}
			v, err := p.use(p.src[i+1:n], i, false)
			if err != nil {
				return 0, false, err
			}
			r.piece(piece{variable: v, at: p.at(i)})
			r.sql.WriteByte('?')
			r.args = append(r.args, v)
			i = n
		case c == '{' && isWordByte(p.next(i)):
			n := i + 1
			for n < len(p.src) && isWordByte(p.src[n]) {
				n++
			}
			if n == len(p.src) || p.src[n] != '}' {
				r.plain("{")
				i++
				continue
			}
			v, err := p.use(p.src[i+1:n], i, false)
			if err != nil {
				return 0, false, err
			}
			r.piece(piece{variable: v, name: true, at: p.at(i)})
			r.sql.WriteString(p.src[i : n+1])
			r.names = true
			i = n + 1
		case isNameByte(c) || c == '@':
			n := i + 1
			for n < len(p.src) && (isNameByte(p.src[n]) || p.src[n] == '@' || p.src[n] == '.') {
				n++
			}
			if (r.depth == 0 || len(r.words) == 0) && c != '@' && (c < '0' || c > '9') {
				// the first one may be in brackets
				r.words = append(r.words, strings.ToUpper(p.src[i:n]))
			}
			r.plain(p.src[i:n])
			i = n
		default:
			switch c {
			case '(':
				r.depth++
			case ')':
				r.depth--
			}
			r.plain(p.src[i : i+1])
			i++
		}
	}
	return len(p.src), false, nil
}

// halfQuoted reports whether some quote stands an odd number of times in a text.
func halfQuoted(text string) bool {
	for _, q := range workload.Quotes {
		if strings.Count(text, string(q))%2 > 0 {
			return true
		}
	}
	return false
}

// next returns the byte after i, 0 at the end.
func (p *parser) next(i int) byte {
	if i+1 < len(p.src) {
		return p.src[i+1]
	}
	return 0
}

// quoted copies a text in quotes. A quote behind a backslash is written as two, which means the same and needs no look
// at backslashes when values are put in.
func (r *sqlReader) quoted(i int, quote byte) (int, error) {
	end, closed := workload.Quoted(r.p.src, i)
	q := string(rune(quote))
	if !closed {
		return 0, r.p.at(i).errorf("close it with "+q, "a text in quotes has no end")
	}
	text := r.p.src[i:end]
	if strings.Contains(text, `\`+q) {
		r.p.mysqlOnly(i, "write a quote within quotes twice", "a quote after a backslash is part of the text in "+
			"MySQL only")
	}
	if quote == '\'' || quote == '"' {
		text = strings.NewReplacer(`\\`, `\\`, `\`+q, q+q).Replace(text)
	}
	r.plain(text)
	return end, nil
}

// mysqlOnly remembers the first place that other dialects read in another way.
func (p *parser) mysqlOnly(i int, hint, text string) {
	if p.s.mysql == nil {
		p.s.mysql = p.at(i).errorf(hint, "%s", text)
	}
}

// The first words of statements, by how they are counted. Everything else is workload.Other.
var (
	reading = []string{"SELECT", "SHOW", "TABLE", "VALUES", "DESC", "DESCRIBE", "EXPLAIN", "CHECKSUM", "HANDLER"}
	writing = []string{"INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"}
	silent  = []string{ // never answer with rows
		"BEGIN", "START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "SET", "USE", "DO", "CREATE", "DROP", "ALTER",
		"TRUNCATE", "RENAME", "LOCK",
		"UNLOCK", "FLUSH", "KILL", "GRANT", "REVOKE", "PREPARE", "DEALLOCATE", "RESET", "PURGE", "XA",
		"INSTALL", "UNINSTALL", "SIGNAL",
	}
)

// classify says how a statement is counted, and whether it may answer with rows.
func classify(words []string) (kind workload.Kind, rows bool) {
	first := words[0]
	if first == "WITH" {
		for _, w := range words[1:] {
			if slices.Contains(writing, w) || slices.Contains(reading, w) {
				first = w
				break
			}
		}
	}
	switch {
	case slices.Contains(reading, first), first == "WITH":
		return workload.Read, true
	case slices.Contains(writing, first):
		return workload.Write, slices.Contains(words, "RETURNING")
	case first == "XA":
		return workload.Other, slices.Contains(words, "RECOVER")
	}
	return workload.Other, !slices.Contains(silent, first)
}
