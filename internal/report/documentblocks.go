package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/journal"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/unit"
)

// blocks are what the document tells, in the order in which it is read. Only pictures and what waits behind a fold
// differ by form.
func (d *Document) blocks(f form) []block {
	bs := []block{d.hero()}
	if d.Comparison != nil {
		bs = append(bs, comparisonBlocks(newComparison(d.Comparison), d, f)...)
	}
	bs = append(bs, sec("live", "Before and after, on live traffic", d.live(f)...))
	bs = append(bs, sec("measures", "Before and after", d.cards()))
	charts := sec("charts", "Over time", d.charts(f))
	if d.Kind != Diagnosis { // whose charts only illustrate the findings
		bs = append(bs, charts)
	}
	for i, x := range d.Findings {
		bs = append(bs, d.finding(x, i+1))
	}
	bs = append(bs, sec("judged", "Diagnosis, step by step", tree(d.Reasoning)))
	if d.Kind == Diagnosis {
		bs = append(bs, charts)
	}
	if c := d.Change; c != nil {
		undo := "To undo"
		if c.UndoCommand != "" {
			undo = "To undo, in SQL"
		}
		notes := moments(each(c.Notes, func(n journal.Note) moment { return moment{d.offset(n.At), "t-note", n.Text} }))
		bs = append(bs, sec("change", "The change", para{Text: changeText(*c)}, code{"", "sql", c.SQL},
			code{"To undo", "sh", c.UndoCommand}, code{undo, "sql", c.Undo}, notes))
	}
	if e := d.Experiment; e != nil {
		body := []block{para{Text: e.method()}, d.forest(f)}
		windows := fold{"All windows, in the order they were measured", []block{d.windows()}}
		switch f {
		case asText:
		case asMarkdown:
			body = append(body, e.pairTable(), windows)
		case asPage:
			body = append(body, fold{"Pairs as a table", []block{e.pairTable()}}, windows)
		}
		bs = append(bs, sec("exp", "Experiment", body...))
	}
	classes := sec("cls", "Query classes")
	for _, c := range d.Classes {
		classes.Body = append(classes.Body, code{"", "sql", c.Fingerprint}, para{classMeta(c), true}, c.figures())
	}
	bs = append(bs, classes)
	if d.Run != nil {
		bs = append(bs, sec("run", "Run", runTable(d.Run)))
	}
	unseen := bullets{Items: each(d.unobserved(), func(s source.Source) item {
		return item{Text: sourceText(s), Fix: s.Fix}
	})}
	bs = append(bs, sec("story", "Events", moments(each(d.Story, d.happened))),
		sec("place", "Where and when", d.place()),
		sec("unseen", "Not observed", unseen), sec("warnings", "Warnings", sentences("!", "warn", d.Warnings)))
	bs = append(bs, sec("cmd", "Commands", each(d.Commands, func(c Command) block {
		return code{c.Text, "sh", c.Line}
	})...))
	if d.Comparison != nil && f == asPage {
		bs = append(bs, sec("plan", "The plan", fold{"As it was written", []block{code{Text: d.Comparison.PlanText}}}))
	}
	return kept(bs)
}

func (d *Document) hero() hero {
	x := hero{Sentence: d.Sentence}
	if h, ok := d.headline(); ok {
		x.Headline, x.Reasons = &h, d.Verdict.Reasons
	}
	if d.Comparison == nil {
		return x
	}
	c := newComparison(d.Comparison)
	if d.Verdict == nil {
		x.Tally = tallyOf(c)
	}
	if s, m, odd := controlText(c.r); s != "" {
		x.Notes = append(x.Notes, note{m, s + ".", odd})
	}
	if s := correctionText(c); s != "" {
		x.Notes = append(x.Notes, note{Text: s + "."})
	}
	return x
}

func (d *Document) finding(f finding.Finding, n int) section {
	measured, said := evidence(f)
	why := bullets{Mark: "?", Class: "why", Items: each(f.Why, func(r finding.Reason) item {
		return item{Name: r.Ask, Text: reasonText(r)}
	})}
	s := section{
		Class: "finding " + severityClass(f.Severity), Badge: string(f.Severity), Over: "Finding " + strconv.Itoa(n),
		Title: f.Title,
	}
	s.Body = []block{
		para{findingMeta(f), true},
		para{Text: f.Cause},
	}
	s.Body = append(s.Body, d.statements(f)...)
	s.Body = append(s.Body,
		part("Evidence", measured, sentences("", "facts-text", said)), part("Reasoning", why),
		part("Also explains", sentences("", "", f.Merged)), part("Counter-evidence", sentences("", "", f.Against)),
		part("Data unavailable", sentences("", "", f.Unobserved)), part("What to do", findingTail(f)))
	if d.Change != nil {
		return s
	}
	if a := f.Action; a != nil {
		s.Body = append(s.Body, code{"The change it suggests", "sql", a.SQL}, code{"To undo", "sql", a.Undo})
	}
	s.Body = append(s.Body, code{"To keep it, " + forGood(f), "ini", strings.Join(f.Setting, "\n")})
	return s
}

