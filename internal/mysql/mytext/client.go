package mytext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/unit"
)

// The text of a digest goes through the mysql client when people pipe it there, and its samples were written by whoever
// sent them to the server. So a sample stands outside of comments only when the client reads it as whole SQL statements
// and nothing else: not as a command of its own (`\!` and `system` run a shell, `source` reads a file, `delimiter`
// swallows the rest), and not with an open quote or comment. Source: the client's manual, "mysql Client Commands", and
// its treatment of files in batch mode.

type sqlToken struct {
	kind     Kind // a Sign stands for the begin and the end of a Code, too; numbers are a Word
	from, to int
	depth    int // of parentheses around it; a parenthesis itself has that of its outside
}

// sqlTokens cuts a statement as the mysql client does: backslashes escape within quotes.
func sqlTokens(s string) (out []sqlToken) {
	depth, executable := 0, false
	for i, end := 0, 0; i < len(s); i = end {
		kind, at := Sign, depth
		inside, code := Executed(s, i)
		switch {
		case code:
			executable, end = true, inside
		case executable && strings.HasPrefix(s[i:], "*/"):
			executable, end = false, i+2
		default:
			kind, end = Next(s, i)
		}
		switch {
		case kind == Space:
			continue
		case kind == Number:
			kind = Word
		case kind == String || kind == Name:
			var closed bool
			if end, closed = Quoted(s, i); !closed {
				kind = Open
			}
		case s[i] == '(':
			depth++
		case s[i] == ')':
			depth--
			at = depth
		}
		out = append(out, sqlToken{kind, i, end, at})
	}
	if executable { // the comment has no end
		out = append(out, sqlToken{Open, len(s), len(s), depth})
	}
	return out
}

// is reports whether a token is a word, in any case.
func (t sqlToken) is(s, word string) bool {
	return t.kind == Word && strings.EqualFold(s[t.from:t.to], word)
}

// mark reports whether a token is the character c.
func (t sqlToken) mark(s string, c byte) bool {
	return t.kind == Sign && t.to == t.from+1 && s[t.from] == c
}

// verbs begin the statements that a server takes. None is a command of the client, but for USE, which means the same
// there.
var sqlVerbs = " ALTER ANALYZE BACKUP BEGIN BINLOG CACHE CALL CHANGE CHECK CHECKSUM CLONE COMMIT CREATE DEALLOCATE " +
	"DELETE DESC DESCRIBE DO DROP " +
	"EXECUTE EXPLAIN FLUSH GET GRANT HANDLER IMPORT INSERT INSTALL KILL LOAD LOCK OPTIMIZE PREPARE PURGE RELEASE " +
	"RENAME REPAIR REPLACE RESET " +
	"RESIGNAL RESTART REVOKE ROLLBACK SAVEPOINT SELECT SET SHOW SHUTDOWN SIGNAL START STOP TABLE TRUNCATE UNINSTALL " +
	"UNLOCK UPDATE USE VALUES " +
	"WITH XA "

// liveSQL returns a statement in the form in which it can stand outside of comments, with the \G that ends it, or why
// it cannot.
func liveSQL(s string) (live, why string) {
	s = strings.TrimRight(s, " \t\r\n\f\v;")
	if s == "" {
		return "", "no text"
	}
	for i, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r' && i+1 < len(s) && s[i+1] == '\n':
		case r == utf8.RuneError, !unicode.IsPrint(r):
			return "", "with characters that cannot be displayed"
		}
	}
	ts := sqlTokens(s)
	begins, local, load := true, false, false
	for _, t := range ts {
		switch {
		case t.kind == Open:
			return "", "a quote or comment has no end"
		case t.mark(s, '?'):
			return "", "with placeholders"
		case t.kind == Word && strings.HasSuffix(strings.ToLower(s[t.from:t.to]), "delimiter"):
			// it looks for it within words, too
			return "", "the mysql client would take a part of it as a command"
		case t.mark(s, ';'):
			if begins {
				return "", "no statement"
			}
			begins, load = true, false
			continue
		// Within these the clients differ, by version and settings, in what they take as an escape or the end of a
		// string.
		case t.kind != String && strings.Contains(s[t.from:t.to], `\`), strings.HasPrefix(s[t.from:t.to],
			"/*+") && strings.ContainsAny(s[t.from:t.to], "'\"`;"):
			return "", "the mysql client would take a part of it as a command"
		case t.kind == Comment, begins && t.mark(s, '('), begins && t.kind == Sign && t.to-t.from > 1:
			continue
		case begins:
			w := s[t.from:t.to]
			if t.kind != Word || !strings.Contains(sqlVerbs, " "+strings.ToUpper(w)+" ") {
				return "", "not a complete statement"
			}
			begins, load = false, t.is(s, "LOAD")
			if t.is(s, "USE") {
				return useSQL(s, ts)
			}
		}
		local = local || load && t.is(s, "LOCAL")
	}
	switch {
	case local:
		return "", "it would read a file of this machine"
	case begins:
		return "", "no statement"
	case ts[len(ts)-1].kind == Comment && s[ts[len(ts)-1].from] != '/':
		return s + "\n\\G", "" // the comment reaches to the end of its line
	default:
		return s + `\G`, ""
	}
}

// useSQL writes USE, which the client takes as a command of its own and ends at ; or the end of the line.
func useSQL(s string, ts []sqlToken) (live, why string) {
	if len(ts) != 2 || strings.Contains(s, "\n") || ts[1].kind != Word && ts[1].kind != Name {
		return "", "the mysql client would take a part of it as a command"
	}
	return s + ";", ""
}

