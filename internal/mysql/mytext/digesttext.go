package mytext

import "strings"

// FromDigestText returns the fingerprint of a statement of which only performance_schema's DIGEST_TEXT is known
// (MySQL 5.6 and later, MariaDB 10.0 and later).
//
// The servers write every token apart and quote every identifier, so that the way the statement was written is lost.
// What comes back is the fingerprint of its common way of writing: a = 1, f(a, b), t.c, names unquoted where they may
// be. It therefore differs from Fingerprint of the statement when that was written without spaces around operators
// (id=1), with quoted names, with <> (the servers say !=), with a word that has another name (SUBSTR), with more than
// two constants in a row outside IN, VALUES and LIMIT, with an IN list of rows, with user variables, or with a comment
// at its end. A text that the server cut off is as far as it goes.
func FromDigestText(s string) string {
	// A list that was folded, and the rows after the first of one that held several: Fingerprint knows what to do.
	s = strings.ReplaceAll(s, "/* , ... */", " ,(0)")
	var b strings.Builder
	b.Grow(len(s))
	var prev, head string // the token before, and the word before a name
	quoted := false       // whether prev was a quoted name
	sign := false         // whether prev is the sign of what follows
	for s = strings.TrimLeft(s, spaces); s != ""; s = strings.TrimLeft(s, spaces) {
		n := token(s)
		t := s[:n]
		s = s[n:]
		isQuoted := t[0] == '`' || strings.HasPrefix(t, "@@`")
		if isQuoted {
			t = unquote(t)
		}
		if t == "..." {
			if prev != "?," {
				continue // the server cut the text off
			}
			t = "?"
		}
		if b.Len() > 0 && !sign && !glued(prev, quoted, head, t) {
			b.WriteByte(' ')
		}
		switch {
		case isQuoted:
			b.WriteString(t)
		case t == "?" || t == "?,":
			b.WriteString("0" + t[1:])
		case t == "(...)" || t == "(?)":
			b.WriteString("(0)")
		default:
			b.WriteString(plain(prev, t))
		}
		if !isQuoted && isLetter(t[0]) {
			head = strings.ToLower(t)
		}
		sign = (t == "-" || t == "+") && !isQuoted && !quoted && operand(prev)
		prev, quoted = t, isQuoted
	}
	return Fingerprint(b.String())
}

// operand reports whether an operand follows prev, so that a - or + there is its sign.
func operand(prev string) bool {
	switch {
	case prev == "" || prev == ")" || prev == "?" || prev == "?,":
		return false
	case isWord(prev[0]):
		return spacedWord[strings.ToLower(prev)]
	}
	return prev[0] != '@' && prev != "(...)"
}

// token returns the length of the first token of s: all up to white space, which a quoted name may contain.
func token(s string) int {
	tick := false
	for i := range len(s) {
		switch {
		case s[i] == '`':
			tick = !tick
		case !tick && isSpace(s[i]):
			return i
		}
	}
	if tick { // cut off within the name
		if i := strings.IndexAny(s, spaces); i > 0 {
			return i
		}
	}
	return len(s)
}

// unquote removes the quotes of a name that does not need them.
func unquote(t string) string {
	lead, name, _ := strings.Cut(t, "`")
	name, closed := strings.CutSuffix(name, "`")
	if !closed || reserved[strings.ToLower(name)] && lead == "" {
		return t
	}
	for i := range len(name) {
		if !isWord(name[i]) && name[i] != '$' {
			return t
		}
	}
	return lead + name
}

// plain returns the word that people write for the one that the server's parser knows.
func plain(prev, t string) string {
	switch strings.ToUpper(t) {
	case "DISTINCTROW":
		return "distinct"
	case "SCHEMA":
		return "database"
	case "SCHEMAS":
		return "databases"
	case "VARCHARACTER":
		return "varchar"
	case "INTEGER":
		return "int"
	case "CHARACTER":
		if strings.EqualFold(prev, "as") {
			return "char"
		}
	}
	if len(t) > 8 && strings.EqualFold(t[:8], "SQL_TSI_") {
		return t[8:]
	}
	return t
}

// glued reports whether no space stands before t.
func glued(prev string, quoted bool, head, t string) bool {
	switch t {
	case ",", "?,", ")", ".", ";", "->", "->>", ",(0)":
		return t != "?," || prev == "("
	case "(", "(...)", "(?)":
		switch {
		case prev == "(" || prev == ".":
			return true
		case quoted: // a function, unless it is a table or an index with its columns
			return !tableBefore[head]
		default:
			return isLetter(prev[0]) && !spacedWord[strings.ToLower(prev)]
		}
	}
	switch prev {
	case "(", ".", "->", "->>":
		return true
	}
	return false
}

// tableBefore holds the words after which a name with parentheses is no function.
var tableBefore = set("into table join index key from update as with references on view constraint ignore recursive")

// spacedWord holds the words that are no functions: a parenthesis after them stands apart. Some are functions as well
// (IF, LEFT, REPLACE…); those are not in here.
var spacedWord = set("in and or not where from join on select as exists all any some values value over having when " +
	"then else " +
	"case between like is by set using index key union except intersect distinct limit offset xor div regexp rlike " +
	"interval " +
	"into ignore primary unique partition with references check add with return except inner cross outer " +
	"straight_join lateral")

// reserved holds the words that both MySQL and MariaDB let nobody use as a name without quotes and that people use.
var reserved = set("add all alter analyze and as asc before between both by call cascade case change check collate " +
	"column condition " +
	"constraint continue convert create cross current_date current_time current_timestamp current_user cursor " +
	"database databases " +
	"declare default delayed delete desc describe distinct div double drop dual each else elseif enclosed escaped " +
	"exists exit " +
	"explain false fetch float for force foreign from fulltext grant group having if ignore in index infile inner " +
	"inout insert int " +
	"integer interval into is iterate join key keys kill leading leave left like limit linear lines load localtime " +
	"lock long loop " +
	"match mod natural not null numeric on optimize option optionally or order out outer outfile over partition " +
	"precision primary " +
	"procedure purge range read real recursive references regexp release rename repeat replace require restrict " +
	"return revoke " +
	"right rlike row_number rows schema schemas select separator set show signal smallint spatial specific sql ssl " +
	"starting " +
	"straight_join table terminated then tinyint to trailing trigger true undo union unique unlock unsigned update " +
	"usage use " +
	"using values varchar varying when where while window with write xor zerofill")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
