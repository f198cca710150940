package pgtext

import (
	"slices"
	"strings"
)

// reserved are words that name columns and tables in PostgreSQL without quotes and are reserved in the dialect that
// package sqlshape parses.
var reserved = strings.Fields(`change condition database groups index key keys lag lead option range rank read schema
	system usage write`)

// literalTypes are the types whose name in front of a string makes it a value of theirs.
var literalTypes = []string{"date", "time", "timestamp", "timestamptz", "interval"}

// Parsable returns a fingerprint in the spelling that package sqlshape parses, for the shape of the statement: names in
// back quotes, without casts, RETURNING and ON CONFLICT, locking clauses and operators by their nearest relatives. What
// has no relative stays, and is then not understood there. Two operators that only compute something become +: what
// counts is that the column stands in an expression.
func Parsable(fingerprint string) string {
	ps := pieces(fingerprint)
	out := make([]piece, 0, len(ps))
	put := func(p piece, text string) {
		p.text = text
		if len(out) > 0 && p.kind != op && out[len(out)-1].kind != op {
			p.space = true
		}
		out = append(out, p)
	}
	depth := 0
	for i := 0; i < len(ps); i++ {
		p := ps[i]
		at := func(n int, text string) bool { return i+n < len(ps) && ps[i+n].is(text) }
		switch {
		case p.is("("):
			depth++
		case p.is(")"):
			depth--
		}
		switch {
		case p.kind == quoted:
			put(p, backquoted(p.text))
		case p.is("::"):
			i += typeName(ps[i+1:])
		case depth == 0 && i > 0 && (p.is("returning") || p.is("on") && at(1, "conflict")):
			return join(out)
		case p.kind == word && at(1, mark) && slices.Contains(literalTypes, p.text):
			// the mark alone stands for the value
		case p.is("ilike"), p.is("~~"), p.is("~~*"):
			put(p, "like")
		case p.is("~"), p.is("~*"):
			put(p, "regexp")
		case p.is("!~"), p.is("!~*"):
			put(p, "not regexp")
		case p.is("||"), p.is("->"), p.is("->>"), p.is("@@"):
			put(p, "+")
		case p.is("=") && (at(1, "any") || at(1, "some")) && at(2, "(") && i+4 < len(ps) && ps[i+3].marks():
			// = any (?) and = any (?::int[]) are in (?)
			n := i + 4
			for n+1 < len(ps) && ps[n].is("::") {
				n += 1 + typeName(ps[n+1:])
			}
			if n == len(ps) || !ps[n].is(")") {
				put(p, p.text)
				continue
			}
			put(piece{kind: word, space: true}, "in")
			put(piece{kind: op, space: true}, "(?)")
			i = n
		case p.is("for") && at(1, "no") && at(2, "key") && at(3, "update"):
			put(p, "for update")
			i += 3
		case p.is("for") && at(1, "key") && at(2, "share"):
			put(p, "for share")
			i += 2
		case p.kind == word && slices.Contains(reserved, p.text) && !at(1, "("):
			put(p, "`"+p.text+"`")
		default:
			put(p, p.text)
		}
	}
	return join(out)
}

// backquoted turns a name in double quotes into one in back quotes.
func backquoted(name string) string {
	_, name, _ = strings.Cut(name, `"`) // without U&
	name = strings.ReplaceAll(strings.TrimSuffix(name, `"`), `""`, `"`)
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// Names returns the words and the names in quotes of a statement, each once: all that may be the name of a table.
func Names(sql string) (out []string) {
	for _, p := range pieces(sql) {
		switch {
		case p.kind == quoted:
			_, p.text, _ = strings.Cut(p.text, `"`)
			p.text = strings.ReplaceAll(strings.TrimSuffix(p.text, `"`), `""`, `"`)
		case p.kind != word:
			continue
		}
		if !slices.Contains(out, p.text) {
			out = append(out, p.text)
		}
	}
	return out
}

// Explainable returns the text of a statement as pg_stat_statements has it so that it can be explained: of
// "interval $1", which was interval '1 day', it makes $1::interval. params is the highest number of a parameter.
func Explainable(sql string) (explainable string, params int) {
	var b strings.Builder
	held := "" // the name of a type and the white space behind it
	flush := func() { b.WriteString(held); held = "" }
	for i := 0; i < len(sql); {
		if isSpace(sql[i]) {
			if held != "" {
				held += " "
			} else {
				b.WriteByte(' ')
			}
			i++
			continue
		}
		k, end := next(sql, i)
		t := sql[i:end]
		i = end
		switch {
		case k == comment:
			b.WriteByte(' ')
		case k == marker:
			n := 0
			for _, c := range t[1:] {
				n = min(10*n+int(c-'0'), 1<<16)
			}
			params = max(params, n)
			b.WriteString(t)
			if held != "" {
				b.WriteString("::" + strings.TrimRight(held, " "))
				held = ""
			}
		case k == word && slices.Contains(literalTypes, lower(t)):
			flush()
			held = t
		default:
			flush()
			b.WriteString(t)
		}
	}
	flush()
	return strings.TrimRight(b.String(), " ;"), params
}
