package workload

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// WideMetrics works on a table of measurements of many hosts, one row for each host every ten seconds and a column for
// each metric: wide rows of numbers, most of which change little or not at all. The zero WideMetrics is the load; see
// WideMetricsLoad and the others.
type WideMetrics struct{ operation dataOperation }

// WideMetricsLoad inserts rows.
func WideMetricsLoad() WideMetrics { return WideMetrics{dataLoad} }

// WideMetricsSelect reads ranges by the primary key.
func WideMetricsSelect() WideMetrics { return WideMetrics{dataSelect} }

// WideMetricsUpdate changes single rows at random.
func WideMetricsUpdate() WideMetrics { return WideMetrics{dataUpdate} }

const wideMetrics = "wide_metrics"

// Name returns wide_metrics_load, wide_metrics_select or wide_metrics_update.
func (w WideMetrics) Name() string { return wideMetrics + "_" + w.operation.String() }

// Title says what it does.
func (w WideMetrics) Title() string {
	return [...]string{
		"inserts rows of metrics: a hundred columns of counters, gauges and rates",
		"reads a range of a table of metrics", "updates one row of a table of metrics",
	}[w.operation]
}

// Options returns what it takes; every one of the three takes them all.
func (w WideMetrics) Options() []Option {
	return append(datasetOptions(w.operation, wideMetrics),
		Option{Name: "metrics", Type: Number, Default: "100", Max: 500, Help: "columns for metrics, a fifth of each " +
			"kind"},
		Option{Name: "hosts", Type: Number, Default: "100", Max: 1_000_000, Help: "hosts that are measured"})
}

// Build settles the options.
func (w WideMetrics) Build(given map[string]string) (*Plan, error) {
	v, err := Settle(w.Options(), given)
	if err != nil {
		return nil, err
	}
	if v.Int("hosts") < 1 {
		return nil, &OptionError{"hosts", v.Text("hosts"), "takes a number from 1"}
	}
	n := v.Int("metrics")
	if n < metricKinds {
		return nil, &OptionError{"metrics", v.Text("metrics"), "takes a number from 5: one of each kind"}
	}
	d := dataset{
		name: wideMetrics, columns: []string{"id", "at", "host"}, index: "host, at",
		read: "at, host, counter_1, gauge_1, percent_1",
		set:  "counter_1 = counter_1 + ?, gauge_1 = ?, percent_1 = ?",
		fill: metricRows,
		change: func(s source, args []Datum) {
			args[0], args[1], args[2] = Int(int64(s.IntN(1000))), Int(int64(s.IntN(100_000))),
				Float(float64(s.IntN(10_001))/100)
		},
	}
	create := []string{
		"id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT", "at DATETIME NOT NULL",
		"host VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL",
	}
	for m := range n {
		k := metricColumns[m%metricKinds]
		name := k.name + "_" + strconv.Itoa(m/metricKinds+1)
		d.columns = append(d.columns, name)
		create = append(create, name+" "+k.kind)
	}
	d.create = strings.Join(append(create, "PRIMARY KEY (id)"), ", ")
	return d.plan(w.Name(), w.operation, w.Options(), given)
}

// The kinds of metric, which take turns.
const (
	counterMetric = iota // grows
	gaugeMetric          // moves about a level of its host
	percentMetric        // with two digits behind the point
	rareMetric           // nearly always NULL
	fixedMetric          // a setting of its host
	metricKinds
)

var metricColumns = [metricKinds]struct{ name, kind string }{
	{"counter", "BIGINT UNSIGNED NOT NULL"},
	{"gauge", "INT NOT NULL"},
	{"percent", "DOUBLE NOT NULL"},
	{"rare", "BIGINT UNSIGNED"},
	{"fixed", "INT UNSIGNED NOT NULL"},
}

// metricRows makes the columns from the time on.
func metricRows(v Values) func(uint64, int, []Datum) {
	hosts := max(1, v.Int("hosts"))
	var at, host []byte
	return func(seed uint64, n int, row []Datum) {
		t, h := n/hosts, n%hosts
		at = appendTime(at[:0], time.Duration(t%(mostHours*360))*10*time.Second)
		host = strconv.AppendInt(append(host[:0], "db-"...), int64(h+1), 10)
		host = append(host, ".example.com"...)
		row[0], row[1] = Bytes(at), Bytes(host)
		own := mixed(seed, uint64(h))
		now := mixed(own, uint64(t))
		for m := range row[2:] {
			level, noise := mixed(own, uint64(m)), mixed(now, uint64(m))
			d := &row[2+m]
			switch m % metricKinds {
			case counterMetric: // at rates from none to many thousands; half of them stand still
				rate := uint64(0)
				if level%2 == 0 {
					rate = uint64(math.Exp(unit(level) * 10))
				}
				*d = Uint(level>>44 + rate*uint64(t) + noise%(rate+1))
			case gaugeMetric:
				*d = Int(int64(math.Exp(unit(level)*12)) + int64(noise%16))
			case percentMetric:
				*d = Float(float64(int(100*min(100, unit(level)*90+unit(noise)*10))) / 100)
			case rareMetric:
				*d = Datum{}
				if noise%64 == 0 {
					*d = Uint(noise >> 40)
				}
			case fixedMetric:
				*d = Uint(1 << (level % 24))
			}
		}
	}
}
