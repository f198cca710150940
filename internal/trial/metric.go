package trial

import (
	"strings"
)

// Better says which values of a metric are better.
type Better string

const (
	More    Better = "more"
	Less    Better = "less"
	Neither Better = "neither"
)

// Metric is what is known of one value of a trial.
type Metric struct {
	Name   string `json:"name"`
	Title  string `json:"title"` // for the head of a column
	Unit   string `json:"unit,omitzero"`
	Better Better `json:"better"`
	Digits int    `json:"digits"` // significant ones that are worth showing
}

// Metrics returns the values that Dyno itself measures, in the order in which tables show them.
func Metrics() []Metric {
	return []Metric{
		{"tps", "transactions/s", "1/s", More, 4},
		{"qps", "queries/s", "1/s", More, 4},
		{"mean_ms", "mean", "ms", Less, 3},
		{"p50_ms", "p50", "ms", Less, 3},
		{"p95_ms", "p95", "ms", Less, 3},
		{"p99_ms", "p99", "ms", Less, 3},
		{"p999_ms", "p99.9", "ms", Less, 3},
		{"max_ms", "max", "ms", Less, 3},
		{"ms", "time", "ms", Less, 3},
		{"rows_read", "rows read", "rows", Less, 4},
		{"server_cpu_us_per_op", "server CPU/op", "µs", Less, 3},
		{"client_cpu_us_per_op", "client CPU/op", "µs", Less, 3},
		{"cs_per_op", "context switches/op", "", Less, 3},
		{"read_kb_per_op", "read/op", "kB", Less, 3},
		{"write_kb_per_op", "written/op", "kB", Less, 3},
		{"written_bytes_data", "written to data files", "bytes", Less, 3},
		{"written_bytes_doublewrite", "written to doublewrite", "bytes", Less, 3},
		{"written_bytes_redo", "written to redo", "bytes", Less, 3},
		{"written_bytes_binlog", "written to binlog", "bytes", Less, 3},
		{"written_bytes_device", "written to device", "bytes", Less, 3},
		{"data_bytes", "size on disk", "bytes", Less, 4},
		{"low_share", "5 % low ÷ median", "", More, 3},
		{"client_cpu_share", "client CPU", "share", Neither, 3},
		{"steal_share", "steal", "share", Neither, 3},
		{"iowait_share", "waiting for disks", "share", Neither, 3},
		{"server_cpu_cores", "server CPUs", "cores", Neither, 3},
		{"other_cpu_cores", "CPUs of others", "cores", Neither, 3},
		{"cpu_speed", "speed of the CPUs", "", Neither, 4},
	}
}

// MetricOf returns what is known of the value of that name. A probe's value in a variant with several, "lookup.ms", is
// that of the name behind the point, with the probe in its title. Of a name that is not known, a value of Read, more is
// taken for better and unit is that of the plan's table.
func MetricOf(name, unit string) Metric {
	probe, of, isProbe := cutLast(name)
	for _, m := range Metrics() {
		if m.Name == name {
			return m
		}
		if isProbe && m.Name == of && (of == "ms" || of == "rows_read") {
			m.Name, m.Title = name, probe+": "+m.Title
			return m
		}
	}
	return Metric{Name: name, Title: strings.ReplaceAll(name, "_", " "), Unit: unit, Better: More, Digits: 4}
}

// Known reports whether Dyno itself measures a value of that name.
func Known(name string) bool {
	for _, m := range Metrics() {
		if m.Name == name {
			return true
		}
	}
	_, of, ok := cutLast(name)
	return ok && (of == "ms" || of == "rows_read")
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i <= 0 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}
