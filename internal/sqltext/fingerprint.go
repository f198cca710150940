package sqltext

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"strings"
)

// ID returns the id of a class: the MD5 of its fingerprint as 32 upper-case hexadecimal digits, as pt-query-digest 3
// prints it after "0x".
func ID(fingerprint string) string {
	h := md5.Sum([]byte(fingerprint))
	return strings.ToUpper(hex.EncodeToString(h[:]))
}

// Fingerprint returns the statement with literals, comments and differences of case and white space removed, by
// pt-query-digest's rules (see the package comment). It takes time linear in the length of sql, gives itself for a
// fingerprint, and shows no literal even when sql is cut off in the middle or no SQL at all.
func Fingerprint(sql string) string {
	if s, ok := special(sql); ok {
		return s
	}
	b, comments := strip(sql)
	if comments&toolkit != 0 {
		return "percona-toolkit"
	}
	b = firstRow(b)
	b = squeeze(b)
	if isUse(b) {
		return "use ?"
	}
	b = words(b)
	b = lists(b)
	b = dropAsc(b)
	b = limit(b)
	if comments&repeat == 0 {
		b = unions(b)
	}
	return string(b)
}

// special answers for statements that are recognised by how they begin.
func special(sql string) (string, bool) {
	const (
		dump  = "SELECT /*!40001 SQL_NO_CACHE */ * FROM `"
		admin = "administrator command: "
	)
	switch {
	case strings.HasPrefix(sql, dump):
		return "mysqldump", true
	case sql == "mysqldump" || sql == "percona-toolkit":
		return sql, true
	case strings.HasPrefix(sql, admin):
		for _, c := range []byte(sql[len(admin):]) {
			if !isLetter(c) && c != ' ' {
				return "", false
			}
		}
		return sql, true
	}
	return call(sql)
}

// call answers for CALL: the procedure's name without its arguments.
func call(sql string) (string, bool) {
	s := strings.TrimLeft(sql, spaces)
	if len(s) < 5 || !strings.EqualFold(s[:4], "call") || !isSpace(s[4]) {
		return "", false
	}
	name := strings.TrimLeft(s[4:], spaces)
	n := 0
	for n < len(name) && (isWord(name[n]) || strings.IndexByte(".`$", name[n]) >= 0) {
		n++
	}
	rest := name[n:]
	if n == 0 || !strings.HasPrefix(rest, "(") && strings.Trim(rest, spaces+";") != "" {
		return "", false
	}
	return "call " + string(lower([]byte(name[:n]))), true
}

// What strip met.
const (
	toolkit = 1 << iota // a comment that Percona's tools put into their own statements
	repeat              // the mark that a fingerprint carries for repeated UNION branches
)

// strip removes comments and replaces strings and numbers by ?, lower-casing nothing.
func strip(sql string) (out []byte, comments int) {
	out = make([]byte, 0, min(len(sql), 4096))
	lastTick := strings.LastIndexByte(sql, '`')
	// mark writes the ? of a literal, swallowing one sign or dot or letter of a literal's prefix.
	mark := func() {
		if n := len(out); n > 0 && strings.IndexByte("xb.+-", out[n-1]) >= 0 {
			out = out[:n-1]
		}
		out = append(out, '?')
	}
	number := func(i int) int { // from a digit or sign to the end of what looks like a number
		hexa := strings.HasPrefix(sql[i:], "0x") && (i == 0 || !isWord(sql[i-1]))
		for i++; i < len(sql); i++ {
			c := sql[i]
			if !isNumber(c) && c != '.' && c != 'x' && (c < 'a' || c > 'f') && !(hexa && 'A' <= c && c <= 'F') {
				break
			}
			if c == '-' && dashes(sql, i) {
				break
			}
		}
		mark()
		return i
	}
	tick := false // within a quoted identifier
	for i := 0; i < len(sql); {
		c := sql[i]
		switch {
		case c == '`':
			// An opening one that nothing closes stands alone: what follows it is no identifier.
			tick = !tick && i < lastTick
		case tick:
			if isNumber(c) {
				i = number(i)
				continue
			}
		case c == '\'' || c == '"':
			i = endOfString(sql, i)
			mark()
			continue
		case c == '#', c == '-' && dashes(sql, i):
			if n := strings.IndexAny(sql[i:], "\r\n"); n >= 0 {
				i += n
			} else {
				i = len(sql)
			}
			continue
		case c == '/' && strings.HasPrefix(sql[i:], "/*") && !strings.HasPrefix(sql[i:], "/*!"):
			end := len(sql)
			if n := strings.Index(sql[i+2:], "*/"); n >= 0 {
				end = i + 2 + n + 2
			}
			text := sql[i:end]
			i = end
			switch {
			case isRepeat(text):
				out = append(out, text...)
				comments |= repeat
			case isToolkit(text):
				comments |= toolkit
			case len(out) > 0 && out[len(out)-1] == '/' && i < len(sql) && sql[i] == '*':
				out = append(out, ' ') // else the rest would become a comment
			}
			continue
		case isNumber(c):
			i = number(i)
			continue
		}
		out = append(out, c)
		i++
	}
	return out, comments
}

