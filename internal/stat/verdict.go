package stat

import (
	"fmt"
	"math"
)

// Rules are what a comparison is judged by; it is decided before the measurement. The zero value judges by the
// defaults.
type Rules struct {
	Metric string // "qps"
	// for times; the verdict's ratio is then baseline ÷ variant, so that above 1 is better here, too
	LowerIsBetter bool
	Margin        float64 // ratios from 1/(1+Margin) to 1+Margin count as the same; 0 means DefaultMargin
	Confidence    float64 // of all comparisons and looks together; 0 means DefaultConfidence

	// The following are for JudgeAll. Nil Sequence means one look at all there is.
	Sequence *Sequence
	// PairsAt gives the comparisons as a look after so many rounds sees them, in the order that JudgeAll was given them
	// in: for values that depend on what was measured by then, as under a correction that is estimated from all trials
	// so far. A look that is not after one of the Sequence's numbers of rounds is asked for with math.MaxInt. Without
	// it pairs are at each look what they are in the end.
	PairsAt func(rounds int) [][]Pair
	Rounds  int // that are complete; 0 means as many as the longest comparison has pairs, below 0 none
	Family  int // comparisons that were planned; 0, or fewer than there are, means as many as there are
}

const (
	DefaultMargin     = 0.02
	DefaultConfidence = 0.95
)

const (
	fewPairs  = 5    // fewer than that is worth a warning
	wide      = 0.10 // spread of the log-ratios between pairs that is worth a warning
	suspicion = 0.01 // probability below which an order effect or a drift is not taken for chance
)

// Judge compares variant with baseline over the pairs, which are in order of time.
//
//   - invalid: fewer than three good pairs, more than a third of all pairs invalid, or a value that is zero, negative
//     or not a number
//     (a variant that delivers nothing is no matter of ratios);
//   - same: the whole interval lies within the margin;
//   - better: the whole interval lies above 1 and its centre above the margin; worse: likewise below;
//   - unstable: anything else, or pairs that fall into groups far apart (Groups) which do not all say the same. More
//     pairs may settle it.
//
// Swapping baseline and variant swaps better and worse. Without a difference, better or worse comes in at most 1 -
// confidence of all comparisons. Reasons holds warnings and, for unstable and invalid, what was broken. It is JudgeAll
// of one comparison, looked at once.
func Judge(pairs []Pair, r Rules) Verdict {
	r.Sequence, r.PairsAt, r.Family = nil, nil, 0
	return JudgeAll([][]Pair{pairs}, r)[0]
}

// doubts adds to a verdict what a reader must know of its sample.
func (r Rules) doubts(v *Verdict, s sample) {
	warn := func(format string, args ...any) { v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...)) }
	if len(s.pairs) < fewPairs {
		warn("only %d pairs: the interval is wide, and a small difference cannot be detected", len(s.pairs))
	}
	if s := spread(s.pairs); s > wide {
		warn("the ratio differs from pair to pair by about ±%.0f %%: the target is not steady", 100*(math.Exp(s)-1))
	}
	if s.drift > math.Log1p(r.Margin)/4 {
		warn("the level changed from round to round while one side was measured first more often: the interval "+
			"allows ±%.1f %% for that", 100*(math.Exp(s.drift)-1))
	}
	if first, ok := orderEffect(s.pairs); ok {
		warn("the first measurement of a pair is %.1f %% %s: carry-over from the window before, or too short a "+
			"settling time", 100*math.Abs(first-1), higher(first))
	}
	if total, ok := drift(s.pairs, r.Margin); ok {
		warn("the level drifted by %+.1f %% in the course of the measurement, baseline and variant together",
			100*(total-1))
	}
}

func (r Rules) decide(x Interval) Result {
	above := 1 + r.Margin
	switch {
	case x.Lo >= 1/above && x.Hi <= above:
		return Same
	case x.Lo > 1 && x.Center > above:
		return Better
	case x.Hi < 1 && x.Center < 1/above:
		return Worse
	default:
		return Unstable
	}
}

// spread estimates the standard deviation of the log-ratio of one pair, without the weight of a wild one.
func spread(pairs []Pair) float64 {
	ds := make([]float64, len(pairs))
	for i, p := range pairs {
		ds[i] = math.Log(p.Variant / p.Baseline)
	}
	return MAD(ds)
}

// orderEffect compares the pairs of either order and returns the factor by which being first changes a value; not ok
// when chance explains it. The balanced order keeps it out of the ratio, but its cause may be worth a look.
func orderEffect(pairs []Pair) (factor float64, ok bool) {
	var by [2][]float64
	for _, p := range pairs {
		d, i := math.Log(p.Variant/p.Baseline), 0
		if p.VariantFirst {
			i = 1
		}
		by[i] = append(by[i], d)
	}
	n0, n1 := float64(len(by[0])), float64(len(by[1]))
	if n0 < 3 || n1 < 3 {
		return 1, false
	}
	m0, s0 := mean(by[0])
	m1, s1 := mean(by[1])
	df := n0 + n1 - 2
	pooled := math.Sqrt(((n0-1)*s0*s0 + (n1-1)*s1*s1) / df * (1/n0 + 1/n1))
	diff := m1 - m0 // variant first less variant second: twice the effect
	if math.Abs(diff) <= studentQuantile(1-suspicion, df)*pooled || math.Abs(diff)/2 < 0.005 {
		return 1, false
	}
	return math.Exp(diff / 2), true
}

func higher(factor float64) string {
	if factor > 1 {
		return "higher"
	}
	return "lower"
}

// drift looks for a trend of the level of the pairs and returns the factor from the first to the last third; not ok
// when chance explains it or when it stays within the margin. Alternating windows keep it out of the ratio.
func drift(pairs []Pair, margin float64) (factor float64, ok bool) {
	if len(pairs) < fewPairs || len(pairs) > 300 {
		return 1, false
	}
	level := make([]float64, len(pairs))
	for i, p := range pairs {
		level[i] = (math.Log(p.Baseline) + math.Log(p.Variant)) / 2
	}
	third := max(len(level)/3, 1)
	total := Median(level[len(level)-third:]) - Median(level[:third])
	if _, p := trend(level); p >= suspicion || math.Abs(total) <= math.Log1p(margin) {
		return 1, false
	}
	return math.Exp(total), true
}
