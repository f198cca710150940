package series

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
)

// ParseTime reads a moment as Prometheus' API takes it: Unix seconds with decimals, to the millisecond, or RFC 3339.
func ParseTime(s string) (time.Time, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < math.MaxInt64/1000 {
		return time.UnixMilli(int64(math.Round(f * 1000))).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	switch s { // what clients of Prometheus send for no bound; package time reads years of four digits only
	case "-292273086-05-16T16:47:06Z":
		return time.UnixMilli(math.MinInt64 / 2), nil
	case "292277025-08-18T07:12:54.999999999Z":
		return time.UnixMilli(math.MaxInt64 / 2), nil
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", s)
}

// ParseDuration reads a time span as Prometheus' API takes it: seconds with decimals, or "1h30m", also in days, weeks
// and years.
func ParseDuration(s string) (time.Duration, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		ns := f * float64(time.Second)
		if !(math.Abs(ns) < math.MaxInt64) { // NaN too
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", s)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(s); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", s)
}
