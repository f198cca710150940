package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
)

// ErrSets is the answer to results that cannot be compared.
var ErrSets = errors.New("the results cannot be compared")

// Sets puts two results side by side that were measured apart, on two machines or at two times. The result has every
// variant that both have twice, with one more axis, "result", whose levels are the results' names; what a measured is
// the baseline of what b measured. Ratios are those of unpaired trials, see stat.Ratio: what differs between the
// machines is in them, and so is what changed from the one time to the other. Facts of the environment that differ are
// in AlsoDiffers, see trial.Apart. A variant of which a limit was not in force on one side alone is invalid, and has no
// ratios. It is complete as it is, Fill is not for it.
//
// It wraps ErrSets when the plans differ in what decides the figures, and tells in what; when nothing is in both; or
// when a result is of a newer format.
func Sets(a, b trial.Result) (trial.Result, error) {
	for _, r := range []trial.Result{a, b} {
		if r.Format > trial.Format {
			return trial.Result{}, fmt.Errorf("%w: %s is of format %d, this program knows %d: a newer one is needed",
				ErrSets, r.ID, r.Format, trial.Format)
		}
	}
	if a.ID != "" && a.ID == b.ID && a.Started.Equal(b.Started) {
		return trial.Result{}, fmt.Errorf("%w: both are %s", ErrSets, a.ID)
	}
	keys := common(a.Variants, b.Variants)
	if len(keys) == 0 {
		return trial.Result{}, fmt.Errorf("%w: no variant is in both: the first has %s, the second %s", ErrSets,
			some(variantKeys(a.Variants)), some(variantKeys(b.Variants)))
	}
	if ds := decisive(a, b, keys); len(ds) > 0 {
		return trial.Result{}, fmt.Errorf("%w: their plans differ in what decides the figures: %s", ErrSets, some(ds))
	}
	names := [2]string{cmp.Or(a.ID, "A"), cmp.Or(b.ID, "B")}
	if names[0] == names[1] {
		names = [2]string{names[0] + " (first)", names[1] + " (second)"}
	}
	s := newSides(a.Plan, names)

	out := trial.Result{
		Format: trial.Format, Plan: s.plan, PlanText: a.PlanText, Dyno: versions(a, b), Unpaired: true,
		Started: earlier(a, b).Started, Ended: later(a, b).Ended,
	}
	judged := [2]*judgement{newJudgement(a.Plan, a.Variants, a.Trials), newJudgement(b.Plan, b.Variants, b.Trials)}
	cells := [2][]trial.Cell{judged[0].cells(), judged[1].cells()}
	var comparisons []stat.Two
	var unequal []string            // why their sides cannot be compared, "" when they can
	sides := map[string][2]string{} // the keys of both, by the variant's
	var vs []plan.Variant
	for _, key := range keys {
		var two [2]trial.Cell
		var values [2]map[string][]float64
		for side, j := range judged {
			i := slices.IndexFunc(j.vs, func(v plan.Variant) bool { return v.Key == key })
			v := s.variant(j.vs[i], side)
			c := cells[side][i]
			c.Variant, c.Ratios = v.Key, nil
			two[side], values[side] = c, j.values(key)
			vs = append(vs, v)
			for _, t := range j.trials {
				if t.Variant == key && !t.Control {
					t.Variant, t.Seq = v.Key, len(out.Trials)+1
					out.Trials = append(out.Trials, t)
				}
			}
		}
		why := s.unlimited(judged[0].valid(key), judged[1].valid(key))
		unequal = append(unequal, why)
		if why == "" {
			two[1].Ratios = apart(values[0], values[1])
			name := judged[0].metric.Name
			comparisons = append(comparisons, stat.Two{Baseline: values[0][name], Variant: values[1][name]})
		} else {
			comparisons = append(comparisons, stat.Two{})
		}
		out.Cells = append(out.Cells, two[:]...)
		sides[key] = [2]string{two[0].Variant, two[1].Variant}
	}
	out.Variants = vs

	j := newJudgement(s.plan, vs, out.Trials)
	j.sample = "trial"
	rules := j.rules
	rules.Margin = max(a.Plan.Trials.Margin, b.Plan.Trials.Margin)
	rules.Confidence = max(a.Plan.Trials.Conf, b.Plan.Trials.Conf)
	for k, v := range stat.JudgeApart(comparisons, rules) {
		if unequal[k] != "" {
			v.Reasons = []string{unequal[k]}
		}
		out.Cells[j.compared[k]].Verdict = &v
	}
	s.doubts(&out, a, b, keys)
	out.Env, out.AlsoDiffers = trial.Apart(a, b, names, keys, func(key string, side int) string {
		return sides[key][side]
	})
	o := Outcome{Cells: out.Cells}
	out.Verdict, out.Sentence = j.sentence(o)
	return out, nil
}

// beside is what tells the two apart.
type beside struct {
	names [2]string
	axis  string
	plan  plan.Plan
}

func newSides(p plan.Plan, names [2]string) beside {
	s := beside{names: names, axis: "result"}
	for slices.ContainsFunc(p.Axes, func(a plan.Axis) bool { return a.Name == s.axis }) {
		s.axis += "_"
	}
	p.Axes = append(slices.Clone(p.Axes), plan.Axis{
		Name:   s.axis,
		Levels: []plan.Level{{Name: names[0]}, {Name: names[1]}},
	})
	p.Baseline = map[string]string{s.axis: names[0]}
	p.Table.Columns = append(slices.Clone(p.Table.Columns), s.axis)
	p.Trials.NoControl = true
	p.Published = nil // it is about the other axes
	s.plan = p
	return s
}

