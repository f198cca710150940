// Package unit writes quantities for people and reads the sizes that people type.
//
// What it writes is for reading only: three significant digits, a unit where there is one, never a figure that looks more
// exact than it is. Machines get the bare numbers. A value that is not a number is written as "unknown", an endless one as
// "∞".
package unit

import (
	"math"
	"strconv"
	"strings"
)

// Unknown is what every function here writes for a value that is not a number.
const Unknown = "unknown"

// odd writes the values that have no digits.
func odd(v float64) (string, bool) {
	switch {
	case math.IsNaN(v):
		return Unknown, true
	case math.IsInf(v, 1):
		return "∞", true
	case math.IsInf(v, -1):
		return "−∞", true
	default:
		return "", false
	}
}

// digits writes v ≥ 0 with three significant digits and no trailing zeros; a v of 100 or more is a whole number.
func digits(v float64) string {
	if v == 0 {
		return "0"
	}
	s := strconv.FormatFloat(v, 'f', places(v), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// places returns how many decimals three significant digits of v need, at most 12.
func places(v float64) int {
	return max(0, min(12, 2-int(math.Floor(math.Log10(v)))))
}

// round3 rounds v ≥ 0 to three significant digits, so that a step to the next unit is decided on what will be printed:
// 999.6 thousand is one million, not "1000k".
func round3(v float64) float64 {
	if v == 0 {
		return 0
	}
	f, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	return f
}

// sign splits v into its sign, as text, and its size.
func sign(v float64) (string, float64) {
	if v < 0 {
		return "−", -v
	}
	return "", v
}
