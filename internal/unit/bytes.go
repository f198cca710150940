package unit

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Bytes writes an amount of data in powers of 1024, the units of IEC 80000-13: "512 B", "1.5 GiB".
func Bytes(v float64) string {
	if s, ok := odd(v); ok {
		return s
	}
	neg, v := sign(v)
	i := 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	for math.Round(v) >= 1024 && i < len(units)-1 {
		v /= 1024
		i++
	}
	return neg + digits(v) + " " + units[i]
}

// SizeError says why a text is no size.
type SizeError struct{ Text, Why string }

func (e *SizeError) Error() string {
	return fmt.Sprintf("parse size %q: %s; %s", e.Text, e.Why, SizeHint)
}

// SizeHint tells what ParseSize takes.
const SizeHint = "write a number and optionally K, M, G, T, P or E (powers of 1024), such as 64M or 1.5G"

// ParseSize reads what people type for a size: a number, then optionally K, M, G, T, P or E in either case, powers of
// 1024 as MySQL's own options take them; "B" or "iB" may follow. A decimal point is accepted where the result is whole:
// "1.5G". Its error is a *SizeError.
func ParseSize(s string) (uint64, error) {
	bad := func(why string) (uint64, error) { return 0, &SizeError{s, why} }
	t := strings.TrimSpace(s)
	end := strings.LastIndexAny(t, "0123456789.") + 1
	num, suffix := t[:end], strings.ToUpper(strings.TrimSpace(t[end:]))
	if num == "" {
		return bad("no number")
	}
	if strings.Trim(num, "0123456789.") != "" || strings.Count(num, ".") > 1 || num[0] == '.' ||
		num[len(num)-1] == '.' {
		return bad("not a number")
	}
	shift := uint(0)
	if suffix != "" && suffix != "B" {
		i := strings.IndexByte("KMGTPE", suffix[0])
		if rest := suffix[1:]; i < 0 || rest != "" && rest != "B" && rest != "IB" {
			return bad("unknown unit")
		}
		shift = 10 * uint(i+1)
	}
	whole, frac, _ := strings.Cut(num, ".")
	n, err := strconv.ParseUint(whole, 10, 64)
	if err != nil {
		return bad("too large")
	}
	hi, n := bits.Mul64(n, 1<<shift)
	if hi != 0 {
		return bad("too large")
	}
	if frac = strings.TrimRight(frac, "0"); frac != "" {
		f, err := strconv.ParseFloat("0."+frac, 64)
		f *= float64(uint64(1) << shift)
		if err != nil || len(frac) > 15 || f != math.Trunc(f) {
			return bad("not a whole number of bytes")
		}
		sum, carry := bits.Add64(n, uint64(f), 0)
		if carry != 0 {
			return bad("too large")
		}
		n = sum
	}
	return n, nil
}
