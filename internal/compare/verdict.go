package compare

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Outcome is what the trials so far say.
type Outcome struct {
	Cells   []trial.Cell // in the order of the variants
	Control *stat.Verdict
	// Open are the keys of the variants that need more rounds, baselines included, in the order of the variants: none
	// when everything is decided, or the last round has been run.
	Open []string
	// Verdict is that of the only comparison, or of the control when nothing else is compared; empty when there are
	// several.
	Verdict  stat.Result
	Sentence string
	Warnings []string
	// Correction is what verdicts are corrected by for the speed of the CPUs; nil when it was not measured.
	Correction *trial.Correction
}

// Value returns the name of the value that verdicts of p are about.
func Value(p plan.Plan) string {
	if len(p.Table.Show) > 0 {
		return p.Table.Show[0]
	}
	if len(p.Base.Probe) > 0 {
		return "ms"
	}
	return "tps"
}

// Sequence returns the looks of p.
func Sequence(p plan.Plan) stat.Sequence {
	return stat.Schedule(p.Trials.Min, p.Trials.Max, p.Trials.Conf)
}

// Judge judges the variants by their trials. It may be called at any time, also within a round: what it says then is
// what an experiment that ended here would say, while Open changes at the planned looks alone.
//
// Plans of fewer than three rounds have no verdicts: their values are read, not compared.
//
// In each round the last valid trial of a variant stands for it; a round in which variant or baseline has only invalid
// ones is a pair that does not count, and the verdict tells why.
func Judge(p plan.Plan, vs []plan.Variant, trials []trial.Trial) Outcome {
	j := newJudgement(p, vs, trials)
	o := Outcome{Cells: j.cells(), Correction: j.correction}
	if j.few() {
		if j.last < p.Trials.Max {
			o.Open = j.usable()
		}
		o.Sentence = fmt.Sprintf("Values of %d %s: a comparison takes at least 3.", p.Trials.Max,
			plural(p.Trials.Max, "round", "rounds"))
		if len(j.compared) == 0 {
			o.Sentence = "Values that were read; nothing is compared."
		}
		o.Warnings = j.remarks()
		return o
	}
	verdicts, rounds := j.verdicts()
	for k, i := range j.compared {
		v := verdicts[k]
		o.Cells[i].Verdict = &v
	}
	o.Control = j.control(rounds)
	o.Open = j.open(verdicts, o.Control, rounds)
	j.doubts(&o)
	o.Verdict, o.Sentence = j.sentence(o)
	return o
}

// Fill sets what Judge finds in a result from its plan, variants and trials. Warnings that r has already stay.
func Fill(r *trial.Result) {
	o := Judge(r.Plan, r.Variants, r.Trials)
	r.Cells, r.Control, r.Verdict, r.Sentence, r.Correction = o.Cells, o.Control, o.Verdict, o.Sentence, o.Correction
	for _, w := range o.Warnings {
		if !slices.Contains(r.Warnings, w) {
			r.Warnings = append(r.Warnings, w)
		}
	}
}

// place is where a trial belongs.
type place struct {
	round   int
	variant string
	control bool
}

type judgement struct {
	p      plan.Plan
	vs     []plan.Variant
	trials []trial.Trial // by Seq
	// compared are the indices of the variants that have a baseline beside themselves.
	compared []int
	metric   trial.Metric
	rules    stat.Rules
	seq      stat.Sequence
	by       map[place]trial.Trial // the one that stands for its place
	failed   map[string]string     // variants that cannot be measured, and why
	last     int                   // the last round that has trials
	sample   string                // what is counted: "round", or "trial" when there are no pairs
	// correction is for the speed of the CPUs; nil when it was not measured or is not to be used.
	correction *trial.Correction
}

