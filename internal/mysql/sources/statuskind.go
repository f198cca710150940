package sources

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
)

// statusKind says which status variables go up and down. The servers do not tell; this is from the descriptions in the
// manuals of MySQL 5.6 to 9.7 and MariaDB 10.2 to 11.8 (Server Status Variables). What is not listed counts up.
// opened_files is listed although its description says that it counts: on MySQL 9 FLUSH TABLES makes it fall.
func statusKind(name string) metric.Kind {
	if statusGauges[name] {
		return metric.Gauge
	}
	if strings.HasPrefix(name, "wsrep") && !wsrepCounters[name] {
		return metric.Gauge
	}
	for _, p := range gaugePrefixes {
		if strings.HasPrefix(name, p) {
			return metric.Gauge
		}
	}
	if strings.HasSuffix(name, "_last_timestamp") { // deprecated_…: when it was last used
		return metric.Gauge
	}
	return metric.Counter
}

var gaugePrefixes = []string{
	"acl_", "innodb_have_", "innodb_mem_", "innodb_undo_tablespaces_",
	"telemetry_", "current_tls_",
}

var statusGauges = set(`
aria_pagecache_blocks_not_flushed aria_pagecache_blocks_unused aria_pagecache_blocks_used
binlog_snapshot_position compression delayed_insert_threads
error_log_buffered_bytes error_log_buffered_events error_log_latest_write global_connection_memory
innodb_available_undo_logs
innodb_buffer_pool_bytes_data innodb_buffer_pool_bytes_dirty innodb_buffer_pool_load_incomplete
innodb_buffer_pool_pages_data innodb_buffer_pool_pages_dirty innodb_buffer_pool_pages_free innodb_buffer_pool_pages_latched
innodb_buffer_pool_pages_misc innodb_buffer_pool_pages_old innodb_buffer_pool_pages_total
innodb_buffer_pool_resize_status_code innodb_buffer_pool_resize_status_progress
innodb_checkpoint_age innodb_checkpoint_max_age innodb_checkpoint_target_age
innodb_current_row_locks innodb_data_pending_fsyncs innodb_data_pending_reads innodb_data_pending_writes
innodb_descriptors_memory innodb_dictionary_memory innodb_encryption_rotation_estimated_iops
innodb_history_list_length innodb_ibuf_free_list innodb_ibuf_segment_size innodb_ibuf_size
innodb_num_open_files innodb_onlineddl_pct_progress innodb_onlineddl_rowlog_pct_used innodb_onlineddl_rowlog_rows
innodb_os_log_pending_fsyncs innodb_os_log_pending_writes innodb_page_size innodb_read_views_memory
innodb_redo_log_capacity_resized innodb_redo_log_enabled innodb_redo_log_logical_size innodb_redo_log_physical_size
innodb_redo_log_read_only innodb_redo_log_uuid
innodb_row_lock_current_waits innodb_row_lock_time_avg innodb_row_lock_time_max
key_blocks_not_flushed key_blocks_unused key_blocks_used key_blocks_warm
last_query_cost last_query_partial_plans max_memory_used max_used_connections
memory_used memory_used_initial mysqlx_sessions mysqlx_worker_threads mysqlx_worker_threads_active
not_flushed_delayed_rows ongoing_anonymous_gtid_violating_transaction_count ongoing_anonymous_transaction_count
ongoing_automatic_gtid_violating_transaction_count
open_files open_streams open_table_definitions open_tables opened_files
performance_schema_session_connect_attrs_longest_seen prepared_stmt_count
qcache_free_blocks qcache_free_memory qcache_queries_in_cache qcache_total_blocks
replica_open_temp_tables resource_group_supported
rpl_semi_sync_master_clients rpl_semi_sync_master_net_avg_wait_time rpl_semi_sync_master_status
rpl_semi_sync_master_tx_avg_wait_time rpl_semi_sync_master_wait_sessions rpl_semi_sync_slave_status
rpl_semi_sync_source_clients rpl_semi_sync_source_net_avg_wait_time rpl_semi_sync_source_status
rpl_semi_sync_source_tx_avg_wait_time rpl_semi_sync_source_wait_sessions rpl_semi_sync_replica_status
slave_heartbeat_period slave_open_temp_tables slave_running slaves_connected slaves_running
ssl_ctx_verify_depth ssl_ctx_verify_mode ssl_default_timeout ssl_session_cache_size ssl_session_cache_timeout
ssl_used_session_cache_entries ssl_verify_depth ssl_verify_mode
stack_usage table_open_cache_active_instances tc_log_max_pages_used tc_log_page_size
threadpool_idle_threads threadpool_threads threads_cached threads_connected threads_running
uptime uptime_since_flush_status
`)

var wsrepCounters = set(`
wsrep_apply_waits wsrep_causal_reads wsrep_flow_control_paused_ns
wsrep_flow_control_recv wsrep_flow_control_sent wsrep_last_applied wsrep_last_committed wsrep_local_bf_aborts
wsrep_local_cert_failures wsrep_local_commits wsrep_local_replays wsrep_received
wsrep_received_bytes wsrep_repl_data_bytes wsrep_repl_keys wsrep_repl_keys_bytes wsrep_repl_other_bytes
wsrep_replicated wsrep_replicated_bytes
`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
