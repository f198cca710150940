package screen

import (
	"cmp"
	"math"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/dyno-perf/dyno/internal/source"
	"github.com/dyno-perf/dyno/internal/state"
	"github.com/dyno-perf/dyno/internal/unit"
)

// overlay is a text that covers the view until it is closed.
type overlay struct {
	title string
	lines []line
	top   int
	sql   string // of a plan
	asked int    // of a plan: the number of the question
}

// overKey takes in a key while an overlay is open.
func overKey(m *model, name string) tea.Cmd {
	o := m.over
	switch name {
	case "q", "esc", "enter", "?":
		m.over = nil
	case "up", "k":
		o.top--
	case "down", "j":
		o.top++
	case "pgup", "ctrl+b":
		o.top -= m.overHeight()
	case "pgdown", "ctrl+f", "space", " ":
		o.top += m.overHeight()
	case "home":
		o.top = 0
	case "end":
		o.top = math.MaxInt32
	case "e":
		return explainRow(m)
	}
	o.top = max(0, min(o.top, len(o.lines)-m.overHeight()))
	return nil
}

// openDetails opens everything that is known of what the cursor stands on.
func openDetails(m *model) {
	s, r := m.shown, m.cursor[m.page]
	if s == nil {
		return
	}
	when := " at " + clock(s.At, m.now, m.o.Location)
	switch r.kind {
	case aSession:
		m.over = &overlay{title: "session " + r.id + when, lines: sessionDetails(s, r, m.width)}
	case aClass:
		if c := classOf(s, r); c != nil {
			m.over = &overlay{title: "class " + clean(c.ID) + when, lines: classDetails(s, *c, m.width)}
		}
	case aSource:
		for _, same := range alike(s.Sources) {
			if x := same[0]; string(x.Name) == r.id {
				var ls []line
				for i, y := range same {
					ls = append(ls, field([]string{"sources", ""}[min(i, 1)], clean(string(y.Name))))
				}
				ls = append(ls, field("state", clean(string(x.State))), field("why", ""))
				for _, l := range cleanLines(x.Reason) {
					ls = append(ls, wrapped(l, m.width, "  ")...)
				}
				if x.Fix != "" {
					ls = append(ls, field("mend", ""))
					for _, l := range cleanLines(x.Fix) {
						ls = append(ls, wrapped(l, m.width, "  ")...)
					}
				}
				m.over = &overlay{title: "source " + clean(string(x.Name)) + when, lines: ls}
			}
		}
	case aBlocker:
		why := r.at
		if why == "" {
			why = "the server does not report which session it is"
		}
		ls := append([]line{field("waited for", clean(r.id))}, wrapped(clean(why), m.width, "")...)
		m.over = &overlay{title: "unknown blocker" + when, lines: ls}
	case nothing: // the cursor stands nowhere
	}
}

func field(label, value string) line { return line{{pad(label, 14) + " ", dim}, {value, plain}} }

func wrapped(s string, width int, indent string) []line {
	var out []line
	for _, l := range wrap(s, width-len(indent)-2) {
		out = append(out, text(indent+l))
	}
	return out
}

// statementLines returns a whole statement, its own line ends kept.
func statementLines(sql string, width int) []line {
	var out []line
	for _, l := range cleanLines(sql) {
		out = append(out, wrapped(l, width, "")...)
	}
	return out
}

func sessionOf(s *state.State, r ref) *state.Session {
	id, err := strconv.ParseUint(r.id, 10, 64)
	if err != nil || r.kind != aSession {
		return nil
	}
	for i := range s.Sessions {
		if s.Sessions[i].ID == id {
			return &s.Sessions[i]
		}
	}
	return nil
}

func classOf(s *state.State, r ref) *state.ActiveClass {
	for i := range s.Classes {
		if c := &s.Classes[i]; r.kind == aClass && c.Schema+"\x00"+c.ID == r.id {
			return c
		}
	}
	return nil
}

// facts puts labelled values behind each other, in as many lines as they need.
func facts(width int, kv ...string) []line {
	var out []line
	var l line
	for i := 0; i < len(kv); i += 2 {
		x := line{{kv[i] + " ", dim}, {kv[i+1], plain}}
		if len(l) > 0 && l.cells()+3+x.cells() > width {
			out, l = append(out, l), nil
		}
		if len(l) > 0 {
			l = l.add(plain, "   ")
		}
		l = append(l, x...)
	}
	return append(out, l)
}

