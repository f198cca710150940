package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
)

// maxMarks is how many combining marks a character keeps: enough for any language, too few to paint over other lines.
const maxMarks = 3

// clean makes a text of the server harmless on one line of a terminal. White space becomes a blank, control characters
// the pictures that Unicode has for them, everything that changes the direction, the form or the order of its
// neighbours and bytes that are not UTF-8 the replacement character. What is left takes the same number of cells on
// terminals that count by character and on those that count by cluster.
func clean(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	marks := maxMarks // none without a character before
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		mark := unicode.In(r, unicode.Mn, unicode.Me) && !unicode.Is(unicode.Variation_Selector, r)
		switch {
		case r == 0x200d, unicode.Is(unicode.Variation_Selector, r), r >= 0x1f3fb && r <= 0x1f3ff,
			r >= 0xe0000 && r <= 0xe007f:
			continue // joins and colours of pictures: terminals that know them draw one, the others several
		case mark:
			if marks < maxMarks {
				b.WriteRune(r)
			}
			marks++
			continue
		}
		marks = 0
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\v' || r == '\f':
			b.WriteByte(' ')
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune(0x2421)
		case r == utf8.RuneError, unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp,
			unicode.Cs, unicode.Co):
			b.WriteRune(utf8.RuneError)
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Regional_Indicator, r):
			b.WriteRune(utf8.RuneError)
		case unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case r >= 0x1160 && r <= 0x11ff, r >= 0xd7b0 && r <= 0xd7ff, lipgloss.Width(string(r)) < 1:
			b.WriteRune(utf8.RuneError) // Hangul parts that melt with their neighbours, fillers
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// squeeze is clean with runs of blanks made one: a statement of many lines on one.
func squeeze(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// cleanLines is clean for a text of several lines: line ends stay, tabs become blanks up to the next column of eight.
func cleanLines(s string) []string {
	var out []string
	for l := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		l = strings.TrimSuffix(l, "\r")
		if strings.ContainsRune(l, '\t') {
			var b strings.Builder
			for i, part := range strings.Split(l, "\t") {
				if i > 0 {
					b.WriteString(strings.Repeat(" ", 8-cells(b.String())%8))
				}
				b.WriteString(clean(part))
			}
			l = b.String()
		}
		out = append(out, clean(l))
	}
	return out
}

// cells returns how many cells of a terminal a cleaned text takes.
func cells(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			n := 0
			for _, r := range s {
				n += runeCells(r)
			}
			return n
		}
	}
	return len(s)
}

func runeCells(r rune) int {
	switch {
	case r < utf8.RuneSelf, r >= 0x2500 && r < 0x25a0, r == '…', r == '–': // and what graphs and trees are drawn with
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	return lipgloss.Width(string(r))
}

// cut shortens a cleaned text to at most n cells; what was cut ends with "…".
func cut(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if cells(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		w := runeCells(r)
		if used+w > n-1 {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}

// pad cuts a cleaned text to n cells and fills it with blanks on the right.
func pad(s string, n int) string {
	s = cut(s, n)
	return s + strings.Repeat(" ", max(0, n-cells(s)))
}

// padLeft is pad with the blanks on the left, for figures.
func padLeft(s string, n int) string {
	s = cut(s, n)
	return strings.Repeat(" ", max(0, n-cells(s))) + s
}

// wrap breaks a cleaned line into lines of at most n cells, at blanks where there are any.
func wrap(s string, n int) []string {
	n = max(n, 4)
	var out []string
	for cells(s) > n {
		used, at, blank := 0, len(s), -1
		for i, r := range s {
			w := runeCells(r)
			if used+w > n {
				at = i
				break
			}
			used += w
			if r == ' ' {
				blank = i
			}
		}
		if s[at] == ' ' {
			blank = at
		}
		if blank > at/2 {
			out = append(out, strings.TrimRight(s[:blank], " "))
			s = s[blank+1:]
			continue
		}
		out = append(out, s[:at])
		s = s[at:]
	}
	return append(out, s)
}