// dashes reports whether a comment begins with the -- at i: always before white space, as in the server, and
// otherwise where pt-query-digest takes it for one, when the rest of the line holds no quote.
func dashes(sql string, i int) bool {
	if !strings.HasPrefix(sql[i:], "--") {
		return false
	}
	if i+2 == len(sql) || isSpace(sql[i+2]) {
		return true
	}
	if sql[i+2] == '-' {
		return false // decided at the last two of them, so that a long row of dashes costs one look
	}
	n := strings.IndexAny(sql[i:], "'\"\r\n")
	return n < 0 || sql[i+n] == '\r' || sql[i+n] == '\n'
}

// endOfString returns the index after the string that begins at i, or the end of sql when nothing closes it. A doubled
// quote ends a string and begins the next.
func endOfString(sql string, i int) int {
	quote := sql[i]
	for i++; i < len(sql); i++ {
		switch sql[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		}
	}
	return len(sql)
}

func isRepeat(comment string) bool {
	return comment == "/*repeat union*/" || comment == "/*repeat union all*/"
}

// isToolkit recognises /*database.table:3/9*/, which pt-table-checksum and its kin write.
func isToolkit(comment string) bool {
	s := strings.TrimSuffix(comment[2:], "*/")
	n := len(s)
	if n < 7 || s[n-2] != '/' || s[n-4] != ':' || !isDigit(s[n-1]) || !isDigit(s[n-3]) {
		return false
	}
	db, table, ok := strings.Cut(s[:n-4], ".")
	return ok && isName(db) && isName(table)
}

func isName(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) {
			return false
		}
	}
	return s != ""
}

// firstRow cuts an INSERT or REPLACE of several rows after its first.
func firstRow(b []byte) []byte {
	s := bytes.TrimLeft(b, spaces)
	n := 0
	for _, verb := range []string{"insert", "replace"} {
		if hasFold(s, verb) {
			n = len(verb)
		}
	}
	if n == 0 {
		return b
	}
	if hasFold(s[n:], " ignore") {
		n += len(" ignore")
	}
	rest := bytes.TrimLeft(s[n:], spaces)
	if len(rest) == len(s[n:]) || !hasFold(rest, "into") {
		return b
	}
	at := len(s) - len(rest) + len("into") + 1
	for ; at < len(s); at++ {
		if s[at]|0x20 != 'v' || !hasFold(s[at:], "values") {
			continue
		}
		open := at + len("values")
		for open < len(s) && isSpace(s[open]) {
			open++
		}
		if open < len(s) && s[open] == '(' {
			at = open
			break
		}
	}
	for i := at; i < len(s); i++ {
		if s[i] != ')' {
			continue
		}
		next := bytes.TrimLeft(s[i+1:], spaces)
		if len(next) == 0 || next[0] != ',' {
			continue
		}
		if next = bytes.TrimLeft(next[1:], spaces); len(next) > 0 && next[0] == '(' {
			return s[:i+1]
		}
	}
	return b
}

// squeeze lower-cases, makes one space of all white space, removes it in front, and at the end only a line break.
func squeeze(b []byte) []byte {
	b = bytes.TrimLeft(b, spaces)
	b = bytes.TrimSuffix(b, []byte("\n"))
	b = lower(b)
	out := b[:0]
	for _, c := range b {
		if isSpace(c) {
			if n := len(out); n > 0 && out[n-1] == ' ' {
				continue
			}
			c = ' '
		}
		out = append(out, c)
	}
	return out
}

func isUse(b []byte) bool {
	name, ok := bytes.CutPrefix(bytes.TrimRight(b, " "), []byte("use "))
	return ok && len(name) > 0 && bytes.IndexByte(name, ' ') < 0
}

// words replaces the literals that are words.
func words(b []byte) []byte {
	out := b[:0] // never longer than what was read
	for i := 0; i < len(b); {
		if !isWord(b[i]) {
			out = append(out, b[i])
			i++
			continue
		}
		j := i
		for j < len(b) && isWord(b[j]) {
			j++
		}
		switch w := b[i:j]; string(w) {
		case "true", "false", "null":
			out = append(out, '?')
		default:
			out = append(out, w...)
		}
		i = j
	}
	return out
}

