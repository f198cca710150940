package fault

import (
	"math/rand/v2"

	"github.com/dyno-perf/dyno/internal/schema"
	"github.com/dyno-perf/dyno/internal/workload"
)

const (
	batch      = 50 // tasks that are marked at a time
	lastUpdate = 365 * 24 * 3600
)

// lowCardinalityIndex plants an index on a flag that half of the rows have set, and that changes all the time.
func lowCardinalityIndex() Fault {
	return Fault{
		Name:  "low-cardinality-index",
		Title: "a flag of two values has an index and changes all the time",
		Story: "Tasks are marked and unmarked in batches of 50 by a flag that half of them have set. The flag has an " +
			"index: it is not " +
			"selective, no statement reads it, and each change of a flag deletes one entry there and writes another. " +
			"The fix is to drop the index.",
		Kind:     Hurts,
		Threads:  4,
		Settings: sized(),
		Workload: mix{
			name: "low-cardinality-index", title: "batches of tasks marked by an indexed flag, and lookups",
			rows:   200_000,
			tables: func(n names, rows int) []workload.Table { return []workload.Table{tasks(n, rows)} },
			operations: []operation{
				{
					"mark_tasks", 80,
					"UPDATE {tasks} SET {tasks.marked} = 1 - {tasks.marked} WHERE {tasks.id} BETWEEN ? AND ?",
					func(r *rand.Rand, rows int, args []workload.Datum) {
						from := 1 + batch*r.Int64N(max(1, int64(rows/batch)))
						args[0], args[1] = workload.Int(from), workload.Int(from+batch-1)
					},
				},
				{
					"get_task", 20,
					"SELECT {tasks.title}, {tasks.marked} FROM {tasks} WHERE {tasks.id} = ?",
					func(r *rand.Rand, rows int, args []workload.Datum) { args[0] = id(r, rows) },
				},
			},
		},
		expect: func(n names) Expectation {
			return Expectation{
				Rule: "low-cardinality-index", Table: schema.Ref{Schema: n.of(schemaKey), Table: n.of("tasks")},
				Columns: n.list("tasks.marked"), Index: n.of("tasks.by_mark"),
			}
		},
	}
}

func tasks(n names, rows int) workload.Table {
	return workload.Table{
		Name: n.of("tasks"), Rows: rows,
		Create: n.sql("CREATE TABLE {tasks} ({tasks.id} INT UNSIGNED NOT NULL AUTO_INCREMENT, {tasks.title} " +
			"VARCHAR(40) NOT NULL, " +
			"{tasks.marked} TINYINT NOT NULL, {tasks.made_at} DATETIME NOT NULL, PRIMARY KEY ({tasks.id}), " +
			"KEY {tasks.by_mark} ({tasks.marked})) ENGINE=InnoDB"),
		Columns: n.list("tasks.id", "tasks.title", "tasks.marked", "tasks.made_at"),
		Key:     n.of("tasks.id"),
		Fill: func(seed uint64) func(int, func([]workload.Datum)) {
			pcg := rand.NewPCG(0, 0)
			r := rand.New(pcg)
			var l line
			return func(row int, emit func([]workload.Datum)) {
				pcg.Seed(seed, uint64(row)|1<<36)
				l.begin()
				l.int(row)
				l.text("task %d", row)
				l.int(r.IntN(2))
				l.time(r.IntN(lastUpdate))
				emit(l.row)
			}
		},
	}
}
