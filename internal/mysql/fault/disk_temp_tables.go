package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// diskTempTables plants groups that need more room than a temporary table may take in memory.
func diskTempTables() fault.Fault {
	settings := sized()
	settings["tmp_table_size"] = "256K"
	settings["max_heap_table_size"] = "256K"
	return fault.Fault{
		Name:  "disk-temp-tables",
		Title: "groups of a report outgrow the temporary tables that may stay in memory",
		Story: "A report counts what was searched for, by words and place. It makes some thousand groups of a few " +
			"hundred bytes, and temporary " +
			"tables may take 256 KiB of memory: each report begins in memory, is copied to disk halfway, and " +
			"continues there. The fix is a limit " +
			"that lets a report through.",
		Kind:     fault.Hurts,
		Threads:  2,
		Settings: settings,
		Workload: fault.Mix{
			ID: "disk-temp-tables", About: "reports over searches, and single searches", Rows: 100_000,
			Tables:     func(n fault.Names, rows int) []workload.Table { return []workload.Table{searches(n, rows)} },
			Operations: []fault.Operation{reportSearches(60), getSearch(40)},
		},
		Cure: fault.Cure{Kind: fault.CureRestart},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "disk-temp-tables", Table: schema.Ref{
				Schema: n.Of(fault.SchemaKey),
				Table:  n.Of("searches"),
			}, Variable: "tmp_table_size"}
		},
	}
}

func searches(n fault.Names, rows int) workload.Table {
	return workload.Table{
		Name: n.Of("searches"), Rows: rows,
		Create: n.SQL("CREATE TABLE {searches} ({searches.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {searches.words} " +
			"VARCHAR(120) NOT NULL, " +
			"{searches.place} VARCHAR(60) NOT NULL, {searches.hits} INT UNSIGNED NOT NULL, PRIMARY KEY " +
			"({searches.id})) ENGINE=InnoDB"),
		Columns: n.List("searches.id", "searches.words", "searches.place", "searches.hits"),
		Key:     n.Of("searches.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|7<<32)
				l.Begin()
				l.Int(row)
				l.Text("how to mend thing %d of maker %d before winter comes", r.IntN(300), r.IntN(300))
				l.Text("City %d", r.IntN(fault.Cities))
				l.Int(r.IntN(1000))
				emit(l.Row)
			}
		},
	}
}

// reported is how many searches a report covers.
const reported = 4000

func reportSearches(weight int) fault.Operation {
	return fault.Operation{
		Name: "report_searches", Weight: weight,
		SQL: "SELECT {searches.words}, {searches.place}, COUNT(*), SUM({searches.hits}) FROM {searches} WHERE " +
			"{searches.id} BETWEEN ? AND ? " +
			"GROUP BY {searches.words}, {searches.place} ORDER BY COUNT(*) DESC LIMIT 10",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			from := 1 + r.Int64N(int64(max(1, rows-reported)))
			args[0], args[1] = workload.Int(from), workload.Int(from+reported-1)
		},
	}
}

func getSearch(weight int) fault.Operation {
	return fault.Operation{
		Name: "get_search", Weight: weight,
		SQL:  "SELECT {searches.words}, {searches.hits} FROM {searches} WHERE {searches.id} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
	}
}
