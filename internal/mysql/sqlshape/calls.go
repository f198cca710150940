package sqlshape

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dyno-perf/dyno/internal/mysql/mytext"
)

// Calls returns the words that a statement has before a parenthesis, in lower case, each once and in order: the names
// of its functions, and keywords such as IN. A word that is apart from its parenthesis ends in a space, for servers
// take some names for those of their own functions only without it: "now" is what they have, "now " may be a stored
// function. A server that knows none of the words as the name of a stored function runs no such function for this
// statement. The error says why Explainable refuses the text.
func Calls(sql string) ([]string, error) { return calls(sql) }

// calls reads the text as servers do, without the parser, which knows words that no server does and has its own idea of
// what they mean.
func calls(sql string) (list []string, err error) {
	if !utf8.ValidString(sql) {
		return nil, errors.New("it is not valid UTF-8")
	}
	if strings.ContainsFunc(sql, func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' &&
			r != '\r' || r == 0x7f
	}) {
		return nil, errors.New("it holds control characters")
	}
	word := ""   // the last token, when it is one
	gap := false // something was between it and here
	quoted := false
	member := false // a . is before it
	dot := false
	for i, end := 0, 0; i < len(sql); i = end {
		var kind mytext.Kind
		switch kind, end = mytext.Next(sql, i); {
		case kind == mytext.Space:
			gap = true
			continue
		case kind == mytext.Comment:
			if strings.HasPrefix(sql[i:], "/*+") {
				if err := harmlessHints(sql[i:end]); err != nil {
					return nil, err
				}
			}
			gap = true
			continue
		case kind == mytext.Code:
			return nil, errCode
		case kind == mytext.Open:
			return nil, errors.New("a quote or a comment in it has no end")
		case kind == mytext.Name, kind == mytext.Word, kind == mytext.Number:
			word, quoted, member, gap, dot = strings.ToLower(sql[i:end]), kind == mytext.Name, dot, false, false
			continue
		case sql[i] == '(' && word != "":
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
	}
	return list, nil
}

// before holds the words other than names of functions that may stand before a parenthesis: keywords, types, aggregates
// and window functions.
var before = set(`
	against all and any any_value as avg between binary bit_and bit_or bit_xor by case columns count cume_dist datetime dec
	decimal default dense_rank distinct div double else except exists first_value fixed float for from group_concat grouping
	having ignore in index intersect is join json_arrayagg json_objectagg json_table key lag last_value lateral lead limit
	match max min nchar not nth_value ntile numeric of offset on or over partition percent_rank rank real regexp returning
	rlike row row_number select set signed some std stddev stddev_pop stddev_samp straight_join sum then union unsigned use
	using var_pop var_samp varbinary varchar variance when where xor`)

// harmlessHints refuses the hints of an optimizer that change the session or lift its limits.
func harmlessHints(comment string) error {
	for _, h := range []string{"set_var", "max_execution_time", "resource_group"} {
		if strings.Contains(strings.ToLower(comment), h) {
			return errors.New("it has the hint " + strings.ToUpper(h))
		}
	}
	return nil
}