func newJudgement(p plan.Plan, vs []plan.Variant, trials []trial.Trial) *judgement {
	j := &judgement{p: p, vs: vs, by: map[place]trial.Trial{}, failed: map[string]string{}, sample: "round"}
	j.trials = slices.SortedStableFunc(slices.Values(trials), func(a, b trial.Trial) int {
		return cmp.Compare(a.Seq, b.Seq)
	})
	j.metric = trial.MetricOf(Value(p), p.Table.Unit)
	j.seq = Sequence(p)
	j.rules = stat.Rules{
		Metric: j.metric.Name, LowerIsBetter: j.metric.Better == trial.Less,
		Margin: p.Trials.Margin, Confidence: p.Trials.Conf, Sequence: &j.seq,
	}
	for i, v := range vs {
		if v.Baseline != "" && v.Baseline != v.Key {
			j.compared = append(j.compared, i)
		}
	}
	j.rules.Family = len(j.compared)
	j.correction = j.correct(math.MaxInt)
	valid := map[string]bool{}
	for _, t := range j.trials {
		at := place{t.Round, t.Variant, t.Control}
		if was, ok := j.by[at]; !ok || was.Invalid != "" || t.Invalid == "" {
			j.by[at] = t
		}
		if t.Control {
			j.last = max(j.last, t.Round)
			continue
		}
		switch {
		case t.Unusable:
			j.failed[t.Variant] = cmp.Or(t.Invalid, "it cannot be measured")
		case t.Invalid == "":
			valid[t.Variant] = true
			delete(j.failed, t.Variant)
			j.last = max(j.last, t.Round)
		default:
			j.last = max(j.last, t.Round)
			if !valid[t.Variant] {
				j.failed[t.Variant] = t.Invalid
			}
		}
	}
	return j
}

// brokenTrials reports whether the last trial of the variant was invalid. When it has none in a round, the round need
// not wait: an experiment gives up what fails again and again.
func brokenTrials(trials []trial.Trial, key string) bool {
	for _, t := range slices.Backward(trials) {
		if t.Variant == key && !t.Control {
			return t.Invalid != ""
		}
	}
	return false
}

// unusable reports whether no more trials of the variant are to be expected.
func unusable(trials []trial.Trial, key string) bool {
	for _, t := range slices.Backward(trials) {
		if t.Variant == key && !t.Control {
			return t.Unusable
		}
	}
	return false
}

// pair sets two trials of a round side by side; false when one of them is missing.
func (j *judgement) pair(baseline, variant place) (stat.Pair, bool) {
	b, okb := j.by[baseline]
	v, okv := j.by[variant]
	if !okb || !okv || b.Unusable || v.Unusable {
		return stat.Pair{}, false
	}
	p := stat.Pair{Round: variant.round, VariantFirst: v.Seq < b.Seq}
	name := j.metric.Name
	vb, hasb := b.Values[name]
	vv, hasv := v.Values[name]
	switch {
	case v.Invalid != "":
		p.Invalid = v.Invalid
	case b.Invalid != "":
		p.Invalid = "baseline: " + b.Invalid
	case b.Woven != nil && v.Woven != nil && !b.From.Equal(v.From): // of a round that was repeated, one of each
		p.Invalid = "the two did not take turns with each other"
	case unlimited(v, b) != "":
		p.Invalid = unlimited(v, b)
	case unlimited(b, v) != "":
		p.Invalid = "baseline: " + unlimited(b, v)
	case !hasv:
		p.Invalid = name + " was not measured"
	case !hasb:
		p.Invalid = "baseline: " + name + " was not measured"
	}
	p.Baseline, p.Variant = vb, vv
	return p, true
}

// unlimited names a limit that t was to have and the other one was not, or not as much of it, and that was not in
// force: what they differ by is then not what the plan says. A limit that neither had, and both were to have, is no
// difference.
func unlimited(t, other trial.Trial) string {
	for _, name := range slices.Sorted(maps.Keys(t.NotInForce)) {
		if other.NotInForce[name] != t.NotInForce[name] {
			return fmt.Sprintf("the limit %s of %s was not in effect", name, t.NotInForce[name])
		}
	}
	return ""
}

// seen is what a look saw of the comparisons.
type seen struct {
	correction *trial.Correction
	raw        map[string]string // comparisons that are not corrected though the others are, by variant, and why
	pairs      [][]stat.Pair     // in the order of compared
}

