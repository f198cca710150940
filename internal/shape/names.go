package shape

import "strings"

// mostPatterns bounds the names without their digits that are told apart in one list.
const mostPatterns = 64

// Names are names that a statement has for columns. Of a fingerprint some may have lost their digits, see Match.
type Names struct {
	whole    map[string]bool // in lower case
	patterns []string
}

// NamesOf makes Names of a list.
func NamesOf(list []string) (n Names) {
	n.whole = map[string]bool{}
	for _, s := range list {
		if !strings.Contains(s, "?") {
			n.whole[fold(s)] = true
		} else if len(n.patterns) <= mostPatterns {
			n.patterns = append(n.patterns, s)
		}
	}
	return n
}

// Has reports whether one of the names can be that of a column. Of a list with very many that have lost their digits
// any can.
func (n Names) Has(column string) bool {
	if n.whole[fold(column)] || len(n.patterns) > mostPatterns {
		return true
	}
	for _, p := range n.patterns {
		if Match(p, column) {
			return true
		}
	}
	return false
}

// Match reports whether a name from a fingerprint, in which each ? stands for digits and swallowed an x, b or dot
// before them, can be name. Case does not count. A pattern without ? matches itself only.
func Match(pattern, name string) bool {
	p, n := fold(pattern), fold(name)
	if !strings.Contains(p, "?") {
		return p == n
	}
	return match(p, n)
}

func match(p, n string) bool {
	for p != "" && p[0] != '?' {
		if n == "" || n[0] != p[0] {
			return false
		}
		p, n = p[1:], n[1:]
	}
	if p == "" {
		return n == ""
	}
	rest := strings.TrimLeft(p, "?")
	if n != "" && (n[0] == 'x' || n[0] == 'b') {
		n = n[1:]
	}
	// The digits, and the letters that look like the rest of a number.
	if n == "" || n[0] < '0' || n[0] > '9' {
		return false
	}
	i := 1
	for i < len(n) && (n[i] >= '0' && n[i] <= '9' || n[i] >= 'a' && n[i] <= 'f' || n[i] == 'x') {
		i++
	}
	return match(rest, n[i:])
}

func fold(s string) string { return strings.ToLower(s) }
