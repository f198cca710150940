package sources

import (
	"github.com/dyno-perf/dyno/internal/postgres/conn"
	"github.com/dyno-perf/dyno/internal/source"
)

// mostTables bounds the tables, and the indexes, that are read: those that are used most come first.
const mostTables = 2000

// newTableIO reads what tables and indexes were used for, in the database that the target names: a session sees no
// other one's. The names are postgres_exporter's, {datname,schemaname,relname} and of indexes {…,indexrelname}:
//
//	pg_stat_user_tables_<column>              scans, rows, dead rows, vacuum
//	pg_statio_user_tables_<what>_blocks_hit and _read
//	pg_stat_user_indexes_<column>_total
//
// https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW
func newTableIO(q querier, f conn.Facts) *viewSource {
	const tables, indexes = "pg_stat_user_tables_", "pg_stat_user_indexes_"
	cols := counters(tables, "", "seq_scan", "seq_tup_read", "idx_scan", "idx_tup_fetch", "n_tup_ins", "n_tup_upd",
		"n_tup_del", "n_tup_hot_upd", "vacuum_count", "autovacuum_count", "analyze_count", "autoanalyze_count")
	if f.AtLeast(16) {
		cols = append(cols, counters(tables, "", "n_tup_newpage_upd")...)
	}
	cols = append(cols, gauges(tables, "", "n_live_tup", "n_dead_tup", "n_mod_since_analyze", "n_ins_since_vacuum")...)
	for _, c := range []string{"last_vacuum", "last_autovacuum", "last_analyze", "last_autoanalyze"} {
		cols = append(cols, since(c, tables+c))
	}
	table := []string{"datname=current_database()", "schemaname", "relname"}
	io := counters("pg_statio_user_tables_", "", "heap_blks_hit", "heap_blks_read", "idx_blks_hit", "idx_blks_read")
	for i, name := range []string{"heap_blocks_hit", "heap_blocks_read", "idx_blocks_hit", "idx_blocks_read"} {
		io[i].metric = "pg_statio_user_tables_" + name
	}
	return newViews(source.TableIO, q, f,
		view{
			from:   "pg_stat_user_tables ORDER BY seq_tup_read + coalesce(idx_tup_fetch, 0) DESC",
			labels: table, columns: cols, limit: mostTables,
		},
		view{
			from:   "pg_statio_user_tables ORDER BY heap_blks_hit + heap_blks_read DESC",
			labels: append([]string(nil), table...), columns: io, limit: mostTables,
		},
		view{
			from:    "pg_stat_user_indexes ORDER BY idx_tup_read DESC",
			labels:  append([]string{"indexrelname"}, table...),
			columns: counters(indexes, "_total", "idx_scan", "idx_tup_read", "idx_tup_fetch"), limit: mostTables,
		})
}

// newSizes reads the sizes of databases, pg_database_size_bytes{datname}, and of the tables of the target's database
// with their indexes and long values, pg_stat_user_tables_size_bytes{datname,schemaname,relname}, the largest by their
// number of pages at the last vacuum first. It looks at each file. Databases that the account may not connect to are
// left out, but for pg_monitor's members.
// https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-DBSIZE
func newSizes(q querier, f conn.Facts) *viewSource {
	return newViews(source.Sizes, q, f,
		view{
			from: "pg_database WHERE has_database_privilege(oid, 'CONNECT') OR " +
				"pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')",
			labels:  []string{"datname"},
			columns: []column{{expr: "pg_database_size(oid)", metric: "pg_database_size_bytes"}},
		},
		view{
			from: "pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'm') AND " +
				"n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY c.relpages DESC",
			labels:  []string{"datname=current_database()", "schemaname=n.nspname", "relname=c.relname"},
			columns: []column{{expr: "pg_total_relation_size(c.oid)", metric: "pg_stat_user_tables_size_bytes"}},
			limit:   mostTables,
		})
}
