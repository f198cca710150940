package script

import (
	"strings"
	"unicode/utf8"
)

type tokenKind uint8

const (
	endToken      tokenKind = iota // of the command
	nameToken                      // set
	variableToken                  // :name, text without the colon
	numberToken
	stringToken // text without its quotes
	signToken   // one of the operators, commas and brackets
	wordToken   // anything without space, see word
)

type token struct {
	kind   tokenKind
	text   string
	offset int
}

// lexer reads one command.
type lexer struct {
	p      *parser
	i, end int
	fixed  bool // expressions may use options only
	depth  int
}

// space skips blanks, the backslash that joins two lines, and a comment.
func (l *lexer) space() {
	for l.i < l.end {
		switch c := l.p.src[l.i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			l.i++
		case c == '\\' && strings.HasPrefix(strings.TrimPrefix(l.p.src[l.i+1:l.end], "\r"), "\n"):
			l.i++
		case isDashComment(l.p.src[l.i:l.end]):
			l.i = l.end
		default:
			return
		}
	}
}

// isDashComment reports whether s begins with a comment: two dashes need a blank after them, else they are two signs.
func isDashComment(s string) bool {
	return strings.HasPrefix(s, "--") && (len(s) == 2 || strings.IndexByte(" \t\r\n", s[2]) >= 0)
}

// next returns the next token of an expression.
func (l *lexer) next() (token, error) {
	l.space()
	src, at := l.p.src, l.i
	if at >= l.end {
		return token{endToken, "", at}, nil
	}
	c := src[at]
	span := func(from int, ok func(byte) bool) string {
		n := from
		for n < l.end && ok(src[n]) {
			n++
		}
		l.i = n
		return src[from:n]
	}
	switch {
	case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
		return token{nameToken, span(at, isWordByte), at}, nil
	case c == ':' && at+1 < l.end && isWordByte(src[at+1]):
		return token{variableToken, span(at+1, isWordByte), at}, nil
	case c >= '0' && c <= '9' || c == '.' && at+1 < l.end && src[at+1] >= '0' && src[at+1] <= '9':
		n := at
		for n < l.end && (isWordByte(src[n]) || src[n] == '.' || (src[n] == '-' || src[n] == '+') &&
			src[n-1]|0x20 == 'e') {
			n++
		}
		l.i = n
		return token{numberToken, src[at:n], at}, nil
	case c == '\'' || c == '"':
		return l.quoted(c)
	}
	for _, s := range [...]string{"<=", ">=", "<>", "!=", "=="} {
		if strings.HasPrefix(src[at:l.end], s) {
			l.i += 2
			return token{signToken, s, at}, nil
		}
	}
	if strings.IndexByte("+-*/%(),=<>", c) >= 0 {
		l.i++
		return token{signToken, src[at : at+1], at}, nil
	}
	r, _ := utf8.DecodeRuneInString(src[at:])
	return token{}, l.p.at(at).errorf("texts are in quotes, variables have a colon before them", "unexpected %q", r)
}

// isWordByte reports whether c may be in the name of a variable.
func isWordByte(c byte) bool { return c != '$' && isNameByte(c) }

// quoted reads a text in quotes; a doubled quote is one, and \n, \t, \\ and the like are what they are in SQL.
func (l *lexer) quoted(quote byte) (token, error) {
	at := l.i
	var b strings.Builder
	for l.i++; l.i < l.end; l.i++ {
		switch c := l.p.src[l.i]; {
		case c == '\\' && l.i+1 < l.end:
			l.i++
			switch e := l.p.src[l.i]; e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '0':
				b.WriteByte(0)
			default:
				b.WriteByte(e)
			}
		case c == quote && l.i+1 < l.end && l.p.src[l.i+1] == quote:
			l.i++
			b.WriteByte(c)
		case c == quote:
			l.i++
			return token{stringToken, b.String(), at}, nil
		default:
			b.WriteByte(c)
		}
	}
	return token{}, l.p.at(at).errorf("close the text with "+string(rune(quote)), "a text has no end")
}

// word returns the next word up to a blank, or a text in quotes.
func (l *lexer) word() (token, error) {
	l.space()
	at := l.i
	if at >= l.end {
		return token{endToken, "", at}, nil
	}
	if c := l.p.src[at]; c == '\'' || c == '"' {
		return l.quoted(c)
	}
	for l.i < l.end && strings.IndexByte(" \t\r\n", l.p.src[l.i]) < 0 {
		l.i++
	}
	return token{wordToken, l.p.src[at:l.i], at}, nil
}

// rest returns what is left of the command, without blanks around it.
func (l *lexer) rest() string {
	l.space()
	s := l.p.src[l.i:l.end]
	l.i = l.end
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\\\n", " ")), " ")
}

// peek takes a sign when it comes next.
func (l *lexer) peek(sign byte) bool {
	l.space()
	if l.i < l.end && l.p.src[l.i] == sign {
		l.i++
		return true
	}
	return false
}

func (l *lexer) atEnd() bool {
	l.space()
	return l.i >= l.end
}

// done fails when something is left of the command.
func (l *lexer) done() error {
	if l.atEnd() {
		return nil
	}
	return l.p.at(l.i).errorf("a command ends with its line; a statement begins on its own line",
		"the command continues with %q", brief(l.p.src[l.i:l.end]))
}

// brief cuts a text for a message.
func brief(s string) string {
	const most = 30
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
