package trial

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/dyno-perf/dyno/internal/plan"
)

// cause is a part of a configuration that a fact may depend on.
type cause struct {
	why string
	of  func(plan.Config) string
}

const (
	bySetting = "set by the plan"
	byServer  = "comes with the server"
	byStep    = "set by a step of the plan"
)

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

// written are the words by which a shell step would set a fact of the machine, besides the fact's own name.
var written = map[string][]string{
	"transparent_huge_page_enabled": {"transparent_hugepage/enabled"},
	"transparent_huge_page_defrag":  {"transparent_hugepage/defrag"},
	"huge_pages":                    {"nr_hugepages"},
	"queue_depth":                   {"nr_requests"},
	"turbo":                         {"no_turbo", "cpufreq/boost"},
	"clock_source":                  {"current_clocksource"},
	"read_ahead_kb":                 {"blockdev --setra"},
	"mount_options":                 {"mount -o"},
	"swap":                          {"swapon", "swapoff"},
	"swap_bytes":                    {"swapon", "swapoff"},
}

// causesOf lists what a fact may depend on, the nearest first.
func causesOf(d Difference) (cs []cause) {
	place := cause{bySetting, func(c plan.Config) string { return c.CPUs }}
	server := cause{byServer, func(c plan.Config) string { return c.Server }}
	switch d.Group {
	case "variable":
		cs = append(cs, setting(d.Name, bySetting))
		for _, a := range aliases {
			for i := range a {
				if a[i] == d.Name {
					cs = append(cs, setting(a[1-i], bySetting))
				}
			}
		}
		cs = append(cs, server, step(d.Name))
		parents := []string{}
		for parent, children := range follows {
			if slices.ContainsFunc(children, func(p string) bool { return like(p, d.Name) }) {
				parents = append(parents, parent)
			}
		}
		slices.Sort(parents)
		for _, p := range parents {
			cs = append(cs, setting(p, "follows "+p))
		}
		if slices.Contains(byCPUsOrMemory, d.Name) {
			cs = append(cs, cause{"follows the CPUs and the memory allowed", func(c plan.Config) string {
				return fmt.Sprint(c.Limits.CPU, c.Limits.Memory, c.CPUs)
			}})
		}
	case "server":
		cs = append(cs, server)
		switch d.Name {
		case "open_files":
			for _, p := range []string{"open_files_limit", "max_connections", "table_open_cache"} {
				cs = append(cs, setting(p, "follows "+p))
			}
		case "plugins", "components", "engines":
			for _, p := range []string{"plugin_load", "plugin_load_add", "*"} {
				cs = append(cs, setting(p, bySetting))
			}
		case "allocator", "version_malloc_library":
			cs = append(cs, setting("malloc_lib", bySetting))
		case "affinity", "numa_mems":
			cs = append(cs, place)
		case "locked_memory":
			cs = append(cs, setting("memlock", "follows memlock"), setting("large_pages", "follows large_pages"))
		}
		cs = append(cs, step(d.Name))
	case "limit":
		cs = append(cs, cause{bySetting, func(c plan.Config) string {
			l := c.Limits
			switch d.Name {
			case "cpu":
				return fmt.Sprint(l.CPU)
			case "memory":
				return fmt.Sprint(l.Memory)
			case "read_iops":
				return fmt.Sprint(l.ReadIOPS)
			case "write_iops":
				return fmt.Sprint(l.WriteIOPS)
			case "read_bps":
				return fmt.Sprint(l.ReadBPS)
			case "write_bps":
				return fmt.Sprint(l.WriteBPS)
			}
			return ""
		}})
	case "storage":
		cs = append(cs, cause{bySetting, func(c plan.Config) string { return c.Filesystem }}, step(d.Name))
	case "client": // it gets the CPUs that the server leaves
		if d.Name == "affinity" || d.Name == "numa_mems" {
			cs = append(cs, place)
		}
		cs = append(cs, step(d.Name))
	default:
		cs = append(cs, step(d.Name))
	}
	return cs
}

// setting is a variable of the server, set at its start or later. Name may hold one "*".
func setting(name, why string) cause {
	return cause{why, func(c plan.Config) string {
		var s []string
		for _, m := range []map[string]string{c.Settings, c.Set} {
			for k, v := range m {
				if k = plain(k); like(name, k) {
					s = append(s, k+"="+v)
				}
			}
			s = append(s, "")
		}
		slices.Sort(s)
		return strings.Join(s, "\n")
	}}
}

// step is whatever the variant's own steps do that name a fact.
func step(name string) cause {
	return cause{byStep, func(c plan.Config) string {
		var s []string
		for _, st := range slices.Concat(c.Before, c.After) {
			text := strings.ToLower(st.SQL + st.Shell)
			if slices.ContainsFunc(append([]string{name}, written[name]...), func(w string) bool {
				return strings.Contains(text, w)
			}) {
				s = append(s, text)
			}
		}
		return strings.Join(s, "\n")
	}}
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

func like(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
