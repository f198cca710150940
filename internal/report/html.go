package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"dyno/internal/finding"
	"dyno/internal/snapshot"
	"dyno/internal/stat"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// HTML writes the document as one page that needs nothing else: no request leaves it, and its policy allows only the style and
// the script that are in it. It follows the reader's light or dark setting and works without the script.
func HTML(w io.Writer, d *Document) error {
	t, err := template.New("page").Funcs(template.FuncMap{
		"offset": d.offset,
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("BUG: parse the page's template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, newPage(shown(d))); err != nil {
		return fmt.Errorf("render report %s: %w", d.ID, err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// page is what the template draws. Texts in it are plain; the template escapes them.
type page struct {
	Policy   string
	CSS      template.CSS
	JS       template.JS
	D        *Document
	Kind     string
	At       string
	Headline *headlineView
	Reasons  []string
	Cards    []card
	Measures table
	Figures  []figure
	Findings []findingView
	// FindingsFirst puts the findings before the charts.
	FindingsFirst bool
	ChangeText    string
	Classes       []classView
	Method        string
	Forest        *figure
	Pairs         table
	Windows       table
	Run           []Fact
	Story         []stepView
	Place         []Fact
	Unseen        []unseen
	Comparison    *comparisonView
}

type headlineView struct {
	headline
	Class, Sign string
}

// card is one measure with bars to scale.
type card struct {
	Title, Before, After string
	BeforeName           string
	AfterName            string
	Factor               string
	Class                string // good, bad or plain
	Judged               string // the same in words
	BeforeBar, AfterBar  string // widths of 100
	Bars                 bool
}

// figure is a chart with all that goes with it.
type figure struct {
	Title   string
	Note    string
	SVGs    []svg
	Keys    []key
	Table   table
	Every   int
	Cursor  string // JSON: [[share, "text"], …]
	Caption string
}

type key struct{ Class, Text, Kind string }

type findingView struct {
	finding.Finding
	N        int
	Class    string
	Meta     string
	Evidence table
	Facts    []string
	Tail     []Fact
	Reasons  []reasonView
	SQL      string
	Undo     string
	Lines    string // for a file
	ForGood  string // which
}

type reasonView struct{ Ask, Answer string }

type classView struct {
	Fingerprint, Meta string
	Table             table
}

type stepView struct{ At, Class, Sign, Text string }

type unseen struct{ Text, Fix string }

func source(s string) string {
	h := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
}

func newPage(d *Document) *page {
	p := &page{
		Policy: "default-src 'none'; style-src " + source(pageCSS) + "; script-src " + source(pageJS) + "; base-uri 'none'; form-action 'none'",
		CSS:    template.CSS(pageCSS), JS: template.JS(pageJS), // both are ours and constant
		D: d, Kind: string(d.Kind), At: stamp(d.At) + " UTC",
		Place: d.place(), FindingsFirst: d.Kind == Diagnosis,
	}
	if h, ok := d.headline(); ok {
		p.Headline = &headlineView{h, resultClass(h.Result), d.symbol(h.Result)}
		p.Reasons = d.Verdict.Reasons
	}
	for _, m := range d.Measures {
		p.Cards = append(p.Cards, newCard(d, m))
	}
	p.Measures = d.measures()
	from, to := d.span()
	m := marksOf(d, from, to)
	for i, c := range d.Charts {
		p.Figures = append(p.Figures, newFigure(c, "c"+strconv.Itoa(i), m, from, to))
	}
	for i, f := range d.Findings {
		v := findingView{Finding: f, N: i + 1, Class: severityClass(f.Severity), Meta: findingMeta(f), Tail: findingTail(f)}
		v.Evidence, v.Facts = evidence(f)
		for _, r := range f.Why {
			v.Reasons = append(v.Reasons, reasonView{r.Ask, reasonText(r)})
		}
		if f.Action != nil && d.Change == nil {
			v.SQL, v.Undo = f.Action.SQL, f.Action.Undo
		}
		if len(f.Setting) > 0 && d.Change == nil {
			v.Lines, v.ForGood = strings.Join(f.Setting, "\n"), forGood(f)
		}
		p.Findings = append(p.Findings, v)
	}
	if d.Change != nil {
		p.ChangeText = changeText(*d.Change)
	}
	for _, c := range d.Classes {
		p.Classes = append(p.Classes, classView{c.Fingerprint, classMeta(c), c.figures()})
	}
	if e := d.Experiment; e != nil {
		p.Method = e.method()
		p.Pairs = e.pairTable()
		p.Windows = d.windows()
		if f, ok := newForest(d); ok {
			fig := figure{Title: "Each pair of windows", Note: f.note}
			for _, z := range sizes {
				fig.SVGs = append(fig.SVGs, f.draw(d, "pairs", z))
			}
			p.Forest = &fig
		}
	}
	if d.Run != nil {
		p.Run = runTable(d.Run)
	}
	for _, s := range d.Story {
		p.Story = append(p.Story, stepView{d.offset(s.At), stepClass(s.State), strings.TrimSuffix(strings.Fields(stepSign(s.State) + " ·")[0], ":"), s.Text})
	}
	for _, s := range d.unobserved() {
		p.Unseen = append(p.Unseen, newUnseen(s))
	}
	if d.Comparison != nil {
		p.Comparison = newComparisonView(d)
	}
	return p
}

func newUnseen(s snapshot.Source) unseen { return unseen{sourceText(s), s.Fix} }

func resultClass(r stat.Result) string {
	switch r {
	case stat.Better, stat.Worse, stat.Same, stat.Unstable, stat.Invalid:
		return "r-" + string(r)
	default:
		return "r-none"
	}
}

func severityClass(s finding.Severity) string {
	if s.Rank() > 0 {
		return "s-" + string(s)
	}
	return "s-notice"
}

func stepClass(s StepState) string {
	switch s {
	case StepDone, StepFailed, StepSkipped:
		return "t-" + string(s)
	default:
		return "t-note"
	}
}

func newCard(d *Document, m Measure) card {
	c := card{Title: m.Title, Before: value(m.Before, m.Unit), After: value(m.After, m.Unit), BeforeName: d.baseline(), AfterName: d.variant(), Factor: factorOf(m.ratio()), Class: "plain"}
	switch d.good(m) {
	case 1:
		c.Class, c.Judged = "good", "better"
	case -1:
		c.Class, c.Judged = "bad", "worse"
	}
	b, ok1 := m.Before.Get()
	a, ok2 := m.After.Get()
	if top := max(b, a); ok1 && ok2 && top > 0 && b >= 0 && a >= 0 {
		c.Bars = true
		c.BeforeBar, c.AfterBar = px(max(0.4, b/top*100)), px(max(0.4, a/top*100))
	}
	return c
}

// cursorLimit is the most moments that the cursor of a chart knows.
const cursorLimit = 600

func newFigure(c Chart, id string, m marks, from, to time.Time) figure {
	f := figure{Title: c.Title, Note: c.Note}
	m.Bands = slices.DeleteFunc(slices.Clone(m.Bands), func(b band) bool { return b.Kind == bandGap && c.measured(b, from, to) })
	dropped := map[int]bool{}
	for _, z := range sizes {
		g := c.draw(id, m, from, to, z)
		f.SVGs = append(f.SVGs, g)
		for _, i := range g.Dropped {
			dropped[i] = true
		}
	}
	if len(dropped) > 0 {
		var texts []string
		for _, i := range slices.Sorted(maps.Keys(dropped)) {
			texts = append(texts, m.Points[i].Text+" ("+m.Points[i].Offset+")")
		}
		f.Note = join(f.Note, "Also marked: "+strings.Join(texts, "; ")+".")
	}
	for i, l := range c.Lines {
		f.Keys = append(f.Keys, key{lineClass(i), l.Name, "line"})
	}
	for _, b := range legend(m.Bands) {
		f.Keys = append(f.Keys, key{bandClass(b.Kind), b.Text, "band"})
	}
	f.Table, f.Every = c.figures(from, to)
	if scaleFor(c.values(from, to)).log {
		f.Note = join(f.Note, "The values span more than a factor of "+strconv.Itoa(logSpan)+": on the logarithmic axis equal distances are equal ratios.")
	}
	f.Cursor = c.cursor(from, to)
	return f
}

// measured reports whether the chart has readings within a band, which is then no gap of its own.
func (c Chart) measured(b band, from, to time.Time) bool {
	span := to.Sub(from)
	a, z := from.Add(time.Duration(b.From*float64(span))), from.Add(time.Duration(b.To*float64(span)))
	for _, l := range c.Lines {
		// A reading at either end closes what came before or opens what comes after.
		if len(within(l.Points, a.Add(time.Millisecond), z.Add(-time.Millisecond))) > 0 {
			return true
		}
	}
	return false
}

// cursor returns what the script shows at each moment.
func (c Chart) cursor(from, to time.Time) string {
	t, every := c.figures(from, to)
	if every > 1 {
		t = table{Head: t.Head, Rows: t.Rows[:min(len(t.Rows), cursorLimit)]}
	}
	span := to.Sub(from).Seconds()
	out := make([][2]any, 0, len(t.Rows))
	for _, r := range t.Rows {
		sec, err := strconv.ParseFloat(r[0], 64)
		if err != nil {
			continue
		}
		parts := make([]string, 0, len(r))
		for i, v := range r[1:] {
			if v != none {
				v = spaced(v, head(c.Unit))
			}
			parts = append(parts, t.Head[i+1]+" "+v)
		}
		out = append(out, [2]any{math.Round(sec/span*1e4) / 1e4, "+" + r[0] + " s   " + strings.Join(parts, "   ")})
	}
	b, err := json.Marshal(slices.Clip(out))
	if err != nil {
		return "[]" // numbers and texts only: cannot happen
	}
	return string(b)
}
