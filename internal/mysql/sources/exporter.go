package sources

import (
	"strings"

	"github.com/dyno-perf/dyno/internal/metric"
	"github.com/dyno-perf/dyno/internal/mysql/figures"
)

const (
	status = "mysql_global_status_"
	innodb = "mysql_info_schema_innodb_metrics_"
)

// families are tried in this order.
var families = [...]metric.Family{
	figures.Commands, figures.Handlers, figures.ConnectionErrors, figures.RowOps, figures.LostInstruments,
}

// StatusSeries returns name, labels and kind of the series of a status variable, which is in lower case. They are
// mysqld_exporter's, 0.19, so that dashboards and alerts made for that work:
//
//	com_select                       mysql_global_status_commands_total{command="select"}
//	innodb_buffer_pool_pages_free    mysql_global_status_buffer_pool_pages{state="free"}
//	innodb_buffer_pool_pages_dirty   mysql_global_status_buffer_pool_dirty_pages
//	innodb_buffer_pool_pages_made_…  mysql_global_status_buffer_pool_page_changes_total{operation="made_…"}
//
// and so on for each family; others are mysql_global_status_<variable>.
func StatusSeries(variable string) metric.Series {
	s := metric.Series{Name: status + variable, Kind: statusKind(variable)}
	if what, ok := strings.CutPrefix(variable, "innodb_buffer_pool_pages_"); ok {
		switch what {
		case "total", "": // the sum of the others
		case "data", "free", "misc", "old", "latched":
			s.Name, s.Labels = figures.PoolPages, metric.L("state", what)
		case "dirty":
			s.Name = figures.PoolDirtyPages
		default:
			s.Name, s.Labels = figures.PoolPageChanges, metric.L("operation", what)
		}
		return s
	}
	for _, f := range families {
		if what, ok := strings.CutPrefix(variable, f.Prefix); ok && what != "" {
			return metric.Series{Name: f.Name, Labels: metric.L(f.Label, what), Kind: metric.Counter}
		}
	}
	return s
}

// innodbSeries does the same for a counter of information_schema.INNODB_METRICS, by subsystem_name and with _total at
// the end of those that count: pages of the buffer pool are told apart by state, its input and output by the kind of
// page, and the exporter writes LRU in capitals.
func innodbSeries(name string) (string, metric.Labels) {
	if what, ok := strings.CutPrefix(name, "buffer_buffer_pool_pages_"); ok {
		switch what {
		case "total":
			return innodb + name, nil
		case "dirty":
			return innodb + "buffer_pool_dirty_pages", nil
		}
		return innodb + "buffer_pool_pages", metric.L("state", what)
	}
	for _, op := range [...]string{"read", "written"} {
		if what, ok := strings.CutPrefix(name, "buffer_page_io_buffer_page_"+op+"_"); ok {
			return innodb + "buffer_page_" + op + "_total", metric.L("type", strings.TrimSuffix(what, "_total"))
		}
	}
	return innodb + strings.Replace(name, "_lru_", "_LRU_", 1), nil
}
