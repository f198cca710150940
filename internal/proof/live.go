package proof

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/class"
	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/shape"
	"github.com/dyno-perf/dyno/internal/stat"
)

// Span is a window in which the classes were counted.
type Span struct {
	From, To time.Time
	Seconds  float64 // observed
}

// Sum is what a class did in one window.
type Sum struct {
	Span     int // index of the window
	Calls    uint64
	TimeSec  float64
	Examined known.Value[uint64] // rows
}

// Course is a class with its windows; a window in which it did nothing has no Sum.
type Course struct {
	Class class.Class // only what names it; its figures are not read
	Sums  []Sum       // in order of time
}

// Traffic is what was counted of a server, in windows in order of time that do not overlap.
type Traffic struct {
	Spans   []Span
	Courses []Course
}

// Case is a change with the traffic around it.
type Case struct {
	Action  finding.Action
	About   finding.Subject // of the finding that suggested it
	Gain    *finding.Gain   // expected by that finding, nil when it gave none
	ID      string          // of the action: events with this Ref are its own
	Started time.Time       // of the change; windows that touch the time until Ended count for neither side
	Ended   time.Time
	Traffic Traffic
	// Beyond is which part of the statement time before and after is of classes that Traffic does not have, 0 to 1.
	Beyond [2]float64
	Events []event.Event // of the server, in order of time
	Others string        // id of the class that stands for those that were not kept; "" for none
	// Before and After are how much time of either side counts at most.
	Before, After time.Duration
	Rules         stat.Rules // margin and confidence; the zero value takes Margin and 95 %
}

// Margin is the change of the time per call that counts as none on live traffic.
const Margin = 0.05

// fewSeen is the least share of the statement time that the compared classes must have on both sides for a statement
// on all of them.
const fewSeen = 0.8

// negligible is the share of the statement time of which nothing is said when it is not looked at.
const negligible = 0.01

// otherMix is the share of calls that differ in class from which the traffic before and after is not the same work.
const otherMix = 0.5

// Live is the proof of a change on live traffic.
type Live struct {
	// Outcome is that of the classes which the change affects, together; of all classes when it affects the server.
	Outcome
	About   string               `json:"about"` // what Outcome is of, in words
	Change  time.Time            `json:"change"`
	Before  Stretch              `json:"before"`
	After   Stretch              `json:"after"`
	Whole   Outcome              `json:"whole"`              // all classes
	Classes []ClassOutcome       `json:"classes,omitempty"`  // that the change affects, most time before first
	Shift   known.Value[float64] `json:"mix_shift,omitzero"` // as Mix.Shift
	// Earlier is the same ratio against the same hours of earlier days instead of the time just before the change;
	// nil when these were not kept. When the two contradict each other, the verdict is unstable.
	Earlier  *stat.Interval `json:"earlier_days,omitempty"`
	Expected *finding.Gain  `json:"expected,omitempty"`
	// Compared is the measured ratio of what Expected is about; nil when this proof does not measure that.
	Compared *stat.Interval `json:"compared,omitempty"`
	Notes    []string       `json:"notes,omitempty"`
	// Final says why windows that come later cannot turn this into another judgement; empty while they can.
	Final []string `json:"-"`
}

// Stretch is one side of the comparison.
type Stretch struct {
	From    time.Time `json:"from,omitzero"`
	To      time.Time `json:"to,omitzero"`
	Seconds float64   `json:"seconds"` // observed
	Windows int       `json:"windows"`
	Calls   uint64    `json:"calls"` // of all classes
}

// Outcome compares classes before and after.
type Outcome struct {
	Result stat.Result `json:"result"`
	// Ratio is the time per call before ÷ after, above 1 is faster, with the mix of calls before. With N = 0 there is
	// none.
	Ratio stat.Interval `json:"ratio"`
	// MeanBefore and MeanAfter are seconds per call, both for the mix of calls before.
	MeanBefore known.Value[float64] `json:"mean_before_s,omitzero"`
	MeanAfter  known.Value[float64] `json:"mean_after_s,omitzero"`
	Examined   stat.Interval        `json:"rows_examined_ratio,omitzero"` // rows per call before ÷ after; N = 0: unknown
	Reasons    []string             `json:"reasons,omitempty"`
	Unmatched  []string             `json:"unmatched,omitempty"` // classes that only one side has enough calls of
}

