package screen

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/dyno-perf/dyno/internal/state"
)

// prompt is a line that the user types.
type prompt struct {
	label string
	text  string
	was   string // what to go back to when it is given up
	done  func(m *model, text string) tea.Cmd
	each  func(m *model, text string) // after each key; may be nil
}

// key takes in a key.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case name == "ctrl+z":
		return tea.Suspend
	case name == "ctrl+l":
		return tea.ClearScreen
	case m.prompt != nil:
		return typed(m, k)
	}
	m.note = span{}
	if m.over != nil {
		return overKey(m, name)
	}
	switch name {
	case "q":
		return tea.Quit
	case "tab":
		m.page = (m.page + 1) % views
	case "shift+tab":
		m.page = (m.page + views - 1) % views
	case "1", "2", "3", "4", "5", "6":
		m.page = view(name[0] - '1')
	case "s":
		sortBy(m)
	case "/":
		m.prompt = &prompt{
			label: "filter: ", text: m.filter, was: m.filter,
			each: func(m *model, t string) { m.filter = t },
			done: func(m *model, t string) tea.Cmd { m.filter = t; return nil },
		}
	case "esc":
		m.filter = ""
	case "p", "space", " ":
		return m.pause()
	case "l":
		return m.follow()
	case "left":
		return m.step(-time.Second)
	case "right":
		return m.step(time.Second)
	case "[":
		return m.step(-time.Minute)
	case "]":
		return m.step(time.Minute)
	case "g":
		m.prompt = &prompt{
			label: "go to (14:03, 14:03:20, 2026-01-31 14:03, -5m): ",
			done: func(m *model, t string) tea.Cmd {
				if strings.TrimSpace(t) == "" {
					return nil
				}
				at, err := parseTime(t, m.now, m.o.Location)
				if err != nil {
					m.note = span{err.Error(), bad}
					return nil
				}
				m.mode = past
				return m.seek(at, 0)
			},
		}
	case "up", "k":
		m.move(-1)
	case "down", "j":
		m.move(1)
	case "pgup", "ctrl+b":
		m.move(-m.bodyHeight())
	case "pgdown", "ctrl+f":
		m.move(m.bodyHeight())
	case "home":
		m.move(-1 << 20)
	case "end":
		m.move(1 << 20)
	case "enter":
		openDetails(m)
	case "e":
		return explainRow(m)
	case "?", "h", "f1":
		m.over = &overlay{title: "keys", lines: help()}
	}
	return nil
}

// typed takes in a key of the prompt.
func typed(m *model, k tea.KeyPressMsg) tea.Cmd {
	p := m.prompt
	switch k.String() {
	case "enter":
		m.prompt = nil
		return p.done(m, p.text)
	case "esc":
		m.prompt = nil
		if p.each != nil {
			p.each(m, p.was)
		}
		return nil
	case "backspace":
		if _, n := utf8.DecodeLastRuneInString(p.text); n > 0 {
			p.text = p.text[:len(p.text)-n]
		}
	case "ctrl+u":
		p.text = ""
	default:
		if len(p.text) < 200 {
			p.text += clean(k.Text)
		}
	}
	if p.each != nil {
		p.each(m, p.text)
	}
	return nil
}

// sortBy orders the view's table by its next column.
func sortBy(m *model) {
	switch m.page {
	case overview, sessionView:
		m.sessionOrder = (m.sessionOrder + 1) % len(sessionOrders)
		m.note = span{"sessions by " + sessionOrders[m.sessionOrder].name, dim}
	case classView:
		m.classOrder = (m.classOrder + 1) % len(classOrders)
		m.note = span{"classes by " + classOrders[m.classOrder].name, dim}
	default:
		m.note = span{"nothing to sort here", dim}
	}
}

// pause stops at what is shown, or follows the server again.
func (m *model) pause() tea.Cmd {
	if m.mode != live {
		return m.follow()
	}
	if m.shown != nil {
		m.mode = paused
	}
	return nil
}

// follow shows the newest again.
func (m *model) follow() tea.Cmd {
	if m.ended && m.newest == nil { // only the past is looked at
		return m.seek(m.now, 0)
	}
	m.mode = live
	if m.newest != nil {
		m.shown = m.newest
	}
	return nil
}

// planWithin is how long a plan is waited for: a statement's tables may be locked by the very thing that is looked
// into.
const planWithin = 10 * time.Second

var errNoPlan = errors.New("no plan after 10 s: the statement's tables may be locked")

// explainRow asks for the plan of the statement that the cursor stands on.
func explainRow(m *model) tea.Cmd {
	if m.shown == nil {
		return nil
	}
	if m.o.Explain == nil {
		m.note = span{"plans are not available here", warn}
		return nil
	}
	sql, db, why := subject(m.shown, m.cursor[m.page])
	if why != "" {
		m.note = span{why, warn}
		return nil
	}
	m.asked++
	n, ask := m.asked, m.o.Explain
	title := "plan"
	if m.mode != live {
		title = "plan, as of now"
	}
	m.over = &overlay{title: title, sql: sql, asked: n, lines: append(statementLines(sql, m.width), nil,
		as(dim, "asking the server …"))}
	return m.call(func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeoutCause(ctx, planWithin, errNoPlan)
		defer cancel()
		t, err := ask(ctx, sql, db)
		if err != nil && errors.Is(context.Cause(ctx), errNoPlan) {
			err = errNoPlan
		}
		return planMsg{n, t, err}
	})
}

// subject returns the statement to explain for a row, or why there is none.
func subject(s *state.State, r ref) (sql, db, why string) {
	switch r.kind {
	case aSession:
		x := sessionOf(s, r)
		switch {
		case x == nil:
			return "", "", "that session has gone"
		case x.SQL == "":
			return "", "", "that session's statement is unknown"
		case wasCut(x.SQL):
			return "", "", "only the beginning of that statement is stored: it cannot be explained"
		}
		return x.SQL, x.DB, ""
	case aClass:
		c := classOf(s, r)
		if c == nil {
			return "", "", "that class has gone"
		}
		for i := range s.Sessions {
			if x := &s.Sessions[i]; x.ClassID == c.ID && x.SQL != "" && !wasCut(x.SQL) {
				return x.SQL, x.DB, ""
			}
		}
		return "", "", "no statement of that class is running now: pause when one is, or ask on a session"
	default:
		return "", "", "move to a session or a class first"
	}
}

// wasCut reports whether a statement may have lost its end when it was kept.
func wasCut(sql string) bool { return len(sql) > state.MaxText-utf8.UTFMax }

// planText takes in the answer to a question for a plan.
func planText(over *overlay, width int, p planMsg) {
	if over == nil || over.asked != p.n {
		return
	}
	over.lines = append(statementLines(over.sql, width), nil)
	if p.err != nil {
		for _, l := range wrap(squeeze(p.err.Error()), width-2) {
			over.lines = append(over.lines, as(bad, l))
		}
		return
	}
	over.lines = append(over.lines, statementLines(p.text, width)...)
}
