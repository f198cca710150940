package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/plan"
	"github.com/dyno-perf/dyno/internal/stat"
	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// Comparison returns the document of a result: its title, sentence, verdict, warnings, how it was done and how to
// repeat it. Commands come before those that follow from the result itself. The result is not copied.
func Comparison(r *trial.Result, at time.Time, commands ...Command) *Document {
	d := &Document{
		Kind: Compare, ID: r.ID, Title: cmp.Or(r.Plan.Title, r.Plan.Name, "Comparison"), Sentence: r.Sentence,
		At: at, From: r.Started, To: r.Ended, Comparison: r, Verdict: onlyVerdict(r),
		Warnings: slices.Clone(r.Warnings), Place: Place{Dyno: r.Dyno, Settings: methodOf(r)}, Commands: commands,
	}
	if r.Stopped != "" {
		d.Warnings = append(d.Warnings, "Ended early: "+r.Stopped)
	}
	if plain(r.Plan.Name) && r.PlanText != "" {
		d.Commands = append(d.Commands, Command{"The same plan again, saved from this report", "dyno compare " +
			r.Plan.Name + ".yaml"})
	}
	if plain(r.ID) {
		d.Commands = append(d.Commands, Command{"This report as a page", "dyno report " + r.ID +
			" --format html > " + r.ID + ".html"})
	}
	return d
}