// ClassOutcome is the outcome of one class and its course.
type ClassOutcome struct {
	Outcome
	Class       string  `json:"class"`
	Schema      string  `json:"schema,omitzero"`
	Fingerprint string  `json:"fingerprint"`
	CallsBefore uint64  `json:"calls_before"`
	CallsAfter  uint64  `json:"calls_after"`
	Course      []Point `json:"course,omitempty"`
}

// Point is the mean time of a class's calls in one window.
type Point struct {
	At      time.Time `json:"at"` // its end
	MeanSec float64   `json:"mean_s"`
	Calls   uint64    `json:"calls"`
}

// sides are the windows of either side, by index.
type sides struct{ before, after, earlier []int }

// Judge compares the traffic after a change with that before.
func Judge(c Case, parse shape.Parse) Live {
	if c.Rules.Margin == 0 {
		c.Rules.Margin = Margin
	}
	c.Rules.Confidence = cmp.Or(c.Rules.Confidence, stat.DefaultConfidence)
	from, to, notes, broken := c.undisturbed(parse)
	s := c.divide(from, to)
	l := Live{Change: c.Ended, Expected: c.Gain, Notes: notes, Before: c.stretch(s.before), After: c.stretch(s.after)}
	all := c.totals(s)
	l.Shift = shiftOf(all)
	if x := max(c.Beyond[0], c.Beyond[1]); x > negligible {
		l.Notes = append(l.Notes, fmt.Sprintf("only the classes with the most time were looked at: %.0f %% of the "+
			"statement time of one side is of others", 100*x))
	}
	if !to.IsZero() {
		l.Final = append(l.Final, fmt.Sprintf("of the time after the change only that until %s counts",
			to.UTC().Format(stamp)))
	}
	l.Final = append(l.Final, broken...)
	few := c.refusals("before", s.before)
	l.Final = append(l.Final, few...)
	broken = slices.Concat(broken, few, c.refusals("after", s.after))

	l.Whole = c.compare(all, s, broken)
	touched := slices.DeleteFunc(slices.Clone(all), func(x total) bool { return !c.touches(x, all, parse) })
	slices.SortStableFunc(touched, func(a, b total) int { return cmp.Compare(b.before.time, a.before.time) })
	for _, x := range touched {
		l.Classes = append(l.Classes, ClassOutcome{
			Outcome: c.compare([]total{x}, s, broken), Class: x.Class.ID, Schema: x.Class.Schema,
			Fingerprint: x.Class.Fingerprint, CallsBefore: x.before.calls, CallsAfter: x.after.calls,
			Course: c.course(x, s),
		})
	}
	about := touched
	if c.Action.Table.Table == "" {
		l.Outcome, l.About, about = l.Whole, "all classes", all
	} else {
		l.Outcome, l.About = c.compare(touched, s, broken), "the classes that use "+c.Action.Table.String()
		if len(touched) == 1 {
			l.About = "the class that uses " + c.Action.Table.String()
		}
	}
	if len(few) == 0 {
		l.Final = append(l.Final, silent(about)...)
	}
	c.sameHours(&l, about, s)
	l.Compared = c.measured(l, about, s)
	if v, ok := l.Shift.Get(); ok && v > otherMix && l.Result != stat.Invalid {
		l.Result = stat.Invalid
		l.Reasons = append(l.Reasons, fmt.Sprintf("another mix: %.0f %% of the calls differ in class between before "+
			"and after", 100*v))
	} else if ok && v > bigShift {
		l.Notes = append(l.Notes, fmt.Sprintf("%.0f %% of the calls differ in class between before and after: the "+
			"ratio is corrected for that, parameters within a class may differ, too", 100*v))
	}
	if a, b := l.Before, l.After; a.Seconds > 0 && b.Seconds > 0 && a.Calls > 0 && b.Calls > 0 {
		if r := float64(b.Calls) / b.Seconds / (float64(a.Calls) / a.Seconds); r > 1.5 || r < 1/1.5 {
			l.Notes = append(l.Notes, fmt.Sprintf("there were ×%.2g as many calls a second after as before: the time "+
				"of a call depends on the load as well", r))
		}
	}
	return l
}

