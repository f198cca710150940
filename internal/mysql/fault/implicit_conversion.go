package fault

import (
	"math/rand/v2"
	"strings"

	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// implicitConversion plants numbers held against a column of text.
func implicitConversion() Fault {
	const title = "crates looked up by a number that is stored as text"
	return Fault{
		Name:  "implicit-conversion",
		Title: title,
		Story: "Crates carry a number in a column of text, which has an index. The application queries it as a " +
			"number, without quotes. A text is " +
			"compared with a number as floating point numbers, so many texts are equal to one number, the index " +
			"cannot find them, and every " +
			"lookup reads the whole table. The fix is a pair of quotes in the application.",
		Kind:     Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: crateMix("implicit-conversion", title, workload.Int),
		Cure:     Cure{Kind: CureWorkload, Workload: crateMix("implicit-conversion", title, quoted)},
		expect: func(n names) Expectation {
			return Expectation{
				Rule: "implicit-conversion", Table: schema.Ref{Schema: n.of(schemaKey), Table: n.of("crates")},
				Columns: n.list("crates.number"),
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

func quoted(number int64) workload.Datum { return workload.String(fmtInt(int(number))) }

func crateMix(name, title string, value func(int64) workload.Datum) mix {
	const first = 4_000_000
	return mix{
		name: name, title: title, rows: 200_000,
		tables: func(n names, rows int) []workload.Table { return []workload.Table{crates(n, rows, first)} },
		operations: []operation{
			{
				"find_crate", 40,
				"SELECT {crates.id}, {crates.weight}, {crates.state} FROM {crates} WHERE {crates.number} = ?",
				func(r *rand.Rand, rows int, args []workload.Datum) {
					args[0] = value(first + 1 + r.Int64N(int64(rows)))
				},
			},
			{
				"get_crate", 40,
				"SELECT {crates.number}, {crates.state} FROM {crates} WHERE {crates.id} = ?",
				func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = id(r, rows) },
			},
			{
				"move_crate", 20,
				"UPDATE {crates} SET {crates.state} = ?, {crates.moved_at} = NOW() WHERE {crates.id} = ?",
				func(r *rand.Rand, rows int, args []workload.Datum) {
					args[0], args[1] = workload.Int(r.Int64N(9)), id(r, rows)
				},
			},
		},
	}
}

func crates(n names, rows, first int) workload.Table {
	return workload.Table{
		Name: n.of("crates"), Rows: rows,
		Create: n.sql("CREATE TABLE {crates} ({crates.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {crates.number} " +
			"VARCHAR(20) NOT NULL, " +
			"{crates.weight} INT UNSIGNED NOT NULL, {crates.state} TINYINT UNSIGNED NOT NULL, {crates.moved_at} " +
			"DATETIME NOT NULL, " +
			"PRIMARY KEY ({crates.id}), UNIQUE KEY {crates.by_number} ({crates.number})) ENGINE=InnoDB"),
		Columns: n.list("crates.id", "crates.number", "crates.weight", "crates.state", "crates.moved_at"),
		Key:     n.of("crates.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|1<<35)
				l.begin()
				l.int(row)
				l.text("%d", first+row)
				l.int(100 + r.IntN(30_000))
				l.int(r.IntN(9))
				l.time(r.IntN(365 * 24 * 3600))
				emit(l.row)
			}
		},
	}
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}
