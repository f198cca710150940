package unit

import (
	"math"
	"strconv"
)

// Count writes a number of things: "0.5", "512", "4213", "12.3k", "2.35M", "7.1G". k, M, G, T, P and E are powers of
// 1000.
func Count(v float64) string {
	if s, ok := odd(v); ok {
		return s
	}
	neg, v := sign(v)
	switch {
	case v < 1e-12:
		return "0"
	case v < 999.5:
		return neg + digits(v)
	case v < 9999.5: // four digits read better than 1.23k and tell more
		return neg + strconv.Itoa(int(math.Round(v)))
	}
	const units = "kMGTPE"
	i := 0
	v /= 1e3
	for round3(v) >= 1000 && i < len(units)-1 {
		v /= 1e3
		i++
	}
	return neg + digits(v) + units[i:i+1]
}

// Rate writes a number of things per second: Rate(2.35e6, "rows/s") is "2.35M rows/s". per is the whole unit; without
// one it is "/s".
func Rate(v float64, per string) string {
	if s, ok := odd(v); ok && s == Unknown {
		return s
	}
	if per == "" {
		return Count(v) + "/s"
	}
	return Count(v) + " " + per
}

// Percent writes a share, 1 being all of it: "92 %", "0.4 %". A share that is neither nothing nor all is never rounded
// to "0 %" or "100 %".
func Percent(share float64) string {
	if s, ok := odd(share); ok {
		return s
	}
	neg, v := sign(share)
	p := v * 100
	switch {
	case p == 0:
		return "0 %"
	case p < 0.05:
		return neg + "<0.1 %"
	case p < 9.95:
		return neg + trim(p, 1) + " %"
	case p < 99 || p >= 99.95 && v >= 1:
		return neg + strconv.FormatFloat(p, 'f', 0, 64) + " %"
	case p < 99.95:
		return neg + trim(p, 1) + " %"
	default:
		return neg + ">99.9 %"
	}
}

// trim writes v with at most n decimals.
func trim(v float64, n int) string {
	return strconv.FormatFloat(math.Round(v*math.Pow10(n))/math.Pow10(n), 'f', -1, 64)
}

// Ratio writes a factor: "×237", "×12.3", "×1.04", "×0.93". Its trailing zeros stay, for they say how exact it is.
func Ratio(v float64) string {
	if s, ok := odd(v); ok {
		if s == Unknown {
			return s
		}
		return "×" + s
	}
	neg, v := sign(v)
	switch {
	case v == 0:
		return "×0"
	case v >= 9999.5:
		return "×" + neg + Count(v)
	case v >= 99.95:
		return "×" + neg + strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.995:
		return "×" + neg + strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 0.0995:
		return "×" + neg + strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return "×" + neg + digits(v)
	}
}
