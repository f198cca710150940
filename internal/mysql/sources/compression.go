package sources

import (
	"github.com/dyno-perf/dyno/internal/metric"

	"github.com/dyno-perf/dyno/internal/source"
)

// newCompression reads InnoDB's page compression (ROW_FORMAT=COMPRESSED) by page size:
//
//	mysql_info_schema_innodb_cmp_{compress_ops,compress_ops_ok,uncompress_ops}_total{page_size}
//	mysql_info_schema_innodb_cmp_{compress,uncompress}_time_seconds_total{page_size}
//	mysql_info_schema_innodb_cmpmem_{pages_used,pages_free,relocation_ops}_total{page_size,buffer_pool}
//	mysql_info_schema_innodb_cmpmem_relocation_time_seconds_total{page_size,buffer_pool}
func newCompression(q querier, acc account) *summary {
	const cmp, mem = "mysql_info_schema_innodb_cmp_", "mysql_info_schema_innodb_cmpmem_"
	return &summary{q: q, acc: acc, name: source.Compression, grant: "PROCESS ON *.*", tables: []table{
		{
			schema: "information_schema", name: "INNODB_CMP", keys: []key{{"page_size", "page_size", ""}},
			columns: []column{
				{"compress_ops", cmp + "compress_ops_total", metric.Counter, 0, ""},
				{"compress_ops_ok", cmp + "compress_ops_ok_total", metric.Counter, 0, ""},
				{"compress_time", cmp + "compress_time_seconds_total", metric.Counter, 0, ""},
				{"uncompress_ops", cmp + "uncompress_ops_total", metric.Counter, 0, ""},
				{"uncompress_time", cmp + "uncompress_time_seconds_total", metric.Counter, 0, ""},
			},
		},
		{
			schema: "information_schema", name: "INNODB_CMPMEM", keys: []key{
				{"page_size", "page_size", ""},
				{"buffer_pool_instance", "buffer_pool", ""},
			},
			columns: []column{
				{"pages_used", mem + "pages_used_total", metric.Gauge, 0, ""}, // a state, whatever its name says
				{"pages_free", mem + "pages_free_total", metric.Gauge, 0, ""},
				{"relocation_ops", mem + "relocation_ops_total", metric.Counter, 0, ""},
				{"relocation_time", mem + "relocation_time_seconds_total", metric.Counter, 1e-6, ""},
			},
		},
	}}
}