// lookAt sets the pairs of the first rounds side by side, and brings both sides of each to the same speed of the CPUs,
// as far as it shows by then: what is decided at a look must not be decided by what was measured after it.
func (j *judgement) lookAt(rounds int) seen {
	s := seen{correction: j.correct(rounds), raw: map[string]string{}, pairs: make([][]stat.Pair, len(j.compared))}
	for k, i := range j.compared {
		v := j.vs[i]
		fit, why := j.correctable(s.correction, rounds, v)
		if why != "" {
			s.raw[v.Key] = why
		}
		for r := 1; r <= min(rounds, j.last); r++ {
			b, x := place{r, v.Baseline, false}, place{r, v.Key, false}
			p, ok := j.pair(b, x)
			if !ok {
				continue
			}
			if fit && p.Invalid == "" {
				p.Baseline *= atMean(s.correction, j.by[b])
				p.Variant *= atMean(s.correction, j.by[x])
			}
			s.pairs[k] = append(s.pairs[k], p)
		}
	}
	return s
}

// verdicts judges all comparisons, in the order of compared, and returns the number of rounds that are complete.
func (j *judgement) verdicts() ([]stat.Verdict, int) {
	looks, last := map[int]seen{}, 0
	rules := j.rules
	rules.PairsAt = func(rounds int) [][]stat.Pair {
		s, ok := looks[rounds]
		if !ok {
			s = j.lookAt(rounds)
			looks[rounds] = s
		}
		last = rounds
		return s.pairs
	}
	all := rules.PairsAt(math.MaxInt)
	rounds := j.last
	if rounds > 0 && !j.complete(all, rules) {
		rounds--
	}
	rules.Rounds = max(rounds, 0)
	verdicts := judgeRatios(all, rules, rounds)
	for k, i := range j.compared {
		v := j.vs[i]
		if why := uncorrected(j.correction, looks, cmp.Or(verdicts[k].Closed, last), v.Key); why != "" &&
			verdicts[k].Result != stat.Invalid {
			verdicts[k].Reasons = append(verdicts[k].Reasons, why)
		}
		if why, ok := j.failed[v.Key]; ok && verdicts[k].Result == stat.Invalid {
			verdicts[k].Reasons = []string{why}
		} else if why, ok := j.failed[v.Baseline]; ok && verdicts[k].Result == stat.Invalid {
			verdicts[k].Reasons = []string{"its baseline cannot be measured: " + why}
		}
	}
	return verdicts, rounds
}

// uncorrected tells in what the correction of a comparison that was decided at a look differs from that of the result,
// and notes who has none.
func uncorrected(correction *trial.Correction, looks map[int]seen, at int, key string) string {
	s := looks[at]
	then, now := s.correction != nil && s.correction.Used, correction != nil && correction.Used
	why := s.raw[key]
	switch {
	case then && why == "" && !now:
		if correction != nil {
			correction.Only = append(correction.Only, key)
		}
		return fmt.Sprintf("its ratio is corrected for the speed of the CPUs by what its %d rounds showed; all "+
			"trials together show too little of it", at)
	case !then && now:
		why = fmt.Sprintf("after its %d rounds the effect of the CPU speed on the rate was still uncertain, so the "+
			"ratio is not corrected for it", at)
	}
	if why != "" && now {
		correction.Except = append(correction.Except, key)
	}
	return why
}

// judgeRatios leaves out pairs of rounds after the first ones when nothing has been looked at yet, see stat.JudgeAll.
func judgeRatios(pairs [][]stat.Pair, rules stat.Rules, rounds int) []stat.Verdict {
	if rounds == 0 { // JudgeAll takes 0 for all there are
		rules.Rounds = -1
	}
	return stat.JudgeAll(pairs, rules)
}

// complete reports whether every variant that was open in the last round has a trial in it.
func (j *judgement) complete(pairs [][]stat.Pair, rules stat.Rules) bool {
	rules.Rounds = j.last - 1
	need := map[string]bool{}
	for k, v := range judgeRatios(pairs, rules, j.last-1) {
		if v.Closed == 0 {
			c := j.vs[j.compared[k]]
			if !brokenTrials(j.trials, c.Key) && !brokenTrials(j.trials, c.Baseline) {
				need[c.Key], need[c.Baseline] = true, true
			}
		}
	}
	for key := range need {
		if _, ok := j.by[place{j.last, key, false}]; !ok {
			return false
		}
	}
	return true
}

