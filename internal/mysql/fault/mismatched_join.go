package fault

import (
	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// mismatchedJoin plants a join of numbers with texts that hold numbers.
func mismatchedJoin() fault.Fault {
	return fault.Fault{
		Name:  "mismatched-join",
		Title: "two tables are joined by a number and a text",
		Story: "Letters name their member by number, but in a text column. Joined to the members' numbers, every " +
			"such text is converted to a " +
			"floating point number first, so its index cannot be used and every join reads all letters. The fix is " +
			"one type for both.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "mismatched-join", About: "joins of a number with a text, and lookups by either", Rows: 30_000,
			Tables: func(n fault.Names, rows int) []workload.Table {
				return []workload.Table{members(n, rows), sentTo(n, rows, "VARCHAR(20) CHARACTER SET utf8mb4 NOT NULL",
					"%d")}
			},
			Operations: []fault.Operation{
				lettersOfTeam(30, "members.id"), getMember(25), memberByCode(15),
				lettersOf(20, "%d"), addLetter(10, "%d"),
			},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "implicit-conversion", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("letters")},
				Columns: n.List("letters.member"),
				Check:   modifies(n.Of("letters.member"), "int"),
			}
		},
	}
}