// silent says why none of the classes can be compared, whatever they do after the change.
func silent(list []total) []string {
	sampled := false
	for _, x := range list {
		if !x.Class.Sampled && x.before.enough() {
			return nil
		}
		sampled = sampled || x.Class.Sampled
	}
	if sampled {
		return []string{onlySampled}
	}
	return []string{fmt.Sprintf("no class that the change affects had %d calls in %d windows before it", fewCalls,
		stat.MinWindows)}
}

// onlySampled is why there is no ratio of sampled classes.
const onlySampled = "its classes were sampled, not counted: a time per call is unknown"

// measured returns the ratio of what the expected gain is about: the time per call of the finding's classes, or of all
// statements. Rules expect other things as well, such as fewer pages written: of these there is none here.
func (c Case) measured(l Live, about []total, s sides) *stat.Interval {
	if c.Gain == nil {
		return nil
	}
	x := l.Whole.Ratio
	switch what := c.Gain.What; {
	case strings.HasPrefix(what, "time per call"), what == "time per execution":
		own := slices.DeleteFunc(slices.Clone(about), func(x total) bool {
			return !slices.Contains(c.About.Classes, x.Class.ID)
		})
		if x = l.Ratio; len(own) > 0 && len(own) < len(about) {
			x = c.compare(own, s, nil).Ratio
		}
	case what == "time per statement", what == "time of a statement":
	default:
		return nil
	}
	if x.N == 0 {
		return nil
	}
	return &x
}

// total is a class with its sums on either side.
type total struct {
	*Course
	before, after, earlier amount
}

type amount struct {
	calls    uint64
	time     float64
	windows  int // in which it ran
	examined known.Value[uint64]
}

// enough reports whether a side says something of a class.
func (a amount) enough() bool { return a.calls >= fewCalls && a.windows >= stat.MinWindows }

func (c Case) totals(s sides) []total {
	side := map[int]int{}
	for i, list := range [][]int{s.before, s.after, s.earlier} {
		for _, w := range list {
			side[w] = i + 1
		}
	}
	out := make([]total, 0, len(c.Traffic.Courses))
	for i := range c.Traffic.Courses {
		x := total{Course: &c.Traffic.Courses[i]}
		sums := [...]*amount{nil, &x.before, &x.after, &x.earlier}
		for _, a := range sums[1:] {
			a.examined = known.Of[uint64](0)
		}
		for _, p := range x.Sums {
			a := sums[side[p.Span]]
			if a == nil || p.Calls == 0 {
				continue
			}
			a.calls, a.time, a.windows = a.calls+p.Calls, a.time+p.TimeSec, a.windows+1
			sum, ok1 := a.examined.Get()
			n, ok2 := p.Examined.Get()
			if a.examined = known.None[uint64](); ok1 && ok2 {
				a.examined = known.Of(sum + n)
			}
		}
		if x.before.calls > 0 || x.after.calls > 0 {
			out = append(out, x)
		}
	}
	return append(out, c.beyond(out)...)
}

// beyond returns the classes that are not in Traffic as one that cannot be compared: its calls are unknown.
func (c Case) beyond(all []total) []total {
	if max(c.Beyond[0], c.Beyond[1]) <= negligible {
		return nil
	}
	rest := total{Course: &Course{Class: class.Class{Fingerprint: "statements of classes with less time"}}}
	for _, x := range all {
		rest.before.time, rest.after.time = rest.before.time+x.before.time, rest.after.time+x.after.time
	}
	for i, side := range []*amount{&rest.before, &rest.after} {
		part := min(c.Beyond[i], 1-negligible)
		side.time *= part / (1 - part)
	}
	return []total{rest}
}

// touches reports whether the change is about a class.
func (c Case) touches(x total, all []total, parse shape.Parse) bool {
	if x.Class.ID == "" || x.Class.ID == c.Others {
		return false
	}
	if c.concerns(x.Class, parse) {
		return true
	}
	if c.Action.Table.Table != "" {
		return false
	}
	before, after := 0.0, 0.0
	for _, y := range all {
		before, after = before+y.before.time, after+y.after.time
	}
	return x.before.time >= weighty*before && before > 0 || x.after.time >= weighty*after && after > 0
}

// concerns reports whether the finding was about a class, or its statements use the action's table.
func (c Case) concerns(x class.Class, parse shape.Parse) bool {
	return slices.Contains(c.About.Classes, x.ID) && fits(x, c.Action) || uses(x, c.Action, parse)
}

