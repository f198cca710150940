package mytext

import (
	"bytes"
	"encoding/binary"
)

// A statement is read here as the server reads it. Where pt-query-digest's expressions would see something else in it,
// the statement is odd: see verbatim.

// fresh stands for a string in what was read, so that it is not mistaken for a ? of the statement.
const fresh = 0x01

const spaces = " \t\n\r\f\v"

// class tells what a byte may begin or belong to.
var class = func() (t [256]uint8) {
	for c := range 256 {
		switch b := byte(c); {
		case isDigit(b):
			t[c] = cWord | cNumber
		case isLetter(b) || b == '_':
			t[c] = cWord | cLetter
		}
		if bytes.IndexByte([]byte("0123456789abcdefx.+-"), byte(c)) >= 0 {
			t[c] |= cInNumber
		}
		if bytes.IndexByte([]byte("'\"\\/"), byte(c)) >= 0 {
			t[c] |= cInString
		}
		if bytes.IndexByte([]byte(" \t\n\r\f"), byte(c)) >= 0 {
			t[c] |= cBlank
		}
	}
	t['+'] |= cNumber
	t['-'] |= cNumber
	return t
}()

const (
	cWord     = 1 << iota // of a word, as \w
	cLetter               // of a word and no digit
	cNumber               // begins what is taken for a number
	cInNumber             // goes on with it
	cInString             // decides something within a string
	cBlank                // becomes one space together with its like
)

func isSpace(c byte) bool  { return c == ' ' || '\t' <= c && c <= '\r' }
func isBlank(c byte) bool  { return class[c]&cBlank != 0 }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isWord(c byte) bool   { return class[c]&cWord != 0 }
func isQuote(c byte) bool  { return c == '\'' || c == '"' }

// hasWord reports whether the lower-case word stands at s[i:] and no letter or _ follows it.
func hasWord(s []byte, i int, word string) bool {
	n := i + len(word)
	return n <= len(s) && hasFold(s[i:], word) && (n == len(s) || class[s[n]]&cLetter == 0)
}

// hasFold reports whether s begins with the lower-case ASCII letters and spaces of word, in any case.
func hasFold(s []byte, word string) bool {
	if len(s) < len(word) {
		return false
	}
	for i := range len(word) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}

// stringEnd returns the index after the string that begins at i, or the length of s when nothing closes it. A backslash
// hides what follows it; a doubled quote ends a string and begins the next. It is odd when pt-query-digest would let it
// end elsewhere: at a quote after two backslashes, or because of another kind of quote or a comment within.
func stringEnd(s []byte, i int) (end int, odd bool) {
	quote := s[i]
	i++
	const short = 32
	if len(s)-i > short {
		// Long strings are mostly plain.
		n := bytes.IndexByte(s[i:], quote)
		if n > short {
			t := s[i : i+n]
			if bytes.IndexByte(t, '\\') < 0 && bytes.IndexByte(t, quote^'\''^'"') < 0 && bytes.IndexByte(t, '/') < 0 {
				return i + n + 1, false
			}
		}
	}
	other := 0
	for i < len(s) {
		for i+8 <= len(s) {
			t := s[i : i+8 : i+8]
			if (pairs[binary.LittleEndian.Uint16(t)]|pairs[binary.LittleEndian.Uint16(t[2:])]|
				pairs[binary.LittleEndian.Uint16(t[4:])]|pairs[binary.LittleEndian.Uint16(t[6:])])&pInString != 0 {
				break
			}
			i += 8
		}
		if i == len(s) {
			break
		}
		c := s[i]
		i++
		if class[c]&cInString == 0 {
			continue
		}
		switch {
		case c == quote:
			return i, odd || quote == '\'' && other&1 != 0
		case c == '\\':
			if i+1 < len(s) && s[i] == '\\' && isQuote(s[i+1]) {
				odd = true
			}
			i++
		case c == '/':
			// Only what is closed later is a comment to pt-query-digest. Far ahead nobody looks: this must stay linear.
			if i < len(s) && s[i] == '*' && (len(s)-i > 4096 || bytes.Contains(s[i+1:], []byte("*/"))) {
				odd = true
			}
		default:
			other++
		}
	}
	return len(s), true
}

// numberEnd returns the index after what looks like a number and begins at i with a digit or a sign: pt-query-digest's
// idea of it, and the upper-case digits of a hexadecimal literal. Where comments have not been removed yet it stops
// before one.
func numberEnd(s []byte, i int, comments bool) int {
	hexa := false
	for i++; i < len(s) && isDigit(s[i]); i++ {
	}
	for ; i < len(s); i++ {
		c := s[i]
		if class[c]&cInNumber == 0 {
			if hexa && 'A' <= c && c <= 'F' {
				continue
			}
			return i
		}
		switch c {
		case '-':
			if comments && i+1 < len(s) && s[i+1] == '-' {
				return i
			}
			hexa = false
		case '+':
			hexa = false
		case 'x':
			hexa = hexa || s[i-1] == '0' && (i < 2 || !isWord(s[i-2]))
		case 'f':
			if !isWord(s[i-1]) && hasWord(s, i, "false") {
				return i
			}
		}
	}
	return i
}

