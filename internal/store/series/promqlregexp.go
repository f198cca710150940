package series

import (
	"fmt"
	"regexp/syntax"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"
)

// mostRegexp bounds the instructions of all regular expressions of a query together, each as often as there are groups,
// and once. One takes 40 bytes, and to be matched 16 for each group, and all are gone through for each character;
// regexp lets one expression have 3 million of them: a few letters and a repeat. What is written without repeats has
// fewer.
const mostRegexp = 40_000

// checkRegexps fails where the strings of expressions or selectors together are longer than one expression may be, or
// where they repeat so much, should they be regular expressions, that they would have more than mostRegexp
// instructions. The parser compiles them.
func checkRegexps(exprs ...string) error {
	length, size := 0, 0.0
	for _, expr := range exprs {
		if length += len(expr); length > MaxExpression {
			return errLong
		}
		l := parser.Lex(expr)
		for x := (parser.Item{}); x.Typ != parser.EOF && x.Typ != parser.ERROR; {
			if l.NextItem(&x); x.Typ != parser.STRING {
				continue
			}
			s, err := strutil.Unquote(x.Val)
			if err != nil {
				continue // the parser says so
			}
			if size += max(regexpSize(s), regexpSize("^(?s:"+s+")$")); size > mostRegexp {
				// what is compiled; either may be none alone
				return fmt.Errorf("its regular expressions are too large: with all repeats written out, once for "+
					"each group that they "+
					"capture, they have more than %d characters", mostRegexp)
			}
		}
	}
	return nil
}

// regexpSize returns what a regular expression takes, in instructions: to be matched, each may hold all that is
// captured. 0 when it is none.
func regexpSize(s string) float64 {
	re, err := syntax.Parse(s, syntax.Perl|syntax.DotNL)
	if err != nil {
		return 0
	}
	return instructions(re) * float64(1+re.MaxCap())
}

// instructions returns about how many a compiled regular expression has.
func instructions(re *syntax.Regexp) float64 {
	n := 1.0
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op { //nolint:exhaustive // others are as long as their parts
	case syntax.OpCharClass: // of ranges, which each instruction has a copy of
		n += float64(len(re.Rune)) / 4
	case syntax.OpLiteral:
		n += float64(len(re.Rune))
	case syntax.OpRepeat:
		n *= float64(max(re.Min+1, re.Max))
	}
	return n
}
