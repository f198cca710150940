package compare

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// sentence puts the outcome into words.
func (j *judgement) sentence(o Outcome) (stat.Result, string) {
	switch len(j.compared) {
	case 0:
		if o.Control == nil {
			return "", "Nothing is compared."
		}
		return o.Control.Result, "Against itself: " + j.words(*o.Control, "the second trial", "the first")
	case 1:
		i := j.compared[0]
		v := *o.Cells[i].Verdict
		variant, baseline := namesOf(j.p, j.vs[i], baselineOf(j.vs, j.vs[i]))
		s := j.words(v, variant, baseline)
		return v.Result, strings.ToUpper(s[:1]) + s[1:]
	}
	n := map[stat.Result]int{}
	failed := 0
	for _, i := range j.compared {
		if o.Cells[i].Failed != "" {
			failed++
			continue
		}
		n[o.Cells[i].Verdict.Result]++
	}
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+what)
		}
	}
	add(n[stat.Better]+n[stat.Worse], "differ")
	if differ := n[stat.Better] + n[stat.Worse]; differ > 0 {
		parts[0] = fmt.Sprintf("%d of %d %s (%s)", differ, len(j.compared), plural(differ, "differs", "differ"),
			sides(n[stat.Better], n[stat.Worse]))
	}
	add(n[stat.Same], "the same")
	add(n[stat.Unstable], "unstable")
	add(n[stat.Invalid], "invalid")
	add(failed, "could not be measured")
	if n[stat.Better]+n[stat.Worse] == 0 && len(parts) > 0 {
		parts[0] = fmt.Sprintf("of %d comparisons %s", len(j.compared), parts[0])
		return "", "Of" + strings.Join(parts, ", ")[2:]
	}
	return "", strings.Join(parts, ", ")
}

func sides(better, worse int) string {
	switch {
	case worse == 0:
		return "all better"
	case better == 0:
		return "all worse"
	}
	return fmt.Sprintf("%d better, %d worse", better, worse)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// words tells one verdict.
func (j *judgement) words(v stat.Verdict, variant, baseline string) string {
	is, isnt := comparatives(j.metric)
	if v.Result == stat.Worse {
		is = isnt
	}
	figure := j.interval(outward(j.rules, v.Ratio))
	if j.metric.Name != "tps" && j.metric.Name != "qps" {
		figure = j.metric.Title + " " + figure
	}
	within := "within ±" + unit.Percent(v.Margin)
	switch v.Result {
	case stat.Better, stat.Worse:
		return fmt.Sprintf("%s %s than %s: %s", variant, is, baseline, figure)
	case stat.Same:
		return fmt.Sprintf("no difference: %s, %s", figure, within)
	case stat.Unstable:
		switch {
		case v.Withdrawn:
			return "no answer: " + first(v.Reasons[:min(1, len(v.Reasons))])
		case v.Ratio.Lo > 1 || v.Ratio.Hi < 1: // its centre, and with that its nearer end, is within the margin
			return fmt.Sprintf("there is a difference, but whether it is more than ±%s is open: %s",
				unit.Percent(v.Margin), figure)
		}
		return fmt.Sprintf("no answer: %s; more rounds or a steadier machine may give one", figure)
	case stat.Invalid:
	}
	return "invalid: " + first(v.Reasons[:min(1, len(v.Reasons))])
}

// comparatives are the words for better and for worse.
func comparatives(m trial.Metric) (better, worse string) {
	switch {
	case m.Name == "tps" || m.Name == "qps" || m.Unit == "ms":
		return "is faster", "is slower"
	case m.Better == trial.Less:
		return "is lower", "is higher"
	default:
		return "is higher", "is lower"
	}
}

// outward turns a verdict's ratio, above 1 is better, into variant ÷ baseline.
func outward(rules stat.Rules, x stat.Interval) stat.Interval {
	if !rules.LowerIsBetter || !(x.Center > 0) || !(x.Lo > 0) {
		return x
	}
	x.Center, x.Lo, x.Hi = 1/x.Center, 1/x.Hi, 1/x.Lo
	return x
}

// interval writes a ratio: "×0.81 (×0.79 to ×0.84, 6 rounds)", with a digit more where that is needed to tell its ends
// apart from its centre.
func (j *judgement) interval(x stat.Interval) string {
	f := unit.Ratio
	if x.Center > 0.2 && x.Center < 5 && x.Hi-x.Lo < 0.03 {
		f = func(v float64) string { return "×" + strconv.FormatFloat(v, 'f', 3, 64) }
	}
	hi := "no end"
	if x.Hi < 1e9 {
		hi = f(x.Hi)
	}
	return fmt.Sprintf("%s (%s to %s, %d %s)", f(x.Center), f(x.Lo), hi, x.N, plural(x.N, j.sample, j.sample+"s"))
}

func baselineOf(vs []plan.Variant, v plan.Variant) plan.Variant {
	for _, b := range vs {
		if b.Key == v.Baseline {
			return b
		}
	}
	return plan.Variant{Key: v.Baseline}
}

// namesOf returns what sets two variants apart.
func namesOf(p plan.Plan, v, b plan.Variant) (variant, baseline string) {
	var vs, bs []string
	for _, axis := range p.Axes {
		if x, y := v.Levels[axis.Name], b.Levels[axis.Name]; x != y {
			vs, bs = append(vs, x), append(bs, y)
		}
	}
	if len(vs) == 0 {
		return v.Key, b.Key
	}
	return strings.Join(vs, ", "), strings.Join(bs, ", ")
}
