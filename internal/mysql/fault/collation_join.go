package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// collationJoin plants a join of a latin1 column with a utf8mb4 one.
func collationJoin() fault.Fault {
	return fault.Fault{
		Name:  "collation-join",
		Title: "two tables are joined by codes of different character sets",
		Story: "The letters of a team are joined to its members by the member's code. One table came from an old " +
			"system: its code is latin1, the " +
			"other's utf8mb4. To compare them the server converts the latin1 side of every row, so its index cannot " +
			"be used and every " +
			"join reads all letters. The same column compared with a plain value uses its index. The fix is one " +
			"character set for both.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "collation-join", About: "joins over codes of different character sets, and lookups by either",
			Rows: 30_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{members(n, rows), sentTo(n, rows, "VARCHAR(24) CHARACTER SET latin1 NOT NULL",
					codeFormat)}
			},
			Operations: []fault.Operation{
				lettersOfTeam(30, "members.code"), getMember(25), memberByCode(15),
				lettersOf(20, codeFormat), addLetter(10, codeFormat),
			},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "collation-join", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("letters")},
				Columns: n.List("letters.member"),
				Check:   modifies(n.Of("letters.member"), "CHARACTER SET utf8mb4"),
			}
		},
	}
}

// modifies checks that a finding's action gives a column a definition that holds a text.
func modifies(column, text string) func(finding.Finding) string {
	return func(f finding.Finding) string {
		if f.Action != nil {
			for _, c := range f.Action.Changes {
				if c.Kind == schema.ModifyColumn && c.Column == column && containsFold(c.Definition, text) {
					return ""
				}
			}
		}
		return "it does not make " + column + " " + text
	}
}
