package sources

import (
	"context"
	"database/sql/driver"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/target"
	"github.com/dyno-perf/dyno/internal/scrape"
	"github.com/dyno-perf/dyno/internal/source"
)

// newUserstat reads the user statistics of MariaDB and Percona Server while the server gathers them: what each user and
// client did, and the rows read of each table and through each index.
//
//	mysql_info_schema_user_statistics_<column>{user}, mysql_info_schema_client_statistics_<column>{client}
//	mysql_info_schema_table_statistics_{rows_read,rows_changed,rows_changed_x_indexes}_total{schema,table}
//	mysql_info_schema_index_statistics_rows_read_total{schema,table,index}
//
// Tables, indexes, users and clients beyond maxTables of each kind, those with the fewest rows, have no series. It
// needs PROCESS: without it MariaDB shows an account nobody but itself.
func newUserstat(q querier, acc account) *summary {
	accounts := func(prefix string, user bool) (c []column) {
		for _, x := range []struct{ column, metric string }{
			{"TOTAL_CONNECTIONS", "total_connections"},
			{"CONNECTED_TIME", "connected_time_seconds_total"},
			{"BUSY_TIME", "busy_seconds_total"},
			{"CPU_TIME", "cpu_time_seconds_total"},
			{"BYTES_RECEIVED", "bytes_received_total"},
			{"BYTES_SENT", "bytes_sent_total"},
			{"BINLOG_BYTES_WRITTEN", "binlog_bytes_written_total"},
			{"ROWS_READ", "rows_read_total"},
			{"ROWS_SENT", "rows_sent_total"},
			{"ROWS_DELETED", "rows_deleted_total"},
			{"ROWS_INSERTED", "rows_inserted_total"},
			{"ROWS_UPDATED", "rows_updated_total"},
			{"ROWS_FETCHED", "rows_fetched_total"},
			{"TABLE_ROWS_READ", "table_rows_read_total"},
			{"SELECT_COMMANDS", "select_commands_total"},
			{"UPDATE_COMMANDS", "update_commands_total"},
			{"OTHER_COMMANDS", "other_commands_total"},
			{"COMMIT_TRANSACTIONS", "commit_transactions_total"},
			{"ROLLBACK_TRANSACTIONS", "rollback_transactions_total"},
			{"DENIED_CONNECTIONS", "denied_connections_total"},
			{"LOST_CONNECTIONS", "lost_connections_total"},
			{"ACCESS_DENIED", "access_denied_total"},
			{"EMPTY_QUERIES", "empty_queries_total"},
			{"TOTAL_SSL_CONNECTIONS", "total_ssl_connections_total"},
		} {
			c = append(c, column{x.column, prefix + x.metric, metric.Counter, 0, ""})
		}
		exceeded := "max_statement_time_exceeded_total"
		if user {
			exceeded = "max_statement_time_exceeded" // the name that dashboards know
		}
		return append(c,
			column{"MAX_STATEMENT_TIME_EXCEEDED", prefix + exceeded, metric.Counter, 0, ""},
			column{"CONCURRENT_CONNECTIONS", prefix + "concurrent_connections", metric.Gauge, 0, ""})
	}
	const p = "mysql_info_schema_"
	ofTable := []key{{"TABLE_SCHEMA", "schema", ""}, {"TABLE_NAME", "table", ""}}
	s := &summary{q: q, acc: acc, name: source.Userstat, grant: "PROCESS ON *.*", tables: []table{
		{
			schema: "information_schema", name: "USER_STATISTICS", keys: []key{{"USER", "user", ""}},
			columns: accounts(p+"user_statistics_", true), order: "ROWS_READ DESC", limit: maxTables,
		},
		{
			schema: "information_schema", name: "CLIENT_STATISTICS", keys: []key{{"CLIENT", "client", ""}},
			columns: accounts(p+"client_statistics_", false), order: "ROWS_READ DESC", limit: maxTables,
		},
		{
			schema: "information_schema", name: "TABLE_STATISTICS", keys: ofTable, order: "ROWS_READ DESC",
			limit: maxTables, columns: []column{
				{"ROWS_READ", p + "table_statistics_rows_read_total", metric.Counter, 0, ""},
				{"ROWS_CHANGED", p + "table_statistics_rows_changed_total", metric.Counter, 0, ""},
				{"ROWS_CHANGED_X_INDEXES", p + "table_statistics_rows_changed_x_indexes_total", metric.Counter, 0, ""},
			},
		},
		{
			schema: "information_schema", name: "INDEX_STATISTICS",
			keys: append(ofTable[:2:2], key{"INDEX_NAME", "index", ""}), order: "ROWS_READ DESC",
			limit: maxTables, columns: []column{
				{"ROWS_READ", p + "index_statistics_rows_read_total", metric.Counter, 0, ""},
			},
		},
	}}
	s.off = func(ctx context.Context) error { return userstatOn(ctx, q) }
	return s
}

// userstatOn returns a scrape.Problem when the server gathers no user statistics.
func userstatOn(ctx context.Context, q querier) error {
	on := false
	_, err := q.Query(ctx, tagged(source.Userstat, "SELECT @@global.userstat"), func(row []driver.Value) {
		v, _ := number(row[0])
		on = v == 1
	})
	if n, ok := target.ServerErrorNumber(err); ok && n == 1193 {
		return &scrape.Problem{State: source.Missing, Reason: "this version of the server has no such thing", Err: err}
	}
	if err == nil && !on {
		return &scrape.Problem{State: source.Missing, Reason: "user statistics are off", Fix: "SET GLOBAL userstat=1"}
	}
	return err
}
