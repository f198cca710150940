package workload

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Type says what values an option takes.
type Type uint8

const (
	Number Type = iota // a whole number ≥ 0; the suffixes K, M, G and T stand for powers of 1000: they are counts
	Bool               // on or off
	Text               // anything
)

// Option is one setting of a workload.
type Option struct {
	Name    string // as on the command line, words joined by "-"
	Type    Type
	Default string
	Help    string
	Choices []string // the values that a Text may have; empty for any
	Max     int64    // largest Number; 0 for no limit but an int64's
}

// OptionError tells what is wrong with an option. Its text says what would be right.
type OptionError struct {
	Option string
	Value  string
	Reason string
}

func (e *OptionError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("option %s: %s", e.Option, e.Reason)
	}
	return fmt.Sprintf("option %s=%s: %s", e.Option, e.Value, e.Reason)
}

// Values are settled options.
type Values map[string]string

// Settle checks what was given against the options and fills in the defaults. An "_" in a name counts as "-", as in
// sysbench.
func Settle(options []Option, given map[string]string) (Values, error) {
	v := Values{}
	for _, o := range options {
		v[o.Name] = o.Default
	}
	for _, name := range slices.Sorted(maps.Keys(given)) { // in order, so that of two errors it is always the same one
		key, value := strings.ReplaceAll(name, "_", "-"), given[name]
		i := slices.IndexFunc(options, func(o Option) bool { return o.Name == key })
		if i < 0 {
			names := make([]string, len(options))
			for i, o := range options {
				names[i] = o.Name
			}
			return nil, &OptionError{Option: name, Reason: "unknown" + didYouMean(key, names)}
		}
		norm, err := options[i].normal(value)
		if err != nil {
			return nil, err
		}
		v[key] = norm
	}
	return v, nil
}

// normal returns the one spelling of a value: a plain decimal number, on or off, or the text itself.
func (o Option) normal(s string) (string, error) {
	switch o.Type {
	case Number:
		n, err := number(s)
		if err != nil {
			return "", &OptionError{o.Name, s, "takes a whole number from 0, such as 10000 or 10K"}
		}
		if o.Max > 0 && n > o.Max {
			return "", &OptionError{o.Name, s, fmt.Sprintf("takes at most %d", o.Max)}
		}
		return strconv.FormatInt(n, 10), nil
	case Bool:
		switch strings.ToLower(s) {
		case "", "on", "true", "yes", "1":
			return "on", nil
		case "off", "false", "no", "0":
			return "off", nil
		}
		return "", &OptionError{o.Name, s, "takes on or off"}
	case Text: // checked below
	}
	if len(o.Choices) > 0 && !slices.Contains(o.Choices, s) {
		return "", &OptionError{o.Name, s, "takes " + strings.Join(o.Choices, ", ") + didYouMean(s, o.Choices)}
	}
	return s, nil
}

func number(s string) (int64, error) {
	mult := int64(1)
	if n := len(s); n > 0 {
		if i := strings.IndexByte("kmgt", s[n-1]|0x20); i >= 0 {
			mult, s = [...]int64{1e3, 1e6, 1e9, 1e12}[i], s[:n-1]
		}
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, err
	}
	if int64(n) > math.MaxInt64/mult {
		return 0, strconv.ErrRange
	}
	return int64(n) * mult, nil
}

// Int returns a settled Number. A name that was not among the options is a programmer's error, here and below.
func (v Values) Int(name string) int {
	n, err := strconv.Atoi(v.Text(name))
	if err != nil {
		panic("BUG: option " + name + " is not a number")
	}
	return n
}

// Bool returns a settled Bool.
func (v Values) Bool(name string) bool { return v.Text(name) == "on" }

// Text returns a settled option as it is written.
func (v Values) Text(name string) string {
	s, ok := v[name]
	if !ok {
		panic("BUG: no option " + name)
	}
	return s
}
