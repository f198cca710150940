package fault

import (
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// mismatchedJoin plants a join of numbers with texts that hold numbers.
func mismatchedJoin() Fault {
	return Fault{
		Name:  "mismatched-join",
		Title: "two tables are joined by a number and a text",
		Story: "Letters name their member by number, but in a text column. Joined to the members' numbers, every " +
			"such text is converted to a " +
			"floating point number first, so its index cannot be used and every join reads all letters. The fix is " +
			"one type for both.",
		Kind:     Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: mix{
			name: "mismatched-join", title: "joins of a number with a text, and lookups by either", rows: 30_000,
			tables: func(n names, rows int) []workload.Table {
				return []workload.Table{members(n, rows), sentTo(n, rows, "VARCHAR(20) CHARACTER SET utf8mb4 NOT NULL",
					"%d")}
			},
			operations: []operation{
				lettersOfTeam(30, "members.id"), getMember(25), memberByCode(15),
				lettersOf(20, "%d"), addLetter(10, "%d"),
			},
		},
		expect: func(n names) Expectation {
			return Expectation{
				Rule: "implicit-conversion", Table: schema.Ref{Schema: n.of(schemaKey), Table: n.of("letters")},
				Columns: n.list("letters.member"),
				Check:   modifies(n.of("letters.member"), "int"),
			}
		},
	}
}
