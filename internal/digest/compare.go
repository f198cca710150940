package digest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/attribute"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/stat"
)

// ComparisonVersion is the format of a Comparison's JSON.
const ComparisonVersion = 1

// ClassVerdict is what became of a class from A to B.
type ClassVerdict string

const (
	Appeared  ClassVerdict = "appeared" // B has it, A has not
	Vanished  ClassVerdict = "vanished" // A has it, B has not
	Slower    ClassVerdict = "slower"   // its mean query time rose, by more than noise and the margin
	Faster    ClassVerdict = "faster"   // likewise it fell
	Unchanged ClassVerdict = "same"     // the whole interval of the ratio lies within the margin
	// the interval allows more than one of them, or nothing could be judged: see Reason
	Unclear ClassVerdict = "unclear"
)

// CompareOptions are what a comparison is judged by; they are decided before anybody looks. The zero value judges by
// the defaults.
type CompareOptions struct {
	Margin     float64 // ratios of means from 1/(1+Margin) to 1+Margin count as the same; 0 means DefaultCompareMargin
	Confidence float64 // of all classes together; 0 means stat.DefaultConfidence
	MinCount   uint64  // statements that each side needs for a judgement, at least 3; 0 means DefaultMinCount
	// MinShare is the share of all query time, in A or in B, from which on a class that is slower makes the whole
	// worse; 0 means DefaultMinShare. NewShare is the share of B's from which on one that appeared does; 0 means
	// DefaultNewShare.
	MinShare, NewShare float64
	Sides              [2]string // what reasons and notes call the two; none: A and B
}

const (
	DefaultCompareMargin = 0.10
	DefaultMinCount      = 30
	DefaultMinShare      = 0.001
	DefaultNewShare      = 0.05
)

func (o CompareOptions) withDefaults() CompareOptions {
	set := func(v *float64, d float64) {
		if !(*v > 0) {
			*v = d
		}
	}
	set(&o.Margin, DefaultCompareMargin)
	set(&o.Confidence, stat.DefaultConfidence)
	set(&o.MinShare, DefaultMinShare)
	set(&o.NewShare, DefaultNewShare)
	if o.Confidence >= 1 {
		o.Confidence = stat.DefaultConfidence
	}
	if o.MinCount == 0 {
		o.MinCount = DefaultMinCount
	}
	o.MinCount = max(o.MinCount, 3)
	if o.Sides == [2]string{} {
		o.Sides = [2]string{"A", "B"}
	}
	return o
}

// Comparison sets two reports side by side, class by class: two periods, two files, two versions of a server or an
// application.
type Comparison struct {
	Version int  `json:"version"`
	A       Side `json:"a"`
	B       Side `json:"b"`
	// of B against A: worse, better, same, unstable, or invalid when no class could be judged, a side has no
	// statements, or different sources have no class in common
	Result     stat.Result `json:"result"`
	Reasons    []string    `json:"reasons,omitempty"` // why, in words
	Notes      []string    `json:"notes,omitempty"`   // what limits this comparison
	Margin     float64     `json:"margin"`
	Confidence float64     `json:"confidence"` // of all verdicts together
	Judged     int         `json:"judged"`     // classes that both sides have often enough
	// Totals counts classes by Change; a key that is absent is none.
	Totals map[ClassVerdict]int `json:"totals"`
	// slower first, then appeared, faster, vanished, unclear, same; the greatest Impact first
	Classes []ClassCompared `json:"classes"`
	Dialect Dialect         `json:"-"` // of B, see Report
}

// Side is one of the two reports.
type Side struct {
	Name        string               `json:"name"` // what people call it: the file, the target, the period
	Source      string               `json:"source"`
	First       time.Time            `json:"first_seen,omitzero"`
	Last        time.Time            `json:"last_seen,omitzero"`
	Seconds     known.Value[float64] `json:"seconds,omitzero"` // the time that rates are over
	Count       uint64               `json:"count"`
	Classes     int                  `json:"unique"`
	QuerySec    float64              `json:"query_time"`
	Concurrency known.Value[float64] `json:"concurrency,omitzero"`
	Skipped     uint64               `json:"skipped,omitzero"` // parts of the input that could not be read
}