// lineEnd returns where the line ends that i is in.
func lineEnd(s []byte, i int) int {
	if n := bytes.IndexAny(s[i:], "\r\n"); n >= 0 { // both at once: one alone may be far away, and is looked for often
		return i + n
	}
	return len(s)
}

// commentEnd returns the index after the comment that begins at i, 0 when nothing closes it.
func commentEnd(s []byte, i int) int {
	n := bytes.Index(s[i+2:], []byte("*/"))
	if n < 0 {
		return 0
	}
	return i + 2 + n + 2
}

// isRepeat recognises the mark that a fingerprint carries for repeated branches of a UNION.
func isRepeat(comment []byte) bool {
	return string(comment) == "/*repeat union*/" || string(comment) == "/*repeat union all*/"
}

// isToolkit recognises /*database.table:3/9*/, which pt-table-checksum and its kin write.
func isToolkit(comment []byte) bool {
	n := len(comment)
	if n < 11 || comment[n-4] != '/' || comment[n-6] != ':' || !isDigit(comment[n-3]) || !isDigit(comment[n-5]) {
		return false
	}
	open := bytes.LastIndex(comment, []byte("/*"))
	if open < 0 || open+2 > n-6 {
		return false
	}
	db, table, ok := bytes.Cut(comment[open+2:n-6], []byte("."))
	return ok && isName(db) && isName(table)
}

func isName(s []byte) bool {
	for _, c := range s {
		if !isWord(c) {
			return false
		}
	}
	return len(s) > 0
}

// insertInto returns the index after INSERT INTO or its kin at the very beginning of s, 0 for other statements. Only of
// those does pt-query-digest cut the rows after the first.
func insertInto(s []byte) int {
	n := 0
	switch {
	case hasFold(s, "insert"):
		n = len("insert")
	case hasFold(s, "replace"):
		n = len("replace")
	default:
		return 0
	}
	if hasFold(s[n:], " ignore") {
		n += len(" ignore")
	}
	into := n
	for into < len(s) && isSpace(s[into]) {
		into++
	}
	if into == n || !hasFold(s[into:], "into") {
		return 0
	}
	return into + len("into")
}

// valuesBefore reports whether the parenthesis at i belongs to the VALUES of an INSERT that began before from.
func valuesBefore(s []byte, i, from int) bool {
	for i > 0 && isSpace(s[i-1]) {
		i--
	}
	i -= len("values")
	return i > from && hasFold(s[i:], "values")
}

// rowFollows reports whether another row follows at i, behind a closing parenthesis.
func rowFollows(s []byte, i int) bool {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	if i == len(s) || s[i] != ',' {
		return false
	}
	for i++; i < len(s) && isSpace(s[i]); i++ {
	}
	return i < len(s) && s[i] == '('
}

// misleads reports whether a string, a name or a comment holds what pt-query-digest would take for the rows of an
// INSERT: the word VALUES, or the end of a row.
func misleads(t []byte, inRows bool) bool {
	if inRows {
		for i := 0; ; i++ {
			n := bytes.IndexByte(t[i:], ')')
			if n < 0 {
				return false
			}
			if i += n; rowFollows(t, i+1) {
				return true
			}
		}
	}
	for i := 0; ; i++ {
		n := bytes.IndexByte(t[i:], '(')
		if n < 0 {
			return false
		}
		if i += n; valuesBefore(t, i, -1) {
			return true
		}
	}
}

// keepsRows reports whether an INSERT is a fingerprint already, and one of several rows: row is its first, with
// parentheses. pt-query-digest leaves rows that hold more than constants when a comment or white space stands before
// the statement.
func keepsRows(s, row []byte) bool {
	plain := true
	for _, c := range row[1 : len(row)-1] {
		if !mayBeFingerprint(c) {
			return false // which most rows tell at once
		}
		plain = plain && (c == '?' || c == ',' || isSpace(c))
	}
	if plain || bytes.IndexByte(s, '?') < 0 {
		return false
	}
	for _, c := range s {
		if !mayBeFingerprint(c) {
			return false
		}
	}
	return true
}

func mayBeFingerprint(c byte) bool {
	return (c < 'A' || c > 'Z') && !isDigit(c) && !isQuote(c) && c != '#' && (c == ' ' || !isBlank(c))
}
