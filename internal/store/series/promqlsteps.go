package series

import (
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// The engine makes room for all steps of a subquery before it evaluates any, and for as many points of each series that an operator
// gives as there are steps, 5000 at most, of which it counts those that are used alone (promql/engine.go, runSubquery and
// getFPointSlice).
const (
	// mostSteps is how many steps a subquery may have.
	mostSteps = 100_000
	// mostOfAll is how many all subqueries together may have: those around one keep theirs meanwhile.
	mostOfAll = 5 * mostSteps
	// pointsAhead is for how many points of a series room is made.
	pointsAhead = 5000
	// roomOfPoints bounds the room of all series, bytes, of 16 for each point.
	roomOfPoints = 1 << 30
)

// roomFor returns how many series an expression may find that is evaluated at so many steps over a span, milliseconds, and whether it may
// make more series than it finds, of values: then it may make as many. It is an error when its subqueries have too many steps.
func roomFor(x parser.Expr, span, steps float64) (series int, made bool, err error) {
	most, all, warned := steps, 0.0, 0.0
	var walk func(n parser.Node, span, steps float64) error
	walk = func(n parser.Node, span, steps float64) error {
		// The engine keeps a warning for each step whose quantile is none, with its value.
		if quantileVaries(n) {
			if warned += steps; warned > mostSteps {
				return fmt.Errorf("quantiles that are not plain numbers are evaluated at more than %d steps: ask for fewer steps", mostSteps)
			}
		}
		switch n := n.(type) {
		case *parser.SubqueryExpr:
			step := n.Step
			if step == 0 {
				step = time.Minute // as NoStepSubqueryIntervalFn says
			}
			span += float64(n.Range.Milliseconds())
			steps = span/math.Max(float64(step.Milliseconds()), 1) + 1
			if steps > mostSteps {
				return fmt.Errorf("a subquery has %.3g steps, and %d are allowed: ask for a longer step or a shorter range", steps, mostSteps)
			}
			if all += steps; all > mostOfAll {
				return fmt.Errorf("the subqueries have more than %d steps together: ask for longer steps or shorter ranges", mostOfAll)
			}
			most = math.Max(most, steps)
		case *parser.AggregateExpr:
			made = made || n.Op == parser.COUNT_VALUES
		}
		for child := range parser.ChildrenIter(n) {
			if err := walk(child, span, steps); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(x, span, steps); err != nil {
		return 0, false, err
	}
	return int(roomOfPoints / 16 / math.Min(most, pointsAhead)), made, nil
}

// quantileVaries reports whether something asks for a quantile that is no plain number.
func quantileVaries(n parser.Node) bool {
	var q parser.Expr
	switch n := n.(type) {
	case *parser.AggregateExpr:
		if n.Op != parser.QUANTILE {
			return false
		}
		q = n.Param
	case *parser.Call:
		if len(n.Args) == 0 || n.Func.Name != "quantile_over_time" && n.Func.Name != "histogram_quantile" {
			return false
		}
		q = n.Args[0]
	default:
		return false
	}
	_, plain := q.(*parser.NumberLiteral)
	return !plain
}
