package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a plan.
type Problem struct {
	Line   int    `json:"line,omitzero"`   // from 1; 0 when the plan as a whole, or an option, is meant
	Column int    `json:"column,omitzero"` // from 1
	Option string `json:"option,omitzero"` // of the command line, when it is what is wrong: "--set trials.time"
	Path   string `json:"path,omitzero"`   // "axes[0].setting"
	Text   string `json:"text"`
	Hint   string `json:"hint,omitzero"` // what would be right
}

// Problems is everything that is wrong with a plan, in the order of its lines.
type Problems struct {
	File string    `json:"file"`
	List []Problem `json:"problems"` // at least one
}

// Error lists all problems, one a line.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, one := range p.List {
		lines[i] = one.in(p.File)
	}
	return strings.Join(lines, "\n")
}

// in writes the problem with its place.
func (p Problem) in(file string) string {
	var b strings.Builder
	switch {
	case p.Option != "":
		b.WriteString(p.Option)
	case p.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d", file, p.Line, p.Column)
	default:
		b.WriteString(file)
	}
	if p.Path != "" {
		b.WriteString(": " + p.Path)
	}
	b.WriteString(": " + p.Text)
	switch {
	case p.Hint == "":
	case strings.HasPrefix(p.Hint, meant):
		b.WriteString(", " + p.Hint)
	default:
		b.WriteString("; " + p.Hint)
	}
	return b.String()
}

const meant = "did you mean "

// tidy sorts problems by place, options first, and drops what is said twice.
func tidy(list []Problem) []Problem {
	rank := func(p Problem) int {
		if p.Option != "" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Problem) int {
		return cmp.Or(rank(a)-rank(b), a.Line-b.Line, a.Column-b.Column)
	})
	seen := map[Problem]bool{}
	return slices.DeleteFunc(list, func(p Problem) bool {
		twice := seen[p]
		seen[p] = true
		return twice
	})
}
