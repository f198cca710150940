package screen

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// role says what a piece of text means; the theme says how that looks.
type role uint8

const (
	plain  role = iota
	dim         // labels, what is of no interest now
	strong      // names, headings
	good        // all is well
	warn        // look here
	bad         // something is wrong
	accent      // graphs, the active view
	marked      // the row that the keys act on, the active view's name
)

// span is cleaned text in one role.
type span struct {
	text string
	role role
}

// line is what stands on one row of the screen. Its texts have been cleaned.
type line []span

func text(s string) line                 { return line{{s, plain}} }
func as(r role, s string) line           { return line{{s, r}} }
func (l line) add(r role, s string) line { return append(l, span{s, r}) }

// cells returns the width of the line.
func (l line) cells() int {
	n := 0
	for _, s := range l {
		n += cells(s.text)
	}
	return n
}

// fit cuts the line to n cells.
func (l line) fit(n int) line {
	out := make(line, 0, len(l))
	for _, s := range l {
		w := cells(s.text)
		if w <= n {
			out, n = append(out, s), n-w
			continue
		}
		if n > 0 {
			out = append(out, span{cut(s.text, n), s.role})
		}
		break
	}
	return out
}

// fill fits the line and fills it with blanks to n cells.
func (l line) fill(n int) line {
	l = l.fit(n)
	if w := l.cells(); w < n {
		l = l.add(plain, strings.Repeat(" ", n-w))
	}
	return l
}

// ends puts one line at the left and another at the right of n cells; the left one gives way.
func ends(left, right line, n int) line {
	right = right.fit(n)
	room := n - right.cells()
	return append(left.fit(max(0, room-1)).fill(room), right...)
}

// String returns the text alone, without blanks at its end.
func (l line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return strings.TrimRight(b.String(), " ")
}

// theme is how roles look.
type theme [marked + 1]lipgloss.Style

// newTheme returns the looks for a terminal; without colour weight and reversal remain.
func newTheme(dark, colour bool) *theme {
	var t theme
	for i := range t {
		t[i] = lipgloss.NewStyle()
	}
	t[strong] = t[strong].Bold(true)
	t[marked] = t[marked].Reverse(true)
	t[bad] = t[bad].Bold(true)
	if !colour {
		t[dim] = t[dim].Faint(true)
		return &t
	}
	pick := lipgloss.LightDark(dark)
	paint := func(r role, light, dark string) {
		t[r] = t[r].Foreground(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	// of the 256 colours, each at least 4.5:1 on white or on black
	paint(dim, "242", "246")
	paint(good, "28", "78")
	paint(warn, "130", "214")
	paint(bad, "160", "203")
	paint(accent, "25", "75")
	return &t
}

// render draws the line with the theme; over, when not plain, is the role of all of it.
func (t *theme) render(b *strings.Builder, l line, over role) {
	for _, s := range l {
		r := s.role
		if over != plain {
			r = over
		}
		if r == plain {
			b.WriteString(s.text)
			continue
		}
		b.WriteString(t[r].Render(s.text))
	}
}