// ClassCompared is one class in both reports.
type ClassCompared struct {
	ID          string       `json:"id"`
	Fingerprint string       `json:"fingerprint"`
	Item        string       `json:"item"`
	Change      ClassVerdict `json:"change"`
	Reason      string       `json:"reason,omitzero"` // why it is unclear
	A           *SideFigures `json:"a,omitempty"`     // nil where the side has no such class
	B           *SideFigures `json:"b,omitempty"`
	// Mean is B ÷ A of the mean query time, with an interval that agrees with Change. Its N is what the smaller side
	// counts for.
	Mean known.Value[stat.Interval] `json:"mean_ratio,omitzero"`
	// probability of so great a difference by chance, for all classes together
	Adjusted known.Value[float64] `json:"p_adjusted,omitzero"`
	// P95, Median and Calls are B ÷ A; they are told and not judged. Calls are per second where both sides know their
	// time.
	P95    known.Value[float64] `json:"p95_ratio,omitzero"`
	Median known.Value[float64] `json:"median_ratio,omitzero"`
	Calls  known.Value[float64] `json:"calls_ratio,omitzero"`
	// Impact is the seconds of query time in B that the change makes: calls of B times the difference of the means, all
	// of the class's time when it appeared, and less than none when it is faster or vanished.
	Impact float64 `json:"impact_sec"`
	// Attributes has the averages of what else both sides logged, by key: rows_examined tells of another plan.
	Attributes map[string]Averages `json:"attributes,omitempty"`
	Worst      *Sample             `json:"worst,omitempty"` // of B, or of A when it vanished
}

// SideFigures are what one side has of a class.
type SideFigures struct {
	Count    uint64               `json:"count"`
	PerSec   known.Value[float64] `json:"per_sec,omitzero"`
	QuerySec float64              `json:"query_time"` // sum
	Share    float64              `json:"share"`      // of all query time of its side
	Mean     known.Value[float64] `json:"mean,omitzero"`
	P95      known.Value[float64] `json:"p95,omitzero"`
	Median   known.Value[float64] `json:"median,omitzero"`
	Max      known.Value[float64] `json:"max,omitzero"`
}

// Averages are those of one attribute per statement.
type Averages struct {
	Info attribute.Info `json:"-"`
	A    float64        `json:"a"`
	B    float64        `json:"b"`
}

// Compare judges for every class whether B differs from A by more than noise.
//
// What is compared is the mean query time. Its uncertainty comes from how much the class differs from minute to minute
// where both the report and the class have enough of them: statements of one minute are not independent, they share the
// same load and the same cold or warm cache. The variance between minutes is then widened by how alike neighbouring
// minutes are. Where there are too few, it comes from the standard deviation of single statements, as if one of four
// stood for itself. The spread of the side that spreads more is taken for both, because few statements of a heavy tail
// look too even. No verdict may hang on a single statement: the largest of either side is left out and the class judged
// again, and the more doubtful answer counts.
//
// Probabilities are Student's over the logarithm of the ratio, and Holm's procedure keeps the chance that any class at
// all is called slower or faster without a difference within 1 - Confidence. A difference of the periods themselves,
// such as another hour of the day, is a difference and no noise. That the reports have the same grouping is up to the
// caller.
func Compare(a, b Report, nameA, nameB string, o CompareOptions) Comparison {
	o = o.withDefaults()
	c := Comparison{
		Version: ComparisonVersion, A: sideOf(&a, nameA), B: sideOf(&b, nameB), Margin: o.Margin,
		Confidence: o.Confidence, Totals: map[ClassVerdict]int{},
		Classes: []ClassCompared{}, Dialect: b.Dialect,
	}
	inA := make(map[string]*Row, len(a.Classes))
	for i := range a.Classes {
		inA[a.Classes[i].ID] = &a.Classes[i]
	}
	seen := make(map[string]bool, len(b.Classes))
	var tests []classTest
	for i := range b.Classes {
		y := &b.Classes[i]
		seen[y.ID] = true
		x := inA[y.ID]
		if x == nil {
			c.Classes = append(c.Classes, c.lone(y, Appeared, &a, o.Sides[0]))
			continue
		}
		row := c.both(x, y)
		if t, reason := newClassTest(&a, &b, x, y, o); reason != "" {
			row.Change, row.Reason = Unclear, reason
		} else {
			t.row = len(c.Classes)
			tests = append(tests, t)
		}
		c.Classes = append(c.Classes, row)
	}
	for i := range a.Classes {
		if x := &a.Classes[i]; !seen[x.ID] {
			c.Classes = append(c.Classes, c.lone(x, Vanished, &b, o.Sides[1]))
		}
	}
	c.settle(tests, o)
	for _, x := range c.Classes {
		c.Totals[x.Change]++
	}
	c.conclude(o)
	c.remark(&a, &b, o.Sides)
	slices.SortStableFunc(c.Classes, func(x, y ClassCompared) int {
		return cmp.Or(cmp.Compare(changeOrder[x.Change], changeOrder[y.Change]), cmp.Compare(math.Abs(y.Impact),
			math.Abs(x.Impact)), strings.Compare(x.ID, y.ID))
	})
	return c
}

