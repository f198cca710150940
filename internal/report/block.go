package report

import (
	"fmt"
	"strings"
)

// form is one way to write a document.
type form int

const (
	asText form = iota
	asMarkdown
	asPage
)

// block is one part of a document. A document is built once, as blocks in the order in which it is read; the text, the
// Markdown and the page each write every type below in their own way. Texts in blocks are plain and visible: the writer
// of a form escapes them.
type block interface {
	empty() bool // nothing to write
}

// kind names the template of a block in page.html.
func kind(b block) string { return strings.TrimPrefix(fmt.Sprintf("%T", b), "report.") }

type (
	// section is a heading and what stands below it.
	section struct {
		Anchor string // of the page, "" = none
		Class  string // of the page
		Badge  string // before the title: "critical"
		Over   string // before the title: "Finding 1"
		Title  string
		Part   bool // of another section
		Body   []block
	}
	// para is a paragraph.
	para struct {
		Text string
		Note bool // small print
	}
	// bullets are a list of sentences.
	bullets struct {
		Mark  string // of the terminal: "!", "?"; "" is a bullet
		Class string // of the page
		Items []item
	}
	// item is one of them, with a sign, with the name of what it is about, and with code that belongs to it.
	item struct {
		Sign       sign
		Name, Text string
		Fix        string
	}
	// facts are names with values; "" is an unknown value.
	facts []Fact
	// signs explains signs in a few words each.
	signs []string
	// code is a statement, a command line or a text that must stay as it is.
	code struct{ Label, Language, Text string }
	// cards are a few figures to see first; a table elsewhere.
	cards struct {
		table
		Cards []card
	}
	// ranked is a table with bars, links and small pictures on the page.
	ranked struct {
		table
		Name           string // what a screen reader calls it
		BarAt, SparkAt int    // columns with bars and small pictures; the last column has short ids
		Extra          []extra
	}
	// extra is what a row of a ranked table has on the page: its class, a link to details, a bar of 100, the d
	// attribute of a path 60 wide and 16 high, and the whole id.
	extra struct{ Class, Link, Bar, Spark, ID string }
	// drawing is a picture: in characters, or as figures of the page.
	drawing struct {
		Chars   func(*textPage)
		Figures []figure
	}
	// tree is a reasoning, each thought with those that follow from it.
	tree []Node
	// moments are what happened, in order.
	moments []moment
	moment  struct{ At, Class, Text string }
	// fold waits behind a line of text on a page; elsewhere the line stands above it.
	fold struct {
		Summary string
		Body    []block
	}
	// hero is the outcome.
	hero struct {
		Headline *headline
		Sentence string
		Reasons  []string
		Tally    []LaidTally
		Notes    []note
	}
	// note is a remark on the outcome; an odd one puts it in doubt.
	note struct {
		Sign sign
		Text string
		Odd  bool
	}
)

func (b section) empty() bool { return len(b.Body) == 0 }
func (b para) empty() bool    { return b.Text == "" }
func (b bullets) empty() bool { return len(b.Items) == 0 }
func (b facts) empty() bool   { return len(b) == 0 }

// add adds a value that is known.
func (b *facts) add(name, value string) {
	if value != "" {
		*b = append(*b, Fact{name, value})
	}
}

func (b signs) empty() bool   { return len(b) == 0 }
func (b code) empty() bool    { return b.Text == "" }
func (b cards) empty() bool   { return len(b.Cards) == 0 }
func (b drawing) empty() bool { return b.Chars == nil && len(b.Figures) == 0 }
func (b tree) empty() bool    { return len(b) == 0 }
func (b moments) empty() bool { return len(b) == 0 }
func (b fold) empty() bool    { return len(b.Body) == 0 }
func (b table) empty() bool   { return len(b.Rows) == 0 }
func (b grid) empty() bool    { return len(b.Cells) == 0 }
func (b hero) empty() bool {
	return b.Headline == nil && b.Sentence == "" && len(b.Tally)+len(b.Notes) == 0
}

// kept leaves out what is empty, and sections without content.
func kept(bs []block) (out []block) {
	for _, b := range bs {
		switch x := b.(type) {
		case section:
			x.Body = kept(x.Body)
			b = x
		case fold:
			x.Body = kept(x.Body)
			b = x
		}
		if !b.empty() {
			out = append(out, b)
		}
	}
	return out
}

// each is f of every element.
func each[A, B any](xs []A, f func(A) B) []B {
	out := make([]B, len(xs))
	for i, x := range xs {
		out[i] = f(x)
	}
	return out
}

// sec is a section, part a section within one.
func sec(anchor, title string, body ...block) section {
	return section{Anchor: anchor, Title: title, Body: body}
}

func part(title string, body ...block) section {
	return section{Title: title, Part: true, Body: body}
}

// sentences are a list of texts.
func sentences(mark, class string, texts []string) bullets {
	return bullets{Mark: mark, Class: class, Items: each(texts, func(t string) item { return item{Text: t} })}
}

// head is the title with what stands before it, where all is one line.
func (b section) head() string {
	s := b.Over
	if b.Badge != "" {
		s += " (" + b.Badge + ")"
	}
	if s == "" {
		return b.Title
	}
	return s + ": " + b.Title
}

// head is the name of the item as it stands before its text.
func (i item) head() string {
	if i.Name == "" || strings.HasSuffix(i.Name, "?") {
		return i.Name
	}
	return i.Name + ":"
}

// LastAt is the last column.
func (b ranked) LastAt() int { return len(b.Head) - 1 }

// drawn is a figure with its pictures, one of each size.
func drawn(f figure, draw func(size) svg) drawing {
	for _, z := range sizes {
		f.SVGs = append(f.SVGs, draw(z))
	}
	return drawing{Figures: []figure{f}}
}
