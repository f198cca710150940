package sources

import (
	"github.com/dyno-perf/dyno/internal/exposition"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
)

// Help are sentences on the metrics that only servers of the MySQL family have.
var Help = exposition.Helps{
	Names: map[string]string{
		"mysql_up":                    "Whether the server answered.",
		"mysql_version_info":          "Version of the server; always 1.",
		"mysql_transaction_isolation": "Isolation level of new sessions; always 1.",
		"mysql_binlog_size_bytes":     "Size of all binary logs together.",
		"mysql_binlog_files":          "Retained binary logs.",
		"mysql_binlog_file_number":    "Number of the binary log that is written to.",
		"mysql_galera_variables_info": "Galera cluster that the server belongs to; always 1.",
		figures.Commands.Name:         "Statements executed, by command (Com_ variables).",
		figures.Handlers.Name:         "Calls of storage engines, by handler (Handler_ variables).",
		figures.ConnectionErrors.Name: "Connections that failed, by cause (Connection_errors_ variables).",
		figures.RowOps.Name:           "Rows that InnoDB handled, by operation (Innodb_rows_ variables).",
		figures.LostInstruments.Name:  "Instruments that the performance schema had no room for.",
		figures.PoolPages:             "Pages of InnoDB's buffer pool, by state.",
		figures.PoolDirtyPages:        "Dirty pages of InnoDB's buffer pool.",
		figures.PoolPageChanges:       "Changes of state of pages of InnoDB's buffer pool, by operation.",
	},
	Groups: []exposition.Prefixed{
		{Prefix: status, Text: "Status variable % (SHOW GLOBAL STATUS)."},
		{Prefix: "mysql_global_variables_", Text: "Setting % (SHOW GLOBAL VARIABLES)."},
		{Prefix: innodb, Text: "InnoDB's counter % (information_schema.INNODB_METRICS)."},
		{Prefix: "mysql_info_schema_processlist_", Text: "Connections: % (information_schema.PROCESSLIST)."},
		{Prefix: "mysql_info_schema_", Text: "% (information_schema)."},
		{Prefix: "mysql_perf_schema_", Text: "% (performance_schema)."},
		{Prefix: "mysql_slave_status_", Text: "Replication: % (SHOW REPLICA STATUS)."},
		{Prefix: "mysql_engine_innodb_", Text: "InnoDB: % (SHOW ENGINE INNODB STATUS)."},
	},
}