// asSelect returns the SELECT that reads what an UPDATE or DELETE reads, for servers that explain nothing else. It is
// empty where the two would not read the same, or where the SELECT would not be valid.
func asSelect(s string) string {
	if _, why := liveSQL(s); why != "" {
		return ""
	}
	s = strings.TrimRight(s, " \t\r\n\f\v;")
	var ts []sqlToken
	for _, t := range sqlTokens(s) {
		switch {
		case t.mark(s, ';'), t.kind == Sign && t.to-t.from > 1:
			// several statements; text for some servers only
			return ""
		case t.kind == Comment && s[t.from] != '/': // a line's end would be lost
			return ""
		case t.kind != Comment:
			ts = append(ts, t)
		}
	}
	if len(ts) == 0 {
		return ""
	}
	// top returns the index of the first of some words outside of parentheses, from a token on.
	top := func(from int, words ...string) int {
		for i := from; i < len(ts); i++ {
			for _, w := range words {
				if ts[i].depth == 0 && ts[i].is(s, w) {
					return i
				}
			}
		}
		return len(ts)
	}
	// text is what stands between two tokens.
	text := func(from, to int) string {
		if from >= to || from >= len(ts) {
			return ""
		}
		return s[ts[from].from:ts[to-1].to]
	}
	has := func(from, to int, words ...string) bool {
		for _, t := range ts[from:to] {
			for _, w := range words {
				if t.is(s, w) {
					return true
				}
			}
		}
		return false
	}
	if top(0, "RETURNING") < len(ts) {
		return ""
	}
	switch {
	case ts[0].is(s, "UPDATE"):
		i := 1
		for i < len(ts) && (ts[i].is(s, "LOW_PRIORITY") || ts[i].is(s, "IGNORE")) {
			i++
		}
		set := top(i, "SET")
		rest := top(set, "WHERE", "ORDER", "LIMIT")
		if set == len(ts) || set == i || rest == set+1 || has(i, set, "PORTION") ||
			has(set, rest, "SELECT", "DEFAULT", "VALUES") {
			return ""
		}
		for k := set; k+1 < rest; k++ {
			if ts[k].mark(s, ':') && ts[k+1].mark(s, '=') { // assigns a variable
				return ""
			}
		}
		return strings.TrimRight("select "+text(set+1, rest)+" from "+text(i, set)+" "+text(rest, len(ts)), " ")
	case ts[0].is(s, "DELETE"):
		i := 1
		for i < len(ts) && (ts[i].is(s, "LOW_PRIORITY") || ts[i].is(s, "QUICK") || ts[i].is(s, "IGNORE")) {
			i++
		}
		from := top(i, "FROM")
		if from >= len(ts)-1 || from == i && top(from, "USING") < len(ts) || has(i, len(ts), "PORTION") ||
			ts[i].is(s, "HISTORY") {
			return ""
		}
		what := "*"
		if from > i { // of tables that are named before FROM
			what = "1"
		}
		return "select " + what + " from " + text(from+1, len(ts))
	default:
		return ""
	}
}

// The longest sample that is written whole; of longer ones rows of VALUES and members of IN lists are left out.
const wholeSQL = 1024

const keptMembers = 20 // of an IN list

// shortSQL leaves rows of VALUES and members of IN lists out of a long statement, with a comment in their place. What
// it returns is as valid as s was.
func shortSQL(s string) string {
	if len(s) <= wholeSQL {
		return s
	}
	ts := sqlTokens(s)
	type hole struct {
		from, to int
		text     string
	}
	var holes []hole
	// end returns the index behind the parenthesis that opens at token i, and how many members it holds.
	end := func(i int) (k, members int) {
		members = 1
		for k = i + 1; k < len(ts); k++ {
			switch {
			case ts[k].depth == ts[i].depth && ts[k].mark(s, ')'):
				return k + 1, members
			case ts[k].depth == ts[i].depth+1 && ts[k].mark(s, ','):
				members++
			}
		}
		return -1, 0
	}
	for i := 0; i+1 < len(ts); i++ {
		if !ts[i+1].mark(s, '(') {
			continue
		}
		k, members := end(i + 1)
		switch {
		case k < 0:
		case ts[i].is(s, "VALUES") || ts[i].is(s, "VALUE"):
			rows, last := 0, k
			for last+1 < len(ts) && ts[last].mark(s, ',') && ts[last+1].mark(s, '(') {
				n, _ := end(last + 1)
				if n < 0 {
					break
				}
				rows, last = rows+1, n
			}
			if rows > 0 {
				more := " /* " + unit.Plural(rows, "row", "rows") + " more */"
				holes = append(holes, hole{ts[k-1].to, ts[last-1].to, more})
			}
			i = last - 1
		case ts[i].is(s, "IN") && members > keptMembers && !ts[i+2].is(s, "SELECT"):
			seen := 0
			for j := i + 2; j < k; j++ {
				if ts[j].depth == ts[i+1].depth+1 && ts[j].mark(s, ',') {
					if seen++; seen == keptMembers {
						holes = append(holes, hole{ts[j].from, ts[k-1].from, " /* " + unit.Plural(members-keptMembers,
							"member", "members") + " more */"})
						break
					}
				}
			}
			i = k - 1
		}
	}
	if len(holes) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, h := range holes {
		b.WriteString(s[at:h.from])
		b.WriteString(h.text)
		at = h.to
	}
	b.WriteString(s[at:])
	return b.String()
}
