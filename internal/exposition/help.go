package exposition

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
)

// Help returns one sentence on a metric of that name, "" when there is none to say.
func Help(name string) string {
	if h, ok := helps[name]; ok {
		return h
	}
	for _, g := range groups {
		if rest, ok := strings.CutPrefix(name, g.prefix); ok && rest != "" {
			return strings.ReplaceAll(g.text, "%", strings.TrimSuffix(rest, "_total"))
		}
	}
	return ""
}

var helps = map[string]string{
	metric.ClientStatusTotal: "Status variables without what Dyno's own sessions made the server " +
		"count.",
	metric.ClientStatus:              "Sessions other than Dyno's own, as status variables.",
	"mysql_up":                       "Whether the server answered.",
	"mysql_version_info":             "Version of the server; always 1.",
	"mysql_transaction_isolation":    "Isolation level of new sessions; always 1.",
	"dyno_statement_latency_seconds": "Percentiles of the times of statements, since the previous scrape.",
	"mysql_binlog_size_bytes":        "Size of all binary logs together.",
	"mysql_binlog_files":             "Retained binary logs.",
	"mysql_binlog_file_number":       "Number of the binary log that is written to.",
	"mysql_galera_variables_info":    "Galera cluster that the server belongs to; always 1.",
	metric.Commands.Name:             "Statements executed, by command (Com_ variables).",
	metric.Handlers.Name:             "Calls of storage engines, by handler (Handler_ variables).",
	metric.ConnectionErrors.Name:     "Connections that failed, by cause (Connection_errors_ variables).",
	metric.RowOps.Name:               "Rows that InnoDB handled, by operation (Innodb_rows_ variables).",
	metric.LostInstruments.Name:      "Instruments that the performance schema had no room for.",
	metric.PoolPages:                 "Pages of InnoDB's buffer pool, by state.",
	metric.PoolDirtyPages:            "Dirty pages of InnoDB's buffer pool.",
	metric.PoolPageChanges:           "Changes of state of pages of InnoDB's buffer pool, by operation.",
}

// groups are tried in this order; % stands for the rest of the name.
var groups = []struct{ prefix, text string }{
	{"mysql_global_status_", "Status variable % (SHOW GLOBAL STATUS)."},
	{"mysql_global_variables_", "Setting % (SHOW GLOBAL VARIABLES)."},
	{"mysql_info_schema_innodb_metrics_", "InnoDB's counter % (information_schema.INNODB_METRICS)."},
	{"mysql_info_schema_processlist_", "Connections: % (information_schema.PROCESSLIST)."},
	{"mysql_info_schema_", "% (information_schema)."},
	{"mysql_perf_schema_", "% (performance_schema)."},
	{"mysql_slave_status_", "Replication: % (SHOW REPLICA STATUS)."},
	{"mysql_engine_innodb_", "InnoDB: % (SHOW ENGINE INNODB STATUS)."},
	{"node_", "The machine's %, as node_exporter names it."},
	{"dyno_server_", "The server's own process: %."},
	{"dyno_remote_write_", "Samples sent to other stores: %."},
	{"dyno_", "Dyno's own: %."},
}
