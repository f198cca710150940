package change

import (
	"math"
	"strconv"
	"strings"
)

// units are the units of settings, each with its base and its multiple of that: bytes and milliseconds.
// https://www.postgresql.org/docs/current/config-setting.html
var units = map[string]float64{
	"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40,
	"us": 1e-3, "ms": 1, "s": 1e3, "min": 60e3, "h": 3600e3, "d": 86400e3,
}

// equal reports whether two texts are one value of the setting: 64MB is 65536 where the unit is kB, and on is true.
func (v value) equal(a, b string) bool { return v.normal(a) == v.normal(b) }

// normal returns a value as the server counts it; a text that is none as it is.
func (v value) normal(text string) string {
	t := strings.TrimSpace(text)
	switch v.kind {
	case "bool":
		switch l := strings.ToLower(t); {
		case l == "":
		case strings.HasPrefix("true", l), strings.HasPrefix("yes", l), l == "on", l == "1":
			return "on"
		case strings.HasPrefix("false", l), strings.HasPrefix("no", l), strings.HasPrefix("off", l) && l != "o",
			l == "0":
			return "off"
		}
		return t
	case "enum":
		return strings.ToLower(t)
	case "integer", "real":
		number := strings.TrimRight(t, "BkMGTusmindh ")
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return t
		}
		if named := strings.TrimSpace(t[len(number):]); named != "" {
			many := strings.TrimLeft(v.unit, "0123456789") // 8kB
			base, err := strconv.ParseFloat(v.unit[:len(v.unit)-len(many)], 64)
			if err != nil {
				base = 1
			}
			if units[named] == 0 || units[many] == 0 {
				return t
			}
			n *= units[named] / units[many] / base
		}
		if v.kind == "integer" {
			n = math.Round(n)
		}
		return strconv.FormatFloat(n, 'g', -1, 64)
	}
	return text
}
