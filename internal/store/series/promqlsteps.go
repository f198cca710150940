package series

import (
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// The engine makes room for all steps of a subquery before it evaluates any, and for as many points of each series that
// an operator gives as there are steps, 5000 at most, of which it counts those that are used alone (promql/engine.go,
// runSubquery and getFPointSlice).
const (
	// mostSteps is how many steps a subquery may have.
	mostSteps = 100_000
	// mostOfAll is how many all subqueries together may have: those around one keep theirs meanwhile.
	mostOfAll = 5 * mostSteps
	// mostInRanges is how many samples, of a second each, the ranges of all steps may have for one series: in a minute
	// or less, in which the engine does not look whether anybody waits for the answer.
	mostInRanges = 1_000_000_000
	// sorting is how many times as long a sample takes where all of a range are sorted.
	sorting = 20
	// roomOfTop bounds the room of all groups, bytes, of which each sample in it takes sampleSize.
	roomOfTop, sampleSize = 256 << 20, 48
	// pointsAhead is for how many points of a series room is made.
	pointsAhead = 5000
	// roomOfPoints bounds the room of all series, bytes, of 16 for each point.
	roomOfPoints = 1 << 30
)

// roomFor returns how many series an expression may find that is evaluated at so many steps over a span, milliseconds,
// and whether it may make more series than it finds, of values: then it may make as many. It is an error when its
// subqueries have too many steps.
func roomFor(x parser.Expr, span, steps float64) (series int, made bool, err error) {
	most, all, warned := steps, 0.0, 0.0
	pairs, grouped := 1.0, math.Inf(1)
	weight := 1.0 // of a sample in the range at hand
	var walk func(n parser.Node, span, steps float64) error
	walk = func(n parser.Node, span, steps float64) error {
		// The engine keeps a warning for each step whose quantile is none, with its value.
		if quantileVaries(n) {
			if warned += steps; warned > mostSteps {
				return fmt.Errorf("quantiles that are not plain numbers are evaluated at more than %d steps: ask for "+
					"fewer steps", mostSteps)
			}
		}
		ranges := 0.0
		switch n := n.(type) {
		case *parser.MatrixSelector:
			ranges = steps * n.Range.Seconds() * weight
		case *parser.SubqueryExpr:
			step := n.Step
			if step == 0 {
				step = time.Minute // as NoStepSubqueryIntervalFn says
			}
			ranges = steps * float64(n.Range.Milliseconds()) / math.Max(float64(step.Milliseconds()), 1) * weight
			span += float64(n.Range.Milliseconds())
			steps = span/math.Max(float64(step.Milliseconds()), 1) + 1
			if steps > mostSteps {
				return fmt.Errorf("a subquery has %.3g steps, and %d are allowed: ask for a longer step or a shorter "+
					"range", steps, mostSteps)
			}
			if all += steps; all > mostOfAll {
				return fmt.Errorf("the subqueries have more than %d steps together: ask for longer steps or shorter "+
					"ranges", mostOfAll)
			}
			most = math.Max(most, steps)
		case *parser.AggregateExpr:
			made = made || n.Op == parser.COUNT_VALUES
			if (n.Op == parser.TOPK || n.Op == parser.BOTTOMK) && (n.Without || len(n.Grouping) > 0) {
				grouped = math.Min(grouped, groupsOfTop(n.Param))
			}
		case *parser.BinaryExpr:
			if n.VectorMatching != nil && len(n.VectorMatching.Include) > 0 {
				pairs++
			}
		}
		if ranges > mostInRanges {
			return fmt.Errorf("a range has %.3g samples of each series in all steps together, and %d are allowed: "+
				"ask for fewer steps or a shorter range", ranges/weight, int(mostInRanges/weight))
		}
		was := weight
		if c, ok := n.(*parser.Call); ok {
			if weight = 1; c.Func.Name == "quantile_over_time" {
				weight = sorting
			}
		}
		for child := range parser.ChildrenIter(n) {
			if err := walk(child, span, steps); err != nil {
				return err
			}
		}
		weight = was
		return nil
	}
	if err := walk(x, span, steps); err != nil {
		return 0, false, err
	}
	room := roomOfPoints / 16 / math.Min(most, pointsAhead)
	if pairs > 1 { // one side's labels at one step may be others at the next: each with each is a series then
		room = math.Max(2*math.Pow(room, 1/pairs), room/8) // an eighth in a step, between which memory is looked at
	}
	return int(math.Min(room, grouped)), made, nil
}

// groupsOfTop returns how many series topk or bottomk may group: each group has room for as many as are asked for, and
// no more than all.
func groupsOfTop(k parser.Expr) float64 {
	most := math.Sqrt(roomOfTop / sampleSize)
	if n, ok := k.(*parser.NumberLiteral); ok && n.Val >= 1 {
		most = math.Max(most, roomOfTop/sampleSize/n.Val)
	}
	return most
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
