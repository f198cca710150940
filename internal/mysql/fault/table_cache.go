package fault

import (
	"fmt"
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

const branches = 40 // tables of the same form, one for each branch of the office

// tableCache plants more tables than the table cache holds.
func tableCache() fault.Fault {
	return fault.Fault{
		Name:  "table-cache",
		Title: "more tables are in use than the table cache holds",
		Story: "Every branch of the office has its own table of accounts, 40 in all, each read by primary key. The " +
			"cache holds " +
			"ten open tables, so nearly every statement has to open its table first and close another one. The fix " +
			"is a cache for all of them.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: with(sized(), "table_open_cache", "10", "loose_table_open_cache_instances", "1"),
		Workload: fault.Mix{
			ID: "table-cache", About: "reads by primary key from 40 tables", Rows: 20_000,
			Tables: func(n fault.Names, rows int) (all []workload.Table) {
				for b := range branches {
					all = append(all, accounts(n, b, rows/branches))
				}
				return all
			},
			Operations: func() (all []fault.Operation) {
				for b := range branches {
					all = append(all, fault.Operation{
						Name:   fmt.Sprintf("get_account_%02d", b),
						Weight: 1,
						SQL: fmt.Sprintf("SELECT {accounts%[1]d.owner}, {accounts%[1]d.balance} FROM {accounts%[1]d} "+
							"WHERE {accounts%[1]d.id} = ?", b),
						Args: func(r *rand.Rand, rows int, args []workload.Datum) {
							args[0] = fault.ID(r, max(1, rows/branches))
						},
					})
				}
				return all
			}(),
		},
		Right: func(fault.Names) fault.Expectation {
			return fault.Expectation{Rule: "table-cache", Variable: "table_open_cache"}
		},
	}
}

// accounts describes the table of one branch.
func accounts(n fault.Names, branch, rows int) workload.Table {
	key := fmt.Sprintf("accounts%d", branch)
	return workload.Table{
		Name: n.Of(key), Rows: max(1, rows),
		Create: n.SQL(fmt.Sprintf("CREATE TABLE {%[1]s} ({%[1]s.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, "+
			"{%[1]s.owner} VARCHAR(80) NOT NULL, "+
			"{%[1]s.balance} DECIMAL(12,2) NOT NULL, PRIMARY KEY ({%[1]s.id})) ENGINE=InnoDB", key)),
		Columns: n.List(key+".id", key+".owner", key+".balance"),
		Key:     n.Of(key + ".id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|uint64(branch+1)<<34)
				l.Begin()
				l.Int(row)
				l.Text("Owner %d", row)
				l.Text("%d.%02d", r.IntN(100_000), r.IntN(100))
				emit(l.Row)
			}
		},
	}
}