// control compares the second trials of baselines with the first ones of their round. Where there are several baselines
// each is brought to the level of 1, so that their differing levels are not taken for a drift of the machine.
func (j *judgement) control(rounds int) *stat.Verdict {
	if j.p.Trials.NoControl {
		return nil
	}
	rules := j.rules
	rules.Family, rules.Rounds = 1, rounds
	if len(j.compared) > 0 { // it goes on as long as anything is compared, and all of it speaks
		rules.Sequence = nil
	}
	rules.PairsAt = func(rounds int) [][]stat.Pair { return [][]stat.Pair{j.controls(rounds)} }
	v := judgeRatios(rules.PairsAt(math.MaxInt), rules, rounds)[0]
	return &v
}

// controls are the pairs of the control in the first rounds.
func (j *judgement) controls(rounds int) (pairs []stat.Pair) {
	c := j.correct(rounds)
	for _, v := range j.vs {
		var own []stat.Pair
		var levels []float64
		for r := 1; r <= min(rounds, j.last); r++ {
			one, two := place{r, v.Key, false}, place{r, v.Key, true}
			p, ok := j.pair(one, two)
			if !ok {
				continue
			}
			if p.Invalid == "" { // a server against itself: whatever its CPUs did is none of its doing
				p.Baseline *= atMean(c, j.by[one])
				p.Variant *= atMean(c, j.by[two])
				levels = append(levels, p.Baseline)
			}
			own = append(own, p)
		}
		if level := stat.Median(levels); level > 0 {
			for i := range own {
				own[i].Baseline /= level
				own[i].Variant /= level
			}
		}
		pairs = append(pairs, own...)
	}
	slices.SortStableFunc(pairs, func(a, b stat.Pair) int { return cmp.Compare(a.Round, b.Round) })
	return pairs
}

// few reports whether the plan has fewer rounds than a comparison takes.
func (j *judgement) few() bool { return j.p.Trials.Max > 0 && j.p.Trials.Max < j.seq.Looks[0] }

// usable returns the variants of which more trials are to be expected.
func (j *judgement) usable() (keys []string) {
	for _, v := range j.vs {
		if !unusable(j.trials, v.Key) {
			keys = append(keys, v.Key)
		}
	}
	return keys
}

// open returns the variants that need more rounds.
func (j *judgement) open(verdicts []stat.Verdict, control *stat.Verdict, rounds int) []string {
	if _, more := j.seq.Next(rounds); !more {
		return nil
	}
	need := map[string]bool{}
	for k, v := range verdicts {
		c := j.vs[j.compared[k]]
		if v.Closed == 0 && !unusable(j.trials, c.Key) && !unusable(j.trials, c.Baseline) {
			need[c.Key], need[c.Baseline] = true, true
		}
	}
	if len(j.compared) == 0 { // one variant, against itself; without a control the least number of rounds does
		for _, v := range j.vs {
			if !unusable(j.trials, v.Key) && (control != nil && control.Closed == 0 || control == nil &&
				rounds < j.seq.Looks[0]) {
				need[v.Key] = true
			}
		}
	}
	var keys []string
	for _, v := range j.vs {
		if need[v.Key] {
			keys = append(keys, v.Key)
		}
	}
	return keys
}

