package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Markdown writes the document in GitHub's flavour of Markdown (https://github.github.com/gfm/), to paste into a ticket
// or a pull request. Charts are drawn in characters. Texts are escaped: none becomes a link, an image, a heading or
// HTML.
func Markdown(w io.Writer, d *Document) error {
	d = shown(d)
	p := &mdPage{}
	p.line("# " + md(d.Title))
	p.begun = true
	p.blocks(d.blocks(asMarkdown))
	p.end(spaced(spaced("Dyno", d.Place.Dyno), string(d.Kind)+" "+d.ID) + ", " + stamp(d.At) + " UTC")
	return written(w, p.b.String(), "report")
}

type mdPage struct {
	b     strings.Builder
	begun bool // there is something above
}

// end says who made it.
func (p *mdPage) end(s string) {
	p.line("")
	p.line("---")
	p.line("")
	p.line(md(s))
}

// md escapes a text for use within a line, a heading, a list or the cell of a table.
func md(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		case '\n':
			b.WriteByte(' ')
		case '@', ':', '.': // no mention of a person, no link that nobody wrote as one
			if r == ':' && !strings.HasPrefix(s[i:], "://") || r == '.' &&
				(i < 3 || !strings.EqualFold(s[i-3:i], "www")) {
				b.WriteRune(r)
				continue
			}
			fmt.Fprintf(&b, "&#%d;", r)
			before, _ := utf8.DecodeLastRuneInString(s[:i])
			if next, _ := utf8.DecodeRuneInString(s[i+1:]); r == '@' && inWord(next) && !inWord(before) {
				// people are looked for in what the escapes stand for: a space of no width ends that
				b.WriteString("&#8203;")
			}
		case '\\', '`', '*', '_', '[', ']', '#', '|', '~', '!', '$':
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// mdStart escapes a text that begins a line, so that it starts no list and underlines nothing.
func mdStart(s string) string {
	s = md(strings.TrimSpace(s))
	if s == "" {
		return s
	}
	if strings.ContainsRune("-+=", rune(s[0])) {
		return `\` + s
	}
	if n := len(s) - len(strings.TrimLeft(s, "0123456789")); n > 0 && n < len(s) && (s[n] == '.' || s[n] == ')') {
		return s[:n] + `\` + s[n:]
	}
	return s
}

func (p *mdPage) line(s string) { p.b.WriteString(s + "\n") }

// fence writes s as it is, between fences longer than any run of ticks in it.
func (p *mdPage) fence(language, s string) {
	ticks := "```"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	p.line(ticks + language)
	p.line(strings.TrimRight(s, "\n"))
	p.line(ticks)
}

// ticked writes s as code within a line.
func ticked(s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	ticks := "`"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

func (p *mdPage) table(t table) {
	cells := func(r []string) { p.line("| " + strings.Join(each(r, md), " | ") + " |") }
	cells(t.Head)
	rule := slices.Repeat([]string{"---"}, len(t.Head))
	for i := range rule {
		if t.Figure(i) {
			rule[i] += ":"
		}
	}
	p.line("| " + strings.Join(rule, " | ") + " |")
	for _, r := range t.Rows {
		cells(r)
	}
}

func (p *mdPage) blocks(bs []block) {
	for _, b := range bs {
		if p.begun {
			p.line("")
		}
		p.begun = true
		switch x := b.(type) {
		case section:
			p.line(map[bool]string{false: "## ", true: "### "}[x.Part] + md(x.head()))
			p.blocks(x.Body)
		case para:
			p.line(mdStart(x.Text))
		case bullets:
			for _, y := range x.Items {
				p.line("- " + y.markdown())
			}
		case facts:
			for _, f := range x {
				p.line("- **" + md(f.Name) + "** " + md(cmp.Or(f.Value, none)))
			}
		case signs:
			p.line(mdStart(strings.Join(x, " · ")))
		case code:
			if x.Label != "" {
				p.line(mdStart(x.Label) + ":")
				p.line("")
			}
			p.fence(x.Language, x.Text)
		case cards:
			p.table(x.table)
		case ranked:
			p.table(x.table)
		case table:
			p.table(x)
		case grid:
			p.table(x.plain())
		case drawing:
			t := newTextPage(Options{})
			x.Chars(t)
			p.fence("text", t.b.String())
		case tree:
			p.nodes(x, "")
		case moments:
			for _, m := range x {
				p.line("- " + mdStart(m.At) + " " + md(m.Text))
			}
		case fold:
			p.line(mdStart(x.Summary) + ":")
			p.blocks(x.Body)
		case hero:
			p.hero(x)
		}
	}
}

func (i item) markdown() string {
	s := mdStart(i.Text)
	if i.Name != "" {
		s = "**" + md(i.Name) + "** " + md(i.Text)
	}
	if i.Fix != "" {
		s += "; Fix: " + ticked(i.Fix)
	}
	return spaced(mdStart(i.Sign.Sign), s)
}

// nodes writes a reasoning as a nested list.
func (p *mdPage) nodes(ns []Node, indent string) {
	for _, n := range ns {
		p.line(indent + "- " + mdStart(n.Text))
		p.nodes(n.Then, indent+"  ")
	}
}

func (p *mdPage) hero(x hero) {
	var paras [][]string
	if h := x.Headline; h != nil {
		badge := "**" + md(h.Sign()+" "+strings.ToUpper(string(h.Result))) + "**"
		lines := []string{spaced(badge, md(spaced(h.Figure, h.Of)))}
		for _, l := range []string{h.Interval, h.Margin} {
			if l != "" {
				lines = append(lines, mdStart(l))
			}
		}
		paras = append(paras, []string{strings.Join(lines, "\\\n")}) // a backslash at the end breaks the line
	}
	reasons := each(x.Reasons, func(r string) string { return "- " + mdStart(r) })
	sign := mdStart // of the first, which begins a line
	tally := each(x.Tally, func(t LaidTally) string {
		s := sign(t.Sign)
		sign = md
		return s + " **" + strconv.Itoa(t.N) + " " + md(t.Word) + "**"
	})
	paras = append(paras, reasons, []string{mdStart(x.Sentence)}, []string{strings.Join(tally, " · ")})
	for _, n := range x.Notes {
		paras = append(paras, []string{mdStart(map[bool]string{true: "Take care. "}[n.Odd] + n.Text)})
	}
	paras = slices.DeleteFunc(paras, func(ls []string) bool { return strings.Join(ls, "") == "" })
	for i, ls := range paras {
		if i > 0 {
			p.line("")
		}
		p.line(strings.Join(ls, "\n"))
	}
}
