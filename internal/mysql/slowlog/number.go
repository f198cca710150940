package slowlog

import "encoding/binary"

var tens = [...]float64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
	1e18, 1e19, 1e20, 1e21, 1e22,
}

// number reads a decimal number without a sign that ends with its word. The second result is where it ended, -1 when
// there is none. Numbers below 2⁵³ without their point come out as the nearest float64; larger ones within one unit in
// the last place.
func number(d []byte, i int) (float64, int) {
	if i >= len(d) || !digit(d[i]) {
		return 0, -1
	}
	m := uint64(d[i] - '0')
	first := i
	for i++; i < len(d); i++ {
		c := d[i] - '0'
		if c > 9 {
			break
		}
		m = m*10 + uint64(c)
	}
	if i-first > 18 {
		return long(d, first)
	}
	if i < len(d) && d[i] == '.' {
		point := i
		i++
		if i+8 <= len(d) && i-first <= 12 {
			// Servers write microseconds: six digits at once.
			if x := binary.LittleEndian.Uint64(d[i:]); sixDigits(x) {
				m = m*1000000 + six(x)
				i += 6
			}
		}
		for ; i < len(d); i++ {
			c := d[i] - '0'
			if c > 9 {
				break
			}
			m = m*10 + uint64(c)
		}
		if i-first > 18 {
			return long(d, first)
		}
		if i == point+1 || !wordEnds(d, i) {
			return 0, -1
		}
		return float64(m) / tens[i-point-1], i
	}
	if !wordEnds(d, i) {
		return 0, -1
	}
	return float64(m), i
}

// sixDigits reports whether the six lowest bytes are decimal digits.
func sixDigits(x uint64) bool {
	x &= 0xffffffffffff
	return x&(x+0x060606060606)&0xf0f0f0f0f0f0 == 0x303030303030
}

// six returns the number of six decimal digits, the first in the lowest byte.
func six(x uint64) uint64 {
	x = x&0xffffffffffff - 0x303030303030
	x = (x*10 + x>>8) & 0x00ff00ff00ff // pairs, at bits 0, 16, 32
	return x&0xff*10000 + x>>16&0xff*100 + x>>32&0xff
}

// long reads a number of more digits than fit into 64 bits.
func long(d []byte, i int) (v float64, end int) {
	scale, point := 1.0, false
	for first := i; i < len(d); i++ {
		c := d[i]
		switch {
		case c == '.' && !point && i > first:
			point = true
		case digit(c):
			v = v*10 + float64(c-'0')
			if point {
				scale *= 10
			}
		default:
			if !wordEnds(d, i) || d[i-1] == '.' {
				return 0, -1
			}
			return v / scale, i
		}
		if i-first > 300 { // no figure, and it would overflow
			return 0, -1
		}
	}
	if d[len(d)-1] == '.' {
		return 0, -1
	}
	return v / scale, i
}

// wordEnds reports whether no word's character stands at i.
func wordEnds(d []byte, i int) bool {
	return i >= len(d) || d[i] == ' ' || d[i] == '\n' || d[i] == '\r' || d[i] == '\t'
}

// natural reads an unsigned integer; the second result is where it ended, -1 when there is none.
func natural(d []byte, i int) (uint64, int) {
	first := i
	var m uint64
	if len(d)-i >= 8 {
		if x := binary.LittleEndian.Uint64(d[i:]); sixDigits(x) {
			m = six(x)
			i += 6
			if a, b := d[i]-'0', d[i+1]-'0'; a <= 9 && b <= 9 {
				m = m*100 + uint64(a)*10 + uint64(b)
				i += 2
			}
		}
	}
	for ; i < len(d) && digit(d[i]); i++ {
		m = m*10 + uint64(d[i]-'0')
	}
	if i == first || i-first > 19 {
		return 0, -1
	}
	return m, i
}
