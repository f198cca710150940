package unit

import (
	"math"
	"strconv"
	"time"
)

// Seconds writes a length of time given in seconds: "12.3 µs", "604 ms", "1.5 s", "1 min 15 s", "2 h 5 min", "3 d 4 h".
func Seconds(v float64) string {
	if s, ok := odd(v); ok {
		return s
	}
	neg, v := sign(v)
	if v < 59.95 {
		for _, u := range []struct {
			scale float64
			name  string
		}{{1e9, " ns"}, {1e6, " µs"}, {1e3, " ms"}} {
			if x := v * u.scale; x > 0 && round3(x) < 1000 {
				if x < 0.001 {
					break // shorter than anybody measures
				}
				return neg + digits(x) + u.name
			}
		}
		if v < 1e-12 {
			return "0 s"
		}
		return neg + digits(v) + " s"
	}
	if v > math.MaxInt64/2 {
		return neg + Count(v) + " s"
	}
	switch n := int64(math.Round(v)); {
	case n < 3600:
		return neg + two(n/60, "min", n%60, "s")
	case v < 86400-30:
		m := int64(math.Round(v / 60))
		return neg + two(m/60, "h", m%60, "min")
	default:
		h := int64(math.Round(v / 3600))
		return neg + two(h/24, "d", h%24, "h")
	}
}

// Duration is Seconds for a time.Duration.
func Duration(d time.Duration) string { return Seconds(d.Seconds()) }

func two(a int64, ua string, b int64, ub string) string {
	s := strconv.FormatInt(a, 10) + " " + ua
	if b > 0 {
		s += " " + strconv.FormatInt(b, 10) + " " + ub
	}
	return s
}
