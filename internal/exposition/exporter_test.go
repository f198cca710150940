package exposition

import (
	"testing"

	"github.com/dyno-perf/dyno/internal/metric"
)

func TestExporterNames(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		s := Exporter(metric.Sample{Name: "mysql_global_status_" + name, Kind: metric.Counter})
		if got := s.Name + join(s.Labels, nil) + " " + s.Kind.String(); got != "mysql_global_status_"+want {
			t.Errorf("%s: %s", name, got)
		}
		if again := Exporter(s); again.Name+join(again.Labels, nil) != s.Name+join(s.Labels, nil) {
			// samples may have been through it
			t.Errorf("%s becomes %s%s the second time", name, again.Name, join(again.Labels, nil))
		}
	}
	f("questions", "questions counter")
	f("com_select", `commands_total{command="select"} counter`)
	f("com_admin_commands", `commands_total{command="admin_commands"} counter`)
	f("com_", "com_ counter")
	f("compression", "compression counter")
	f("handler_read_rnd_next", `handlers_total{handler="read_rnd_next"} counter`)
	f("connection_errors_max_connections", `connection_errors_total{error="max_connections"} counter`)
	f("connections", "connections counter")
	f("innodb_rows_read", `innodb_row_ops_total{operation="read"} counter`)
	f("innodb_system_rows_read", "innodb_system_rows_read counter")
	f("performance_schema_digest_lost", `performance_schema_lost_total{instrumentation="digest_lost"} counter`)
	f("innodb_buffer_pool_pages_free", `buffer_pool_pages{state="free"} gauge`)
	f("innodb_buffer_pool_pages_dirty", "buffer_pool_dirty_pages gauge")
	f("innodb_buffer_pool_pages_flushed", `buffer_pool_page_changes_total{operation="flushed"} counter`)
	f("innodb_buffer_pool_pages_total", "innodb_buffer_pool_pages_total counter")
	f("innodb_buffer_pool_reads", "innodb_buffer_pool_reads counter")

	g := func(name, want string) {
		t.Helper()
		s := Exporter(metric.Sample{Name: "mysql_info_schema_innodb_metrics_" + name})
		if got := s.Name + join(s.Labels, nil); got != "mysql_info_schema_innodb_metrics_"+want {
			t.Errorf("%s: %s", name, got)
		}
		if again := Exporter(s); again.Name+join(again.Labels, nil) != s.Name+join(s.Labels, nil) {
			t.Errorf("%s becomes %s%s the second time", name, again.Name, join(again.Labels, nil))
		}
	}
	g("buffer_buffer_pool_pages_data", `buffer_pool_pages{state="data"}`)
	g("buffer_buffer_pool_pages_dirty", "buffer_pool_dirty_pages")
	g("buffer_buffer_pool_pages_total", "buffer_buffer_pool_pages_total")
	g("buffer_page_io_buffer_page_read_index_leaf_total", `buffer_page_read_total{type="index_leaf"}`)
	g("buffer_page_io_buffer_page_written_blob_total", `buffer_page_written_total{type="blob"}`)
	g("buffer_buffer_lru_batch_scanned_total", "buffer_buffer_LRU_batch_scanned_total")
	g("lock_lock_deadlocks_total", "lock_lock_deadlocks_total")

	other := metric.Sample{Name: "node_load1"}
	if got := Exporter(other); got.Name != "node_load1" || got.Labels != nil {
		t.Errorf("%+v", got)
	}
}

// TestExporterLeavesItsInput: samples share their labels.
func TestExporterLeavesItsInput(t *testing.T) {
	ls := make(metric.Labels, 1, 4)
	ls[0] = metric.Label{Name: "zone", Value: "1"}
	a := Exporter(metric.Sample{Name: "mysql_global_status_com_select", Labels: ls})
	b := Exporter(metric.Sample{Name: "mysql_global_status_com_insert", Labels: ls})
	if len(ls) != 1 || ls[0].Name != "zone" || a.Labels.Get("command") != "select" ||
		b.Labels.Get("command") != "insert" || b.Labels.Get("zone") != "1" {
		t.Errorf("%v %v %v", ls, a.Labels, b.Labels)
	}
}

func TestWith(t *testing.T) {
	f := func(in metric.Labels, want string) {
		t.Helper()
		if got := join(with(in, "m", "1"), nil); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
	f(nil, `{m="1"}`)
	f(metric.L("a", "x", "z", "y"), `{a="x",m="1",z="y"}`)
	f(metric.L("a", "x"), `{a="x",m="1"}`)
	f(metric.L("m", "x", "z", "y"), `{m="1",z="y"}`)
}