// changeOrder is the order of Comparison.Classes.
var changeOrder = map[ClassVerdict]int{Slower: 0, Appeared: 1, Faster: 2, Vanished: 3, Unclear: 4, Unchanged: 5}

// timeKey is the attribute that is judged.
const timeKey = "query_time"

func sideOf(r *Report, name string) Side {
	g := &r.Global
	s := Side{
		Name: name, Source: g.Source, First: g.First, Last: g.Last, Count: g.Count, Classes: g.Classes,
		QuerySec:    g.Attributes[timeKey].Sum,
		Concurrency: g.Concurrency, Skipped: g.Skipped,
	}
	if d := g.Ended.Sub(g.Began); !g.Began.IsZero() && d > 0 {
		s.Seconds = known.Of(d.Seconds())
	} else if d := g.Last.Sub(g.First); !g.First.IsZero() && d > 0 {
		s.Seconds = known.Of(d.Seconds())
	}
	return s
}

func (s Side) figure(c *Row) *SideFigures {
	f := SideFigures{Count: c.Count, Share: c.Share}
	if t, ok := s.Seconds.Get(); ok {
		f.PerSec = known.Of(float64(c.Count) / t)
	}
	if q, ok := c.Attributes[timeKey]; ok && q.Count > 0 {
		f.QuerySec, f.Mean, f.Max, f.P95, f.Median = q.Sum, known.Of(q.Sum/float64(q.Count)), q.Max, q.P95, q.Median
	}
	return &f
}

// lone describes a class that one side has; other is the report that has it not, of the given side.
func (c *Comparison) lone(x *Row, change ClassVerdict, other *Report, side string) ClassCompared {
	row := ClassCompared{ID: x.ID, Fingerprint: x.Fingerprint, Item: x.Item, Change: change, Worst: x.Worst}
	if change == Appeared {
		row.B = c.B.figure(x)
		row.Impact = row.B.QuerySec
	} else {
		row.A = c.A.figure(x)
		row.Impact = -row.A.QuerySec
	}
	if other.Other.Classes > 0 {
		row.Change, row.Reason, row.Impact = Unclear, fmt.Sprintf("%d classes of %s were left out of its report, it "+
			"may be among them", other.Other.Classes, side), 0
	}
	return row
}

// both describes a class that both sides have.
func (c *Comparison) both(x, y *Row) ClassCompared {
	row := ClassCompared{
		ID: y.ID, Fingerprint: y.Fingerprint, Item: y.Item, A: c.A.figure(x),
		B: c.B.figure(y), Worst: y.Worst,
	}
	row.P95, row.Median = ratioOf(row.A.P95, row.B.P95), ratioOf(row.A.Median, row.B.Median)
	if row.Calls = ratioOf(row.A.PerSec, row.B.PerSec); !row.Calls.OK() {
		row.Calls = ratioOf(known.Of(float64(x.Count)), known.Of(float64(y.Count)))
	}
	if p, ok := row.A.Mean.Get(); ok {
		if q, ok := row.B.Mean.Get(); ok {
			row.Impact = (q - p) * float64(y.Count)
		}
	}
	for key, p := range x.Attributes {
		if q, ok := y.Attributes[key]; ok && key != timeKey && p.Count > 0 && q.Count > 0 {
			if row.Attributes == nil {
				row.Attributes = map[string]Averages{}
			}
			row.Attributes[key] = Averages{q.Info, p.Sum / float64(p.Count), q.Sum / float64(q.Count)}
		}
	}
	return row
}