// shiftOf is Mix.Shift of all classes.
func shiftOf(all []total) known.Value[float64] {
	var before, after, shift float64
	for _, x := range all {
		if x.Class.Sampled {
			return known.None[float64]()
		}
		before, after = before+float64(x.before.calls), after+float64(x.after.calls)
	}
	if before == 0 || after == 0 {
		return known.None[float64]()
	}
	for _, x := range all {
		shift += math.Abs(float64(x.before.calls)/before-float64(x.after.calls)/after) / 2
	}
	return known.Of(shift)
}

// unseen is the larger share of the statement time of a side that is of classes which are not compared, 0 to 1.
func unseen(all []total) float64 {
	var before, after, lostBefore, lostAfter float64
	for _, x := range all {
		before, after = before+x.before.time, after+x.after.time
		if !comparable(x) {
			lostBefore, lostAfter = lostBefore+x.before.time, lostAfter+x.after.time
		}
	}
	share := func(part, of float64) float64 {
		if of > 0 {
			return part / of
		}
		return 0
	}
	return max(share(lostBefore, before), share(lostAfter, after))
}

func comparable(x total) bool {
	return !x.Class.Sampled && x.before.enough() && x.after.enough()
}

// otherSource says that another source counted a class on one side than on the other: they do not count alike, as the
// one may leave out fast statements. It is empty when that is not so.
func otherSource(list []total) string {
	was := map[key]class.Origin{}
	for _, x := range list {
		if !x.Class.Sampled && x.before.enough() && !x.after.enough() {
			was[keyOf(x.Class)] = x.Class.Origin
		}
	}
	for _, x := range list {
		if by, ok := was[keyOf(x.Class)]; ok && !x.Class.Sampled && by != x.Class.Origin && x.after.enough() {
			return fmt.Sprintf("statements were counted by %s before and by %s after, which do not count alike", by,
				x.Class.Origin)
		}
	}
	return ""
}

// compare sets classes side by side: the time of a call of each class, weighted with the calls before (direct
// standardisation; Keiding and Clayton, Standardization and Control for Confounding in Observational Studies, 2014).
func (c Case) compare(list []total, s sides, broken []string) Outcome {
	o := Outcome{Result: stat.Invalid, Reasons: slices.Clone(broken)}
	var in []total
	sampled := 0
	for _, x := range list {
		switch {
		case comparable(x):
			in = append(in, x)
		case x.Class.Sampled:
			sampled++
		default:
			o.Unmatched = append(o.Unmatched, x.Class.Fingerprint)
		}
	}
	switch {
	case len(list) == 0:
		o.Reasons = append(o.Reasons, "no class that the change affects ran before or after it")
	case len(in) == 0 && sampled > 0:
		o.Reasons = append(o.Reasons, onlySampled)
	case len(in) == 0 && otherSource(list) != "":
		o.Reasons = append(o.Reasons, otherSource(list))
	case len(in) == 0:
		o.Reasons = append(o.Reasons, fmt.Sprintf("too few calls: no class has %d calls in %d windows of both sides",
			fewCalls, stat.MinWindows))
	}
	if len(in) == 0 {
		return o
	}
	time := func(p Sum) (float64, bool) { return p.TimeSec, true }
	rows := func(p Sum) (float64, bool) {
		n, ok := p.Examined.Get()
		return float64(n), ok
	}
	b, a := c.level(in, s.before, time), c.level(in, s.after, time)
	calls := 0.0
	for _, x := range in {
		calls += float64(x.before.calls)
	}
	o.MeanBefore, o.MeanAfter = known.Of(b.Center/calls), known.Of(a.Center/calls)
	x, err := stat.LevelRatio(b, a, c.Rules.Confidence)
	if err != nil {
		o.Reasons = append(o.Reasons, err.Error())
		return o
	}
	o.Ratio = x
	if e, err := stat.LevelRatio(c.level(in, s.before, rows), c.level(in, s.after, rows),
		c.Rules.Confidence); err == nil {
		o.Examined = e
	}
	if missing := unseen(list); missing > 1-fewSeen {
		why := fmt.Sprintf("another mix: %.0f %% of the statement time of one side is of classes that have too few "+
			"calls on the other, or are too many to compare", 100*missing)
		o.Reasons = append(o.Reasons, cmp.Or(otherSource(list), why))
		return o
	}
	if len(broken) > 0 {
		return o
	}
	if o.Result = stat.Decide(x, c.Rules.Margin); o.Result == stat.Unstable {
		o.Reasons = append(o.Reasons, fmt.Sprintf("the interval does not decide: it is neither within ±%.0f %% nor "+
			"entirely on one side of ×1; more time may settle it", 100*c.Rules.Margin))
	}
	return o
}