// mostStatements is how many statements of a finding are shown: it is about the first most.
const mostStatements = 3

// statements are those that a finding is about.
func (d *Document) statements(f finding.Finding) (out []block) {
	for _, id := range f.Subject.Classes {
		i := slices.IndexFunc(d.Statements, func(x Statement) bool { return x.Class == id })
		if i < 0 || len(out) == mostStatements {
			continue
		}
		x := d.Statements[i]
		out = append(out, code{dotted("Statement", x.Schema, x.Class), "sql", x.Fingerprint})
	}
	return out
}

// cards are the measures before and after.
func (d *Document) cards() cards {
	return cards{d.measures(), each(d.Measures, func(m Measure) card { return newCard(d, m) })}
}

func (d *Document) charts(f form) (x drawing) {
	switch {
	case len(d.Charts) == 0:
	case f != asPage:
		x.Chars = func(p *textPage) { p.chartLines(d) }
	default:
		from, to := d.span()
		m := marksOf(d, from, to)
		for i, c := range d.Charts {
			x.Figures = append(x.Figures, newFigure(c, "c"+strconv.Itoa(i), m, from, to))
		}
	}
	return x
}

// forest is the picture of the experiment's pairs; Markdown has their table.
func (d *Document) forest(f form) (x drawing) {
	switch f {
	case asText:
		x.Chars = func(p *textPage) { p.forest(d) }
	case asMarkdown:
	case asPage:
		if f, ok := newForest(d); ok {
			l := f.ladder(d)
			return drawn(figure{Title: l.Title, Note: f.note}, func(z size) svg { return l.draw("pairs", z) })
		}
	}
	return x
}

// happened is a step of the story.
func (d *Document) happened(s Step) moment {
	sign, ok := map[StepState]string{StepDone: "✓ ", StepFailed: "✗ failed: ", StepSkipped: "– skipped: "}[s.State]
	if !ok {
		s.State = "note"
	}
	return moment{d.offset(s.At), "t-" + string(s.State), sign + s.Text}
}

// forGood says where the lines of a finding go.
func forGood(f finding.Finding) string {
	s := "in " + cmp.Or(f.File, "my.cnf")
	if f.File == "" || f.File == "my.cnf" {
		s += " under [mysqld]"
	}
	if f.Restart {
		s += ", and restart the server"
	}
	return s
}

// findingMeta is the small print of a finding.
func findingMeta(f finding.Finding) string {
	parts := []string{f.ID, string(f.Confidence)}
	if f.Share > 0 {
		parts = append(parts, unit.Percent(f.Share)+" of the server's statement time")
	}
	first := func(list []string, what string) []string {
		if n := len(list) - 5; n > 0 {
			return append(list[:5], fmt.Sprintf("and %d more %s", n, what))
		}
		return list
	}
	tables := each(f.Subject.Tables, schema.Ref.String)
	sessions := each(f.Subject.Sessions, func(id uint64) string { return fmt.Sprintf("session %d", id) })
	return dotted(slices.Concat(parts, first(tables, "tables"), f.Subject.Variables, first(sessions, "sessions"))...)
}

// dotted sets parts beside each other, without those that are empty.
func dotted(parts ...string) string { return joined(" · ", parts...) }

func joined(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), between)
}

func reasonText(r finding.Reason) string {
	if r.Source == "" {
		return r.Answer
	}
	return r.Answer + " (" + string(r.Source) + ")"
}

// findingTail is what to do about a finding and what that means.
func findingTail(f finding.Finding) facts {
	var fs facts
	fs.add("suggestion", f.Suggestion)
	fs.add("cost", f.Cost)
	if g := f.Gain; g != nil {
		t := g.Text
		if t == "" {
			t = fmt.Sprintf("%s: %s to %s", g.What, unit.Ratio(g.Lo), unit.Ratio(g.Hi))
		}
		fs.add("expected", t)
	}
	if f.Tested != nil {
		fs.add("tested", f.Tested.Text)
	}
	fs.add("to disprove", f.Falsify)
	fs.add("applies to", f.Valid)
	fs.add("see", f.Reference)
	return fs
}

// changeText says what was changed and how that went.
func changeText(c AppliedChange) string {
	took := told(c.TookSec, "", func(v float64) string { return " in " + unit.Seconds(v) })
	s := dotted(c.Text, string(c.State)) + took
	if c.Journal != "" {
		s = dotted(s, "journal "+c.Journal)
	}
	if c.By != "" {
		s = dotted(s, "requested by "+c.By+", in the web UI")
	}
	return s
}

func classMeta(c ClassChange) string {
	origin, sampled := "", ""
	if c.Origin != "" {
		origin = "from " + string(c.Origin)
	}
	if c.Sampled {
		sampled = "sampled: shares are estimates, rows examined and sent are lower bounds"
	}
	return dotted(c.ID, c.Schema, origin, sampled)
}