// variant is v of one side.
func (s beside) variant(v plan.Variant, side int) plan.Variant {
	key := func(side int) string {
		level := s.axis + "=" + s.names[side]
		if len(v.Levels) == 0 {
			return level
		}
		return v.Key + "," + level
	}
	levels := map[string]string{s.axis: s.names[side]}
	maps.Copy(levels, v.Levels)
	return plan.Variant{Key: key(side), Levels: levels, Config: v.Config, Baseline: key(0)}
}

// unlimited names a limit that was not in force in trials of one side, and was, or was another one, in trials of the
// other.
func (s beside) unlimited(a, b []trial.Trial) string {
	for _, x := range a {
		for _, y := range b {
			if why := unlimited(x, y); why != "" {
				return "in " + s.names[0] + " " + why
			}
			if why := unlimited(y, x); why != "" {
				return "in " + s.names[1] + " " + why
			}
		}
	}
	return ""
}

// doubts adds what a reader must know of results measured apart.
func (s beside) doubts(out *trial.Result, a, b trial.Result, keys []string) {
	warn := func(format string, args ...any) { out.Warnings = append(out.Warnings, fmt.Sprintf(format, args...)) }
	warn("the two were not interleaved: any difference between the machines or the two times is in the ratio")
	for side, r := range []trial.Result{a, b} {
		var missing []string
		for _, v := range r.Variants {
			if !slices.Contains(keys, v.Key) {
				missing = append(missing, v.Key)
			}
		}
		if len(missing) > 0 {
			warn("only in %s, and left out: %s", s.names[side], some(missing))
		}
		if r.Stopped != "" {
			warn("%s ended early: %s", s.names[side], r.Stopped)
		}
		told := ""
		c := judgedControl(r)
		if c != nil && c.Result == stat.Invalid && c.Ratio.N > 0 {
			told = first(c.Reasons[:min(1, len(c.Reasons))])
			why := fmt.Sprintf("%s is invalid by its own control: %s", s.names[side], told)
			out.Warnings = append([]string{why}, out.Warnings...)
			for i := range out.Cells {
				if v := out.Cells[i].Verdict; v != nil {
					v.Result = stat.Invalid
					v.Reasons = append([]string{why}, v.Reasons...)
				}
			}
		}
		for _, w := range r.Warnings {
			if w != told {
				warn("%s: %s", s.names[side], w)
			}
		}
	}
	if a.Dyno != b.Dyno {
		warn("they were measured by different versions of Dyno: %s by %s, %s by %s", s.names[0],
			cmp.Or(a.Dyno, "one unknown"), s.names[1], cmp.Or(b.Dyno, "one unknown"))
	}
	for _, d := range unlike("trials", warming(a.Plan), warming(b.Plan)) {
		warn("the plans differ in %s", d)
	}
}

// judgedControl is the control's verdict of a result, judged again.
func judgedControl(r trial.Result) *stat.Verdict {
	return Judge(r.Plan, r.Variants, r.Trials).Control
}

// valid are the trials of a variant that count, in order of time; of a round that was repeated the last one.
func (j *judgement) valid(key string) (ts []trial.Trial) {
	for _, t := range j.trials {
		if t.Variant == key && !t.Control && t.Invalid == "" && j.by[place{t.Round, key, false}].Seq == t.Seq {
			ts = append(ts, t)
		}
	}
	return ts
}

// values are those of the valid trials of a variant, in order of time.
func (j *judgement) values(key string) map[string][]float64 {
	values := map[string][]float64{}
	for _, t := range j.valid(key) {
		for name, x := range t.Values {
			if finite(x) {
				values[name] = append(values[name], x)
			}
		}
	}
	return values
}

// apart sets every value that both have, b ÷ a whatever is better, at 95 % each and uncorrected for their number.
func apart(a, b map[string][]float64) map[string]stat.Interval {
	var ratios map[string]stat.Interval
	for name, xs := range a {
		if x, err := stat.Ratio(xs, b[name], stat.DefaultConfidence); err == nil {
			set(&ratios, name, x)
		}
	}
	return ratios
}

func common(a, b []plan.Variant) (keys []string) {
	for _, v := range a {
		if slices.ContainsFunc(b, func(w plan.Variant) bool { return w.Key == v.Key }) {
			keys = append(keys, v.Key)
		}
	}
	return keys
}

func variantKeys(vs []plan.Variant) (keys []string) {
	for _, v := range vs {
		keys = append(keys, v.Key)
	}
	return keys
}

// some lists the first few of many.
func some(ss []string) string {
	const most = 6
	if len(ss) == 0 {
		return "none"
	}
	if len(ss) > most {
		return strings.Join(ss[:most], ", ") + fmt.Sprintf(" and %d more", len(ss)-most)
	}
	return strings.Join(ss, ", ")
}

// versions are those of the program that measured.
func versions(a, b trial.Result) string {
	if a.Dyno == b.Dyno {
		return a.Dyno
	}
	return cmp.Or(a.Dyno, "unknown") + " and " + cmp.Or(b.Dyno, "unknown")
}

func earlier(a, b trial.Result) trial.Result {
	if b.Started.Before(a.Started) {
		return b
	}
	return a
}

func later(a, b trial.Result) trial.Result {
	if b.Ended.After(a.Ended) {
		return b
	}
	return a
}