// lists folds the lists of IN and VALUES that hold nothing but marks: in(?+).
func lists(b []byte) []byte {
	out := make([]byte, 0, len(b)+8)
	for i := 0; i < len(b); {
		if !isWord(b[i]) {
			out = append(out, b[i])
			i++
			continue
		}
		j := i
		for j < len(b) && isWord(b[j]) {
			j++
		}
		w := b[i:j]
		out = append(out, w...)
		i = j
		switch string(w) {
		case "in", "value", "values":
			for n := group(b[i:]); n > 0; n = group(b[i:]) {
				if i == j {
					out = append(out, "(?+)"...)
				}
				i += n
			}
		}
	}
	return out
}

// group returns the length of one parenthesis of marks at the start of b, separators before it included; 0 for none.
func group(b []byte) int {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == ',') {
		i++
	}
	if i == len(b) || b[i] != '(' {
		return 0
	}
	for i++; i < len(b); i++ {
		switch b[i] {
		case ' ', ',', '?':
		case ')':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// dropAsc removes the word asc after the first ORDER BY: it says what is so without it.
func dropAsc(b []byte) []byte {
	const by = "order by "
	at := wordIndex(b, by, 0)
	if at < 0 {
		return b
	}
	out := b[:at+len(by)]
	first := len(out)
	for i := first; i < len(b); {
		if len(out) > first && bytes.HasPrefix(b[i:], []byte(" asc")) && (i+4 == len(b) || !isWord(b[i+4])) {
			i += 4
			continue
		}
		out = append(out, b[i])
		i++
	}
	return out
}

// limit folds the forms of the first LIMIT.
func limit(b []byte) []byte {
	const head = "limit ?"
	at := wordIndex(b, head, 0)
	if at < 0 {
		return b
	}
	at += len(head)
	rest := b[at:]
	for {
		n := len(rest)
		for _, more := range []string{", ?", ",?", " offset ?"} {
			rest = bytes.TrimPrefix(rest, []byte(more))
		}
		if len(rest) == n {
			return append(b[:at], rest...)
		}
	}
}

// unions folds branches of a UNION that repeat each other into one and a comment. Repeats of up to maxBranches
// branches are looked for.
func unions(b []byte) []byte {
	const (
		sel         = "select "
		union       = " union"
		all         = " all"
		maxBranches = 8
	)
	if !bytes.Contains(b, []byte(union)) {
		return b
	}
	// follows returns the end of " union x" or " union all x" at i, and which it was.
	follows := func(i int, x []byte) (int, string) {
		for _, u := range []string{union + all, union} {
			n := i + len(u)
			if bytes.HasPrefix(b[i:], []byte(u)) && n < len(b) && b[n] == ' ' && bytes.HasPrefix(b[n+1:], x) {
				return n + 1 + len(x), u
			}
		}
		return i, ""
	}
	var out []byte
	done := 0
	from := 0
search:
	for {
		s := wordIndex(b, sel, from)
		if s < 0 {
			break
		}
		e := s + len(sel)
		for range maxBranches {
			n := bytes.Index(b[e:], []byte(union))
			if n < 0 {
				break
			}
			e += n
			x := b[s:e]
			end, kind := follows(e, x)
			if kind == "" {
				e++
				continue
			}
			for k := kind; k != ""; end, k = follows(end, x) {
				kind = k
			}
			out = append(out, b[done:e]...)
			out = append(out, " /*repeat"...)
			out = append(out, kind...)
			out = append(out, "*/"...)
			done, from = end, end
			continue search
		}
		from = s + len(sel)
	}
	return append(out, b[done:]...)
}

// wordIndex finds s, which begins with a letter, in b at or after from, where no word runs into it; -1 for nowhere.
func wordIndex(b []byte, s string, from int) int {
	for {
		n := bytes.Index(b[from:], []byte(s))
		if n < 0 {
			return -1
		}
		if from+n == 0 || !isWord(b[from+n-1]) {
			return from + n
		}
		from += n + 1
	}
}

const spaces = " \t\n\r\f\v"

func isSpace(c byte) bool  { return c == ' ' || '\t' <= c && c <= '\r' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isNumber(c byte) bool { return isDigit(c) || c == '+' || c == '-' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' || c >= 0x80 }

// lower lower-cases ASCII letters in place and leaves all other bytes.
func lower(b []byte) []byte {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}

func hasFold(b []byte, s string) bool {
	return len(b) >= len(s) && strings.EqualFold(string(b[:len(s)]), s)
}
