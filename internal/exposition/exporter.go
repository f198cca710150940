package exposition

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
)

const status = "mysql_global_status_"

// families are status variables that mysqld_exporter gathers under one name, by the beginning of theirs.
var families = []struct{ prefix, name, label string }{
	{"com_", "commands_total", "command"},
	{"handler_", "handlers_total", "handler"},
	{"connection_errors_", "connection_errors_total", "error"},
	{"innodb_rows_", "innodb_row_ops_total", "operation"},
	{"performance_schema_", "performance_schema_lost_total", "instrumentation"},
}

const (
	poolPages = "innodb_buffer_pool_pages_"
	innodb    = "mysql_info_schema_innodb_metrics_"
)

// Exporter returns the sample under the name, labels and kind that mysqld_exporter 0.19 gives it; others stay as they
// are:
//
//	mysql_global_status_com_select                        mysql_global_status_commands_total{command="select"}
//	mysql_global_status_handler_commit                    mysql_global_status_handlers_total{handler="commit"}
//	mysql_global_status_connection_errors_accept          mysql_global_status_connection_errors_total{error="accept"}
//	mysql_global_status_innodb_rows_read                  mysql_global_status_innodb_row_ops_total{operation="read"}
//	mysql_global_status_performance_schema_accounts_lost
//	mysql_global_status_performance_schema_lost_total{instrumentation="accounts_lost"}
//	mysql_global_status_innodb_buffer_pool_pages_free     mysql_global_status_buffer_pool_pages{state="free"}
//	mysql_global_status_innodb_buffer_pool_pages_dirty    mysql_global_status_buffer_pool_dirty_pages
//	mysql_global_status_innodb_buffer_pool_pages_flushed
//	mysql_global_status_buffer_pool_page_changes_total{operation="flushed"}
//
// and of the counters of information_schema.INNODB_METRICS those of the pages of the buffer pool by state, of its input
// and output by kind of page, and those that the server writes with LRU in capitals.
func Exporter(s metric.Sample) metric.Sample {
	if rest, ok := strings.CutPrefix(s.Name, innodb); ok {
		return innodbMetric(s, rest)
	}
	rest, ok := strings.CutPrefix(s.Name, status)
	if !ok {
		return s
	}
	if what, ok := strings.CutPrefix(rest, poolPages); ok {
		switch what {
		case "total": // the sum of the others
		case "data", "free", "misc", "old", "latched":
			s.Name, s.Kind = status+"buffer_pool_pages", metric.Gauge
			s.Labels = with(s.Labels, "state", what)
		case "dirty":
			s.Name, s.Kind = status+"buffer_pool_dirty_pages", metric.Gauge
		default:
			s.Name, s.Kind = status+"buffer_pool_page_changes_total", metric.Counter
			s.Labels = with(s.Labels, "operation", what)
		}
		return s
	}
	for _, f := range families {
		if what, ok := strings.CutPrefix(rest, f.prefix); ok && what != "" && rest != f.name {
			// it may have its name already
			s.Name, s.Kind = status+f.name, metric.Counter
			s.Labels = with(s.Labels, f.label, what)
			return s
		}
	}
	return s
}

func innodbMetric(s metric.Sample, rest string) metric.Sample {
	if what, ok := strings.CutPrefix(rest, "buffer_buffer_pool_pages_"); ok {
		switch what {
		case "total":
		case "dirty":
			s.Name = innodb + "buffer_pool_dirty_pages"
		default:
			s.Name, s.Labels = innodb+"buffer_pool_pages", with(s.Labels, "state", what)
		}
		return s
	}
	for _, op := range [...]string{"read", "written"} {
		if what, ok := strings.CutPrefix(rest, "buffer_page_io_buffer_page_"+op+"_"); ok {
			s.Name, s.Kind = innodb+"buffer_page_"+op+"_total", metric.Counter
			s.Labels = with(s.Labels, "type", strings.TrimSuffix(what, "_total"))
			return s
		}
	}
	if strings.Contains(rest, "_lru_") {
		s.Name = innodb + strings.Replace(rest, "_lru_", "_LRU_", 1)
	}
	return s
}

// with returns a copy of ls with one label more, which takes the place of one of the same name.
func with(ls metric.Labels, name, value string) metric.Labels {
	out := make(metric.Labels, 0, len(ls)+1)
	done := false
	for _, l := range ls {
		if !done && l.Name >= name {
			out, done = append(out, metric.Label{Name: name, Value: value}), true
			if l.Name == name {
				continue
			}
		}
		out = append(out, l)
	}
	if !done {
		out = append(out, metric.Label{Name: name, Value: value})
	}
	return out
}
