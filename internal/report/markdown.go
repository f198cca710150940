package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"dyno/internal/finding"
)

// Markdown writes the document in GitHub's flavour of Markdown (https://github.github.com/gfm/), to paste into a ticket or a
// pull request. Charts are drawn in characters. Texts are escaped: none becomes a link, an image, a heading or HTML.
func Markdown(w io.Writer, d *Document) error {
	p := &mdPage{d: shown(d)}
	p.page()
	if _, err := io.WriteString(w, p.b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

type mdPage struct {
	d *Document
	b strings.Builder
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
			if r == ':' && !strings.HasPrefix(s[i:], "://") || r == '.' && (i < 3 || !strings.EqualFold(s[i-3:i], "www")) {
				b.WriteRune(r)
				continue
			}
			fmt.Fprintf(&b, "&#%d;", r)
			before, _ := utf8.DecodeLastRuneInString(s[:i])
			if next, _ := utf8.DecodeRuneInString(s[i+1:]); r == '@' && inWord(next) && !inWord(before) {
				b.WriteString("&#8203;") // people are looked for in what the escapes stand for: a space of no width ends that
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

func (p *mdPage) section(level int, title string) {
	p.line("")
	p.line(strings.Repeat("#", level) + " " + md(title))
	p.line("")
}

func (p *mdPage) list(items []string) {
	for _, s := range items {
		p.line("- " + mdStart(s))
	}
}

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

// code writes s as code within a line.
func code(s string) string {
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
	cells := func(r []string) string {
		out := "|"
		for _, c := range r {
			out += " " + md(c) + " |"
		}
		return out
	}
	p.line(cells(t.Head))
	rule := "|"
	for i := range t.Head {
		if t.Figure(i) {
			rule += " ---: |"
		} else {
			rule += " --- |"
		}
	}
	p.line(rule)
	for _, r := range t.Rows {
		p.line(cells(r))
	}
}

func (p *mdPage) facts(fs []Fact) {
	for _, f := range fs {
		p.line("- **" + md(f.Name) + "** " + md(cmp.Or(f.Value, none)))
	}
}

func (p *mdPage) page() {
	d := p.d
	p.line("# " + md(d.Title))
	p.line("")
	if h, ok := d.headline(); ok {
		lines := []string{"**" + d.symbol(h.Result) + " " + md(strings.ToUpper(word(h.Result))) + "** " + md(spaced(h.Figure, h.Of))}
		for _, x := range []string{h.Interval, h.Margin} {
			if x != "" {
				lines = append(lines, mdStart(x))
			}
		}
		p.line(strings.Join(lines, "\\\n")) // a backslash at the end breaks the line
		if len(d.Verdict.Reasons) > 0 {
			p.line("")
			p.list(d.Verdict.Reasons)
		}
		p.line("")
	}
	if d.Sentence != "" {
		p.line(mdStart(d.Sentence))
	}
	if d.Comparison != nil {
		p.comparison()
	}
	if len(d.Measures) > 0 {
		p.section(2, "Before and after")
		p.table(d.measures())
	}
	if d.Kind != Diagnosis {
		p.charts()
	}
	for i, f := range d.Findings {
		p.finding(f, i+1)
	}
	p.reasoning()
	if d.Kind == Diagnosis {
		p.charts()
	}
	if c := d.Change; c != nil {
		p.section(2, "The change")
		p.line(mdStart(changeText(*c)))
		p.line("")
		p.fence("sql", c.SQL)
		if c.Undo != "" || c.UndoCommand != "" {
			p.line("")
			p.line("To take it back:")
			p.line("")
		}
		if c.UndoCommand != "" {
			p.fence("sh", c.UndoCommand)
		}
		if c.Undo != "" {
			p.fence("sql", c.Undo)
		}
		for _, n := range c.Notes {
			p.line("- " + mdStart(d.offset(n.At)) + " " + md(n.Text))
		}
	}
	if e := d.Experiment; e != nil {
		p.section(2, "Experiment")
		if m := e.method(); m != "" {
			p.line(mdStart(m))
			p.line("")
		}
		p.table(e.pairTable())
		if len(e.Windows) > 0 {
			p.line("")
			p.line("All windows, in the order they were measured:")
			p.line("")
			p.table(d.windows())
		}
	}
	if len(d.Classes) > 0 {
		p.section(2, "Query classes")
		for i, c := range d.Classes {
			if i > 0 {
				p.line("")
			}
			p.fence("sql", c.Fingerprint)
			p.line("")
			p.line(mdStart(classMeta(c)))
			p.line("")
			p.table(c.figures())
		}
	}
	if d.Run != nil {
		p.section(2, "Run")
		p.facts(runTable(d.Run))
	}
	if len(d.Story) > 0 {
		p.section(2, "What happened")
		for _, s := range d.Story {
			p.line("- " + mdStart(d.offset(s.At)) + " " + md(stepSign(s.State)+s.Text))
		}
	}
	if fs := d.place(); len(fs) > 0 {
		p.section(2, "Where and when")
		p.facts(fs)
	}
	if un := d.unobserved(); len(un) > 0 {
		p.section(2, "Not observed")
		for _, s := range un {
			l := "- " + mdStart(sourceText(s))
			if s.Fix != "" {
				l += "; Fix: " + code(s.Fix)
			}
			p.line(l)
		}
	}
	if len(d.Warnings) > 0 {
		p.section(2, "Warnings")
		p.list(d.Warnings)
	}
	if len(d.Commands) > 0 {
		p.section(2, "Commands")
		for i, c := range d.Commands {
			if i > 0 {
				p.line("")
			}
			p.line(mdStart(c.Text) + ":")
			p.line("")
			p.fence("sh", c.Line)
		}
	}
	p.line("")
	p.line("---")
	p.line("")
	p.line(md(spaced(spaced("Dyno", d.Place.Dyno), string(d.Kind)+" "+d.ID)) + ", " + stamp(d.At) + " UTC")
}

func (p *mdPage) charts() {
	if len(p.d.Charts) > 0 {
		t := &textPage{d: p.d, width: defaultWidth}
		t.chartLines()
		p.section(2, "Over time")
		p.fence("text", t.b.String())
	}
}

func (p *mdPage) finding(f finding.Finding, n int) {
	p.section(2, fmt.Sprintf("Finding %d (%s): %s", n, f.Severity, f.Title))
	p.line(mdStart(findingMeta(f)))
	if f.Cause != "" {
		p.line("")
		p.line(mdStart(f.Cause))
	}
	if t, facts := evidence(f); len(t.Rows)+len(facts) > 0 {
		p.section(3, "Evidence")
		if len(t.Rows) > 0 {
			p.table(t)
			p.line("")
		}
		p.list(facts)
	}
	if len(f.Why) > 0 {
		p.section(3, "Reasoning")
		for i, r := range f.Why {
			p.line(fmt.Sprintf("%d. **%s** %s", i+1, md(r.Ask), md(reasonText(r))))
		}
	}
	if len(f.Merged) > 0 {
		p.section(3, "It also explains")
		p.list(f.Merged)
	}
	if len(f.Against) > 0 {
		p.section(3, "Against it")
		p.list(f.Against)
	}
	if len(f.Unobserved) > 0 {
		p.section(3, "Not observable")
		p.list(f.Unobserved)
	}
	if tail := findingTail(f); len(tail) > 0 {
		p.section(3, "What to do")
		p.facts(tail)
	}
	if f.Action != nil && p.d.Change == nil {
		p.line("")
		p.fence("sql", f.Action.SQL)
		if f.Action.Undo != "" {
			p.line("")
			p.line("To take it back:")
			p.line("")
			p.fence("sql", f.Action.Undo)
		}
	}
	if len(f.Setting) > 0 && p.d.Change == nil {
		p.line("")
		p.line("For good, " + md(forGood(f)) + ":")
		p.line("")
		p.fence("ini", strings.Join(f.Setting, "\n"))
	}
}
