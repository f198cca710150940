package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// ComparisonTable writes what belongs at the end of a comparison on a terminal: the outcome, the control, the table of
// the first value with what failed, what was published and what else differs, and the further values. Text writes the
// whole report.
func ComparisonTable(w io.Writer, r *trial.Result, o Options) error {
	d := shown(Comparison(r, r.Ended))
	c := newComparison(d.Comparison)
	bs := append([]block{d.hero()}, firstBlocks(c, asText, briefProblems)...)
	bs = append(append(bs, otherBlocks(c)...), sec("", "Warnings", sentences("!", "", d.Warnings)))
	p := newTextPage(o)
	p.blocks(kept(bs))
	return written(w, strings.TrimLeft(p.b.String(), "\n"), "table")
}

// briefProblems is how many remarks on cells stand at the end of a comparison on a terminal.
const briefProblems = 6

// comparisonBlocks are everything between the outcome and where it was.
func comparisonBlocks(c *comparison, d *Document, f form) []block {
	bs := firstBlocks(c, f, math.MaxInt)
	if f == asPage {
		bs = append(bs, pictureBlocks(c)...)
	}
	return append(append(bs, otherBlocks(c)...), trialsBlock(c, d, f), surroundingsBlock(c, f))
}

// firstBlocks are the table of the first value and what must be read with it, of the remarks on cells at most the given
// number.
func firstBlocks(c *comparison, f form, most int) []block {
	main := sec("main", c.title())
	if f == asPage {
		main.Body = append(main.Body, para{c.r.Plan.About, true})
	}
	if len(c.byKey) == 0 {
		main.Body = append(main.Body, para{Text: "The plan has no variants."})
	} else {
		main.Body = append(main.Body, mainTable(c), signs(legendOf(c)))
	}
	ps := problemsOf(c)
	main.Body = append(main.Body, bullets{Class: "problems", Items: ps[:min(most, len(ps))]})
	if n := len(ps) - most; n > 0 {
		main.Body = append(main.Body, para{Text: "… and " + count(n, "remark", "remarks") + " more in the report."})
	}
	bs := []block{main}
	if t := publishedTable(c); !t.empty() {
		bs = append(bs, sec("pub", publishedTitle, t, para{publishedNote, true}))
	}
	if len(c.r.AlsoDiffers) > 0 {
		differs := bullets{Mark: "!", Items: each(differencesOf(c, c.r.AlsoDiffers), func(f Fact) item {
			return item{Name: f.Name, Text: f.Value}
		})}
		note := para{Text: "Not set by any axis, and a possible cause of the result:"}
		s := sec("differs", "Also differs", note, differs)
		s.Class = "differs"
		bs = append(bs, s)
	}
	return bs
}

// otherBlocks are the values beside the first one, and the texts.
func otherBlocks(c *comparison) []block {
	bs := furtherTables(c)
	for _, l := range listTables(c) {
		bs = append(bs, sec("", l.Name, l, para{l.Note, true}))
	}
	return append(bs, sec("texts", "Plans and texts", each(saidOf(c), func(t LaidSaid) block {
		return code{t.Name + ", " + t.For, "text", t.Text}
	})...))
}

// stripsShown is how many strips a picture has; the first is open.
const stripsShown = 14

// pictureBlocks are the curves, the ladder and the strips of a page.
func pictureBlocks(c *comparison) []block {
	pics := sec("pic", "In pictures")
	for i, s := range sweepsOf(c) {
		f := figure{Title: s.Title, Table: s.figures(), Note: "The bands are the intervals."}
		f.Keys = each(s.Lines, func(l sweepLine) key { return key{lineClass(l.Style), l.Name, "line"} })
		if s.Ratio {
			f.Note = "Below ×1 the value is lower than the baseline's. The bands are the intervals."
			if s.Margin > 0 {
				f.Note += " Within the grey stripe it counts as the same."
			}
		}
		if len(s.Missing) > 0 {
			f.Note = spaced(f.Note, signFailed+" has no value: "+strings.Join(s.Missing, "; ")+".")
		}
		pics.Body = append(pics.Body, drawn(f, func(z size) svg { return s.draw("sweep"+strconv.Itoa(i), z) }))
	}
	if l := ladderOf(c); len(l.Rows) > 0 {
		f := figure{Title: l.Title}
		if l.Margin > 0 {
			f.Note = "Within the grey stripe it counts as the same."
		}
		ladder := drawn(f, func(z size) svg { return l.draw("ladder", z) })
		if len(pics.Body) > 0 {
			pics.Body = append(pics.Body, fold{l.Title, []block{ladder}})
		} else {
			pics.Body = append(pics.Body, ladder)
		}
	}
	seconds := sec("strips", "Second by second")
	strips := stripsOf(c)
	for from := 0; from < len(strips); from += stripsShown {
		to := min(from+stripsShown, len(strips))
		pic := drawn(figure{}, func(z size) svg {
			return drawStrips(strips[from:to], rounds(c.r), "strips"+strconv.Itoa(from), z)
		})
		if from == 0 {
			const note = "Trials side by side, by round. A variant has the scale of its baseline. Hatched trials do " +
				"not count."
			seconds.Body = append(seconds.Body, para{note, true}, pic)
			continue
		}
		title := fmt.Sprintf("Strips %d to %d of %d, from %s", from+1, to, len(strips), strips[from].Label)
		seconds.Body = append(seconds.Body, fold{title, []block{pic}})
	}
	return []block{pics, seconds}
}

