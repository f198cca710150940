package load

import (
	"cmp"
	"slices"
)

// Severity says what a Remark means for a run.
type Severity string

const (
	Note   Severity = "note"   // part of what the figures mean, such as a commit that is not flushed
	Warn   Severity = "warn"   // the figures would not mean what they seem to
	Refuse Severity = "refuse" // the run cannot succeed
)

// Remark is something to know before a run begins.
type Remark struct {
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`          // what was found, with its figures
	Hint     string   `json:"hint,omitzero"` // what to do about it; empty when there is nothing to be done
}

// String returns the text with the hint.
func (r Remark) String() string {
	if r.Hint == "" {
		return r.Text
	}
	return r.Text + "; " + r.Hint
}

// SortRemarks puts the worst first; those of one severity stay in their order.
func SortRemarks(list []Remark) {
	rank := map[Severity]int{Refuse: 0, Warn: 1, Note: 2}
	slices.SortStableFunc(list, func(a, b Remark) int { return cmp.Compare(rank[a.Severity], rank[b.Severity]) })
}
