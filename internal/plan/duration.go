package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as people do: "20s", "10m".
type Duration time.Duration

// String writes the duration without parts that are zero: "10m", "1h30m", "0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes what String does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// ParseDuration reads a duration of 0 or more with its unit: "500ms", "20s", "10m", "1h30m".
func ParseDuration(s string) (Duration, error) {
	d, wrong, hint := readDuration(s)
	switch {
	case hint != "":
		return 0, fmt.Errorf("%s; %s", wrong, hint)
	case wrong != "":
		return 0, errors.New(wrong)
	}
	return d, nil
}

// readDuration is ParseDuration with what is wrong, and what to do about it.
func readDuration(s string) (d Duration, wrong, hint string) {
	v, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return 0, fmt.Sprintf("%q is not a duration", s), "write a number and its unit, such as 20s, 10m or 1h30m"
	case v < 0:
		return 0, fmt.Sprintf("%q is negative", s), ""
	}
	return Duration(v), "", ""
}