// plain reports whether s may stand in a command line as it is.
func plain(s string) bool {
	return s != "" && s[0] != '-' &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// onlyVerdict is that of the one comparison of a result; nil when there are more.
func onlyVerdict(r *trial.Result) *stat.Verdict {
	cells := slices.DeleteFunc(slices.Clone(r.Cells), func(c trial.Cell) bool { return c.Verdict == nil })
	if len(cells) != 1 || len(r.Variants) > 2 || r.Verdict != "" && cells[0].Verdict.Result != r.Verdict {
		return nil
	}
	return cells[0].Verdict
}

// methodOf is how a result was reached, for people.
func methodOf(r *trial.Result) facts {
	var fs facts
	p, t := r.Plan, r.Plan.Trials
	sec := func(d plan.Duration) string { return unit.Duration(time.Duration(d)) }
	fs.add("plan", p.Name)
	if t.Time > 0 {
		s := sec(t.Time) + " measured"
		if t.WarmMax > 0 {
			s += " after a warm-up of " + sec(t.WarmMin) + " to " + sec(t.WarmMax)
		}
		fs.add("each trial", s)
	}
	if t.Max > 0 {
		planned := strconv.Itoa(t.Max)
		if t.Min != t.Max {
			planned = strconv.Itoa(t.Min) + " to " + planned
		}
		fs.add("rounds", fmt.Sprintf("%d run, %s planned; random order within each (seed %d)",
			rounds(r), planned, t.Seed))
	}
	if t.Margin > 0 {
		fs.add("the same is", "a ratio within ±"+unit.Percent(t.Margin)+", as sure as "+
			unit.Percent(cmp.Or(t.Conf, stat.DefaultConfidence)))
	}
	fs.add("each trial begins with", map[plan.Fresh]string{
		plan.FreshData:   "restored data and a restarted server",
		plan.FreshServer: "a restarted server on the data as they are",
		plan.FreshLive:   "the running server under its running load",
		plan.FreshNone:   "the running server",
	}[t.Fresh])
	if t.Fresh == plan.FreshLive && t.Turns > 0 {
		fs.add("turns", "the variants of a round are interleaved in slices of "+
			unit.Seconds(time.Duration(t.Turns).Seconds())+" on it, in random order")
	}
	if t.DropCaches {
		fs.add("before each trial", "the kernel's caches are dropped")
	}
	if t.Settle {
		fs.add("before each trial", "the server has stopped writing")
	}
	fs.add("placement", map[plan.PlacementMode]string{
		plan.Split:  "server and client on separate CPUs",
		plan.Shared: "server and client on the same CPUs",
		plan.Given:  "server on CPUs " + p.Placement.Server + ", client on " + p.Placement.Client,
		plan.Free:   "left to the kernel: figures may jump by a factor of two between trials",
	}[p.Placement.Mode])
	return fs
}

// rounds is how many rounds of trials were begun.
func rounds(r *trial.Result) (n int) {
	for _, t := range r.Trials {
		n = max(n, t.Round)
	}
	return n
}

// comparison is a result laid out as its plan's table says.
type comparison struct {
	r       *trial.Result
	show    []string
	texts   []string   // shown values that are short texts
	rows    [][]string // levels of rowAxes
	cols    [][]string
	rowAxes []string
	colAxes []string
	cells   map[string]cellView // by row and column, see at
	byKey   map[string]cellView // by variant
	info    map[string]Metric
}

func label(axes, levels []string) string { return strings.Join(named(axes, levels), " · ") }

// cellView is one variant with what is known about it.
type cellView struct {
	there    bool // the plan has this variant
	variant  plan.Variant
	cell     trial.Cell
	baseline bool
	label    string
	levels   []string // of the rows' axes, then of the columns'
	// others are comparisons with it; a baseline that nothing is compared with is called no baseline.
	others int
}

func newComparison(r *trial.Result) *comparison {
	c := &comparison{r: r, cells: map[string]cellView{}, byKey: map[string]cellView{}, info: map[string]Metric{}}
	var used []string
	pick := func(names []string) []string {
		from := len(used)
		for _, n := range names {
			if slices.Contains(axisNames(c.r), n) && !slices.Contains(used, n) {
				used = append(used, n)
			}
		}
		return slices.Clone(used[from:])
	}
	c.rowAxes, c.colAxes = pick(r.Plan.Table.Rows), pick(r.Plan.Table.Columns)
	c.rowAxes = append(c.rowAxes, pick(axisNames(c.r))...) // what the table forgets
	others := map[string]int{}
	for _, v := range r.Variants {
		if v.Baseline != v.Key {
			others[v.Baseline]++
		}
	}
	distinct := func(all [][]string, axes, levels []string) [][]string {
		if !slices.ContainsFunc(all, func(x []string) bool { return slices.Equal(x, levels) }) {
			all = append(all, levels)
		}
		slices.SortStableFunc(all, func(a, b []string) int { return levelOrder(c.r, axes, a, b) })
		return all
	}
	for _, v := range r.Variants {
		level := func(axis string) string { return v.Levels[axis] }
		row, col := each(c.rowAxes, level), each(c.colAxes, level)
		if len(row)+len(col) == 0 {
			row = []string{cmp.Or(v.Key, "base")}
		}
		x := cellView{
			there: true, variant: v, baseline: v.Baseline == v.Key, others: others[v.Key],
			levels: slices.Concat(row, col),
		}
		if i := slices.IndexFunc(r.Cells, func(k trial.Cell) bool { return k.Variant == v.Key }); i >= 0 {
			x.cell = r.Cells[i]
		}
		x.label = label(slices.Concat(c.rowAxes, c.colAxes), x.levels)
		c.rows, c.cols = distinct(c.rows, c.rowAxes, row), distinct(c.cols, c.colAxes, col)
		c.cells[strings.Join(x.levels, "\x1f")] = x
		c.byKey[v.Key] = x
	}
	c.show = slices.Clone(r.Plan.Table.Show)
	if len(c.show) == 0 {
		c.show = c.guess()
	}
	for i, name := range c.show {
		u := ""
		if i == 0 {
			u = r.Plan.Table.Unit
		}
		c.info[name] = metricOf(name, u)
		if of, ok := c.info[strings.TrimSuffix(name, "_predicted")]; ok && of.Name != name && !trial.Known(name) {
			// what arithmetic says of a value
			c.info[name] = Metric{name, of.Title + ", predicted", of.Unit, of.Better}
		}
	}
	// Texts have tables of their own when they are short; the longer ones are listed at the end.
	c.show = slices.DeleteFunc(c.show, func(name string) bool {
		text, long := textual(c.byKey, name)
		if text && !long {
			c.texts = append(c.texts, name)
		}
		return text
	})
	return c
}

// levelOrder compares levels of some axes by their places in the plan.
func levelOrder(r *trial.Result, axes, a, b []string) int {
	for i, axis := range axes {
		at := func(level string) int {
			return slices.IndexFunc(axisOf(r, axis).Levels, func(l plan.Level) bool { return l.Name == level })
		}
		if d := at(a[i]) - at(b[i]); d != 0 {
			return d
		}
	}
	return 0
}

// axisOf is the axis of that name, without levels where there is none.
func axisOf(r *trial.Result, name string) (a plan.Axis) {
	if i := slices.Index(axisNames(r), name); i >= 0 {
		a = r.Plan.Axes[i]
	}
	return a
}

// shortText is the longest text that stands in a table.
const shortText = 40

// textual reports whether a value is no number but a text, and whether it is too long for a table.
func textual(byKey map[string]cellView, name string) (text, long bool) {
	for _, x := range byKey {
		if _, ok := x.cell.Values[name]; ok {
			return false, false
		}
		if s, ok := x.cell.Texts[name]; ok {
			text = true
			long = long || strings.Contains(s, "\n") || cells(s) > shortText
		}
	}
	return text, long
}

// named puts the axis before levels that are bare numbers: "threads 64".
func named(axes, levels []string) []string {
	out := slices.Clone(levels)
	for i, l := range out {
		if i < len(axes) && l != "" && strings.Trim(l, "0123456789.,-+") == "" {
			out[i] = axes[i] + " " + l
		}
	}
	return out
}

// guess names the value that a result without a table is about.
func (c *comparison) guess() []string {
	for _, x := range c.r.Cells {
		if x.Verdict != nil && x.Verdict.Metric != "" {
			return []string{x.Verdict.Metric}
		}
	}
	names := slices.DeleteFunc([]string{"tps", "qps", "ms"}, func(n string) bool { return !c.any(n) })
	return names[:min(1, len(names))]
}

func (c *comparison) at(row, col []string) cellView {
	return c.cells[strings.Join(slices.Concat(row, col), "\x1f")]
}

func (c *comparison) metric(name string) Metric {
	if m, ok := c.info[name]; ok {
		return m
	}
	return metricOf(name, "")
}

// main is the value that the verdicts are about.
func (c *comparison) main() string {
	if len(c.show) == 0 {
		return ""
	}
	return c.show[0]
}

// title is the head of the complete table.
func (c *comparison) title() string {
	m := c.metric(c.main())
	t := m.head()
	if m.Better == Less {
		t += " (lower is better)"
	}
	if c.compared() {
		t += ", and ratio to the baseline"
	}
	return capital(cmp.Or(t, "Variants"))
}

// flat reports whether the table has one column only, so that its values take the columns.
func (c *comparison) flat() bool { return len(c.cols) <= 1 && len(c.colAxes) == 0 }

// ordered are the cells row by row.
func (c *comparison) ordered() (out []cellView) {
	for _, row := range c.rows {
		for _, col := range c.cols {
			if x := c.at(row, col); x.there {
				out = append(out, x)
			}
		}
	}
	return out
}

// sign is how a cell came out: one character that needs no colour, a word, and a class of the page.
type sign struct{ Sign, Word, Class string }

const signFailed = "✗"

// signs of results and of what failed, in the order of the legend.
var outcomes = []sign{
	{"▲", "better", "c-better"},
	{"▼", "worse", "c-worse"},
	{"=", "same", "c-same"},
	{"~", "unstable", "c-unstable"},
	{"!", "invalid", "c-invalid"},
	{signFailed, "failed", "c-failed"},
}

func markFor(r stat.Result) (m sign) {
	if i := slices.IndexFunc(outcomes, func(m sign) bool { return m.Word == string(r) }); i >= 0 {
		m = outcomes[i]
	}
	return m
}

// mark returns the cell's; the zero one when there is nothing to say.
func (x cellView) mark() sign {
	switch {
	case !x.there:
		return sign{}
	case x.cell.Failed != "":
		return markFor("failed")
	case x.cell.Verdict != nil:
		return markFor(x.cell.Verdict.Result)
	default:
		return sign{}
	}
}

// parts returns the texts of the value name. Only the first value has verdicts; an invalid one holds for all values.
func (c *comparison) parts(x cellView, name string) LaidFigure {
	if !x.there {
		return LaidFigure{Value: "·"}
	}
	p := LaidFigure{Value: none}
	first := name == c.main()
	if first {
		p.Mark = x.mark()
	}
	m := c.metric(name)
	if v, ok := x.cell.Values[name]; ok {
		p.Value, p.N, p.At = m.cell(v.Center), v.N, some(v)
		if v.Confidence > 0 {
			p.Interval = rangeText(m.cell(v.Lo), m.cell(v.Hi))
		}
	}
	switch {
	case x.cell.Failed != "":
		p.Note = "failed"
		return p
	case x.cell.Trials == 0 && p.N == 0:
		p.Note = "not run yet"
		return p
	case p.N == 0 && x.cell.Valid == 0:
		p.Note = "no valid trial"
		return p
	case x.baseline:
		if x.others > 0 {
			p.Note = "baseline"
		}
		return p
	}
	if i, ok := c.ratio(x, name); ok {
		p.Ratio, p.Bounds = ratioText(i)
		p.RatioN, p.Of = i.N, &i
	} else if first || p.N > 0 && x.invalid() {
		p.Note = x.mark().Word
	}
	return p
}

// invalid reports whether the comparison broke its own conditions. That holds for every value, not only for the one of
// the verdict.
func (x cellView) invalid() bool {
	return x.cell.Verdict != nil && x.cell.Verdict.Result == stat.Invalid
}

// ratio is variant ÷ baseline of a value, whichever way is better. Of the first value it is the verdict's, whose
// interval is the one that was decided by. An invalid comparison has none.
func (c *comparison) ratio(x cellView, name string) (stat.Interval, bool) {
	if x.invalid() {
		return stat.Interval{}, false
	}
	if name == c.main() {
		if v := x.cell.Verdict; v != nil {
			if v.Ratio.N == 0 || v.Ratio.Center <= 0 {
				return stat.Interval{}, false
			}
			if c.metric(name).Better == Less {
				return v.Ratio.Inverse(), true
			}
			return v.Ratio, true
		}
	}
	i, ok := x.cell.Ratios[name]
	return i, ok && i.N > 0 && i.Center > 0
}

// ratioText writes a ratio and its bounds with three digits, or one decimal more when the interval is narrower than
// that tells. A ratio below a tenth is written as a division.
func ratioText(i stat.Interval) (center, bounds string) {
	sign, f := "×", unit.Ratio
	switch {
	case i.Center > 0 && i.Center < 0.1:
		sign, i = "÷", i.Inverse()
	case i.Center < 5 && i.Confidence > 0 && i.Hi-i.Lo < 0.02:
		f = func(v float64) string { return "×" + strconv.FormatFloat(v, 'f', 3, 64) }
	}
	bare := func(v float64) string { return strings.TrimPrefix(f(v), "×") }
	if i.Confidence > 0 {
		hi := "…"
		if i.Hi < 1e15 {
			hi = bare(i.Hi)
		}
		bounds = bare(i.Lo) + "–" + hi
	}
	return sign + bare(i.Center), bounds
}

// around writes a range behind the value that it belongs to; one that is all the same is left out.
func around(value, bounds string) string {
	bare := strings.TrimLeft(value, "×÷")
	if bounds == "" || bounds == bare+"–"+bare {
		return value
	}
	return value + " (" + bounds + ")"
}

// rangeText joins bounds; of a shared unit only the last is kept: "1.21–1.25 GiB".
func rangeText(lo, hi string) string {
	if lo == hi {
		return lo + "–" + lo
	}
	a, ua, ok1 := strings.Cut(lo, " ")
	_, ub, ok2 := strings.Cut(hi, " ")
	if ok1 && ok2 && ua == ub {
		return a + "–" + hi
	}
	return lo + "–" + hi
}

// used are the marks that the table has, in the order of the legend.
func (c *comparison) used() []sign {
	have := map[string]bool{}
	for _, x := range c.byKey {
		have[x.mark().Word] = true
	}
	return slices.DeleteFunc(slices.Clone(outcomes), func(m sign) bool { return !have[m.Word] })
}

// legendOf explains the table's signs, each with its words.
func legendOf(c *comparison) (out []string) {
	margin := ""
	if m := c.r.Plan.Trials.Margin; m > 0 {
		margin = " (within ±" + unit.Percent(m) + ")"
	}
	for _, m := range c.used() {
		s := m.Sign + " " + m.Word
		switch m.Word {
		case "same":
			s += margin
		case "unstable":
			s += " (not decided: the interval allows more than one answer)"
		case "invalid":
			s += " (the measurement broke its own conditions)"
		}
		out = append(out, s)
	}
	if c.confidence() > 0 {
		out = append(out, "a–b interval of "+unit.Percent(c.confidence())+" or more")
	}
	for _, x := range c.byKey {
		if v := x.cell.Verdict; v != nil && v.Confidence > 0 && len(c.byKey) > 2 {
			out = append(out, "all verdicts together hold with "+unit.Percent(v.Confidence))
			break
		}
	}
	if c.usual(c.show...) > 0 {
		s := "n trials that count"
		if c.compared() {
			s += "; next to a ratio: " + samplesText(c.r)
		}
		out = append(out, s)
	}
	if c.holes() {
		out = append(out, "· left out by the plan")
	}
	return out
}

// confidence is what the intervals hold at least.
func (c *comparison) confidence() float64 {
	least := 0.0
	see := func(v float64) {
		if v > 0 && (least == 0 || v < least) {
			least = v
		}
	}
	for _, x := range c.byKey {
		for _, n := range c.show {
			see(x.cell.Values[n].Confidence)
			if i, ok := c.ratio(x, n); ok {
				see(i.Confidence)
			}
		}
	}
	return least
}

func (c *comparison) compared() bool {
	return slices.ContainsFunc(c.ordered(), func(x cellView) bool { _, ok := c.ratio(x, c.main()); return ok })
}

func (c *comparison) holes() bool { return len(c.byKey) < len(c.rows)*len(c.cols) }

// tallyOf counts how the comparisons came out.
func tallyOf(c *comparison) (out []LaidTally) {
	n := map[string]int{}
	for _, x := range c.byKey {
		n[x.mark().Word]++
	}
	for _, m := range c.used() {
		out = append(out, LaidTally{m.Sign, m.Word, n[m.Word], m.Class})
	}
	return out
}

func (t LaidTally) text() string { return t.Sign + " " + strconv.Itoa(t.N) + " " + t.Word }

// controlText says what came out when the baseline was set against itself; odd when that puts the rest in doubt.
func controlText(r *trial.Result) (s string, m sign, odd bool) {
	v := r.Control
	if v == nil {
		switch {
		case r.Plan.Trials.NoControl:
			return "", m, false
		case len(r.Trials) == 0:
			return "A/A control: not run yet", m, false
		default:
			return "A/A control: not measured, so how much two equal servers differ is unknown", m, true
		}
	}
	m = markFor(v.Result)
	s = "A/A control: " + cmp.Or(m.Word, "unknown")
	if v.Ratio.N > 0 {
		ratio, bounds := ratioText(v.Ratio)
		s += ", " + ratio
		if bounds != "" {
			s += " (" + strings.Replace(bounds, "–", " to ", 1) + ")"
		}
		s += ", " + count(v.Ratio.N, "round", "rounds")
	}
	switch v.Result {
	case stat.Same:
	case stat.Better, stat.Worse:
		odd = true
		s += ". Two equal servers differ by that much here: do not trust smaller differences"
	case stat.Unstable:
		s += ". The noise is larger than the margin"
	default:
		odd = true
	}
	return s, m, odd
}

// correctionText says what was done about the speed of the CPUs; "" when it was not measured or could not be told.
func correctionText(c *comparison) string {
	x := c.r.Correction
	switch {
	case x == nil:
		return ""
	case !x.Used && len(x.Only) > 0:
		return "Unless noted, ratios are as measured: " + x.Why
	case !x.Used:
		return "Ratios are as measured: " + x.Why
	}
	shown, raw := 0, 0
	for _, y := range c.byKey {
		if _, ok := c.ratio(y, c.main()); ok {
			shown++
			if !corrected(c.r, y) {
				raw++
			}
		}
	}
	of := "Ratios are corrected"
	switch {
	case raw == 0:
	case raw < shown:
		of = "Unless noted, ratios are corrected"
	case c.r.Control != nil:
		of = "Only the control is corrected"
	default:
		of = "No ratio is corrected"
	}
	return of + " for the speed of the CPUs, measured during the load: it alone made the rate vary by ±" +
		unit.Percent(x.Spread) +
		" (correlation " + strconv.FormatFloat(x.Fit, 'f', 2, 64) + ", " + count(x.Blocks, "block", "blocks") + ")"
}

// corrected reports whether the comparison of a cell is corrected for the speed of the CPUs.
func corrected(r *trial.Result, x cellView) bool {
	y := r.Correction
	return y != nil && (y.Used && !slices.Contains(y.Except, x.variant.Key) || slices.Contains(y.Only, x.variant.Key))
}

// problemsOf are the reasons of cells that failed and the remarks of verdicts, in the order of the table; cells that
// share one share its line.
func problemsOf(c *comparison) []item {
	type remark struct{ word, text string }
	var g groups[remark]
	var all []string
	add := func(x cellView, text string) {
		k := remark{x.mark().Word, text}
		if strings.HasPrefix(text, "only ") { // too few pairs are too few, whatever came out
			k.word = ""
		}
		g.add(k, x.variant.Key)
	}
	for _, x := range c.ordered() {
		all = append(all, x.variant.Key)
		if x.cell.Failed != "" {
			add(x, x.cell.Failed)
		} else if v := x.cell.Verdict; v != nil {
			for _, t := range v.Reasons {
				add(x, t)
			}
		}
	}
	return each(g.order, func(k remark) item {
		return item{Sign: c.byKey[g.by[k][0]].mark(), Name: c.those(g.by[k], all), Text: k.text}
	})
}

// lostTrials are the trials that do not count.
func lostTrials(r *trial.Result) []trial.Trial {
	return slices.DeleteFunc(slices.Clone(r.Trials), func(t trial.Trial) bool { return t.Invalid == "" })
}

// trialsText is how many trials there were.
func trialsText(r *trial.Result) string {
	if len(r.Trials) == 0 {
		return "No trials yet."
	}
	s := count(len(r.Trials), "trial", "trials")
	s += " in " + count(rounds(r), "round", "rounds")
	if n := len(lostTrials(r)); n > 0 {
		s += ", of which " + strconv.Itoa(n) + " " + map[bool]string{true: "does", false: "do"}[n == 1] + " not count"
	}
	return s + "."
}

// name is the label of a variant by its key.
func (c *comparison) name(key string) string {
	if x, ok := c.byKey[key]; ok {
		return x.label
	}
	return key
}

// comparisonHeadline is that of the only comparison, with the ratio as the table shows it.
func comparisonHeadline(c *comparison, v stat.Verdict) headline {
	m := c.metric(c.main())
	of := m.Title
	i := v.Ratio
	if m.Better == Less {
		of += " (lower is better)"
		i = i.Inverse()
	}
	if v.Ratio.N == 0 || v.Ratio.Center <= 0 {
		return newHeadline(v, of, "", "", "")
	}
	center, bounds := ratioText(i)
	if bounds != "" {
		sign := string([]rune(center)[:1])
		bounds = sign + strings.Replace(bounds, "–", " to "+sign, 1)
	}
	samples := count(i.N, "pair", "pairs") + " of trials"
	if c.r.Unpaired {
		samples = strconv.Itoa(i.N) + " trials or more a side"
	}
	return newHeadline(v, of, center, bounds, samples)
}

// samplesText are what the number beside a ratio counts.
func samplesText(r *trial.Result) string {
	if r.Unpaired {
		return "trials of the side that has fewer"
	}
	return "pairs of trials"
}
