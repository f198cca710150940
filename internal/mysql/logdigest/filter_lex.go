package logdigest

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tokenKind is what the text of a filter is made of.
type tokenKind uint8

const (
	atEnd tokenKind = iota
	aName
	aNumber // with its unit
	aText   // within quotes
	aPattern
	anOperator
)

// filterReader reads a filter token by token; its fields are those of the current one.
type filterReader struct {
	text        string
	filter      *Filter
	pos         int // after the token
	depth       int
	wantPattern bool // a / begins a pattern

	kind  tokenKind
	at    int    // of the token's first byte
	word  string // what it says, without quotes; of an operator its plain form
	flags string // of a pattern
}

// filterWords are operators that are written as words.
var filterWords = map[string]string{
	"and": "&&", "or": "||", "not": "!", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
	"AND": "&&", "OR": "||", "NOT": "!",
}

// filterOperators lists the longer ones first. One = is two, and <> is !=, for people think in SQL.
var filterOperators = []struct{ written, plain string }{
	{"&&", "&&"},
	{"||", "||"},
	{"==", "=="},
	{"=~", "=~"},
	{"!=", "!="},
	{"!~", "!~"},
	{"<=", "<="},
	{">=", ">="},
	{"<>", "!="},
	{"=", "=="},
	{"<", "<"},
	{">", ">"},
	{"!", "!"},
	{"(", "("},
	{")", ")"},
}

// show names the current token.
func (r *filterReader) show() string {
	if r.kind == atEnd {
		return "the expression ends"
	}
	s := r.text[r.at:r.pos]
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(s, "�"))
}

// next goes on to the next token.
func (r *filterReader) next() error {
	for r.pos < len(r.text) && strings.IndexByte(" \t\r\n", r.text[r.pos]) >= 0 {
		r.pos++
	}
	r.at, r.word, r.flags = r.pos, "", ""
	if r.pos == len(r.text) {
		r.kind = atEnd
		return nil
	}
	rest := r.text[r.pos:]
	c := rest[0]
	switch {
	case strings.HasPrefix(rest, "$event->{"):
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			return r.wrong("$event->{ is never closed", "write the name alone")
		}
		r.kind, r.word = aName, strings.Trim(rest[len("$event->{"):end], `'" `)
		r.pos += end + 1
		if r.word == "" {
			return r.wrong("$event->{} names nothing", "write the name alone")
		}
		return nil
	case c == '"' || c == '\'':
		return r.quoted(c, aText)
	case r.wantPattern && c == '/':
		return r.quoted(c, aPattern)
	case r.wantPattern && strings.HasPrefix(rest, "m/"):
		r.pos++
		return r.quoted('/', aPattern)
	case isFilterName(c):
		n := 1
		for n < len(rest) && (isFilterName(rest[n]) || isFilterDigit(rest[n])) {
			n++
		}
		r.kind, r.word = aName, rest[:n]
		r.pos += n
		if plain, ok := filterWords[r.word]; ok {
			r.kind, r.word = anOperator, plain
		}
		return nil
	case isFilterDigit(c) || (c == '-' || c == '.') && len(rest) > 1 && (isFilterDigit(rest[1]) || rest[1] == '.'):
		n := 1
		for n < len(rest) && (isFilterName(rest[n]) || isFilterDigit(rest[n]) || rest[n] == '.' || rest[n] >= 0x80 ||
			(rest[n] == '+' || rest[n] == '-') && rest[n-1]|0x20 == 'e') {
			n++
		}
		r.kind, r.word = aNumber, rest[:n]
		r.pos += n
		return nil
	}
	for _, o := range filterOperators {
		if strings.HasPrefix(rest, o.written) {
			r.kind, r.word = anOperator, o.plain
			r.pos += len(o.written)
			return nil
		}
	}
	_, n := utf8.DecodeRuneInString(rest)
	r.pos += n
	hint := ""
	switch c {
	case '&':
		hint = "use &&"
	case '|':
		hint = "use ||"
	case '/':
		hint = "a /pattern/ comes after =~ or !~"
	}
	return r.wrong(fmt.Sprintf("%q has no meaning here", strings.ToValidUTF8(rest[:n], "�")), hint)
}

// quoted reads a text or a pattern up to its closing quote. In a text a backslash hides the character after it; a
// pattern keeps its backslashes, but for those before a slash.
func (r *filterReader) quoted(quote byte, kind tokenKind) error {
	var b strings.Builder
	for i := r.pos + 1; i < len(r.text); i++ {
		c := r.text[i]
		switch {
		case c == '\\' && i+1 < len(r.text):
			i++
			if kind == aPattern && r.text[i] != quote {
				b.WriteByte('\\')
			}
			b.WriteByte(r.text[i])
		case c == quote:
			i++
			if kind == aPattern {
				for i < len(r.text) && isFilterName(r.text[i]) {
					if strings.IndexByte("ims", r.text[i]) < 0 {
						r.at = i
						return r.wrong(fmt.Sprintf("%q is not a flag of a pattern", r.text[i:i+1]),
							"use i for any case, s for a . that takes line breaks, m for ^ and $ at each line")
					}
					r.flags += r.text[i : i+1]
					i++
				}
			}
			r.pos, r.kind, r.word = i, kind, b.String()
			return nil
		default:
			b.WriteByte(c)
		}
	}
	return r.wrong(fmt.Sprintf("this %c is never closed", quote), "")
}

func isFilterName(c byte) bool  { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isFilterDigit(c byte) bool { return c >= '0' && c <= '9' }
