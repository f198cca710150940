package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/event"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/known"
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/proof"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/unit"
)

// callTime is the metric of a proof on live traffic.
const callTime = "time_per_call"

// allClasses is what a proof of a change of the whole server is about.
const allClasses = "all classes"

// drawnClasses is how many classes of a proof have a line each.
const drawnClasses = 3

// LiveDocument reports what windows of live traffic show around an action.
func LiveDocument(id string, e journal.Entry, p proof.Live, place Place, at time.Time) Document {
	d := Document{
		Kind: Proof, ID: id, Title: "Before and after " + e.ID + " on " + e.Target, Sentence: liveSentence(p),
		Verdict: &stat.Verdict{
			Result: p.Result, Ratio: p.Ratio, Metric: callTime, Margin: proof.Margin, Reasons: p.Reasons,
		},
		At: at, From: p.Before.From, To: p.After.To, Place: place, Change: ChangeDone(e), Live: &p, Warnings: p.Notes,
		Events: []event.Event{{
			At: e.Started, Until: e.Ended, Kind: event.Action, Text: ActionDone(e.Action), Ref: e.ID,
		}},
		Commands: []Command{
			{Text: "measure again, with what has been stored since", Line: "dyno proof " + e.ID},
			{Text: "undo the change", Line: "dyno undo " + e.ID},
		},
	}
	if d.From.IsZero() {
		d.From = p.After.From
	}
	if d.To.IsZero() {
		d.To = p.Before.To
	}
	chart := Chart{
		Title: "Time per call", Unit: "s",
		Note: "Each point is the mean of one window. The mark is the moment of the change.",
	}
	for _, c := range p.Classes {
		if len(chart.Lines) < drawnClasses && len(c.Course) > 1 {
			l := Line{Name: clip(c.Fingerprint, 60)}
			for _, x := range c.Course {
				l.Points = append(l.Points, metric.Point{At: x.At.UnixMilli(), Value: x.MeanSec})
			}
			chart.Lines = append(chart.Lines, l)
		}
		d.Classes = append(d.Classes, liveClass(c, p))
	}
	if len(chart.Lines) > 0 {
		d.Charts = []Chart{chart}
	}
	return d
}

// liveClass is a class of a proof as other documents have it.
func liveClass(c proof.ClassOutcome, p proof.Live) ClassChange {
	side := func(mean known.Value[float64], calls uint64, seconds float64) *ClassFigures {
		if calls == 0 {
			return nil
		}
		f := ClassFigures{MeanSec: mean}
		if seconds > 0 {
			f.PerSec = known.Of(float64(calls) / seconds)
		}
		return &f
	}
	words := map[stat.Result]proof.Verdict{stat.Better: proof.Faster, stat.Worse: proof.Slower}
	x := ClassChange{
		ID: c.Class, Schema: c.Schema, Fingerprint: c.Fingerprint, Verdict: string(proof.Unproven),
		Before: side(c.MeanBefore, c.CallsBefore, p.Before.Seconds),
		After:  side(c.MeanAfter, c.CallsAfter, p.After.Seconds),
	}
	if v, ok := words[c.Result]; ok {
		x.Verdict = string(v)
	}
	return x
}

// liveSentence is the outcome in words.
func liveSentence(p proof.Live) string {
	if p.Ratio.N == 0 {
		return "No ratio can be given: " + strings.Join(p.Reasons, "; ") + "."
	}
	s := fmt.Sprintf("Mean time per call of %s: %s before, %s after, for the mix of calls before", p.About,
		unit.Seconds(p.MeanBefore.Or(0)), unit.Seconds(p.MeanAfter.Or(0)))
	switch p.Result {
	case stat.Better:
		s += "; faster by " + liveRatio(p.Ratio)
	case stat.Worse:
		s += "; slower, before ÷ after is " + liveRatio(p.Ratio)
	case stat.Same:
		s += "; same, before ÷ after is " + liveRatio(p.Ratio)
	case stat.Unstable:
		s += "; unstable, before ÷ after is " + liveRatio(p.Ratio)
	case stat.Invalid:
		return s + "; no verdict: " + strings.Join(p.Reasons, "; ") + "."
	}
	s += "."
	if text := ExpectedText(p); text != "" {
		s += " " + text
	}
	return s
}

