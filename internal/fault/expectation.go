package fault

import (
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
)

// Expectation is what the right finding says. The zero Expectation expects no finding.
type Expectation struct {
	Rule  string     // id of the rule
	Table schema.Ref // among the finding's tables
	// the first parts of the action's index, in order; without an index in the action the first of the subject's
	// columns
	Columns  []string
	Index    string // name of the index to hide or drop
	Variable string // to change: in the action or in the lines for my.cnf
	// Check says what else is wrong with a finding, "" for nothing.
	Check func(finding.Finding) string
}

// Wrong says in a few words why a finding is not the one expected; "" when it is.
func (e Expectation) Wrong(f finding.Finding) string {
	var parts []string
	if f.Action != nil {
		for _, p := range f.Action.Index.Parts {
			parts = append(parts, p.Column)
		}
		for _, c := range f.Action.Changes {
			for _, p := range c.Index.Parts {
				parts = append(parts, p.Column)
			}
		}
	}
	if len(parts) == 0 {
		parts = f.Subject.Columns
	}
	named := func(variable string) bool {
		return f.Action != nil && f.Action.Variable == variable || slices.ContainsFunc(f.Setting, func(l string) bool {
			name, _, _ := strings.Cut(l, "=")
			return strings.TrimSpace(name) == variable
		})
	}
	switch {
	case e.Rule == "":
		return "nothing is expected"
	case f.Rule != e.Rule:
		return "rule " + f.Rule + ", not " + e.Rule
	case e.Table.Table != "" && !slices.Contains(f.Subject.Tables, e.Table):
		return "it is not about " + e.Table.String()
	case len(e.Columns) > len(parts) || !slices.Equal(parts[:len(e.Columns)], e.Columns):
		return "its columns are " + strings.Join(parts, ", ") + ", not " + strings.Join(e.Columns, ", ")
	case e.Index != "" && (f.Action == nil || f.Action.Index.Name != e.Index):
		return "it is not about the index " + e.Index
	case e.Variable != "" && !named(e.Variable):
		return "it does not change " + e.Variable
	case e.Check != nil:
		return e.Check(f)
	}
	return ""
}
