package digest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/stat"
)

const (
	// fewestSteps is how many steps of time a class needs on a side, with statements in them, for the noise between
	// them to be told.
	fewestSteps = 8
	// alone widens the interval where there are fewer: as if one of alone² statements stood for itself.
	alone = 2
	// leastSpread is the relative standard deviation that is assumed at least: servers round times, and equal ones
	// prove no calm.
	leastSpread = 0.01
	// mostAlike bounds how alike neighbouring steps are taken to be: what is more is a trend, which no formula makes up
	// for.
	mostAlike = 0.9
)

// classTest is one class that can be judged.
type classTest struct {
	row   int
	n     int     // what the smaller side counts for
	m, se float64 // logarithm of the ratio of the means, and its standard error
	df    float64
	m2    float64 // the same without the largest statement of each side
	se2   float64
	p     float64 // the probability of so great a difference by chance, of the more doubtful of the two
}

// timeMoments are the times of one class on one side.
type timeMoments struct {
	n        float64 // statements that were seen: without those that a rate limit stands for
	sum, max float64 // seconds, of these; max is 0 where the source does not tell it
	sd       float64
	between  float64 // relative variance of the mean from step to step of time; NaN where it cannot be told
	df       float64 // of that variance
	steps    float64 // of time with statements in them
}

func timeMomentsOf(r *Report, c *Row) (timeMoments, string) {
	q, ok := c.Attributes[timeKey]
	if !ok || q.Count == 0 {
		return timeMoments{}, "its query time is unknown"
	}
	sd, ok := q.Stddev.Get()
	if !ok {
		return timeMoments{}, "its source keeps no distribution, so noise cannot be estimated"
	}
	weight := 1.0
	if g := &r.Global; g.Entries > 0 && g.Count > g.Entries {
		weight = float64(g.Count) / float64(g.Entries)
	}
	m := timeMoments{n: float64(q.Count) / weight, sum: q.Sum / weight, max: q.Max.Or(0), sd: sd, between: math.NaN()}
	m.between, m.df, m.steps = betweenSteps(c.PerMinute)
	for _, v := range []float64{m.n, m.sum, m.max, m.sd} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return timeMoments{}, "its query times are not valid numbers"
		}
	}
	return m, ""
}

// betweenSteps returns the relative variance of a mean that statements of the same step of time share: of the ratio of
// the sums, with the steps as its samples (the ratio estimator; Cochran, Sampling Techniques, 1977, section 6.3).
// Neighbouring steps that are alike with correlation r count for (1-r)/(1+r) of their number each; r is taken to be one
// and a half standard errors greater than it looks, because few steps hide how alike they are. NaN when there are too
// few.
func betweenSteps(m Minutes) (variance, df, steps float64) {
	if len(m.QuerySec) != len(m.Counts) {
		return math.NaN(), 0, 0
	}
	var count, sum float64
	for i, n := range m.Counts {
		if n > 0 {
			steps++
			count += float64(n)
			sum += m.QuerySec[i]
		}
	}
	if steps < fewestSteps || !(sum > 0) {
		return math.NaN(), 0, steps
	}
	var squares, neighbours, last float64
	for i, n := range m.Counts {
		e := m.QuerySec[i] - sum/count*float64(n)
		squares += e * e
		neighbours += e * last
		last = e
	}
	if squares == 0 {
		return 0, steps - 1, steps
	}
	alike := min(max(neighbours/squares+1.5/math.Sqrt(steps), 0), mostAlike)
	each := (1 - alike) / (1 + alike)
	return steps / (steps - 1) * squares / (sum * sum) / each, max((steps-1)*each, 2), steps
}

// without leaves out the largest statement.
func (m timeMoments) without() timeMoments {
	squares := (m.n-1)*m.sd*m.sd + m.sum*m.sum/m.n - m.max*m.max
	m.n, m.sum = m.n-1, max(m.sum-m.max, 0)
	m.sd = math.Sqrt(max(squares-m.sum*m.sum/m.n, 0) / max(m.n-1, 1))
	return m
}