// liveRatio is a ratio with its interval and n.
func liveRatio(i stat.Interval) string {
	return fmt.Sprintf("%s (%s interval %s to %s, n=%d)", unit.Ratio(i.Center),
		unit.Percent(i.Confidence), unit.Ratio(i.Lo), unit.Ratio(i.Hi), i.N)
}

// ExpectedText sets the gain that the finding expected beside the measured one, where the proof measures the same
// thing; "" where it expected none.
func ExpectedText(p proof.Live) string {
	g := p.Expected
	if g == nil {
		return ""
	}
	if !(g.Lo > 0) || !(g.Hi > 0) {
		return "Expected: " + g.Text
	}
	s := fmt.Sprintf("Expected gain in %s: %s to %s", g.What, unit.Ratio(g.Lo), unit.Ratio(g.Hi))
	switch i := p.Compared; {
	case i == nil && p.Ratio.N > 0:
		s += "; this proof does not measure that"
	case i == nil:
	case i.Hi < g.Lo:
		s += "; the measured gain is smaller"
	case i.Lo > g.Hi:
		s += "; the measured gain is larger"
	default:
		s += "; the measured gain is within that range"
	}
	return s + "."
}

// live are the blocks of a proof on live traffic: the intervals as bars, then the figures.
func (d *Document) live(f form) []block {
	p := d.Live
	if p == nil {
		return nil
	}
	l := ladder{Title: "Time per call, before ÷ after", Unit: "above ×1 is faster", Margin: proof.Margin}
	add := func(label string, r stat.Result, i stat.Interval) {
		if i.N == 0 {
			return
		}
		m := markFor(r)
		x := LaidRung{
			Label: label, Sign: m.Sign, Word: m.Word, Class: m.Class, Of: &i,
			Text: strings.TrimSpace(m.Sign + " " + unit.Ratio(i.Center)),
		}
		x.Detail = label + ": " + spaced(m.Word, liveRatio(i))
		l.Rows = append(l.Rows, x)
	}
	add(p.About, p.Result, p.Ratio)
	for i, c := range p.Classes {
		if i < 8 && (len(p.Classes) > 1 || p.About == allClasses) {
			add(clip(c.Fingerprint, 40), c.Result, c.Ratio)
		}
	}
	if p.About != allClasses {
		add(allClasses, p.Whole.Result, p.Whole.Ratio)
	}
	if p.Earlier != nil {
		add("same hours of earlier days", stat.Decide(*p.Earlier, proof.Margin), *p.Earlier)
	}
	if g := p.Expected; p.Compared != nil && g.Lo > 0 && g.Hi >= g.Lo {
		i := stat.Interval{Center: g.Lo, Lo: g.Lo, Hi: g.Hi, N: 1, Confidence: 1}
		l.Rows = append(l.Rows, LaidRung{
			Label: "expected by the finding", Of: &i, Text: unit.Ratio(g.Lo) + " to " + unit.Ratio(g.Hi),
			Detail: "expected by the finding: " + unit.Ratio(g.Lo) + " to " + unit.Ratio(g.Hi),
		})
	}
	var body []block
	if len(l.Rows) > 0 {
		switch f {
		case asPage:
			body = append(body, drawn(figure{Title: l.Title}, func(z size) svg { return l.draw("live", z) }))
		case asText:
			body = append(body, drawing{Chars: func(t *textPage) { t.bars(l) }})
		case asMarkdown:
		}
	}
	body = append(body, liveTable(p), liveSides(p))
	if n := len(p.Whole.Unmatched); n > 0 {
		named := p.Whole.Unmatched[:min(n, 5)]
		short := each(named, func(s string) string { return clip(s, 60) })
		text := "Classes without enough calls on both sides are left out: " + strings.Join(short, "; ")
		if n > len(named) {
			text += fmt.Sprintf("; and %d more", n-len(named))
		}
		body = append(body, para{text + ".", true})
	}
	return body
}

