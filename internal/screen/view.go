package screen

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// quietFor is how long the source may be silent in the live view before that is said.
const quietFor = 4 * time.Second

// View draws the screen.
func (m *model) View() tea.View {
	var b strings.Builder
	cursorRow := -1
	ls := headerOf(m)
	if m.over != nil {
		ls = append(ls, overLines(m)...)
	} else {
		var body []line
		body, cursorRow = bodyOf(m)
		if cursorRow >= 0 {
			cursorRow += len(ls)
		}
		ls = append(ls, body...)
	}
	for len(ls) < m.height-1 {
		ls = append(ls, nil)
	}
	ls = append(ls[:max(0, min(len(ls), m.height-1))], footerOf(m))
	for i, l := range ls {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == cursorRow {
			m.theme.render(&b, l.fill(m.width), marked)
			continue
		}
		m.theme.render(&b, l.fit(m.width), plain)
	}
	v := tea.NewView(b.String())
	v.AltScreen = true
	v.WindowTitle = "dyno watch " + clean(nameOf(m.o, m.shown))
	return v
}

// textOf returns what View draws, without looks; for tests.
func textOf(m *model) string {
	var b strings.Builder
	var none theme
	m2 := *m
	m2.theme = &none
	ls := strings.Split(m2.View().Content, "\n")
	for _, l := range ls {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return b.String()
}

func nameOf(o Options, shown *state.State) string {
	if shown != nil && shown.Target != "" {
		return shown.Target
	}
	return o.Target
}

// headerOf is what stands above the view: who and when, graphs, figures, the names of the views. On low terminals the
// graphs and then the figures give way.
func headerOf(m *model) []line {
	s := m.shown
	ls := []line{headline(s, nameOf(m.o, m.shown), markOf(m), m.width)}
	if s != nil && s.Up {
		if m.height >= 16 {
			ls = append(ls, sparks(s, m.behind(), m.width)...)
		}
		if m.height >= 12 {
			ls = append(ls, flow(s, activity, m.width, 1)...)
			ls = append(ls, flow(s, work, m.width, 1)...)
		}
	}
	return append(ls, tabsOf(m))
}

// markOf tells what moment is shown and what looking costs.
func markOf(m *model) line {
	var l line
	s := m.shown
	switch {
	case s == nil && m.seeking:
		l = as(warn, "reading history …")
	case s == nil:
		l = as(dim, "…")
	case m.mode == live && m.ended:
		l = as(bad, "NO MORE DATA since "+clock(s.At, m.now, m.o.Location))
	case m.mode == live && m.now.Sub(m.heard) > quietFor:
		l = as(bad, "NO DATA for "+seconds(math.Floor(m.now.Sub(m.heard).Seconds()))+" ").add(plain,
			clock(s.At, m.now, m.o.Location))
	case m.mode == live:
		l = as(good, "LIVE ").add(plain, clock(s.At, m.now, m.o.Location))
	default:
		word := "PAUSED "
		if m.mode == past {
			word = "PAST "
		}
		l = as(marked, word+clock(s.At, m.now, m.o.Location))
		if d := m.now.Sub(s.At).Seconds(); d >= 1 {
			l = l.add(warn, " "+seconds(math.Floor(d))+" ago")
		}
		if m.seeking {
			l = l.add(dim, " …")
		}
	}
	if s != nil {
		l = append(l.add(plain, "  "), cost(s)...)
	}
	return l
}

// tabsOf returns the names of the views, with how much there is to worry about in those that are not shown.
func tabsOf(m *model) line {
	var l line
	for i, name := range []string{"overview", "sessions", "locks", "classes", "server", "sources"} {
		t := strconv.Itoa(i+1) + " " + name
		r := dim
		if m.shown != nil {
			if n := worriesOf(m.shown, view(i)); n > 0 {
				t += fmt.Sprintf(" (%d)", n)
				r = bad
			}
		}
		if view(i) == m.page {
			r = marked
		}
		l = l.add(r, " "+t+" ")
	}
	if m.filter != "" && m.prompt == nil {
		l = l.add(warn, "  filter: "+clean(m.filter))
	}
	return l
}

// worriesOf counts what a view shows that should not be.
func worriesOf(shown *state.State, p view) int {
	n := 0
	switch p {
	case lockView:
		n = len(waiting(shown))
	case sourceView:
		for _, x := range shown.Sources {
			if x.State != source.OK && x.State != source.Missing {
				n++
			}
		}
	default:
	}
	return n
}

// footerOf is the last line: what is typed, what there is to say, or the keys.
func footerOf(m *model) line {
	switch {
	case m.prompt != nil:
		return line{{m.prompt.label, strong}, {m.prompt.text, plain}, {"█", accent}}
	case m.over != nil:
		l := as(dim, "Esc close  ↑↓ scroll  e plan")
		if n := len(m.over.lines) - m.over.top - m.overHeight(); n > 0 {
			l = l.add(accent, "  ↓ "+unit.Plural(n, "more line", "more lines"))
		}
		return l
	case m.note.text != "":
		return line{m.note}
	}
	var l line
	for _, k := range []string{
		"? help", "q quit", "Tab view", "Enter details", "p pause", "←→ rewind", "s sort",
		"/ filter", "e plan", "g go to", "l live",
	} {
		if l.cells()+2+cells(k) <= m.width {
			l = l.add(dim, k+"  ")
		}
	}
	return l
}

// headHeight is the number of lines that header returns.
func (m *model) headHeight() int {
	n := 2
	if m.shown != nil && m.shown.Up {
		if m.height >= 16 {
			n += len(graphs) / graphColumns(m.width)
		}
		if m.height >= 12 {
			n += 2
		}
	}
	return n
}

func (m *model) bodyHeight() int { return max(1, m.height-1-m.headHeight()) }
func (m *model) overHeight() int { return max(1, m.bodyHeight()-1) }

// rows returns all rows of the view.
func (m *model) rows() []row {
	s := m.shown
	if s == nil {
		return nil
	}
	w := m.width - 1 // the first column is the cursor's
	if !s.Up && m.page != sourceView {
		rows := []row{heading(as(bad, silence(s)))}
		for _, l := range cleanLines(s.Reason) {
			for _, x := range wrap(l, w) {
				rows = append(rows, heading(text(x)))
			}
		}
		return append(rows, row{}, heading(as(dim, "← goes back to when it did")))
	}
	var blind []row
	for _, l := range denied(s, w) {
		blind = append(blind, heading(as(bad, l)))
	}
	return append(blind, viewRows(m, s, w)...)
}

// viewRows returns the rows of the view for a server that answers.
func viewRows(m *model, s *state.State, w int) []row {
	bySession, byClass := sessionOrders[m.sessionOrder], classOrders[m.classOrder]
	switch m.page {
	case sessionView:
		return sessions(s, bySession, m.filter, w, math.MaxInt)
	case lockView:
		return locks(s, m.filter, w, math.MaxInt)
	case classView:
		return classes(s, byClass, m.filter, w, math.MaxInt)
	case serverView:
		return server(s, m.behind().until(s.At), m.o.Location, m.o.Status, w)
	case sourceView:
		return sources(s, w)
	default:
		return overviewRows(m, s, w)
	}
}

// overviewRows puts locks, classes and sessions on one screen: the more waits there are, the more room they get.
func overviewRows(m *model, s *state.State, w int) []row {
	h := m.bodyHeight()
	var rows []row
	if es := m.behind().until(s.At); len(es) > 0 && s.At.Sub(es[len(es)-1].At) < 5*time.Minute {
		rows = append(rows, heading(eventLine(es[len(es)-1], s.At, m.o.Location).fit(w)))
		h--
	}
	lk := locks(s, m.filter, w, max(3, h/2))
	rows = append(rows, lk...)
	h -= len(lk)
	cl := classes(s, classOrders[m.classOrder], m.filter, w, max(1, h*2/5-2))
	rows = append(rows, cl...)
	h -= len(cl)
	return append(rows, sessions(s, sessionOrders[m.sessionOrder], m.filter, w, max(1, h-3))...)
}

// bodyOf returns the part of the view's rows that is seen, and which of them the cursor is on, -1 for none.
func bodyOf(m *model) ([]line, int) {
	rows := m.rows()
	top, h := m.top[m.page], m.bodyHeight()
	cursor := -1
	var ls []line
	for i := top; i < min(len(rows), top+h); i++ {
		gutter := " "
		if rows[i].ref == m.cursor[m.page] && rows[i].ref.kind != nothing {
			cursor, gutter = i-top, "›"
		}
		ls = append(ls, append(line{{gutter, accent}}, rows[i].line...))
	}
	if m.shown == nil {
		ls = append(ls, as(dim, " waiting for the first data …"))
	}
	return ls, cursor
}

// settle keeps the cursor on what it was on, or near to where that was, and in sight. Until the user moves it, and when
// it has been moved to the top again, it is on the top row, whatever comes there: the longest session, the blocker of
// most others.
func (m *model) settle() {
	if m.shown == nil {
		return
	}
	rows := m.rows()
	p := m.page
	if p == serverView { // a text to read: it has no cursor
		m.cursor[p] = ref{}
		m.top[p] = max(0, min(m.top[p], len(rows)-m.bodyHeight()))
		return
	}
	at := -1
	if m.moved[p] {
		at = slices.IndexFunc(rows, func(r row) bool { return r.ref.kind != nothing && r.ref == m.cursor[p] })
	} else {
		m.line[p] = 0
	}
	if at < 0 {
		at = nearest(rows, m.line[p], 0)
	}
	h := m.bodyHeight()
	if at < 0 {
		m.cursor[p] = ref{}
		m.top[p] = max(0, min(m.top[p], len(rows)-h))
		return
	}
	m.cursor[p], m.line[p] = rows[at].ref, at
	m.scroll(at, rows, h)
}

// scroll brings a row into sight, with the headings above the first one.
func (m *model) scroll(at int, rows []row, h int) {
	top := m.top[m.page]
	if at < top+1 {
		top = at - 1
	}
	if at >= top+h {
		top = at - h + 1
	}
	if nearest(rows, 0, 0) == at && at < h {
		top = 0
	}
	m.top[m.page] = max(0, min(top, len(rows)-h))
}

// nearest returns the row at or after i that the cursor may stand on, else the last one before, -1 when there is none.
// way -1 looks before i first.
func nearest(rows []row, i, way int) int {
	i = max(0, min(i, len(rows)-1))
	before := func() int {
		for j := min(i, len(rows)-1); j >= 0; j-- {
			if rows[j].ref.kind != nothing {
				return j
			}
		}
		return -1
	}
	if way < 0 {
		if j := before(); j >= 0 {
			return j
		}
	}
	for j := i; j < len(rows); j++ {
		if rows[j].ref.kind != nothing {
			return j
		}
	}
	return before()
}

// move moves the cursor by n rows that it may stand on; where there are none the view is scrolled.
func (m *model) move(n int) {
	if m.shown == nil {
		return
	}
	rows, p := m.rows(), m.page
	var stops []int
	here := -1
	for i, r := range rows {
		if r.ref.kind == nothing {
			continue
		}
		if r.ref == m.cursor[p] {
			here = len(stops)
		}
		stops = append(stops, i)
	}
	h := m.bodyHeight()
	if len(stops) == 0 || p == serverView {
		m.top[p] = max(0, min(m.top[p]+n, len(rows)-h))
		return
	}
	at := stops[max(0, min(len(stops)-1, max(0, here)+n))]
	m.cursor[p], m.line[p] = rows[at].ref, at
	m.moved[p] = at != stops[0]
}

// overLines draws the overlay.
func overLines(m *model) []line {
	o := m.over
	ls := []line{as(strong, o.title).fit(m.width)}
	h := m.overHeight()
	top := max(0, min(o.top, len(o.lines)-h))
	for i := top; i < min(len(o.lines), top+h); i++ {
		ls = append(ls, o.lines[i])
	}
	return ls
}
