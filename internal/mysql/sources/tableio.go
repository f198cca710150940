package sources

import (
	"github.com/dyno-perf/dyno/internal/metric"

	"github.com/dyno-perf/dyno/internal/source"
)

// maxTables is how many tables, and how many indexes, a source tells apart: those with the most waiting time since the
// server started. The rest have no series.
const maxTables = 200

// newTableIO reads the rows that were handled of each table and through each index, by operation:
//
//	mysql_perf_schema_table_io_waits_total{schema,name,operation}
//	mysql_perf_schema_table_io_waits_seconds_total{schema,name,operation}
//	mysql_perf_schema_index_io_waits_total{schema,name,index,operation}
//	mysql_perf_schema_index_io_waits_seconds_total{schema,name,index,operation}
//
// Rows that were handled without an index have the index NONE. The server's own tables and temporary ones are left out.
func newTableIO(q querier, acc account) *summary {
	columns := func(of string) (c []column) {
		for _, o := range []struct{ operation, column string }{
			{"fetch", "FETCH"},
			{"insert", "INSERT"},
			{"update", "UPDATE"},
			{"delete", "DELETE"},
		} {
			c = append(c,
				column{
					"COUNT_" + o.column, "mysql_perf_schema_" + of + "_io_waits_total", metric.Counter, 0,
					"operation=" + o.operation,
				},
				column{
					"SUM_TIMER_" + o.column, "mysql_perf_schema_" + of + "_io_waits_seconds_total", metric.Counter,
					picoseconds, "operation=" + o.operation,
				})
		}
		return c
	}
	const users = "COUNT_STAR>0 AND OBJECT_TYPE='TABLE' AND OBJECT_SCHEMA NOT IN " +
		"('mysql','performance_schema','information_schema','sys')"
	keys := []key{{"OBJECT_SCHEMA", "schema", ""}, {"OBJECT_NAME", "name", ""}}
	return &summary{
		q: q, acc: acc, name: source.TableIO, grant: pfsPrivilege, pfs: true,
		asks: "wait/io/table/%", tables: []table{
			{
				schema: "performance_schema", name: "table_io_waits_summary_by_table",
				keys: keys, columns: columns("table"), where: users, order: "SUM_TIMER_WAIT DESC", limit: maxTables,
			},
			{
				schema: "performance_schema", name: "table_io_waits_summary_by_index_usage",
				keys:    append(keys[:2:2], key{"INDEX_NAME", "index", "IFNULL(INDEX_NAME,'NONE')"}),
				columns: columns("index"), where: users, order: "SUM_TIMER_WAIT DESC", limit: maxTables,
			},
		},
	}
}
