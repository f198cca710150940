package wire

import "math"

// Kind tells what a Value holds.
type Kind uint8

const (
	Null Kind = iota
	Int
	Uint // in answers only above the largest int64
	Float
	Bytes // text, decimals, dates and times as the server writes them, and everything else
)

// Value is an argument of a statement or a column of a row. The zero value is NULL.
type Value struct {
	Kind  Kind
	Bits  uint64 // a number: two's complement, or IEEE 754 of double precision
	Bytes []byte // text; of a row it is valid until the Reader's next step
}

// Float returns the number of kind Float.
func (v Value) Float() float64 { return math.Float64frombits(v.Bits) }

// appendLenenc appends a number as the protocol writes lengths.
func appendLenenc(dst []byte, n uint64) []byte {
	switch {
	case n < 0xfb:
		return append(dst, byte(n))
	case n <= 0xffff:
		return append(dst, 0xfc, byte(n), byte(n>>8))
	case n <= 0xffffff:
		return append(dst, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return append(dst, 0xfe, byte(n), byte(n>>8), byte(n>>16), byte(n>>24), byte(n>>32), byte(n>>40),
		byte(n>>48), byte(n>>56))
}

// lenenc reads a length-encoded number and returns it with the rest of p. It is not ok for what is too short, for NULL
// and for the byte of an error.
func lenenc(p []byte) (n uint64, rest []byte, ok bool) {
	if len(p) == 0 {
		return 0, nil, false
	}
	if p[0] < 0xfb {
		return uint64(p[0]), p[1:], true
	}
	size := 0
	switch p[0] {
	case 0xfc:
		size = 2
	case 0xfd:
		size = 3
	case 0xfe:
		size = 8
	}
	if size == 0 || len(p) <= size {
		return 0, nil, false
	}
	for i := size; i > 0; i-- {
		n = n<<8 | uint64(p[i])
	}
	return n, p[1+size:], true
}

// lenencBytes reads a length-encoded text.
func lenencBytes(p []byte) (b, rest []byte, ok bool) {
	n, rest, ok := lenenc(p)
	if !ok || n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n:n], rest[n:], true
}
