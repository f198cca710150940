package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/dyno-perf/dyno/internal/trial"
	"github.com/dyno-perf/dyno/internal/unit"
)

// metricOf returns what is known about the value name of a trial; u is its unit where the plan tells one.
func metricOf(name, u string) Metric {
	of := trial.MetricOf(name, u)
	m := Metric{name, of.Title, of.Unit, Direction(of.Better)}
	if of.Better == trial.Neither {
		m.Better = Neither
	}
	if m.Unit == "bytes" || u == "" && !trial.Known(name) && strings.HasSuffix(name, "_bytes") {
		m.Unit = "B"
	}
	if strings.HasSuffix(name, "_ms") && trial.Known(name) {
		m.Title = "latency " + m.Title
	}
	return m
}

// head is the title with its unit.
func (m Metric) head() string {
	switch m.Unit {
	case "", "1/s", "rows", "B": // the title or the figures tell
		return m.Title
	case "share":
		return m.Title + ", %"
	default:
		return m.Title + ", " + head(m.Unit)
	}
}

// axis is the head of an axis: never without what is counted.
func (m Metric) axis() string {
	if m.Unit == "B" {
		return m.Title + ", bytes"
	}
	return m.head()
}

// times is what a value is multiplied by beside a head: those of shares say percent.
func (m Metric) times() float64 {
	if m.Unit == "share" {
		return 100
	}
	return 1
}

// cell writes a value where the unit stands in the head, with three significant digits, or whole up to 99999.
func (m Metric) cell(v float64) string {
	switch m.Unit {
	case "B", "B/s":
		return unit.Bytes(v)
	default:
		return three(v * m.times())
	}
}

// three writes three significant digits with the zeros that belong to them: 0.100, 64.0, 1305. Whole numbers keep up to
// five.
func three(v float64) string {
	switch a := math.Abs(v); {
	case a == math.Trunc(a) && a < 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 99_999.5 || a < 1e-9:
		return unit.Count(v)
	case a >= 99.95:
		return strconv.FormatFloat(v, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2-int(math.Floor(math.Log10(a*(1+5e-4)))), 64)
	}
}

// full writes a value with its unit.
func (m Metric) full(v float64) string {
	switch m.Unit {
	case "", "B", "B/s":
		return m.cell(v)
	case "share":
		return m.cell(v) + " %"
	case "1/s":
		return m.cell(v) + "/s"
	default:
		return m.cell(v) + " " + m.Unit
	}
}
