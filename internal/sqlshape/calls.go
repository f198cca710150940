package sqlshape

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

// Calls returns the words that a statement has before a parenthesis, in lower case, each once and in order: the names of its
// functions, and keywords such as IN. A word that is apart from its parenthesis ends in a space, for servers take some names
// for those of their own functions only without it: "now" is what they have, "now " may be a stored function. A server that
// knows none of the words as the name of a stored function runs no such function for this statement. The error says why
// Explainable refuses the text.
func Calls(sql string) ([]string, error) { return calls(sql) }

// calls reads the text as servers do, without the parser, which knows words that no server does and has its own idea of
// what they mean.
func calls(sql string) (list []string, err error) {
	if !utf8.ValidString(sql) {
		return nil, errors.New("it is not valid UTF-8")
	}
	if strings.ContainsFunc(sql, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f }) {
		return nil, errors.New("it holds control characters")
	}
	word := ""   // the last token, when it is one
	gap := false // something was between it and here
	quoted := false
	member := false // a . is before it
	dot := false
	for i := 0; i < len(sql); {
		switch c := sql[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i, gap = i+1, true
			continue
		case c == '#' || strings.HasPrefix(sql[i:], "--") && (i+2 == len(sql) || strings.IndexByte(" \t\n\r", sql[i+2]) >= 0):
			i, gap = after(sql, i, "\n"), true
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			end := after(sql, i+2, "*/")
			if strings.HasPrefix(sql[i:], "/*+") {
				if err := harmlessHints(sql[i:end]); err != nil {
					return nil, err
				}
			}
			i, gap = end, true
			continue
		case c == '\'' || c == '"' || c == '`':
			end := closed(sql, i)
			word, quoted, member, gap, dot = sql[i:end], c == '`', dot, false, false
			if c != '`' {
				word = ""
			}
			i = end
			continue
		case wordByte(c):
			end := i
			for end < len(sql) && wordByte(sql[end]) {
				end++
			}
			word, quoted, member, gap, dot = strings.ToLower(sql[i:end]), false, dot, false, false
			i = end
			continue
		case c == '(' && word != "":
			switch {
			case quoted || member || !harmless[word] && !before[word]:
				return nil, sideEffects(word)
			case gap:
				word += " "
			}
			if !slices.Contains(list, word) {
				list = append(list, word)
			}
		}
		dot = sql[i] == '.'
		word, gap = "", false
		i++
	}
	return list, nil
}

// before holds the words other than names of functions that may stand before a parenthesis: keywords, types, aggregates and
// window functions.
var before = set(`
	against all and any any_value as avg between binary bit_and bit_or bit_xor by case columns count cume_dist datetime dec
	decimal default dense_rank distinct div double else except exists first_value fixed float for from group_concat grouping
	having ignore in index intersect is join json_arrayagg json_objectagg json_table key lag last_value lateral lead limit
	match max min nchar not nth_value ntile numeric of offset on or over partition percent_rank rank real regexp returning
	rlike row row_number select set signed some std stddev stddev_pop stddev_samp straight_join sum then union unsigned use
	using var_pop var_samp varbinary varchar variance when where xor`)

func wordByte(c byte) bool {
	return c >= 0x80 || c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// after returns the index after the next end in s[i:], or the length of s.
func after(s string, i int, end string) int {
	if n := strings.Index(s[i:], end); n >= 0 {
		return i + n + len(end)
	}
	return len(s)
}

// closed returns the index after the quoted text that begins at i. A doubled quote is part of it, and in strings whatever
// follows a backslash.
func closed(s string, i int) int {
	q := s[i]
	for i++; i < len(s); i++ {
		switch {
		case s[i] == '\\' && q != '`':
			i++
		case s[i] == q && i+1 < len(s) && s[i+1] == q:
			i++
		case s[i] == q:
			return i + 1
		}
	}
	return len(s)
}

// harmlessHints refuses the hints of an optimizer that change the session or lift its limits.
func harmlessHints(comment string) error {
	for _, h := range []string{"set_var", "max_execution_time", "resource_group"} {
		if strings.Contains(strings.ToLower(comment), h) {
			return errors.New("it has the hint " + strings.ToUpper(h))
		}
	}
	return nil
}
