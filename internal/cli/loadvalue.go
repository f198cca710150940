package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// switchValue is sysbench's kind of switch: --name alone is on, else on or off.
type switchValue bool

func (v *switchValue) String() string {
	if *v {
		return "on"
	}
	return "off"
}

func (v *switchValue) Set(s string) error {
	switch strings.ToLower(s) {
	case "on", "true", "yes", "1":
		*v = true
	case "off", "false", "no", "0":
		*v = false
	default:
		return fmt.Errorf("it takes on or off")
	}
	return nil
}

func (v *switchValue) Type() string { return "on|off" }

// secondsValue is a time: a number of seconds, as sysbench has it, or one such as 90s, 5m, 1h30m.
type secondsValue time.Duration

func (v *secondsValue) String() string {
	return strconv.FormatFloat(time.Duration(*v).Seconds(), 'f', -1, 64)
}

func (v *secondsValue) Set(s string) error {
	d, err := parseSeconds(s)
	*v = secondsValue(d)
	return err
}

func (v *secondsValue) Type() string { return "seconds" }

func parseSeconds(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f <= math.MaxInt64/2/1e9) {
		return 0, fmt.Errorf("it takes seconds, or a time such as 90s or 5m")
	}
	return time.Duration(f * float64(time.Second)), nil
}

// countValue is a whole number; K, M and G are powers of 1000, as in the options of workloads.
type countValue uint64

func (v *countValue) String() string { return strconv.FormatUint(uint64(*v), 10) }

func (v *countValue) Set(s string) error {
	n, err := parseCount(s)
	*v = countValue(n)
	return err
}

func (v *countValue) Type() string { return "N" }

func parseCount(s string) (uint64, error) {
	mult, digits := uint64(1), s
	if n := len(s); n > 0 {
		if i := strings.IndexByte("kmg", s[n-1]|0x20); i >= 0 {
			mult, digits = [...]uint64{1e3, 1e6, 1e9}[i], s[:n-1]
		}
	}
	n, err := strconv.ParseUint(digits, 10, 62)
	if err != nil || n > math.MaxInt64/mult {
		return 0, fmt.Errorf("it takes a whole number from 0, such as 10000 or 10K")
	}
	return n * mult, nil
}

// listValue is several values with commas between, or one.
type listValue[T any] struct {
	list  []T
	typ   string
	parse func(string) (T, error)
	given string
}

func (v *listValue[T]) String() string { return v.given }

func (v *listValue[T]) Set(s string) error {
	var list []T
	for _, f := range strings.Split(s, ",") {
		x, err := v.parse(strings.TrimSpace(f))
		if err != nil {
			return err
		}
		list = append(list, x)
	}
	v.list, v.given = list, s
	return nil
}

func (v *listValue[T]) Type() string { return v.typ }

// threadCount reads one number of --threads.
func threadCount(s string) (int, error) {
	n, err := parseCount(s)
	if err != nil || n < 1 || n > 100_000 {
		return 0, fmt.Errorf("it takes a number of sessions from 1, or several with commas between: 1,2,4,8")
	}
	return int(n), nil
}

// percentileNumber reads one number of --percentiles.
func percentileNumber(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0 && f <= 100) {
		return 0, fmt.Errorf("it takes percentiles above 0 up to 100 with commas between: 50,95,99.9")
	}
	return f, nil
}

// percentileValue is sysbench's percentile: a whole number up to 100, 0 for none.
type percentileValue int

func (v *percentileValue) String() string { return strconv.Itoa(int(*v)) }

func (v *percentileValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 100 {
		return fmt.Errorf("it takes a whole number from 1 to 100, or 0 for none; --percentiles takes 99.9 and others")
	}
	*v = percentileValue(n)
	return nil
}

func (v *percentileValue) Type() string { return "N" }

// optionValue takes a workload's option as text; the workload itself knows what it may be.
type optionValue string

func (v *optionValue) String() string     { return string(*v) }
func (v *optionValue) Set(s string) error { *v = optionValue(s); return nil }
func (v *optionValue) Type() string       { return "value" }
