package sqlshape

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