// trialsBlock are how many there were and, on a page, when each of them ran and what it found.
func trialsBlock(c *comparison, d *Document, f form) block {
	s := sec("trials", "Trials", para{Text: trialsText(c.r)})
	if f != asPage {
		lost := bullets{Mark: markFor(stat.Invalid).Sign, Items: each(lostTrials(c.r), func(t trial.Trial) item {
			return item{Name: c.trialName(t), Text: t.Invalid}
		})}
		s.Body = append(s.Body, lost)
		return s
	}
	if len(c.r.Trials) > 0 {
		s.Body = append(s.Body, drawn(figure{Order: true}, func(z size) svg { return drawTimeline(c, "order", z) }))
	}
	s.Body = append(s.Body, fold{"Every verdict in detail", []block{verdictTable(c)}},
		fold{"All trials, in the order in which they ran", []block{trialTable(c, d)}})
	return s
}

// surroundingsBlock are the facts that were the same in all trials, and what is known of those that were not.
func surroundingsBlock(c *comparison, f form) block {
	var body []block
	n := 0
	for _, g := range environmentOf(c.r) {
		n += len(g.Facts)
		if f != asPage && len(g.Facts) > manyFacts {
			s := g.Name + ": " + count(len(g.Facts), "fact", "facts") + ", see the HTML or the JSON"
			body = append(body, para{s, true})
			continue
		}
		body = append(body, fold{g.Name + " (" + strconv.Itoa(len(g.Facts)) + ")", []block{facts(g.Facts)}})
	}
	if n > 0 {
		body = append([]block{para{count(n, "fact was", "facts were") + " the same in all trials.", true}}, body...)
	}
	if n := len(c.r.Explained); n > 0 && f == asPage {
		title := "Differs because an axis says so or brings it along (" + strconv.Itoa(n) + ")"
		body = append(body, fold{title, []block{differencesOf(c, c.r.Explained)}})
	} else if n > 0 {
		s := count(n, "fact differs", "facts differ") + " because the axes set it or imply it."
		body = append(body, para{s, true})
	}
	return sec("env", "Environment", append(body, sentences("", "small", unreadOf(c.r)))...)
}

// trialName says which trial t is, and variantOf of which variant.
func (c *comparison) trialName(t trial.Trial) string {
	return fmt.Sprintf("trial %d, round %d, %s", t.Seq, t.Round, c.variantOf(t))
}

func (c *comparison) variantOf(t trial.Trial) string {
	return c.name(t.Variant) + map[bool]string{true: " (against itself)"}[t.Control]
}

// verdictTable tells everything about each comparison.
func verdictTable(c *comparison) table {
	t := table{
		Head: []string{
			"variant", "verdict", "ratio (above ×1 is better)", "interval", "its confidence", "pairs",
			"pairs that favour it", "p, adjusted", "decided after",
		},
		Left: 2,
	}
	if c.r.Unpaired {
		t.Head[5], t.Head[6] = samplesText(c.r), "share of any two trials that favours it"
	}
	for _, x := range c.ordered() {
		v := x.cell.Verdict
		if v == nil {
			continue
		}
		m := markFor(v.Result)
		row := append([]string{x.label, spaced(m.Sign, m.Word)}, slices.Repeat([]string{none}, 7)...)
		if v.Ratio.N > 0 {
			row[5] = strconv.Itoa(v.Ratio.N)
		}
		if v.Ratio.N > 0 && v.Result != stat.Invalid {
			center, bounds := ratioText(v.Ratio)
			row[2] = center
			if bounds != "" {
				row[3], row[4] = bounds, unit.Percent(v.Ratio.Confidence)
			}
			row[6] = unit.Percent(v.Favour)
			if v.Adjusted > 0 {
				row[7] = probability(v.Adjusted)
			}
		}
		if v.Closed > 0 {
			row[8] = count(v.Closed, "round", "rounds")
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func probability(p float64) string {
	if p < 0.001 {
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// trialTable lists all trials in the order in which they ran.
func trialTable(c *comparison, d *Document) table {
	t := table{Head: []string{"no.", "round", "variant", "began", "set up", "warm-up", "measured"}, Left: 3, Tail: 1}
	ms := each(c.show, c.metric)
	t.Head = append(append(t.Head, each(ms, Metric.head)...), "remarks")
	seconds := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " s" }
	for _, x := range c.r.Trials {
		row := []string{
			strconv.Itoa(x.Seq), strconv.Itoa(x.Round), c.variantOf(x), d.offset(x.From), seconds(x.Setup),
			seconds(x.Warm), seconds(x.To.Sub(x.From).Seconds()),
		}
		for _, m := range ms {
			v := none
			if y, ok := x.Values[m.Name]; ok {
				v = m.cell(y)
			}
			row = append(row, v)
		}
		var remarks []string
		if x.Invalid != "" {
			remarks = append(remarks, "does not count: "+x.Invalid)
		}
		if len(x.Errors) > 0 {
			remarks = append(remarks, errorsText(x))
		}
		t.Rows = append(t.Rows, append(row, strings.Join(append(remarks, x.Warnings...), "; ")))
	}
	return t
}

func errorsText(t trial.Trial) string {
	return "errors: " + strings.Join(each(slices.Sorted(maps.Keys(t.Errors)), func(k string) string {
		return fmt.Sprintf("%d × %s", t.Errors[k], k)
	}), ", ")
}
