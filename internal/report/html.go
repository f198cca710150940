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
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/finding"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// HTML writes the document as one page that needs nothing else: no request leaves it, and its policy allows only the
// style and the script that are in it. It follows the reader's light or dark setting and works without the script.
func HTML(w io.Writer, d *Document) error {
	d = shown(d)
	p := page{
		CSS: template.CSS(pageCSS), JS: template.JS(pageJS), // both are ours and constant
		Kind: spaced(string(d.Kind), d.ID), Title: d.Title, At: d.At, Blocks: d.blocks(asPage),
		Footer: spaced("Dyno", d.Place.Dyno) + ", " + stamp(d.At) + " UTC",
	}
	if d.Comparison != nil {
		p.Class = "broad"
	}
	return p.write(w, "report "+d.ID)
}

// page is what the template draws. Texts in it are plain; the template escapes them.
type page struct {
	CSS                template.CSS
	JS                 template.JS // "" = none
	Class, Kind, Title string
	At                 time.Time // zero leaves it out
	Footer             string
	Blocks             []block
}

// Policy allows nothing but the style and the script of the page.
func (p page) Policy() string {
	s := "default-src 'none'; style-src " + cspHash(string(p.CSS))
	if p.JS != "" {
		s += "; script-src " + cspHash(string(p.JS))
	}
	return s + "; base-uri 'none'; form-action 'none'"
}

func (p page) write(w io.Writer, what string) error {
	t, err := template.New("page").Funcs(template.FuncMap{"kind": kind, "px": px, "stamp": stamp}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("BUG: parse the page's template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("render %s: %w", what, err)
	}
	return written(w, b.String(), what)
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
	Title  string
	Note   string
	SVGs   []svg
	Keys   []key
	Table  table
	Every  int
	Class  string // of the page
	Cursor string // JSON: [[share, "text"], …]
	Order  bool   // of trials: its colours need a key
}

type key struct{ Class, Text, Kind string }

func cspHash(s string) string {
	h := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(h[:]) + "'"
}

func severityClass(s finding.Severity) string {
	if s.Rank() > 0 {
		return "s-" + string(s)
	}
	return "s-notice"
}

func newCard(d *Document, m Measure) card {
	c := card{
		Title: m.Title, Before: value(m.Before, m.Unit), After: value(m.After, m.Unit), BeforeName: d.baseline(),
		AfterName: d.variant(), Factor: factorOf(m.ratio()), Class: "plain",
	}
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
	m.Bands = slices.DeleteFunc(slices.Clone(m.Bands), func(b band) bool {
		return b.Kind == bandGap && c.measured(b, from, to)
	})
	var dropped []int
	for _, z := range sizes {
		g := c.draw(id, m, from, to, z)
		f.SVGs, dropped = append(f.SVGs, g), append(dropped, g.Dropped...)
	}
	slices.Sort(dropped)
	if dropped = slices.Compact(dropped); len(dropped) > 0 {
		texts := each(dropped, func(i int) string { return m.Points[i].Text + " (" + m.Points[i].Offset + ")" })
		f.Note = spaced(f.Note, "Also marked: "+strings.Join(texts, "; ")+".")
	}
	for i, l := range c.Lines {
		f.Keys = append(f.Keys, key{lineClass(i), l.Name, "line"})
	}
	for _, b := range legend(m.Bands) {
		f.Keys = append(f.Keys, key{bandClass(b.Kind), b.Text, "band"})
	}
	f.Table, f.Every = c.figures(from, to)
	if scaleFor(c.values(from, to)).log {
		f.Note = spaced(f.Note, "The values span more than a factor of "+strconv.Itoa(logSpan)+
			": on the logarithmic axis equal distances are equal ratios.")
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

// nested is a grid whose heads and labels span what they belong to.
type nested struct {
	Head [][]nestedHead
	Rows []nestedRow
}

type nestedHead struct {
	Text       string
	Cols, Rows int
	Label      bool // over the labels
}

type nestedRow struct {
	Labels []nestedHead
	Cells  []gridCell
	First  bool // of a group of rows
}

// glyph is an interval of a ratio in a cell, on an axis that all cells of the table share: 0 to 100.
type glyph struct{ Lo, Width, From, Way float64 }

// nest writes heads of several levels: neighbours that are equal so far share one.
func nest(lists [][]string, level int) (out []nestedHead) {
	for i, l := range lists {
		if i > 0 && slices.Equal(lists[i-1][:level+1], l[:level+1]) {
			out[len(out)-1].Cols++
			continue
		}
		out = append(out, nestedHead{Text: l[level], Cols: 1, Rows: 1})
	}
	return out
}

// Nested lays the table out with the heads nested.
func (g grid) Nested() (h nested) {
	depth := 1
	for _, x := range g.Heads {
		depth = max(depth, len(x))
	}
	for level := range depth {
		var row []nestedHead
		if level == 0 {
			for _, t := range g.Corner {
				row = append(row, nestedHead{Text: t, Cols: 1, Rows: depth, Label: true})
			}
		}
		if len(g.Heads) > 0 && len(g.Heads[0]) > level {
			row = append(row, nest(g.Heads, level)...)
		}
		h.Head = append(h.Head, row)
	}
	for i, ls := range g.Labels {
		row := nestedRow{Cells: g.Cells[i], First: i > 0 && len(ls) > 1 && ls[0] != g.Labels[i-1][0]}
		for k, t := range ls {
			if i > 0 && k < len(ls)-1 && slices.Equal(ls[:k+1], g.Labels[i-1][:k+1]) {
				continue // reaches down from above
			}
			n := 1
			for k < len(ls)-1 && i+n < len(g.Labels) && slices.Equal(ls[:k+1], g.Labels[i+n][:k+1]) {
				n++
			}
			row.Labels = append(row.Labels, nestedHead{Text: t, Cols: 1, Rows: n, Label: k == 0})
		}
		h.Rows = append(h.Rows, row)
	}
	return h
}
