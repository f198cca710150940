package fault

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// implicitConversion plants numbers held against a column of text.
func implicitConversion() fault.Fault {
	const title = "crates looked up by a number that is stored as text"
	return fault.Fault{
		Name:  "implicit-conversion",
		Title: title,
		Story: "Crates carry a number in a column of text, which has an index. The application queries it as a " +
			"number, without quotes. A text is " +
			"compared with a number as floating point numbers, so many texts are equal to one number, the index " +
			"cannot find them, and every " +
			"lookup reads the whole table. The fix is a pair of quotes in the application.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: crateMix("implicit-conversion", title, workload.Int),
		Cure:     fault.Cure{Kind: fault.CureWorkload, Workload: crateMix("implicit-conversion", title, quoted)},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "implicit-conversion", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("crates")},
				Columns: n.List("crates.number"),
				Check: func(f finding.Finding) string {
					if !strings.Contains(f.Suggestion, "quotes") || f.Action != nil {
						return "it does not suggest quotes around the value"
					}
					return ""
				},
			}
		},
	}
}

func quoted(number int64) workload.Datum { return workload.String(strconv.FormatInt(number, 10)) }

func crateMix(name, title string, value func(int64) workload.Datum) fault.Mix {
	const first = 4_000_000
	return fault.Mix{
		ID: name, About: title, Rows: 200_000,
		Tables: func(n fault.Names, rows int) []workload.Table { return []workload.Table{crates(n, rows, first)} },
		Operations: []fault.Operation{
			{
				Name: "find_crate", Weight: 40,
				SQL: "SELECT {crates.id}, {crates.weight}, {crates.state} FROM {crates} WHERE {crates.number} = ?",
				Args: func(r *rand.Rand, rows int, args []workload.Datum) {
					args[0] = value(first + 1 + r.Int64N(int64(rows)))
				},
			},
			{
				Name: "get_crate", Weight: 40,
				SQL:  "SELECT {crates.number}, {crates.state} FROM {crates} WHERE {crates.id} = ?",
				Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
			},
			{
				Name: "move_crate", Weight: 20,
				SQL: "UPDATE {crates} SET {crates.state} = ?, {crates.moved_at} = NOW() WHERE {crates.id} = ?",
				Args: func(r *rand.Rand, rows int, args []workload.Datum) {
					args[0], args[1] = workload.Int(r.Int64N(9)), fault.ID(r, rows)
				},
			},
		},
	}
}

func crates(n fault.Names, rows, first int) workload.Table {
	return workload.Table{
		Name: n.Of("crates"), Rows: rows,
		Create: n.SQL("CREATE TABLE {crates} ({crates.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {crates.number} " +
			"VARCHAR(20) NOT NULL, " +
			"{crates.weight} INT UNSIGNED NOT NULL, {crates.state} TINYINT UNSIGNED NOT NULL, {crates.moved_at} " +
			"DATETIME NOT NULL, " +
			"PRIMARY KEY ({crates.id}), UNIQUE KEY {crates.by_number} ({crates.number})) ENGINE=InnoDB"),
		Columns: n.List("crates.id", "crates.number", "crates.weight", "crates.state", "crates.moved_at"),
		Key:     n.Of("crates.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|1<<35)
				l.Begin()
				l.Int(row)
				l.Text("%d", first+row)
				l.Int(100 + r.IntN(30_000))
				l.Int(r.IntN(9))
				l.Time(r.IntN(365 * 24 * 3600))
				emit(l.Row)
			}
		},
	}
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}