// sessionDetails tells all about a session: itself, its statement, what it waits for and who waits for it, its
// transaction.
func sessionDetails(s *state.State, r ref, width int) []line {
	id, _ := strconv.ParseUint(r.id, 10, 64)
	var ls []line
	x := sessionOf(s, r)
	if x == nil {
		ls = append(ls, as(dim, "not among the observed sessions"))
	} else {
		ls = append(ls, facts(width, "account", clean(x.User)+"@"+clean(x.Host), "database", orNone(x.DB), "command",
			clean(x.Command)+" "+seconds(x.Seconds),
			"state", orNone(x.Phase), "wait event", orNone(x.Wait), "rows examined", shown(x.Examined, count),
			"sent", shown(x.Sent, count),
			"memory", shown(x.Memory, size), "progress", shown(x.Progress, unit.Percent),
			"class", orNone(x.ClassID))...)
		title := line{{"statement", strong}}
		sql := cmp.Or(x.SQL, x.Last)
		if !busy(*x) && sql != "" {
			title = line{{"last statement", strong}}
		}
		if wasCut(sql) {
			title = title.add(warn, " (cut)")
		}
		ls = append(ls, nil, title)
		if sql == "" {
			ls = append(ls, as(dim, none+" (not reported by the server)"))
		} else {
			ls = append(ls, statementLines(sql, width)...)
		}
	}
	ls = append(ls, nil, as(strong, "locks"))
	n := len(ls)
	what := func(w state.Wait) string { return string(w.Kind) + " " + clean(w.Object) + " " + clean(w.Mode) }
	for _, w := range s.Waits {
		if w.Waiter != id {
			continue
		}
		b, known := w.Blocker.Get()
		if known {
			ls = append(ls, line{{"waits ", warn}, {shown(w.Seconds, seconds) + " for " + strconv.FormatUint(b, 10) +
				": " + what(w), plain}})
			continue
		}
		ls = append(ls, line{{"waits ", warn}, {
			shown(w.Seconds, seconds) + " for an unknown session: " + what(w),
			plain,
		}})
		ls = append(ls, wrapped(squeeze(w.Why), width, "  ")...)
	}
	for _, w := range s.Waits {
		if b, known := w.Blocker.Get(); known && b == id {
			ls = append(ls, line{{"blocks ", bad}, {strconv.FormatUint(w.Waiter, 10) + " for " +
				shown(w.Seconds, seconds) + ": " + what(w), plain}})
		}
	}
	if n == len(ls) {
		ls = append(ls, as(dim, nothingHere(s, "", "not waiting, and no session waits for it", source.Locks)))
	}
	ls = append(ls, nil, as(strong, "transaction"))
	n = len(ls)
	for _, t := range s.Transactions {
		if t.Session == id {
			ls = append(ls, facts(width, "id", clean(t.ID), "phase", clean(t.Phase), "open for", seconds(t.Seconds),
				"rows locked", shown(t.Locks, count), "rows modified", shown(t.Modified, count))...)
		}
	}
	if n == len(ls) {
		ls = append(ls, as(dim, nothingHere(s, "", "none is open", transactionsOf(s))))
	}
	return ls
}

// classDetails tells all about a class, and who runs it.
func classDetails(s *state.State, c state.ActiveClass, width int) []line {
	rate := func(v float64) string { return unit.Count(v) + "/s" }
	ls := facts(width, "database", orNone(c.Schema), "calls", rate(c.PerSecond), "load",
		strconv.FormatFloat(c.Load, 'f', 2, 64)+" at a time",
		"mean time", shown(c.MeanSec, unit.Seconds), "rows examined a call", shown(c.Examined, unit.Count),
		"errors", shown(c.Errors, rate))
	if c.Sampled {
		ls = append(ls, as(warn, "estimated from samples: calls and rows examined are lower bounds"))
	}
	ls = append(ls, nil, as(strong, "statement"))
	ls = append(ls, statementLines(c.Fingerprint, width)...)
	ls = append(ls, nil, as(strong, "running it now"))
	n := 0
	for _, x := range s.Sessions {
		if x.ClassID == c.ID {
			n++
			ls = append(ls, line{
				{padLeft(strconv.FormatUint(x.ID, 10), 8) + " ", plain},
				{account(x.User, x.Host) + " " + seconds(x.Seconds), dim},
				{" " + squeeze(head(x.SQL)), plain},
			}.fit(width-1))
		}
	}
	if n == 0 {
		ls = append(ls, as(dim, "no one"))
	}
	return ls
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return squeeze(s)
}

// help lists the keys.
func help() []line {
	var ls []line
	for _, k := range [][2]string{
		{"1 … 6, Tab", "overview, sessions, locks, classes, server, sources"},
		{"↑ ↓ PgUp PgDn", "move; j and k too"},
		{"Enter", "details of a session, a class, a source: full statement, transaction, locks"},
		{"e", "plan of the statement (the server is asked)"},
		{"s", "sort by the next column"},
		{"/", "show only rows that contain a text; Esc shows all again"},
		{"", ""},
		{"p, space", "pause, continue"},
		{"← →", "one second back, forward"},
		{"[ ]", "one minute back, forward"},
		{"g", "go to a time"},
		{"l", "live: follow the server again"},
		{"", ""},
		{"?", "this help"},
		{"q", "close, quit; Ctrl-C quits at once"},
	} {
		ls = append(ls, line{{pad(k[0], 16), strong}, {k[1], plain}})
	}
	return append(ls, nil, line{{none, strong}, {" was not observed; the view sources says why. Graphs show the last " +
		"two minutes.", plain}})
}
