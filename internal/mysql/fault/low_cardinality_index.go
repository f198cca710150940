package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/fault"
	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

const (
	batch      = 50 // tasks that are marked at a time
	lastUpdate = 365 * 24 * 3600
)

// lowCardinalityIndex plants an index on a flag that half of the rows have set, and that changes all the time.
func lowCardinalityIndex() fault.Fault {
	return fault.Fault{
		Name:  "low-cardinality-index",
		Title: "a flag of two values has an index and changes all the time",
		Story: "Tasks are marked and unmarked in batches of 50 by a flag that half of them have set. The flag has an " +
			"index: it is not " +
			"selective, no statement reads it, and each change of a flag deletes one entry there and writes another. " +
			"The fix is to drop the index.",
		Kind:     fault.Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: fault.Mix{
			ID: "low-cardinality-index", About: "batches of tasks marked by an indexed flag, and lookups",
			Rows:   200_000,
			Tables: func(n fault.Names, rows int) []workload.Table { return []workload.Table{tasks(n, rows)} },
			Operations: []fault.Operation{
				{
					Name: "mark_tasks", Weight: 80,
					SQL: "UPDATE {tasks} SET {tasks.marked} = 1 - {tasks.marked} WHERE {tasks.id} BETWEEN ? AND ?",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) {
						from := 1 + batch*r.Int64N(max(1, int64(rows/batch)))
						args[0], args[1] = workload.Int(from), workload.Int(from+batch-1)
					},
				},
				{
					Name: "get_task", Weight: 20,
					SQL:  "SELECT {tasks.title}, {tasks.marked} FROM {tasks} WHERE {tasks.id} = ?",
					Args: func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = fault.ID(r, rows) },
				},
			},
		},
		Right: func(n fault.Names) fault.Expectation {
			return fault.Expectation{
				Rule: "low-cardinality-index", Table: schema.Ref{Schema: n.Of(fault.SchemaKey), Table: n.Of("tasks")},
				Columns: n.List("tasks.marked"), Index: n.Of("tasks.by_mark"),
			}
		},
	}
}

func tasks(n fault.Names, rows int) workload.Table {
	return workload.Table{
		Name: n.Of("tasks"), Rows: rows,
		Create: n.SQL("CREATE TABLE {tasks} ({tasks.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {tasks.title} " +
			"VARCHAR(40) NOT NULL, " +
			"{tasks.marked} TINYINT NOT NULL, {tasks.made_at} DATETIME NOT NULL, PRIMARY KEY ({tasks.id}), " +
			"KEY {tasks.by_mark} ({tasks.marked})) ENGINE=InnoDB"),
		Columns: n.List("tasks.id", "tasks.title", "tasks.marked", "tasks.made_at"),
		Key:     n.Of("tasks.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l fault.Line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|1<<36)
				l.Begin()
				l.Int(row)
				l.Text("task %d", row)
				l.Int(r.IntN(2))
				l.Time(r.IntN(lastUpdate))
				emit(l.Row)
			}
		},
	}
}
