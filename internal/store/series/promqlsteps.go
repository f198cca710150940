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
	// pointsAhead is for how many points of a series room is made.
	pointsAhead = 5000
	// roomOfPoints bounds the room of all series, bytes, of 16 for each point.
	roomOfPoints = 1 << 30
)

// roomFor returns how many series an expression may find that is evaluated at so many steps over a span, milliseconds, and whether it may
// make more series than it finds, of values: then it may make as many. It is an error when its subqueries have too many steps.
func roomFor(x parser.Expr, span, steps float64) (series int, made bool, err error) {
	most := steps
	var walk func(n parser.Node, span float64) error
	walk = func(n parser.Node, span float64) error {
		switch n := n.(type) {
		case *parser.SubqueryExpr:
			step := n.Step
			if step == 0 {
				step = time.Minute // as NoStepSubqueryIntervalFn says
			}
			span += float64(n.Range.Milliseconds())
			steps := span/math.Max(float64(step.Milliseconds()), 1) + 1
			if steps > mostSteps {
				return fmt.Errorf("a subquery has %.3g steps, and %d are allowed: ask for a longer step or a shorter range", steps, mostSteps)
			}
			most = math.Max(most, steps)
		case *parser.AggregateExpr:
			made = made || n.Op == parser.COUNT_VALUES
		}
		for child := range parser.ChildrenIter(n) {
			if err := walk(child, span); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(x, span); err != nil {
		return 0, false, err
	}
	return int(roomOfPoints / 16 / math.Min(most, pointsAhead)), made, nil
}
