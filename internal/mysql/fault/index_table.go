package fault

import (
	"math/rand/v2"
	"strings"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/workload"
)

// indexTable describes a table of the faults about indexes: key is its own name, definitions are templates with "*" for
// the table's key and a dot, the first column is the key that numbers the rows. fill adds the values of the other
// columns.
func indexTable(
	n fault.Names,
	key string,
	rows int,
	columns []string,
	definitions string,
	fill func(r *rand.Rand, row int,
		l *fault.Line),
) workload.Table {
	full := make([]string, len(columns))
	for i, c := range columns {
		full[i] = key + "." + c
	}
	return workload.Table{
		Name: n.Of(key), Rows: rows,
		Create: n.SQL("CREATE TABLE {" + key + "} (" + strings.ReplaceAll(definitions, "*", key+".") + ") " +
			"ENGINE=InnoDB"),
		Columns: n.List(full...),
		Key:     n.Of(full[0]),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row))
				l.Begin()
				l.Int(row)
				fill(r, row, &l)
				emit(l.Row)
			}
		},
	}
}

// daysOfData is the span that random moments of rows are spread over, from the beginning of 2024.
const daysOfData = 365

const daySeconds = 24 * 3600
