package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dyno-perf/dyno/internal/digest"
)

// The numbers of a digest are written in the forms that readers of pt-query-digest's reports, and the programs that
// parse them, expect: amounts of anything in powers of 1024, rates in powers of 1000, times cut to microseconds.

// digestUnknown stands for a figure that the source does not tell.
const digestUnknown = "-"

// digestAmount writes an amount: whole numbers below base as they are, everything else with two decimals and the letter
// of its power.
func digestAmount(v, base float64) string {
	const units = "kMGTPEZY"
	whole := !strings.Contains(strconv.FormatFloat(v, 'g', 15, 64), ".")
	n := 0
	for ; v >= base && n < len(units); n++ {
		v /= base
	}
	switch {
	case n > 0:
		return strconv.FormatFloat(v, 'f', 2, 64) + units[n-1:n]
	case whole:
		return strconv.FormatFloat(math.Trunc(v)+0, 'f', -1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

// twoDigits writes a figure with two decimals.
func twoDigits(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// digestRate writes a number per second, or a number of statements.
func digestRate(v float64) string { return digestAmount(v, 1000) }

// digestTime writes seconds as whole us, ms or s. What is below a microsecond is 0.
func digestTime(sec float64) string { return digestTimes(sec, 0) }

// digestTimes is digestTime with a number of decimals for milliseconds and seconds.
func digestTimes(sec float64, decimals int) string {
	if !(sec > 0) {
		return "0"
	}
	// Digits beyond a microsecond are cut, not rounded: in decimal, for 0.000530 is 529.99… millionths in binary.
	s := strconv.FormatFloat(sec, 'f', 9, 64)
	cut := s[:len(s)-3]
	t, err := strconv.ParseFloat(cut, 64)
	if err != nil || t <= 0 { // infinite, or below a microsecond
		return "0"
	}
	short := func(v float64, unit string) string {
		s := strconv.FormatFloat(v, 'f', decimals, 64)
		if decimals > 0 {
			s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
		}
		return s + unit
	}
	switch {
	case t < 0.001:
		_, us, _ := strings.Cut(cut, ".")
		return strings.TrimLeft(us, "0") + "us"
	case t < 1:
		return short(t*1000, "ms")
	default:
		return short(t, "s")
	}
}

// digestPercent writes a share in whole percent, cut off; 0 of nothing is 0.
func digestPercent(part, of float64) string {
	if of == 0 {
		of = 1
	}
	p := math.Trunc(part * 100 / of)
	if math.IsNaN(p) || math.IsInf(p, 0) {
		return digestUnknown
	}
	return strconv.FormatFloat(p+0, 'f', -1, 64)
}

// digestShare writes a share in percent with one decimal.
func digestShare(v float64) string {
	return strconv.FormatFloat(max(-1e9, min(1e9, finiteNumber(v)))*100, 'f', 1, 64)
}

// digestStamp writes a moment in UTC, cut to its second.
func digestStamp(t time.Time) string {
	return t.UTC().Format("2006-01-02 15:04:05")
}

// digestRange writes a span of time; the day is not said twice. It is empty when either end is unknown.
func digestRange(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	a, b := digestStamp(from), digestStamp(to)
	if a == b {
		return "all events occurred at " + a
	}
	if a[:10] == b[:10] {
		b = b[11:]
	}
	return a + " to " + b
}

// globalRange is the time of all statements.
func globalRange(g digest.Global) string {
	if !g.Began.IsZero() {
		return digestRange(g.Began, g.Ended)
	}
	return digestRange(g.First, g.Last)
}

// digestRowText lays a row of the table of figures out; cells are what stands behind the label.
func digestRowText(label string, cells ...string) string {
	s := pad(label, 12)
	for i, c := range cells {
		s += " " + padLeft(c, map[bool]int{true: 3, false: 7}[i == 0])
	}
	return strings.TrimRight(s, " ")
}
