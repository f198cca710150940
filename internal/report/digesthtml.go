package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
	"github.com/dyno-perf/dyno/internal/sqltext"
	"github.com/dyno-perf/dyno/internal/unit"
)

var (
	//go:embed digest.html
	digestPageText string
	//go:embed digest.css
	digestCSS string
)

// What a page shows at most, so that a browser can open it. The page says what it leaves out.
const (
	digestRows    = 2000 // of the profile
	digestDetails = 200  // classes with all their figures
)

// DigestHTML writes a digest as one page that needs nothing else and asks nothing of the network: the profile with bars and with how the
// calls spread over time, then every class with its distribution, figures, samples and plan. It has no script. Of very many classes only
// the first have all of that; the page says how many are left out.
func DigestHTML(w io.Writer, r *digest.Report, o DigestOptions) error {
	t, err := template.New("page").Funcs(template.FuncMap{"offset": func(time.Time) string { return "" }}).Parse(pageText)
	if err == nil { // for the tables that all pages share
		t, err = t.New("digest").Parse(digestPageText)
	}
	if err != nil {
		return fmt.Errorf("BUG: parse the page's template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, newDigestPage(r, o)); err != nil {
		return fmt.Errorf("render digest: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write digest: %w", err)
	}
	return nil
}

// digestPage is what the template draws. Texts in it are plain and visible; the template escapes them.
type digestPage struct {
	Policy  string
	CSS     template.CSS
	At      string
	Cards   []Fact
	Facts   []Fact
	Notes   []string
	Skipped string
	Parts   []string
	Profile []digestPageRow
	Rest    string
	All     table
	Flags   string
	Classes []digestPageClass
	Omitted string
	Footer  string
}

type digestPageRow struct {
	Rank, ID, Short string
	Anchor          string
	Share, Bar      string
	Figures         []string
	Item            string
	Spark           string // the d attribute of a path, 60 wide and 16 high
	SparkNote       string
	share           float64
}

type digestPageClass struct {
	Anchor, Rank, Share, Item, ID string
	Meta, Fingerprint             string
	Pictures                      []svg
	Table                         table
	Flags                         string
	Facts                         []Fact
	Samples                       [][3]string
	Plan                          string
}

func newDigestPage(r *digest.Report, o DigestOptions) *digestPage {
	c := digestClean(r, o)
	css := pageCSS + digestCSS
	p := &digestPage{
		Policy: "default-src 'none'; style-src " + source(css) + "; base-uri 'none'; form-action 'none'",
		CSS:    template.CSS(css), // both are ours and constant
		All:    digestFigures(c.Global.Attributes, nil), Footer: digestFooter(o),
	}
	if !o.At.IsZero() {
		p.At = stamp(o.At) + " UTC"
	}
	g := c.Global
	p.Cards = []Fact{{"Statements", digestRate(float64(g.Count))}, {"Classes", digestRate(float64(g.Classes))}}
	if s, ok := digestSum(g.Attributes).Get(); ok {
		p.Cards = append(p.Cards, Fact{"Response time", unit.Seconds(s)})
	}
	p.Cards = append(p.Cards, Fact{"Per second", plainRate(g.QPS)}, Fact{"Concurrency", plainRate(g.Concurrency)})
	for _, f := range digestFacts(c, o) {
		if !slices.ContainsFunc(p.Cards, func(x Fact) bool { return x.Name == f.Name }) {
			p.Facts = append(p.Facts, f)
		}
	}
	p.Flags = flagsText(g.Flags)
	for _, n := range digestNotes(c) {
		p.Notes = append(p.Notes, Visible(n, false))
	}
	head, parts := digestSkipped(c)
	p.Skipped = head
	for _, s := range parts {
		p.Parts = append(p.Parts, Visible(s, false))
	}
	n, top := 0, 0.0
	for i, k := range o.classes(r) {
		n++
		if i >= digestRows {
			continue
		}
		row := newDigestPageRow(profileRow(&k))
		row.share = k.Share
		top = max(top, k.Share)
		if m := squeezed(k.PerMinute, sparkWidth); len(m.Counts) > 1 {
			row.Spark, row.SparkNote = sparkPath(m.Counts, 60, 16), sparkNote(m)
		}
		if i < digestDetails {
			row.Anchor = "q" + strconv.Itoa(i+1)
			p.Classes = append(p.Classes, newDigestPageClass(c, k, row.Anchor))
		}
		p.Profile = append(p.Profile, row)
	}
	for i := range p.Profile {
		if x := &p.Profile[i]; top > 0 && x.share >= 0 {
			x.Bar = px(x.share / top * 100)
		}
	}
	if row := profileRest(c); row != nil {
		p.Profile = append(p.Profile, newDigestPageRow(row))
	}
	if left := n - digestRows; left > 0 {
		p.Rest = count(left, "class is", "classes are") + " left out here; the JSON has all."
	}
	if left := n - digestDetails; left > 0 {
		p.Omitted = "The details of " + count(left, "class", "classes") + " are left out here; the JSON has them."
	}
	return p
}

func newDigestPageRow(row []string) digestPageRow {
	return digestPageRow{Rank: row[0], ID: row[1], Short: sqltext.ShortID(row[1]), Share: row[2], Figures: row[3:8], Item: row[8]}
}

// sparkPath draws counts as columns from the left to the right of a box.
func sparkPath(counts []uint64, width, height float64) string {
	var top uint64 = 1
	for _, c := range counts {
		top = max(top, c)
	}
	var b strings.Builder
	b.WriteString("M0 " + px(height))
	for i, c := range counts {
		b.WriteString("V" + px(height*(1-float64(c)/float64(top))) + "H" + px(width*float64(i+1)/float64(len(counts))))
	}
	b.WriteString("V" + px(height) + "Z")
	return b.String()
}

func flagsText(m map[string]digest.Share) string {
	var parts []string
	for _, f := range digestFlags(m) {
		parts = append(parts, flagText(f))
	}
	return strings.Join(parts, ", ")
}

func newDigestPageClass(r *digest.Report, k digest.Row, anchor string) digestPageClass {
	v := digestPageClass{
		Anchor: anchor, Rank: strconv.Itoa(k.Rank), Item: Visible(digestItem(&k), false), ID: Visible(k.ID, false),
		Meta: classMetaText(&k), Fingerprint: Visible(k.Fingerprint, true), Table: digestFigures(k.Attributes, r.Global.Attributes),
		Flags: flagsText(k.Flags), Facts: classFacts(&k), Samples: classSamples(&k, len(r.Global.Files) > 1), Plan: Visible(strings.Join(k.Plan, "\n"), true),
	}
	if digestSum(k.Attributes).OK() {
		v.Share = digestShare(k.Share) + " % of the response time"
	}
	if g, ok := distributionPicture(&k, anchor); ok {
		v.Pictures = append(v.Pictures, g)
	}
	if g, ok := overTimePicture(&k, anchor); ok {
		v.Pictures = append(v.Pictures, g)
	}
	return v
}

// The small pictures of a class share their measures: a title, columns, and labels below them.
const (
	smallWidth, smallHeight = 380.0, 160.0
	smallTop, smallBottom   = 38.0, 134.0
	smallLeft, smallRight   = 2.0, 378.0
)

func smallPicture(id, title, label string) svg {
	return svg{
		ID: id, Size: "small-picture", Width: px(smallWidth), Height: px(smallHeight), Label: label,
		Left: px(smallLeft), Right: px(smallRight), Top: px(smallTop), Bottom: px(smallBottom),
		Lines: []svgLine{{X1: px(smallLeft), X2: px(smallRight), Y1: px(smallBottom), Y2: px(smallBottom), Class: "axis"}},
		Texts: []svgText{{X: px(smallLeft), Y: px(font + 1), Class: "unit", Text: title}},
	}
}

// distributionPicture draws how many statements took how long; false when the source keeps no distribution.
func distributionPicture(k *digest.Row, id string) (svg, bool) {
	var top uint64
	for _, n := range k.Histogram {
		top = max(top, n)
	}
	if top == 0 {
		return svg{}, false
	}
	g := smallPicture(id+"-time", "Statements by response time", "How many statements took how long")
	slot := (smallRight - smallLeft) / float64(len(k.Histogram))
	for i, n := range k.Histogram {
		x := smallLeft + slot*float64(i)
		mid := px(x + slot/2)
		label := digestDecades[i]
		g.Texts = append(g.Texts, svgText{X: mid, Y: px(smallBottom + 18), Anchor: "middle", Text: label})
		if n == 0 {
			continue
		}
		h := max(2, float64(n)/float64(top)*(smallBottom-smallTop))
		title := digestCount(n) + " of " + label + " to ten times that"
		if i == len(k.Histogram)-1 {
			title = digestCount(n) + " of 10s or more"
		}
		g.Bands = append(g.Bands, svgRect{X: px(x + 3), Y: px(smallBottom - h), W: px(slot - 6), H: px(h), Class: "col", Title: title})
		g.Texts = append(g.Texts, svgText{X: mid, Y: px(smallBottom - h - 5), Anchor: "middle", Class: "figure", Text: digestRate(float64(n))})
	}
	return g, true
}

// overTimePicture draws how the calls spread over time; false when they all fell into one step.
func overTimePicture(k *digest.Row, id string) (svg, bool) {
	m := squeezed(k.PerMinute, 120)
	if len(m.Counts) < 2 {
		return svg{}, false
	}
	var top uint64 = 1
	for _, n := range m.Counts {
		top = max(top, n)
	}
	g := smallPicture(id+"-calls", "Calls over time, at most "+digestRate(float64(top))+" in "+stepText(m.StepSec), "Calls over time: "+sparkNote(m))
	slot := (smallRight - smallLeft) / float64(len(m.Counts))
	for i, n := range m.Counts {
		if n == 0 {
			continue
		}
		h := max(1, float64(n)/float64(top)*(smallBottom-smallTop+14))
		at := m.Start.Add(time.Duration(float64(i) * m.StepSec * float64(time.Second)))
		gap := min(1, slot/8)
		g.Bands = append(g.Bands, svgRect{X: px(smallLeft + slot*float64(i)), Y: px(smallBottom - h), W: px(slot - gap), H: px(h), Class: "col", Title: digestStamp(at) + ": " + digestCount(n)})
	}
	from, to := digestStamp(m.Start), digestStamp(minutesEnd(m))
	g.Texts = append(g.Texts,
		svgText{X: px(smallLeft), Y: px(smallBottom + 18), Text: from},
		svgText{X: px(smallRight), Y: px(smallBottom + 18), Anchor: "end", Text: to})
	return g, true
}