// liveTable has a row for each comparison.
func liveTable(p *proof.Live) table {
	t := table{
		Head: []string{
			"", "calls before", "after", "time per call before", "after", "before ÷ after", "95 % interval",
			"n", "rows per call ÷", "verdict",
		}, Left: 1, Tail: 1,
	}
	if i := p.Ratio; i.N > 0 {
		t.Head[6] = unit.Percent(i.Confidence) + " interval"
	}
	row := func(name string, before, after uint64, o proof.Outcome) {
		r := []string{
			name, unit.Count(float64(before)), unit.Count(float64(after)), value(o.MeanBefore, "s"),
			value(o.MeanAfter, "s"), none, none, none, none, string(o.Result),
		}
		if before+after == 0 {
			r[1], r[2] = none, none
		}
		if i := o.Ratio; i.N > 0 {
			r[5], r[6], r[7] = unit.Ratio(i.Center), unit.Ratio(i.Lo)+" to "+unit.Ratio(i.Hi), strconv.Itoa(i.N)
		}
		if i := o.Examined; i.N > 0 {
			r[8] = unit.Ratio(i.Center)
		}
		t.Rows = append(t.Rows, r)
	}
	if len(p.Classes) != 1 && p.About != allClasses {
		row(p.About, 0, 0, p.Outcome)
	}
	for _, c := range p.Classes {
		row(clip(c.Fingerprint, 40), c.CallsBefore, c.CallsAfter, c.Outcome)
	}
	row(allClasses, p.Before.Calls, p.After.Calls, p.Whole)
	return t
}

// liveSides says of what time the two sides are.
func liveSides(p *proof.Live) para {
	side := func(name string, s proof.Stretch) string {
		if s.Windows == 0 {
			return name + ": nothing stored"
		}
		return fmt.Sprintf("%s: %s to %s, %d windows, %s observed", name, s.From.Local().Format(time.DateTime),
			s.To.Local().Format(time.DateTime), s.Windows, unit.Seconds(s.Seconds))
	}
	s := side("Before", p.Before) + ". " + side("After", p.After) + ". All ratios are for the mix of calls before; n " +
		"is the number of independent windows."
	if p.Earlier != nil {
		s += " Compared with the same hours of earlier days: " + liveRatio(*p.Earlier) + "."
	}
	return para{s, true}
}

// bars draws the rows of a ladder as lines of characters.
func (p *textPage) bars(l ladder) {
	lo, hi := 1/(1+l.Margin), 1+l.Margin
	left, right := 0, 0
	for _, r := range l.Rows {
		lo, hi = min(lo, r.Of.Lo), max(hi, r.Of.Hi)
		left, right = max(left, cells(clip(r.Label, 34))), max(right, cells(r.Text))
	}
	n := p.width - 4 - left - right - 4
	if n < 12 || !(lo > 0) || math.IsInf(hi, 0) {
		return
	}
	col := func(v float64) int {
		return max(0, min(n-1, int(math.Log(v/lo)/math.Log(hi/lo)*float64(n-1)+0.5)))
	}
	p.line("")
	for _, r := range l.Rows {
		row := []rune(strings.Repeat("·", n))
		row[col(1)] = '│'
		for i := col(r.Of.Lo); i <= col(r.Of.Hi); i++ {
			row[i] = '━'
		}
		if r.Of.Confidence < 1 {
			row[col(r.Of.Center)] = '◆'
		}
		p.line("  " + pad(clip(r.Label, 34), left) + "  " + string(row) + "  " + r.Text)
	}
	p.line(p.paint(dim, "  "+pad("", left)+"  │ ×1: no change; ◆ estimate; ━ interval"))
}
