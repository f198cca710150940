package series

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"
)

// mostRegexp bounds the instructions of all regular expressions of a query together. Each takes 40 bytes, and regexp lets one expression
// have 3 million of them: a few letters and a repeat.
const mostRegexp = 100_000

// checkRegexps fails where the strings of expressions or selectors together are longer than one expression may be, or where they repeat
// so much, should they be regular expressions, that they would have more than mostRegexp instructions. The parser compiles them.
func checkRegexps(exprs ...string) error {
	length, size := 0, 0.0
	for _, expr := range exprs {
		if length += len(expr); length > MaxExpression {
			return errLong
		}
		l := parser.Lex(expr)
		for x := (parser.Item{}); x.Typ != parser.EOF && x.Typ != parser.ERROR; {
			if l.NextItem(&x); x.Typ != parser.STRING || !strings.Contains(x.Val, "{") {
				continue
			}
			s, err := strutil.Unquote(x.Val)
			if err != nil {
				continue // the parser says so
			}
			re, err := syntax.Parse(s, syntax.Perl|syntax.DotNL)
			if err != nil {
				continue
			}
			if size += instructions(re); size > mostRegexp {
				return fmt.Errorf("its regular expressions repeat too much: with all repeats written out they have more than %d characters", mostRegexp)
			}
		}
	}
	return nil
}

// instructions returns about how many a compiled regular expression has.
func instructions(re *syntax.Regexp) float64 {
	n := 1.0
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op { //nolint:exhaustive // others are as long as their parts
	case syntax.OpLiteral:
		n += float64(len(re.Rune))
	case syntax.OpRepeat:
		n *= float64(max(re.Min+1, re.Max))
	}
	return n
}
