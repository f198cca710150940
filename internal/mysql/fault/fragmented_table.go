package fault

import (
	"crypto/md5"
	"fmt"
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/finding"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

// keptOf is how many pallets were once there for each that still is.
const keptOf = 6

// fragmentedTable plants a table that was filled in random order and then mostly emptied.
func fragmentedTable() fault.Fault {
	return fault.Fault{
		Name:  "fragmented-table",
		Title: "a table filled in random order and then mostly deleted keeps its old size",
		Story: "Pallets in a store are identified by a random code of 32 characters, so they were inserted all over " +
			"the table and left its pages two thirds " +
			"full. Five of six have been delivered and deleted since. The file did not shrink: what is left is " +
			"spread over several times the " +
			"pages that it needs, and each of those takes space in the pool. The fix is to rebuild the table.",
		Kind:     fault.Risk,
		Threads:  2,
		Settings: unhurried(),
		Workload: fault.Mix{
			ID: "fragmented-table", About: "pallets looked up by a random code", Rows: 100_000,
			Tables:     func(n fault.Names, rows int) []workload.Table { return []workload.Table{pallets(n, rows)} },
			Operations: []fault.Operation{getPallet(80), movePallet(20)},
		},
		After: []string{
			fmt.Sprintf("DELETE FROM {pallets} WHERE {pallets.number} %% %d <> 0", keptOf),
			"ANALYZE TABLE {pallets}",
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "fragmented-table", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("pallets")},
				Check: func(f finding.Finding) string {
					if f.Action == nil || len(f.Action.Changes) != 1 || f.Action.Changes[0].Kind != schema.Rebuild {
						return "it does not rebuild the table"
					}
					return ""
				},
			}
		},
	}
}

func pallets(n fault.Names, rows int) workload.Table {
	return workload.Table{
		Name: n.Of("pallets"), Rows: rows,
		Create: n.SQL("CREATE TABLE {pallets} ({pallets.code} CHAR(32) NOT NULL, {pallets.number} INT UNSIGNED NOT " +
			"NULL, {pallets.weight} INT UNSIGNED NOT NULL, " +
			"{pallets.place} SMALLINT UNSIGNED NOT NULL, {pallets.label} CHAR(240) NOT NULL, PRIMARY KEY " +
			"({pallets.code})) ENGINE=InnoDB CHARACTER SET ascii"),
		Columns: n.List("pallets.code", "pallets.number", "pallets.weight", "pallets.place", "pallets.label"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|4<<32)
				l.Begin()
				l.Text("%s", palletCode(row))
				l.Int(row)
				l.Int(r.IntN(30_000))
				l.Int(r.IntN(500))
				l.Text("%-200s", fmt.Sprintf("to street %d, house %d, city %d", r.IntN(5000),
					r.IntN(200), r.IntN(fault.Cities)))
				emit(l.Row)
			}
		},
	}
}

// palletCode makes the code of a pallet's number.
func palletCode(row int) string {
	return fmt.Sprintf("%x", md5.Sum(fmt.Appendf(nil, "pallet %d", row)))
}

// kept draws the number of a pallet that was not deleted.
func kept(r *rand.Rand, rows int) int { return keptOf * (1 + r.IntN(max(1, rows/keptOf))) }

func getPallet(weight int) fault.Operation {
	return fault.Operation{
		Name: "get_pallet", Weight: weight,
		SQL: "SELECT {pallets.weight}, {pallets.place}, {pallets.label} FROM {pallets} WHERE {pallets.code} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0] = workload.String(palletCode(kept(r, rows)))
		},
	}
}

func movePallet(weight int) fault.Operation {
	return fault.Operation{
		Name: "move_pallet", Weight: weight,
		SQL: "UPDATE {pallets} SET {pallets.place} = ? WHERE {pallets.code} = ?",
		Args: func(r *rand.Rand, rows int, args []workload.Datum) {
			args[0], args[1] = workload.Int(int64(r.IntN(500))), workload.String(palletCode(kept(r, rows)))
		},
	}
}