// level is the amount that all calls before took, or would have taken, of classes in some windows. A value that is not
// known makes it unknown: not a number.
func (c Case) level(in []total, windows []int, of func(Sum) (float64, bool)) stat.Level {
	place := make(map[int]int, len(windows))
	for i, w := range windows {
		place[w] = i
	}
	parts := make([]float64, len(windows))
	l := stat.Level{}
	for _, x := range in {
		var calls, sum float64
		for _, p := range x.Sums {
			if _, ok := place[p.Span]; ok {
				v, known := of(p)
				if !known {
					return stat.Level{Center: math.NaN()}
				}
				calls, sum = calls+float64(p.Calls), sum+v
			}
		}
		if calls == 0 {
			continue
		}
		weight := float64(x.before.calls) / calls
		l.Center += weight * sum
		for _, p := range x.Sums {
			if i, ok := place[p.Span]; ok {
				v, _ := of(p)
				parts[i] += weight * (v - sum/calls*float64(p.Calls))
			}
		}
	}
	for i := range parts {
		parts[i] /= l.Center
		if i == 0 || c.apart(windows[i-1], windows[i]) {
			l.Parts = append(l.Parts, nil)
		}
		n := len(l.Parts) - 1
		l.Parts[n] = append(l.Parts[n], parts[i])
	}
	return l
}

// apart reports whether there is a gap between two windows.
func (c Case) apart(i, j int) bool {
	a, b := c.Traffic.Spans[i], c.Traffic.Spans[j]
	return b.From.Sub(a.To).Seconds() > max(1, a.Seconds/2)
}

// sameHours compares with the same hours of earlier days, and takes a verdict back that they contradict.
func (c Case) sameHours(l *Live, about []total, s sides) {
	if len(s.earlier) < stat.MinWindows || l.Ratio.N == 0 {
		return
	}
	in := slices.DeleteFunc(slices.Clone(about), func(x total) bool { return !comparable(x) || !x.earlier.enough() })
	time := func(p Sum) (float64, bool) { return p.TimeSec, true }
	x, err := stat.LevelRatio(c.level(in, s.earlier, time), c.level(in, s.after, time), c.Rules.Confidence)
	if err != nil {
		return
	}
	l.Earlier = &x
	was := stat.Decide(x, c.Rules.Margin)
	if (l.Result == stat.Better || l.Result == stat.Worse) && was != l.Result &&
		(was != stat.Unstable || x.Hi < l.Ratio.Lo || x.Lo > l.Ratio.Hi) {
		l.Result = stat.Unstable
		l.Reasons = append(l.Reasons, fmt.Sprintf("compared with the same hours of earlier days the ratio is ×%.3g "+
			"(×%.3g to ×%.3g): the day's rhythm may be the cause", x.Center, x.Lo, x.Hi))
	}
}

func (c Case) stretch(windows []int) (s Stretch) {
	in := map[int]bool{}
	for _, w := range windows {
		x := c.Traffic.Spans[w]
		if s.Windows == 0 {
			s.From = x.From
		}
		s.To, s.Seconds, s.Windows, in[w] = x.To, s.Seconds+x.Seconds, s.Windows+1, true
	}
	for _, x := range c.Traffic.Courses {
		for _, p := range x.Sums {
			if in[p.Span] {
				s.Calls += p.Calls
			}
		}
	}
	return s
}

// course is the mean time of a class in the windows of both sides.
func (c Case) course(x total, s sides) (out []Point) {
	in := map[int]bool{}
	for _, w := range slices.Concat(s.before, s.after) {
		in[w] = true
	}
	for _, p := range x.Sums {
		if in[p.Span] && p.Calls > 0 && !x.Class.Sampled {
			out = append(out, Point{c.Traffic.Spans[p.Span].To, p.TimeSec / float64(p.Calls), p.Calls})
		}
	}
	return out
}
