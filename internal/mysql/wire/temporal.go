package wire

import (
	"encoding/binary"
	"strconv"
)

// appendDate appends a date of the binary protocol as the server writes it in text: year 2, month, day; hour, minute,
// second; microseconds 4. Parts at the end that are zero may be missing.
func appendDate(dst, p []byte, clock bool, decimals byte) ([]byte, bool) {
	var f [11]byte
	switch len(p) {
	case 0, 4, 7, 11:
		copy(f[:], p)
	default:
		return dst, false
	}
	dst = appendDigits(dst, uint64(binary.LittleEndian.Uint16(f[:])), 4)
	dst = appendDigits(append(dst, '-'), uint64(f[2]), 2)
	dst = appendDigits(append(dst, '-'), uint64(f[3]), 2)
	if !clock {
		return dst, true
	}
	dst = appendDigits(append(dst, ' '), uint64(f[4]), 2)
	dst = appendDigits(append(dst, ':'), uint64(f[5]), 2)
	dst = appendDigits(append(dst, ':'), uint64(f[6]), 2)
	return appendFraction(dst, binary.LittleEndian.Uint32(f[7:]), decimals)
}

// appendTime appends a time of the binary protocol as the server writes it in text: 1 when negative, days 4, hour,
// minute, second; microseconds 4.
func appendTime(dst, p []byte, decimals byte) ([]byte, bool) {
	var f [12]byte
	switch len(p) {
	case 0, 8, 12:
		copy(f[:], p)
	default:
		return dst, false
	}
	if f[0] != 0 {
		dst = append(dst, '-')
	}
	dst = appendDigits(dst, uint64(binary.LittleEndian.Uint32(f[1:]))*24+uint64(f[5]), 2)
	dst = appendDigits(append(dst, ':'), uint64(f[6]), 2)
	dst = appendDigits(append(dst, ':'), uint64(f[7]), 2)
	return appendFraction(dst, binary.LittleEndian.Uint32(f[8:]), decimals)
}

// appendFraction appends as many digits of a second as the column has; more than 6 decimals stand for a number that
// varies.
func appendFraction(dst []byte, micros uint32, decimals byte) ([]byte, bool) {
	if micros > 999_999 {
		return dst, false
	}
	switch {
	case decimals == 0, decimals > 6 && micros == 0:
		return dst, true
	case decimals > 6:
		decimals = 6
	}
	dst = appendDigits(append(dst, '.'), uint64(micros), 6)
	return dst[:len(dst)-6+int(decimals)], true
}

// appendDigits appends n with leading zeros up to width digits.
func appendDigits(dst []byte, n uint64, width int) []byte {
	for limit := uint64(10); width > 1; width, limit = width-1, limit*10 {
		if n < limit {
			dst = append(dst, '0')
		}
	}
	return strconv.AppendUint(dst, n, 10)
}