// newClassTest prepares the judgement of a class, or says why there can be none.
func newClassTest(a, b *Report, x, y *Row, o CompareOptions) (t classTest, reason string) {
	p, reason := timeMomentsOf(a, x)
	if reason != "" {
		return t, "in " + o.Sides[0] + " " + reason
	}
	q, reason := timeMomentsOf(b, y)
	switch {
	case reason != "":
		return t, "in " + o.Sides[1] + " " + reason
	case x.Truncated != y.Truncated:
		return t, "its text was cut on one side: the two may be different statements"
	case min(p.n, q.n) < float64(o.MinCount):
		return t, fmt.Sprintf("one side has only %.0f statements of it, %d are needed",
			math.Floor(min(p.n, q.n)), o.MinCount)
	case p.sum == 0 || q.sum == 0:
		return t, "the log's clock is too coarse for it: all its times are 0"
	}
	t.m, t.se, t.df = logRatio(p, q)
	t.m2, t.se2 = t.m, t.se
	if p2, q2 := p.without(), q.without(); p2.sum > 0 && q2.sum > 0 && p.max > 0 && q.max > 0 {
		t.m2, t.se2, _ = logRatio(p2, q2)
	}
	t.p = max(studentTail(t.m/t.se, t.df), studentTail(t.m2/t.se2, t.df))
	if (t.m > 0) != (t.m2 > 0) {
		t.p = 1
	}
	t.n = int(min(p.n, q.n))
	if p.steps >= fewestSteps && q.steps >= fewestSteps {
		t.n = int(min(p.steps, q.steps))
	}
	return t, ""
}

// logRatio returns the logarithm of the ratio of the means with its standard error and degrees of freedom, by Welch and
// Satterthwaite.
func logRatio(p, q timeMoments) (m, se, df float64) {
	m = math.Log(q.sum/q.n) - math.Log(p.sum/p.n)
	spread := max(p.sd/(p.sum/p.n), q.sd/(q.sum/q.n), leastSpread)
	vp, dp := p.variance(spread)
	vq, dq := q.variance(spread)
	return m, math.Sqrt(vp + vq), (vp + vq) * (vp + vq) / (vp*vp/dp + vq*vq/dq)
}

// variance returns the relative variance of the mean, and its degrees of freedom, when single statements spread so
// much.
func (m timeMoments) variance(spread float64) (v, df float64) {
	single := spread * spread / m.n
	if math.IsNaN(m.between) {
		return alone * alone * single, max(m.n/(alone*alone)-1, 1)
	}
	return max(single, m.between), m.df
}

// studentTail returns the probability that Student's t with df degrees of freedom is as far from 0 as t: Wallace,
// Bounds on Normal Approximations to Student's and the Chi-Square Distributions, 1959. For 5 degrees or more the
// deviate is right within 2 %.
func studentTail(t, df float64) float64 {
	return math.Erfc(studentNormal(math.Abs(t), df) / math.Sqrt2)
}

func studentNormal(t, df float64) float64 {
	return (8*df + 1) / (8*df + 3) * math.Sqrt(df*math.Log1p(t*t/df))
}

// studentQuantile is the inverse of studentTail.
func studentQuantile(p, df float64) float64 {
	z := math.Sqrt2 * math.Erfcinv(p) * (8*df + 3) / (8*df + 1)
	return math.Sqrt(df * math.Expm1(min(z*z/df, 500)))
}

// settle gives every class that could be judged its Change and interval, by Holm's procedure (A Simple Sequentially
// Rejective Multiple Test Procedure, 1979). An interval has the confidence of its step.
func (c *Comparison) settle(tests []classTest, o CompareOptions) {
	c.Judged = len(tests)
	slices.SortStableFunc(tests, func(x, y classTest) int { return cmp.Compare(x.p, y.p) })
	adjusted, open := 0.0, true
	level := 1 - o.Confidence
	for i, t := range tests {
		left := float64(len(tests) - i)
		adjusted = max(adjusted, min(1, left*t.p))
		if open {
			level = (1 - o.Confidence) / left
			open = t.p <= level
		}
		k := studentQuantile(level, t.df)
		x := stat.Interval{
			Center: math.Exp(t.m), Lo: math.Exp(min(t.m-k*t.se, t.m2-k*t.se2)),
			Hi: math.Exp(max(t.m+k*t.se, t.m2+k*t.se2)), N: t.n,
			Confidence: 1 - level,
		}
		row := &c.Classes[t.row]
		row.Mean, row.Adjusted = known.Of(x), known.Of(adjusted)
		row.Change, row.Reason = decideChange(x, o.Margin)
	}
}

func decideChange(x stat.Interval, margin float64) (ClassVerdict, string) {
	above := 1 + margin
	switch {
	case x.Lo >= 1/above && x.Hi <= above:
		return Unchanged, ""
	case x.Lo > 1 && x.Center > above:
		return Slower, ""
	case x.Hi < 1 && x.Center < 1/above:
		return Faster, ""
	case x.Lo <= 1 && x.Hi >= 1:
		return Unclear, "within noise"
	default:
		return Unclear, "it differs, but not certainly by more than the margin"
	}
}
