package trial

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/trial"
)

// Causes implements family.BenchSettings.
func (Bench) Causes() trial.Causes {
	return trial.Causes{
		Family: "MySQL", Follows: follows, Aliases: aliases, ByMachine: byCPUsOrMemory, Server: serverFacts,
		Plain: plain,
	}
}

// serverFacts lists the settings that decide facts of a server itself.
var serverFacts = map[string][]trial.Cause{
	"open_files": {
		{Setting: "open_files_limit", Follows: true},
		{Setting: "max_connections", Follows: true},
		{Setting: "table_open_cache", Follows: true},
	},
	"plugins": plugged, "components": plugged, "engines": plugged,
	"allocator":              {{Setting: "malloc_lib"}},
	"version_malloc_library": {{Setting: "malloc_lib"}},
	"locked_memory":          {{Setting: "memlock", Follows: true}, {Setting: "large_pages", Follows: true}},
}

// plugged are the settings that bring plugins along.
var plugged = []trial.Cause{{Setting: "plugin_load"}, {Setting: "plugin_load_add"}, {Setting: "*"}}

// follows lists variables that servers derive, by what they are derived from; "*" at the end stands for any rest.
// Sources: "Server System Variables", "InnoDB Startup Options and System Variables" and "How MySQL Opens and Closes
// Tables" of the MySQL manual, "InnoDB System Variables" and "Server System Variables" of MariaDB's.
var follows = map[string][]string{
	"innodb_buffer_pool_size": {
		"innodb_buffer_pool_instances", "innodb_buffer_pool_chunk_size", "innodb_page_cleaners",
		"innodb_buffer_pool_size_max", "innodb_buffer_pool_size_auto_min",
	},
	"innodb_buffer_pool_instances": {
		"innodb_buffer_pool_size", "innodb_buffer_pool_chunk_size",
		"innodb_page_cleaners",
	},
	"innodb_buffer_pool_chunk_size": {
		"innodb_buffer_pool_size", "innodb_buffer_pool_instances",
		"innodb_page_cleaners",
	},
	"innodb_buffer_pool_size_max": {"innodb_buffer_pool_size", "innodb_buffer_pool_size_auto_min"},
	"innodb_redo_log_capacity":    {"innodb_log_file_size", "innodb_log_files_in_group"},
	"innodb_log_file_size":        {"innodb_redo_log_capacity", "innodb_log_spin_wait_delay"},
	"innodb_log_files_in_group":   {"innodb_redo_log_capacity"},
	"innodb_dedicated_server": {
		"innodb_buffer_pool_size", "innodb_buffer_pool_instances", "innodb_page_cleaners", "innodb_redo_log_capacity",
		"innodb_log_file_size",
		"innodb_log_files_in_group", "innodb_flush_method",
	},
	"innodb_io_capacity":     {"innodb_io_capacity_max"},
	"innodb_io_capacity_max": {"innodb_io_capacity"},
	"innodb_page_size": {
		"innodb_buffer_pool_size", "innodb_log_write_ahead_size", "innodb_redo_log_capacity",
		"innodb_max_undo_log_size",
	},
	"innodb_flush_method": {
		"innodb_data_file_buffering", "innodb_data_file_write_through", "innodb_log_file_buffering",
		"innodb_log_file_write_through",
	},
	"innodb_numa_interleave": {"innodb_buffer_pool_in_core_file"},
	"max_connections": {
		"open_files_limit", "table_open_cache", "table_definition_cache", "back_log", "host_cache_size",
		"thread_cache_size", "innodb_open_files",
		"performance_schema_*",
	},
	"table_open_cache": {
		"open_files_limit", "table_definition_cache", "innodb_open_files",
		"performance_schema_*",
	},
	"table_definition_cache": {"innodb_open_files", "performance_schema_*"},
	"open_files_limit": {
		"table_open_cache", "table_definition_cache", "max_connections", "innodb_open_files",
		"performance_schema_*",
	},
	"performance_schema":   {"performance_schema_*", "innodb_monitor_*"},
	"character_set_server": {"collation_server", "character_set_*", "collation_*"},
	"collation_server":     {"character_set_server", "character_set_*", "collation_*"},
	"old_mode":             {"character_set_*", "collation_*"},
	"log_bin":              {"log_replica_updates", "log_slave_updates", "binlog_format"},
	"thread_handling":      {"thread_pool_*"},
	"query_cache_type":     {"query_cache_size"},
	"query_cache_size":     {"query_cache_type"},
	"autocommit":           {"completion_type"},
	"tls_version":          {"have_ssl", "have_openssl"},
	"ssl_*":                {"have_ssl", "have_openssl", "tls_version"},
	"plugin_load_add":      {"plugin_*"},
	"plugin_load":          {"plugin_*"},
}

// aliases are variables that servers show under two names or that changed theirs.
var aliases = [][2]string{
	{"transaction_isolation", "tx_isolation"},
	{"transaction_read_only", "tx_read_only"},
	{"slow_query_log", "log_slow_query"},
	{"long_query_time", "log_slow_query_time"},
	{"log_slave_updates", "log_replica_updates"},
	{"default_storage_engine", "storage_engine"},
	{"innodb_checksums", "innodb_checksum_algorithm"},
	{"old_alter_table", "alter_algorithm"},
}

// byCPUsOrMemory are variables that newer servers size by the CPUs and the memory their control group allows.
var byCPUsOrMemory = []string{
	"innodb_buffer_pool_size", "innodb_buffer_pool_instances", "innodb_page_cleaners", "innodb_redo_log_capacity",
	"innodb_purge_threads", "innodb_read_io_threads",
	"innodb_parallel_read_threads", "innodb_log_writer_threads", "temptable_max_ram", "thread_pool_size",
	"innodb_log_spin_wait_delay",
}

// plain returns the variable that an option sets: "skip-log-bin" sets log_bin.
func plain(option string) string {
	s := strings.ReplaceAll(strings.ToLower(option), "-", "_")
	for _, p := range []string{"loose_", "global_", "global.", "skip_", "disable_", "enable_"} {
		if rest, ok := strings.CutPrefix(s, p); ok && s != "skip_name_resolve" && s != "skip_networking" &&
			s != "skip_external_locking" && s != "skip_show_database" &&
			s != "skip_parallel_replication" && s != "skip_replication" {
			s = rest
		}
	}
	return s
}
