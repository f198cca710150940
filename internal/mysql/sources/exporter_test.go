package sources

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
)

// labeled writes a series as Prometheus does, of at most one label.
func labeled(name string, ls metric.Labels) string {
	for _, l := range ls {
		return name + "{" + l.Name + "=\"" + l.Value + "\"}"
	}
	return name
}

func TestExporterNames(t *testing.T) {
	f := func(variable, want string) {
		t.Helper()
		s := StatusSeries(variable)
		if got := labeled(s.Name, s.Labels) + " " + s.Kind.String(); got != "mysql_global_status_"+want {
			t.Errorf("%s: %s", variable, got)
		}
	}
	f("questions", "questions counter")
	f("threads_running", "threads_running gauge")
	f("com_select", `commands_total{command="select"} counter`)
	f("com_admin_commands", `commands_total{command="admin_commands"} counter`)
	f("com_", "com_ counter")
	f("compression", "compression gauge")
	f("handler_read_rnd_next", `handlers_total{handler="read_rnd_next"} counter`)
	f("connection_errors_max_connections", `connection_errors_total{error="max_connections"} counter`)
	f("connections", "connections counter")
	f("innodb_rows_read", `innodb_row_ops_total{operation="read"} counter`)
	f("innodb_system_rows_read", "innodb_system_rows_read counter")
	f("performance_schema_digest_lost", `performance_schema_lost_total{instrumentation="digest_lost"} counter`)
	f("performance_schema_session_connect_attrs_longest_seen",
		`performance_schema_lost_total{instrumentation="session_connect_attrs_longest_seen"} counter`)
	f("innodb_buffer_pool_pages_free", `buffer_pool_pages{state="free"} gauge`)
	f("innodb_buffer_pool_pages_dirty", "buffer_pool_dirty_pages gauge")
	f("innodb_buffer_pool_pages_flushed", `buffer_pool_page_changes_total{operation="flushed"} counter`)
	f("innodb_buffer_pool_pages_total", "innodb_buffer_pool_pages_total gauge")
	f("innodb_buffer_pool_reads", "innodb_buffer_pool_reads counter")

	g := func(name, want string) {
		t.Helper()
		if got := labeled(innodbSeries(name)); got != "mysql_info_schema_innodb_metrics_"+want {
			t.Errorf("%s: %s", name, got)
		}
	}
	g("buffer_buffer_pool_pages_data", `buffer_pool_pages{state="data"}`)
	g("buffer_buffer_pool_pages_dirty", "buffer_pool_dirty_pages")
	g("buffer_buffer_pool_pages_total", "buffer_buffer_pool_pages_total")
	g("buffer_page_io_buffer_page_read_index_leaf_total", `buffer_page_read_total{type="index_leaf"}`)
	g("buffer_page_io_buffer_page_written_blob_total", `buffer_page_written_total{type="blob"}`)
	g("buffer_buffer_lru_batch_scanned_total", "buffer_buffer_LRU_batch_scanned_total")
	g("lock_lock_deadlocks_total", "lock_lock_deadlocks_total")
}
