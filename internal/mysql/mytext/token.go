package mytext

import "strings"

// Kind tells what a token of SQL is.
type Kind uint8

// The kinds of tokens.
const (
	Sign    Kind = iota // any other byte, alone: of an operator, a bracket, a control character
	Space               // blanks and line breaks
	Comment             // /* … */ with hints among them, or from # or -- up to the end of the line
	Code                // /*! … */ or /*M! … */, which some servers execute: see Executed
	Word                // a keyword or a name without quotes
	Number              // a Word that begins with a digit: a number or a name; a point or a sign in a number is a Sign
	Name                // `…`
	String              // '…' or "…"
	Open                // a quote or a comment that nothing closes, with all that is behind it
)

// Next returns what begins at s[i], and the index after it. It reads as servers do with their usual sql_mode: a
// backslash in a String hides the byte behind it, in a Name it does not, and the two dashes of a comment have white
// space or a control character behind them. A doubled quote ends a token, and begins another one: see Quoted. What is
// between double quotes is a String; with ANSI_QUOTES it is a name. It allocates nothing.
//
// This is where Dyno's rules of quoting are. Where another function keeps a loop of its own, for speed (read,
// Keyer.Key) or because it goes on in the middle of a text (package slowlog), a test holds it to these rules.
func Next[T string | []byte](s T, i int) (kind Kind, end int) {
	c := s[i]
	switch {
	case isSpace(c):
		for end = i + 1; end < len(s) && isSpace(s[end]); {
			end++
		}
		return Space, end
	case WordByte(c):
		for end = i + 1; end < len(s) && WordByte(s[end]); {
			end++
		}
		if isDigit(c) {
			return Number, end
		}
		return Word, end
	case isQuote(c) || c == '`':
		end, closed := quoteEnd(s, i)
		switch {
		case !closed:
			return Open, end
		case c == '`':
			return Name, end
		}
		return String, end
	case aside(s, i):
		for end = i + 1; end < len(s) && s[end] != '\n'; {
			end++
		}
		return Comment, end
	case c == '/' && i+1 < len(s) && s[i+1] == '*':
		for end = i + len("/**/"); end <= len(s); end++ {
			if s[end-2] != '*' || s[end-1] != '/' {
				continue
			}
			if _, code := Executed(s, i); code {
				return Code, end
			}
			return Comment, end
		}
		return Open, len(s)
	}
	return Sign, i + 1
}

// aside reports whether a comment begins at s[i] that goes up to the end of its line.
func aside[T string | []byte](s T, i int) bool {
	return s[i] == '#' || s[i] == '-' && i+1 < len(s) && s[i+1] == '-' && (i+2 == len(s) || s[i+2] <= ' ')
}

// Quoted returns the index after the quoted text at s[i], with the doubled quotes in it, and whether something closes
// it.
func Quoted[T string | []byte](s T, i int) (end int, closed bool) {
	for end, closed = quoteEnd(s, i); closed && end < len(s) && s[end] == s[i]; {
		end, closed = quoteEnd(s, end)
	}
	return end, closed
}

func quoteEnd[T string | []byte](s T, i int) (end int, closed bool) {
	quote := s[i]
	for i++; i < len(s); i++ {
		switch {
		case s[i] == quote:
			return i + 1, true
		case s[i] == '\\' && quote != '`':
			i++
		}
	}
	return len(s), false
}

// Executed returns the index of what servers execute of the Code that begins at s[i], whether or not something closes
// it: behind its sign, and the version from which on they do. It is i and false where no Code begins. Who wants the
// tokens within goes on there.
func Executed[T string | []byte](s T, i int) (from int, ok bool) {
	if len(s)-i < len("/*!") || s[i] != '/' || s[i+1] != '*' {
		return i, false
	}
	end := i + len("/*")
	if s[end] == 'M' && end+1 < len(s) {
		end++
	}
	if s[end] != '!' {
		return i, false
	}
	end++
	for n := 0; n < 6 && end < len(s) && isDigit(s[end]); n++ {
		end++
	}
	return end, true
}

// Body returns a statement without the white space and the comments in front of it, those that servers execute among
// them.
func Body(sql string) string {
	for sql != "" {
		kind, end := Next(sql, 0)
		if kind != Space && kind != Comment && kind != Code {
			break
		}
		sql = sql[end:]
	}
	return sql
}

// CutOff reports whether a statement ends within a string, a quoted name or a comment: some servers cut a text at the
// first byte that is no character.
func CutOff(sql string) bool {
	for i := 0; i < len(sql); {
		kind, end := Next(sql, i)
		if kind == Open {
			return true
		}
		i = end
	}
	return false
}

// CutName cuts the name off that text begins with, a quoted one without its quotes. It is "" where no name begins,
// where nothing closes it, and where a backslash stands in double quotes, which decides with the sql_mode where they
// end.
func CutName(text string) (name, rest string) {
	if text == "" {
		return "", ""
	}
	switch kind, end := Next(text, 0); {
	case kind == Word || kind == Number:
		return text[:end], text[end:]
	case text[0] == '`' || text[0] == '"':
		quote := text[:1]
		end, closed := Quoted(text, 0)
		if closed && (quote == "`" || !strings.Contains(text[:end], `\`)) {
			return strings.ReplaceAll(text[1:end-1], quote+quote, quote), text[end:]
		}
	}
	return "", ""
}

// WordByte reports whether c may be in a Word or a Number: a letter, a digit, _, $, or anything beyond ASCII.
func WordByte(c byte) bool { return isWord(c) || c >= 0x80 || c == '$' }