// doubts lets the control speak: when a thing differs from itself, nothing else that was found is worth anything.
func (j *judgement) doubts(o *Outcome) {
	for _, i := range j.compared {
		if c := o.Cells[i]; c.Failed != "" {
			o.Warnings = append(o.Warnings, fmt.Sprintf("%s could not be measured: %s", c.Variant, c.Failed))
		}
	}
	o.Warnings = append(o.Warnings, j.trends()...)
	o.Warnings = append(o.Warnings, j.remarks()...)
	c := o.Control
	if c == nil {
		return
	}
	above := 1 + c.Margin
	within := "±" + unit.Percent(c.Margin)
	switch {
	case c.Result == stat.Invalid:
		if len(j.compared) > 0 && c.Ratio.N == 0 && j.last >= j.seq.Looks[0] {
			o.Warnings = append(o.Warnings, "the control could not be judged: "+first(c.Reasons))
		}
	case c.Ratio.Lo > above || c.Ratio.Hi < 1/above:
		why := fmt.Sprintf("the control, the baseline measured against itself, differs by more than %s: %s. "+
			"Something other than the variants determines the figures", within, j.interval(c.Ratio))
		c.Result = stat.Invalid
		c.Reasons = append([]string{why}, c.Reasons...)
		for _, i := range j.compared {
			v := o.Cells[i].Verdict
			v.Result = stat.Invalid
			v.Reasons = append([]string{why}, v.Reasons...)
		}
		if len(j.compared) > 0 {
			o.Warnings = append([]string{why}, o.Warnings...)
		}
	case c.Result != stat.Same && len(j.compared) > 0:
		if c.Result == stat.Better || c.Result == stat.Worse {
			o.Warnings = append(o.Warnings, fmt.Sprintf("the control, the baseline measured against itself, is not "+
				"1: %s. Do not trust differences of that size", j.interval(c.Ratio)))
		} else if c.Ratio.N > 0 {
			o.Warnings = append(o.Warnings, fmt.Sprintf("the control, the baseline measured against itself, is not "+
				"known to be the same within %s: %s. Differences of that size may stay hidden here",
				within, j.interval(c.Ratio)))
		}
	}
}

// remarks sums up what is worth a warning about single trials that count. Those that differ in figures alone are told
// as one.
func (j *judgement) remarks() (warnings []string) {
	type kind struct {
		text  string // the first one
		other bool   // there is one with other figures
		in    int    // trials
	}
	var order []string
	kinds := map[string]*kind{}
	all := 0
	for _, t := range j.trials {
		if t.Invalid != "" {
			continue
		}
		all++
		seen := map[string]bool{}
		for _, w := range t.Warnings {
			s := shape(w)
			if seen[s] {
				continue
			}
			seen[s] = true
			k, ok := kinds[s]
			if !ok {
				k = &kind{text: w}
				kinds[s] = k
				order = append(order, s)
			}
			k.in++
			k.other = k.other || w != k.text
		}
	}
	for _, s := range order {
		k := kinds[s]
		switch {
		case k.other:
			warnings = append(warnings, fmt.Sprintf("%s (this or alike in %d of %d trials)", k.text, k.in, all))
		case k.in < all:
			warnings = append(warnings, fmt.Sprintf("%s (in %d of %d trials)", k.text, k.in, all))
		default:
			warnings = append(warnings, k.text)
		}
	}
	return warnings
}

// shape is a text without its figures.
func shape(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r >= '0' && r <= '9' || r == '.' }), "#")
}

func first(reasons []string) string {
	if len(reasons) == 0 {
		return "there are no trials"
	}
	return reasons[len(reasons)-1]
}

// trends tells of variants whose rate still moves in the course of their trials. Trials are the independent samples
// here, too.
func (j *judgement) trends() (warnings []string) {
	for _, v := range j.vs {
		var slopes []float64
		for _, t := range j.trials {
			if t.Variant == v.Key && t.Invalid == "" {
				if rs := rates(t); len(rs) >= leastSeconds {
					slopes = append(slopes, stat.Slope(rs))
				}
			}
		}
		if len(slopes) < 3 {
			continue
		}
		x := stat.Center(slopes, 0.99)
		if by := min(math.Abs(x.Lo), math.Abs(x.Hi)); x.Lo*x.Hi <= 0 || by < moving {
			continue
		}
		moves := "rises"
		if x.Center < 0 {
			moves = "falls"
		}
		warnings = append(warnings, fmt.Sprintf("the rate of %s still %s by %s in the course of a trial: use a "+
			"longer warm-up", v.Key, moves, unit.Percent(math.Abs(x.Center))))
	}
	return warnings
}

const (
	leastSeconds = 5
	moving       = 0.03 // change of the rate in the course of a trial, surely more than which is worth a warning
)

// finite reports whether x can be shown.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
