package pgtext

import (
	"slices"
	"strings"
)

// verbs say what a statement does, wherever they stand in it; any other word only at its begin.
var verbs = []string{"select", "insert", "update", "delete", "merge", "union"}

// defining are the words that an object's kind follows.
var defining = []string{"create", "alter", "drop", "truncate", "refresh", "reindex", "cluster", "comment", "show"}

// Item returns the short form of a statement by which reports name its class: its verbs and tables, digits in names as
// ?: "SELECT orders", "INSERT SELECT a b". A SELECT does nothing else, whatever is in it, but UNION. It shows no
// literal.
func Item(sql string) string {
	ps := pieces(sql)
	var words []string
	for i, p := range ps {
		switch {
		case p.kind != word || i > 0 && ps[i-1].is("for"): // FOR UPDATE
		case slices.Contains(verbs, p.text):
			if n := len(words); n == 0 || words[n-1] != p.text {
				words = append(words, p.text)
			}
		case i == 0 && p.text != "with":
			words = append(words, p.text)
			if len(ps) > 1 && ps[1].kind == word && slices.Contains(defining, p.text) {
				words = append(words, ps[1].text)
			}
		}
	}
	if len(words) > 0 && words[0] == "select" {
		union := slices.Contains(words, "union")
		if words = words[:1]; union {
			words = append(words, "union")
		}
	}
	item := strings.ToUpper(strings.Join(words, " "))
	for _, t := range tables(ps) {
		item += " " + digitless(t)
	}
	return strings.TrimSpace(item)
}

// Tables returns the tables that a statement names, as schema.table or table without quotes, in the order of their
// first place. It looks for what follows FROM, JOIN, INTO and UPDATE, and knows no grammar: a word in EXTRACT(… FROM …)
// or the name of a WITH may count as a table.
func Tables(sql string) []string { return tables(pieces(sql)) }

func tables(ps []piece) (names []string) {
	for i := 0; i < len(ps); i++ {
		p := ps[i]
		if !p.is("from") && !p.is("join") && !p.is("into") && (!p.is("update") || i > 0 && !ps[i-1].is("(")) ||
			p.kind != word {
			continue
		}
		for {
			for i+1 < len(ps) && (ps[i+1].is("only") || ps[i+1].is("lateral")) {
				i++
			}
			name, next := reference(ps, i+1)
			if name == "" {
				break
			}
			if called := next < len(ps) && ps[next].is("(") && !p.is("into"); !called && !slices.Contains(names, name) {
				names = append(names, name)
			}
			i = next - 1
			if next < len(ps) && ps[next].is("as") {
				next++
			}
			if next < len(ps) && (ps[next].kind == word || ps[next].kind == quoted) {
				next++ // an alias
			}
			if next >= len(ps) || !ps[next].is(",") {
				break
			}
			i = next
		}
	}
	return names
}

// reference returns the name of a table, with or without schema, that begins at a piece, and the piece behind it; ""
// where none does.
func reference(ps []piece, i int) (name string, next int) {
	for ; i < len(ps); i += 2 {
		p := ps[i]
		switch {
		case p.kind == quoted:
			_, text, _ := strings.Cut(p.text, `"`)
			p.text = strings.ReplaceAll(strings.TrimSuffix(text, `"`), `""`, `"`)
		case p.kind != word || p.text == "select" || p.text == "values" || p.text == "set":
			return "", i
		}
		name += p.text
		if i+1 == len(ps) || !ps[i+1].is(".") {
			return name, i + 1
		}
		name += "."
	}
	return "", i
}

// digitless is a name with one ? for digits in a row.
func digitless(name string) string {
	out := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		switch {
		case !isDigit(name[i]):
			out = append(out, name[i])
		case i == 0 || !isDigit(name[i-1]):
			out = append(out, '?')
		}
	}
	return string(out)
}