// ratio returns b ÷ a where both are known and above 0.
func ratioOf(a, b known.Value[float64]) known.Value[float64] {
	x, okx := a.Get()
	y, oky := b.Get()
	if r := y / x; okx && oky && x > 0 && y > 0 && !math.IsInf(r, 0) {
		return known.Of(r)
	}
	return known.None[float64]()
}

// conclude judges the whole.
func (c *Comparison) conclude(o CompareOptions) {
	var worse, better, unclear int
	say := func(format string, a ...any) { c.Reasons = append(c.Reasons, fmt.Sprintf(format, a...)) }
	matters := func(x *ClassCompared) bool {
		return x.A != nil && x.A.Share >= o.MinShare || x.B != nil && x.B.Share >= o.MinShare
	}
	var fresh int
	for i := range c.Classes {
		x := &c.Classes[i]
		switch {
		case x.Change == Slower && matters(x):
			worse++
		case x.Change == Appeared && x.B.Share >= o.NewShare:
			fresh++
		case x.Change == Faster && matters(x):
			better++
		case x.Change == Unclear && matters(x):
			unclear++
		}
	}
	if worse > 0 {
		say("%s slower by more than noise and %.3g %%", countedClasses(worse), 100*o.Margin)
	}
	if fresh > 0 {
		say("%s not in %s %s %.3g %% or more of the time of %s", countedClasses(fresh), o.Sides[0], takeOrTakes(fresh),
			100*o.NewShare, o.Sides[1])
	}
	if better > 0 {
		say("%s faster by more than noise and %.3g %%", countedClasses(better), 100*o.Margin)
	}
	if unclear > 0 {
		say("%s with %.3g %% or more of the time may have changed or not: too few statements, or too much noise",
			countedClasses(unclear), 100*o.MinShare)
	}
	common := slices.ContainsFunc(c.Classes, func(x ClassCompared) bool { return x.A != nil && x.B != nil })
	switch {
	case c.A.Count == 0 || c.B.Count == 0:
		// a log that was rotated away, a time in which nothing was logged: not one statement is new by that
		c.Result, c.Reasons = stat.Invalid, nil
		for i, s := range []Side{c.A, c.B} {
			if s.Count == 0 {
				say("%s holds no statement", o.Sides[i])
			}
		}
	case !common && c.A.Source != c.B.Source:
		c.Result, c.Reasons = stat.Invalid, nil
		say("%s and %s have no class in common and come from different sources, which may name the same classes "+
			"differently", o.Sides[0], o.Sides[1])
	case worse > 0 || fresh > 0:
		c.Result = stat.Worse
	case c.Judged == 0:
		c.Result = stat.Invalid
		say("no class is in both often enough to be judged")
	case better > 0:
		c.Result = stat.Better
	case unclear > 0:
		c.Result = stat.Unstable
	default:
		c.Result = stat.Same
	}
}

func countedClasses(n int) string {
	if n == 1 {
		return "1 class"
	}
	return fmt.Sprintf("%d classes", n)
}

func takeOrTakes(n int) string {
	if n == 1 {
		return "takes"
	}
	return "take"
}

// remark tells what limits the comparison.
func (c *Comparison) remark(a, b *Report, sides [2]string) {
	say := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	if a.Global.Source != b.Global.Source {
		say("%s is of %s and %s of %s: a statement may have another id there, and times are taken at another place",
			sides[0], a.Global.Source, sides[1], b.Global.Source)
	}
	for _, s := range []struct {
		name string
		r    *Report
	}{{sides[0], a}, {sides[1], b}} {
		if n := s.r.Global.Skipped; n > 0 {
			say("%d parts of %s could not be read", n, s.name)
		}
		if n := s.r.Other.Classes; n > 0 {
			say("%d classes of %s were left out of its report: ask for all of them to compare", n, s.name)
		}
		for _, n := range s.r.Global.Notes {
			say("%s: %s", s.name, n)
		}
	}
}
