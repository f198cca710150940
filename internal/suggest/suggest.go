// Package suggest suggests the right name for a mistyped one, for error messages of flags, plans and
// filters.
package suggest

import "strings"

// longest is how long a name may be: nobody means longer ones.
const longest = 100

// Name returns the name that is most like the one that was typed, whatever the case of its letters, when fewer than
// most changes lead from one to the other; "" when none is like it. Of equals it is the first.
func Name(typed string, names []string, most int) string {
	if len(typed) > longest {
		return ""
	}
	best := ""
	for _, n := range names {
		if d := distance(strings.ToLower(typed), strings.ToLower(n)); d < most {
			best, most = n, d
		}
	}
	return best
}

// distance is the number of bytes to insert, delete or replace, or of neighbours to swap, to get from a to b (optimal
// string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			d := last[j]
			if a[i] != b[j] {
				d++
			}
			d = min(d, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			row[j+1] = d
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
