// Package figures names what only the MySQL family reports: sources of metrics, and metrics that more than one package
// asks for.
package figures

import (
	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/source"
)

// Sources of metrics.
const (
	InnodbMetrics = source.Name("innodb_metrics")
	InnodbStatus  = source.Name("innodb_status")
)

// Families of status variables: v.Rate(Handlers.Of("read_next")) is that of Handler_read_next.
var (
	Handlers         = metric.Family{Prefix: "handler_", Name: "mysql_global_status_handlers_total", Label: "handler"}
	ConnectionErrors = metric.Family{
		Prefix: "connection_errors_", Name: "mysql_global_status_connection_errors_total", Label: "error",
	}
	Commands        = metric.Family{Prefix: "com_", Name: "mysql_global_status_commands_total", Label: "command"}
	RowOps          = metric.Family{Prefix: "innodb_rows_", Name: rowOps, Label: "operation"}
	LostInstruments = metric.Family{Prefix: "performance_schema_", Name: lostInstruments, Label: "instrumentation"}
)

const (
	rowOps          = "mysql_global_status_innodb_row_ops_total"
	lostInstruments = "mysql_global_status_performance_schema_lost_total"
)

// Pages of InnoDB's buffer pool, as mysqld_exporter names them: how many there are by "state", how many are dirty,
// and how often something was done to one by "operation".
const (
	PoolPages       = "mysql_global_status_buffer_pool_pages"
	PoolDirtyPages  = "mysql_global_status_buffer_pool_dirty_pages"
	PoolPageChanges = "mysql_global_status_buffer_pool_page_changes_total"
)
