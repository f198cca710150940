package series

import (
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// Bounds of the text that an expression makes: the engine counts samples, and one label may take as much as millions of
// them.
const (
	usualLabel = 4 << 10  // bytes of a label as it is stored, at most
	mostText   = 64 << 10 // bytes that an expression may make for each series, of labels that are so long

	// mostMatching is how many instructions the regular expressions of label_replace may go through for the characters
	// of all series: a minute or less, in which the engine does not look whether anybody waits for the answer.
	mostMatching = 3_000_000_000

	mostTextOfAll = 256 << 20 // and for all series
)

var errText = fmt.Errorf("label_replace and label_join may make labels of more than %d bytes for each series", mostText)

// text estimates what an expression makes: the bytes of its longest label, and of all that are made for one series,
// both too large from mostText on; and how many instructions are gone through for one series to make them.
func text(n parser.Node) (label, made int, matching float64) {
	label, sum := usualLabel, 0
	for child := range parser.ChildrenIter(n) {
		l, m, work := text(child)
		label, made, sum, matching = max(label, l), max(made, m), sum+m, matching+work
	}
	switch n := n.(type) {
	case *parser.BinaryExpr:
		if n.VectorMatching != nil && len(n.VectorMatching.Include) > 0 { // one side gets labels of the other
			made = sum
		}
	case *parser.Call:
		var long int
		switch n.Func.Name {
		case "label_replace":
			by := literal(n.Args[2])
			long = len(by) + strings.Count(by, "$")*label
			matching += float64(label) * regexpSize("^(?s:"+literal(n.Args[4])+")$")
		case "label_join":
			long = (len(n.Args) - 3) * (label + len(literal(n.Args[2])))
		}
		label, made = max(label, long), made+long
	}
	return min(label, mostText+1), min(made, mostText+1), matching
}

// literal returns the text of an argument that is one.
func literal(e parser.Expr) string {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			break
		}
		e = p.Expr
	}
	s, _ := e.(*parser.StringLiteral)
	if s == nil {
		return ""
	}
	return s.Val
}
